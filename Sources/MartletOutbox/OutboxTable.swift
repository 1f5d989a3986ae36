import Martlet
import MartletBase

/// Schedules requests: those with the same key in order, hosts in turns, and none while its host is delayed.
struct OutboxTable {
  /// The state of a host; `ready` contains the requests that only the host delays.
  private struct Host {
    var ready = FirstInFirstOut<UUID>()
    var sending = 0
    var failures = 0
    var notBefore = Duration.zero
  }

  private let limits: RequestQueue.Limits
  private(set) var entries: [UUID: OutboxEntry] = [:]
  private var lanes: [String: FirstInFirstOut<UUID>] = [:]
  private var hosts: [String: Host] = [:]
  /// The hosts with ready requests, in turns.
  private var turns = FirstInFirstOut<String>()
  private(set) var sending: Set<UUID> = []
  private(set) var bytes: Int64 = 0
  private(set) var dead = 0
  /// The bytes of the journal that are still needed.
  private(set) var lineBytes: Int64 = 0

  init(_ limits: RequestQueue.Limits) { self.limits = limits }

  var pending: Int { entries.count - dead }

  // MARK: Changes from the journal

  mutating func apply(_ change: OutboxChange) {
    switch change {
    case .began: break
    case .submitted(let entry):
      guard entries[entry.id] == nil else { return }
      entries[entry.id] = entry
      count(entry, 1)
      if entry.death == nil { enqueue(entry) } else { dead += 1 }
    case .attempted(let id, let count): entries[id]?.attempts = count
    case .gone(let id): remove(id)
    case .deadLettered(let id, let death):
      guard let entry = entries[id], entry.death == nil else { return }
      entries[id]?.death = death
      dead += 1
      dequeue(entry)
    case .revived(let id, let date, let turn):
      guard var entry = entries[id] else { return }
      let wasDead = entry.death != nil
      (entry.death, entry.attempts, entry.revivedAt, entry.turn) = (nil, 0, date, turn)
      entries[id] = entry
      guard wasDead else { return }
      dead -= 1
      enqueue(entry)
    }
  }

  /// Clears the table before the journal is read again from its start.
  ///
  /// Running requests continue, and hosts keep their delays.
  mutating func forget() {
    (entries, lanes, turns) = ([:], [:], FirstInFirstOut())
    (bytes, lineBytes, dead) = (0, 0, 0)
    for name in hosts.keys { hosts[name]?.ready = FirstInFirstOut() }
  }

  /// Updates the positions of requests after the journal was rewritten.
  mutating func move(_ spans: [UUID: Range<Int64>]) {
    for id in entries.keys {
      if let span = spans[id] {
        entries[id]?.span = span
        entries[id]?.turn = span.lowerBound
      } else {
        // Its record could no longer be read.
        remove(id)
      }
    }
  }

  private mutating func remove(_ id: UUID) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    count(entry, -1)
    if entry.death != nil { dead -= 1 } else { dequeue(entry) }
  }

  private mutating func count(_ entry: OutboxEntry, _ sign: Int64) {
    bytes += sign * entry.bytes
    lineBytes += sign * entry.lineBytes
  }

  /// Appends a request after all others with the same key.
  private mutating func enqueue(_ entry: OutboxEntry) {
    guard let key = entry.key else { return makeReady(entry) }
    lanes[key, default: FirstInFirstOut()].append(entry.id)
    if lanes[key]?.first == entry.id { makeReady(entry) }
  }

  /// Removes a request from the order of its key; the next one can then start.
  ///
  /// While it is being sent, the next one waits, even if it was removed.
  private mutating func dequeue(_ entry: OutboxEntry) {
    guard let key = entry.key else { return }
    let wasFirst = lanes[key]?.first == entry.id
    lanes[key]?.removeFirst { $0 == entry.id }
    if wasFirst, !sending.contains(entry.id) { readyNext(key) }
  }

  private mutating func readyNext(_ key: String) {
    if let next = lanes[key]?.first.flatMap({ entries[$0] }) {
      makeReady(next)
    } else {
      lanes[key] = nil
    }
  }

  private mutating func makeReady(_ entry: OutboxEntry, isFirst: Bool = false) {
    if hosts[entry.host]?.ready.isEmpty ?? true { turns.append(entry.host) }
    if isFirst {
      hosts[entry.host, default: Host()].ready.prepend(entry.id)
    } else {
      hosts[entry.host, default: Host()].ready.append(entry.id)
    }
  }

  // MARK: Turns

  /// Chooses the next requests, and marks them as being sent.
  mutating func start(now: Duration) -> [OutboxEntry] {
    var started: [OutboxEntry] = []
    var rest = turns.count
    while sending.count < limits.total, rest > 0, let name = turns.popFirst() {
      rest -= 1
      if let host = hosts[name], host.notBefore <= now, host.sending < (host.failures > 0 ? 1 : limits.perHost),
        let entry = nextEntry(of: name)
      {
        hosts[name]?.sending += 1
        sending.insert(entry.id)
        started.append(entry)
        // The host may have room for another request.
        rest = turns.count + 1
      }
      if hosts[name]?.ready.isEmpty == false { turns.append(name) }
    }
    return started
  }

  /// The next request of a host that can be sent.
  private mutating func nextEntry(of host: String) -> OutboxEntry? {
    while let id = hosts[host]?.ready.popFirst() {
      guard let entry = entries[id], entry.death == nil, !sending.contains(id) else { continue }
      // A revived dead letter may still have its earlier place here.
      if let key = entry.key, lanes[key]?.first != id { continue }
      return entry
    }
    return nil
  }

  /// The next time at which a delayed host is retried.
  func nextTurn(after now: Duration) -> Duration? {
    turns.all.lazy.compactMap { hosts[$0]?.notBefore }.filter { $0 > now }.min()
  }

  /// Marks a request as no longer being sent.
  ///
  /// If it is still pending, other requests of its host come before it, unless `isFirst` is `true`.
  mutating func stop(_ entry: OutboxEntry, isFirst: Bool = true) {
    guard sending.remove(entry.id) != nil else { return }
    hosts[entry.host]?.sending -= 1
    if let entry = entries[entry.id], entry.death == nil {
      makeReady(entry, isFirst: isFirst)
    } else if let key = entry.key {
      // It was removed in the meantime, and its successor has waited for its end.
      readyNext(key)
    }
    if let host = hosts[entry.host], host.ready.isEmpty, host.sending == 0, host.failures == 0 {
      hosts[entry.host] = nil
    }
  }

  /// A host has responded; a current delay, requested by the host or caused by other failures, continues.
  mutating func hasAnswered(_ name: String, now: Duration) {
    guard let host = hosts[name], host.notBefore <= now else { return }
    hosts[name]?.failures = 0
  }

  /// A host has failed; returns its delay.
  mutating func hasFailed(
    _ name: String, now: Duration, asked: Duration?, _ options: Outbox.Options, random: Double
  ) -> Duration {
    var host = hosts[name] ?? Host()
    // Failures of concurrent requests count as one.
    if host.notBefore <= now { host.failures += 1 }
    var pause =
      options.initialDelay.doubled(host.failures - 1, upTo: options.maximumDelay.bounded) * (1 - random / 2)
    pause = max(pause, min(asked ?? .zero, .seconds(24 * 3600)))
    host.notBefore = max(host.notBefore, now.adding(pause))
    hosts[name] = host
    return host.notBefore - now
  }

  mutating func forgetPauses() {
    for name in hosts.keys {
      hosts[name]?.failures = 0
      hosts[name]?.notBefore = .zero
    }
  }
}

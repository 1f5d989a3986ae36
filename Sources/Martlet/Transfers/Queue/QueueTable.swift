import MartletBase

/// The order of a queue: dependencies, priorities, limits and outcomes.
///
/// It uses no clock, lock or network.
///
/// ```
///   add ─▶ blocked (a predecessor is not at its end) ─▶ ready ─▶ running ─▶ ended
///             └──── a predecessor fails: doomed ──────────────────────────────┘
/// ```
struct QueueTable {
  private struct Entry {
    let item: ReadyHeap.Item
    /// The number of predecessors that have not ended.
    var awaited: Int
    var successors: [RequestID] = []
    var isRunning = false
  }

  private let limits: RequestQueue.Limits
  private var entries: [RequestID: Entry] = [:]
  /// The maximum number of ended requests that are remembered.
  static let maximumOutcomes = 10_000
  /// The outcomes of the last ended requests: whether their successors may start.
  private var outcomes: [RequestID: Bool] = [:]
  /// Ended requests, the oldest first.
  private var ended = FirstInFirstOut<RequestID>()
  private var ready = ReadyHeap()
  /// Ready requests whose host has reached its limit.
  private var parked: [String: ReadyHeap] = [:]
  private var running: [String: Int] = [:]
  private(set) var runningCount = 0
  private var nextNumber: UInt64 = 0

  init(_ limits: RequestQueue.Limits) { self.limits = limits }

  /// The number of requests that have not ended.
  var count: Int { entries.count }

  var outcomeCount: Int { outcomes.count }

  /// The error for a predecessor that is not in this queue, or ended too long ago to be remembered.
  static func unknown(_ id: RequestID) -> HTTPError {
    HTTPError(.queueFailed, "request \(id), which it must follow, is not in this queue, or ended long ago")
  }

  /// The error for a predecessor that has failed.
  static func failed(_ id: RequestID) -> HTTPError {
    HTTPError(.queueFailed, "request \(id), which it depends on, has failed")
  }

  /// The error for a request that would wait for itself.
  static func cycle(_ id: RequestID) -> HTTPError {
    HTTPError(.queueFailed, "request \(id) already waits for this request; requests must not wait for each other")
  }

  mutating func add(
    _ id: RequestID, host: String, priority: Int, after predecessors: [RequestID]
  ) throws(HTTPError) {
    let predecessors = Set(predecessors)
    for other in predecessors { try check(other) }
    nextNumber += 1
    let waiting = predecessors.filter { entries[$0] != nil }
    for other in waiting { entries[other]?.successors.append(id) }
    let item = ReadyHeap.Item(id: id, host: host, priority: priority, number: nextNumber)
    entries[id] = Entry(item: item, awaited: waiting.count)
    if waiting.isEmpty { ready.insert(item) }
  }

  /// Makes one request wait for another one.
  ///
  /// Returns `false` if the request is already running, or the predecessor has ended.
  mutating func add(_ predecessor: RequestID, before id: RequestID) throws(HTTPError) -> Bool {
    try check(predecessor)
    guard var entry = entries[id] else { throw Self.unknown(id) }
    guard predecessor != id, !reaches(predecessor, from: id) else { throw Self.cycle(predecessor) }
    guard !entry.isRunning, entries[predecessor] != nil else { return false }
    entry.awaited += 1
    entries[id] = entry
    entries[predecessor]?.successors.append(id)
    return true
  }

  private func check(_ id: RequestID) throws(HTTPError) {
    if entries[id] != nil || outcomes[id] == true { return }
    throw outcomes[id] == false ? Self.failed(id) : Self.unknown(id)
  }

  /// Whether the target waits for the start, directly or through other requests.
  private func reaches(_ target: RequestID, from start: RequestID) -> Bool {
    var seen: Set<RequestID> = [start]
    var rest = [start]
    while let id = rest.popLast() {
      for next in entries[id]?.successors ?? [] where seen.insert(next).inserted {
        if next == target { return true }
        rest.append(next)
      }
    }
    return false
  }

  /// The next request, which is running from now on; `nil` if none may start now.
  mutating func start() -> RequestID? {
    guard runningCount < limits.total else { return nil }
    while let item = ready.popFirst() {
      // It may have ended, or may wait for another one by now.
      guard let entry = entries[item.id], entry.awaited == 0, !entry.isRunning else {
        unpark(item.host)
        continue
      }
      guard running[item.host, default: 0] < limits.perHost else {
        parked[item.host, default: ReadyHeap()].insert(item)
        continue
      }
      entries[item.id]?.isRunning = true
      running[item.host, default: 0] += 1
      runningCount += 1
      return item.id
    }
    return nil
  }

  /// Makes the next parked request of a host ready.
  private mutating func unpark(_ host: String) {
    guard var heap = parked.removeValue(forKey: host) else { return }
    if let item = heap.popFirst() { ready.insert(item) }
    if !heap.isEmpty { parked[host] = heap }
  }

  private mutating func remember(_ id: RequestID, _ succeeded: Bool) {
    outcomes[id] = succeeded
    ended.append(id)
    if ended.count > Self.maximumOutcomes, let oldest = ended.popFirst() { outcomes[oldest] = nil }
  }

  /// Ends a request; unless it succeeded, its successors never start.
  ///
  /// Returns these successors, which the caller must end.
  mutating func end(_ id: RequestID, succeeded: Bool) -> [RequestID] {
    guard let entry = entries.removeValue(forKey: id) else { return [] }
    remember(id, succeeded)
    if entry.isRunning {
      runningCount -= 1
      let left = running[entry.item.host, default: 1] - 1
      running[entry.item.host] = left > 0 ? left : nil
      unpark(entry.item.host)
    }
    guard succeeded else { return entry.successors.filter { entries[$0] != nil } }
    for other in entry.successors {
      entries[other]?.awaited -= 1
      if let next = entries[other], next.awaited == 0 { ready.insert(next.item) }
    }
    return []
  }
}

import MartletBase

/// Hands out the right to use a connection: so many per origin, so many in all, first come, first served.
///
/// Over HTTP/2 as many exchanges as ``streams`` count as one connection, but for the exclusive ones.
///
/// ```
///   acquire ─▶ slot at once, if origin and total have room
///           └▶ queue of the origin ─▶ slot, when one is released,     the longest wait first
///                     │               or HTTP/2 is agreed on
///                     └▶ the reason, when aborted
/// ```
///
/// Whoever waits is held back by its own origin or by the total, never by somebody who waits for another origin, nor for a
/// connection that it does not need.
final class ConnectionLimiter: Sendable {
  fileprivate struct Waiter {
    let number: Int
    let result: OneShot<ConnectionSlot>
  }

  /// Exchanges that can share their connections.
  fileprivate struct Pool: Hashable {
    enum Kind { case agreed, multiplexed }

    let origin: Origin
    let kind: Kind
  }

  /// With whom a request shares its connection.
  enum Version {
    /// With others, if client and server agree on HTTP/2.
    case agreed
    /// With nobody: it demands HTTP/1.1 or 1.0, or its response is streamed.
    case exclusive
    /// With others: it speaks HTTP/2 without TLS.
    case multiplexed
  }

  /// How many exchanges a connection of HTTP/2 carries at a time; libcurl's own limit.
  static let streams = 100

  fileprivate struct Limits {
    let perOrigin: Int
    let total: Int
    let requests: Int?
  }

  /// The exchanges under way of a pool.
  fileprivate struct Load {
    var active = 0
    /// How many of them share no connection.
    var exclusive = 0
    var isMultiplexed: Bool

    /// How many connections they need.
    var connections: Int {
      isMultiplexed ? exclusive + (active - exclusive + streams - 1) / streams : active
    }

    mutating func add(isExclusive: Bool) {
      active += 1
      if isExclusive { exclusive += 1 }
    }

    mutating func remove(isExclusive: Bool) {
      active -= 1
      if isExclusive { exclusive -= 1 }
    }
  }

  fileprivate struct Line {
    var load: Load
    /// Those that wait, in order of arrival.
    var queue = FirstInFirstOut<Waiter>()
    var exclusiveQueue = FirstInFirstOut<Waiter>()

    init(_ pool: Pool) { load = Load(isMultiplexed: pool.kind == .multiplexed) }
  }

  private struct State {
    var active = 0
    /// How many connections they need.
    var connections = 0
    var lines: [Pool: Line] = [:]
    /// The pools for which somebody waits.
    var crowded: Set<Pool> = []
    var nextNumber = 0

    mutating func change(_ pool: Pool, _ change: (inout Load) -> Void) {
      var load = lines[pool]?.load ?? Line(pool).load
      connections -= load.connections
      change(&load)
      connections += load.connections
      lines[pool, default: Line(pool)].load = load
    }
  }

  private let limits: Limits
  private let state = Locked(State())

  /// Makes a limiter of connections with one origin, of all, and of exchanges with one origin.
  ///
  /// Without the last, what the connections carry, and over HTTP/2 ``streams``.
  init(perOrigin: Int, total: Int, requests: Int? = nil) {
    limits = Limits(perOrigin: max(1, perOrigin), total: max(1, total), requests: requests.map { max(1, $0) })
  }

  /// The number of slots in use and of those waited for, for tests.
  var counts: (active: Int, waiting: Int) {
    state.withLock { ($0.active, $0.lines.values.reduce(0) { $0 + $1.waiting }) }
  }

  /// Whether exchanges with an origin are known to share connections.
  func isMultiplexed(_ origin: Origin) -> Bool {
    state.withLock { $0.lines[pool(origin, .agreed)]?.load.isMultiplexed ?? false }
  }

  func take(for origin: Origin, _ version: Version = .agreed) -> ConnectionSlot? {
    let taken = state.withLock { state in
      let pool = self.pool(origin, version)
      return take(pool, isExclusive: version == .exclusive, &state) ? pool : nil
    }
    return taken.map { ConnectionSlot(limiter: self, pool: $0, isExclusive: version == .exclusive) }
  }

  private func pool(_ origin: Origin, _ version: Version) -> Pool {
    Pool(origin: origin, kind: version == .multiplexed ? .multiplexed : .agreed)
  }

  /// With room nobody else can be waiting for this pool in the same way: a release serves all who can be served.
  private func take(_ pool: Pool, isExclusive: Bool, _ state: inout State) -> Bool {
    guard let load = load(pool, oneMore: isExclusive, state) else { return false }
    state.active += 1
    state.change(pool) { $0 = load }
    return true
  }

  /// The load of a pool with one more exchange; `nil` if that is too much.
  private func load(_ pool: Pool, oneMore isExclusive: Bool, _ state: State) -> Load? {
    let load = state.lines[pool]?.load ?? Line(pool).load
    let other = state.lines[Pool(origin: pool.origin, kind: pool.kind == .agreed ? .multiplexed : .agreed)]?.load
    if let requests = limits.requests {
      guard load.active + (other?.active ?? 0) < requests else { return nil }
    } else if load.isMultiplexed {
      guard load.active < max(Self.streams, limits.perOrigin) else { return nil }
    }
    var next = load
    next.add(isExclusive: isExclusive)
    let added = next.connections - load.connections
    let connections = next.connections + (other?.connections ?? 0)
    guard added == 0 || connections <= limits.perOrigin && state.connections + added <= limits.total else { return nil }
    return next
  }

  /// Takes a slot, waiting for one until the source ends that; it goes back when it is released, or dropped.
  func acquire(
    for origin: Origin, _ version: Version = .agreed, abort source: AbortSource, onWait: () -> Void = {}
  ) async throws -> ConnectionSlot {
    let isExclusive = version == .exclusive
    let (pool, waiter): (Pool, Waiter?) = state.withLock { state in
      let pool = self.pool(origin, version)
      if take(pool, isExclusive: isExclusive, &state) { return (pool, nil) }
      state.nextNumber += 1
      let waiter = Waiter(number: state.nextNumber, result: OneShot())
      state.lines[pool, default: Line(pool)][isExclusive].append(waiter)
      state.crowded.insert(pool)
      return (pool, waiter)
    }
    guard let waiter else { return ConnectionSlot(limiter: self, pool: pool, isExclusive: isExclusive) }
    let (number, result) = (waiter.number, waiter.result)
    onWait()
    let token = source.onAbort { error in
      self.leave(number, pool, isExclusive: isExclusive)
      result.resolve(.failure(error))
    }
    defer { source.remove(token) }
    return try await result.value()
  }

  /// Takes a slot for an exchange, and tells its call of the wait, if there is one.
  func acquire(
    for origin: Origin, _ context: RequestContext, version: Version = .agreed
  ) async throws -> ConnectionSlot {
    let source = context.exchange.abortSource
    try source.check()
    var hasWaited = false
    let slot = try await acquire(for: origin, version, abort: source) {
      hasWaited = true
      context.call.report(.waiting(.connectionSlot))
    }
    if hasWaited { context.call.report(.running) }
    return slot
  }

  fileprivate func release(_ pool: Pool, isExclusive: Bool) {
    let served: [Served] = state.withLock { state in
      state.active -= 1
      state.change(pool) { $0.remove(isExclusive: isExclusive) }
      // Kept for the next request to the same origin, up to a number that nobody would miss.
      if let line = state.lines[pool], line.load.active == 0, line.waiting == 0, state.lines.count > 32 {
        state.lines[pool] = nil
      }
      return serve(&state)
    }
    hand(served)
  }

  /// Takes note of whether exchanges of a pool share a connection.
  ///
  /// Tells whether the exchange that says so is exclusive now. Where more of them do than there may be connections,
  /// a server that agrees on HTTP/1 is one of several that have the same name: only the exchange that has met it has a
  /// connection by itself.
  fileprivate func note(_ pool: Pool, isMultiplexed: Bool, isExclusive: Bool) -> Bool {
    let (served, isExclusive): ([Served], Bool) = state.withLock { state in
      guard let load = state.lines[pool]?.load, load.isMultiplexed != isMultiplexed else { return ([], isExclusive) }
      guard isMultiplexed || load.active <= limits.perOrigin else {
        if !isExclusive { state.change(pool) { $0.exclusive += 1 } }
        return ([], true)
      }
      state.change(pool) { $0.isMultiplexed = isMultiplexed }
      return (serve(&state), isExclusive)
    }
    hand(served)
    return isExclusive
  }

  /// Takes note that an exchange shares no connection any more.
  fileprivate func becomesExclusive(_ pool: Pool) {
    state.withLock { state in state.change(pool) { $0.exclusive += 1 } }
  }

  private typealias Served = (waiter: Waiter, pool: Pool, isExclusive: Bool)

  /// Takes out the waiters that have room now, each with its slot.
  private func serve(_ state: inout State) -> [Served] {
    var served: [Served] = []
    while !state.crowded.isEmpty, let next = nextServed(state) {
      guard take(next.pool, isExclusive: next.isExclusive, &state) else { break }
      if let waiter = state.lines[next.pool]?[next.isExclusive].popFirst() {
        served.append((waiter, next.pool, next.isExclusive))
      }
      if state.lines[next.pool]?.waiting == 0 { state.crowded.remove(next.pool) }
    }
    return served
  }

  private func hand(_ served: [Served]) {
    // Who was aborted meanwhile does not take the slot, and dropping it releases it.
    for (waiter, pool, isExclusive) in served {
      waiter.result.resolve(.success(ConnectionSlot(limiter: self, pool: pool, isExclusive: isExclusive)))
    }
  }

  /// Who has waited longest among those that have room.
  private func nextServed(_ state: State) -> (pool: Pool, isExclusive: Bool)? {
    var best: (number: Int, pool: Pool, isExclusive: Bool)?
    for pool in state.crowded {
      guard let line = state.lines[pool] else { continue }
      for isExclusive in [false, true] {
        guard let number = line[isExclusive].first?.number, best.map({ number < $0.number }) ?? true,
          load(pool, oneMore: isExclusive, state) != nil
        else { continue }
        best = (number, pool, isExclusive)
      }
    }
    return best.map { ($0.pool, $0.isExclusive) }
  }

  private func leave(_ number: Int, _ pool: Pool, isExclusive: Bool) {
    let removed: Waiter? = state.withLock { state in
      let removed = state.lines[pool]?[isExclusive].removeFirst { $0.number == number }
      if let line = state.lines[pool], line.waiting == 0 {
        state.crowded.remove(pool)
        if line.load.active == 0, state.lines.count > 32 { state.lines[pool] = nil }
      }
      return removed
    }
    _ = removed
  }
}

extension ConnectionLimiter.Line {
  fileprivate var waiting: Int { queue.count + exclusiveQueue.count }

  fileprivate subscript(isExclusive: Bool) -> FirstInFirstOut<ConnectionLimiter.Waiter> {
    _read { if isExclusive { yield exclusiveQueue } else { yield queue } }
    _modify { if isExclusive { yield &exclusiveQueue } else { yield &queue } }
  }
}

/// The right to an exchange, until it is released or dropped.
final class ConnectionSlot: Sendable {
  private struct State {
    var isReleased = false
    /// Whether the exchange shares no connection.
    var isExclusive: Bool
  }

  private let limiter: ConnectionLimiter
  private let pool: ConnectionLimiter.Pool
  private let state: Locked<State>

  fileprivate init(limiter: ConnectionLimiter, pool: ConnectionLimiter.Pool, isExclusive: Bool) {
    self.limiter = limiter
    self.pool = pool
    state = Locked(State(isExclusive: isExclusive))
  }

  deinit { release() }

  /// Gives it back; more than once does nothing.
  func release() {
    if let isExclusive = end() { limiter.release(pool, isExclusive: isExclusive) }
  }

  /// Whether it is exclusive; `nil` if it was released before.
  private func end() -> Bool? {
    state.withLock { state in
      guard !state.isReleased else { return nil }
      state.isReleased = true
      return state.isExclusive
    }
  }

  /// Says whether HTTP/2 was agreed on, so that others can share the connection.
  func noteVersion(isMultiplexed: Bool) {
    state.withLock { state in
      guard !state.isReleased else { return }
      state.isExclusive = limiter.note(pool, isMultiplexed: isMultiplexed, isExclusive: state.isExclusive)
    }
  }

  /// The same right in other hands, so that a release of this one does nothing; `nil` if it was released.
  ///
  /// Whoever needs it after the end has no connection that others could share.
  func handOn() -> ConnectionSlot? {
    guard let isExclusive = end() else { return nil }
    if !isExclusive { limiter.becomesExclusive(pool) }
    return ConnectionSlot(limiter: limiter, pool: pool, isExclusive: true)
  }
}

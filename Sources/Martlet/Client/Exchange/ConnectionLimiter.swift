import MartletBase

/// Limits the connections per origin and in total, in order of arrival.
///
/// Over HTTP/2, up to ``streams`` exchanges count as one connection, except exclusive ones.
///
/// ```
///   acquire ─▶ slot at once, if origin and total have room
///           └▶ queue of the origin ─▶ slot, when one is released,     the longest wait first
///                     │               or HTTP/2 is agreed on
///                     └▶ the reason, when aborted
/// ```
///
/// A request waits only for its own origin or for the total, never behind a request that waits for another origin, nor
/// for a connection that it does not need.
final class ConnectionLimiter: Sendable {
  fileprivate struct Waiter {
    let number: Int
    let result: OneShot<ConnectionSlot>
  }

  /// What the exchanges with one origin need together, under the lock of the limiter.
  fileprivate final class Site: @unchecked Sendable {
    let origin: Origin
    var active = 0
    /// The number of connections that they need.
    var connections = 0

    init(_ origin: Origin) { self.origin = origin }
  }

  /// Exchanges that can share connections, under the lock of the limiter.
  ///
  /// A slot keeps its pool, so that an exchange looks up its origin only once.
  fileprivate final class Pool: @unchecked Sendable {
    let site: Site
    var load: Load
    /// The waiting requests, in order of arrival.
    var queue = FirstInFirstOut<Waiter>()
    var exclusiveQueue = FirstInFirstOut<Waiter>()

    init(_ site: Site, isMultiplexed: Bool) { (self.site, load) = (site, Load(isMultiplexed: isMultiplexed)) }

    var waiting: Int { queue.count + exclusiveQueue.count }

    subscript(isExclusive isExclusive: Bool) -> FirstInFirstOut<Waiter> {
      get { isExclusive ? exclusiveQueue : queue }
      _modify { if isExclusive { yield &exclusiveQueue } else { yield &queue } }
    }
  }

  private struct Pools {
    let agreed: Pool
    let multiplexed: Pool

    init(_ origin: Origin) {
      let site = Site(origin)
      (agreed, multiplexed) = (Pool(site, isMultiplexed: false), Pool(site, isMultiplexed: true))
    }

    var waiting: Int { agreed.waiting + multiplexed.waiting }
  }

  /// How a request shares its connection.
  enum Version {
    /// Shares it if client and server negotiate HTTP/2.
    case agreed
    /// Does not share it: the request requires HTTP/1.1 or 1.0, or a body is streamed.
    case exclusive
    /// Shares it: the request uses HTTP/2 without TLS.
    case multiplexed
  }

  /// The maximum number of exchanges per HTTP/2 connection; libcurl's own limit.
  static let streams = 100

  fileprivate struct Limits {
    let perOrigin: Int
    let total: Int
    let requests: Int?
  }

  /// The exchanges of a pool in progress.
  fileprivate struct Load {
    var active = 0
    /// The number of exchanges that share no connection.
    var exclusive = 0
    var isMultiplexed: Bool

    /// The number of connections that they need.
    var connections: Int {
      isMultiplexed ? exclusive + (active - exclusive + streams - 1) / streams : active
    }

    mutating func add(_ count: Int, isExclusive: Bool) {
      active += count
      if isExclusive { exclusive += count }
    }
  }

  private struct State {
    /// The number of connections that all exchanges need.
    var connections = 0
    var pools: [Origin: Pools] = [:]
    /// The pools of the last exchange: a client often has one server.
    var last: Pools?
    /// The pools with waiting requests.
    var crowded: [ObjectIdentifier: Pool] = [:]
    var nextNumber = 0

    mutating func pool(_ origin: Origin, _ version: Version) -> Pool {
      let known = last.flatMap { $0.agreed.site.origin == origin ? $0 : nil }
      let found = known ?? pools[origin] ?? Pools(origin)
      if known == nil {
        pools[origin] = found
        last = found
      }
      return version == .multiplexed ? found.multiplexed : found.agreed
    }

    mutating func change(_ pool: Pool, _ change: (inout Load) -> Void) {
      let old = pool.load
      change(&pool.load)
      let added = pool.load.connections - old.connections
      connections += added
      pool.site.connections += added
      pool.site.active += pool.load.active - old.active
    }

    /// Forgets an idle origin, unless there are few, which are kept for the next request.
    mutating func forget(_ site: Site) {
      guard pools.count > 32, site.active == 0 else { return }
      // A late waiter may have the site of an origin that has another one by now.
      guard let known = pools[site.origin], known.agreed.site === site, known.waiting == 0 else { return }
      pools[site.origin] = nil
      if last?.agreed.site === site { last = nil }
    }
  }

  private let limits: Limits
  private let state = Locked(State())

  /// Creates a limiter.
  ///
  /// It limits connections per origin, connections in total, and exchanges per origin. Without the last limit, the
  /// connections determine the number of exchanges; over HTTP/2 it is ``streams``, or `perOrigin` if that is larger.
  init(perOrigin: Int, total: Int, requests: Int? = nil) {
    limits = Limits(perOrigin: max(1, perOrigin), total: max(1, total), requests: requests.map { max(1, $0) })
  }

  /// The numbers of slots in use and of waiting requests, for tests.
  var counts: (active: Int, waiting: Int) {
    state.withLock { state in
      state.pools.values.reduce((0, 0)) { ($0.0 + $1.agreed.site.active, $0.1 + $1.waiting) }
    }
  }

  /// Whether exchanges with an origin are known to share connections.
  func isMultiplexed(_ origin: Origin) -> Bool {
    state.withLock { $0.pools[origin]?.agreed.load.isMultiplexed ?? false }
  }

  func take(for origin: Origin, _ version: Version = .agreed) -> ConnectionSlot? {
    let taken: Pool? = state.withLock { state in
      let pool = state.pool(origin, version)
      if take(pool, isExclusive: version == .exclusive, &state) { return pool }
      state.forget(pool.site)
      return nil
    }
    return taken.map { ConnectionSlot(limiter: self, pool: $0, isExclusive: version == .exclusive) }
  }

  /// Takes a slot for a pool if there is room.
  ///
  /// With room, no other request can be waiting for this pool in the same way: a release serves all requests that can
  /// be served.
  private func take(_ pool: Pool, isExclusive: Bool, _ state: inout State) -> Bool {
    guard let load = load(pool, oneMore: isExclusive, state) else { return false }
    state.change(pool) { $0 = load }
    return true
  }

  /// The load of a pool with one more exchange; `nil` above a limit.
  private func load(_ pool: Pool, oneMore isExclusive: Bool, _ state: State) -> Load? {
    let load = pool.load
    if let requests = limits.requests {
      guard pool.site.active < requests else { return nil }
    } else if load.isMultiplexed {
      guard load.active < max(Self.streams, limits.perOrigin) else { return nil }
    }
    var next = load
    next.add(1, isExclusive: isExclusive)
    let added = next.connections - load.connections
    let connections = pool.site.connections + added
    guard added == 0 || connections <= limits.perOrigin && state.connections + added <= limits.total else { return nil }
    return next
  }

  /// Takes a slot, waiting for one until the source aborts.
  ///
  /// The slot returns when it is released or dropped.
  func acquire(
    for origin: Origin, _ version: Version = .agreed, abort source: AbortSource, onWait: () -> Void = {}
  ) async throws -> ConnectionSlot {
    let isExclusive = version == .exclusive
    let (pool, waiter): (Pool, Waiter?) = state.withLock { state in
      let pool = state.pool(origin, version)
      if take(pool, isExclusive: isExclusive, &state) { return (pool, nil) }
      state.nextNumber += 1
      let waiter = Waiter(number: state.nextNumber, result: OneShot())
      pool[isExclusive: isExclusive].append(waiter)
      state.crowded[ObjectIdentifier(pool)] = pool
      return (pool, waiter)
    }
    guard let waiter else { return ConnectionSlot(limiter: self, pool: pool, isExclusive: isExclusive) }
    onWait()
    let token = source.onAbort { error in
      self.leave(waiter.number, pool, isExclusive: isExclusive)
      waiter.result.resolve(.failure(error))
    }
    defer { source.remove(token) }
    return try await waiter.result.value()
  }

  /// Takes a slot for an exchange, and reports a wait to its call.
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
      state.change(pool) { $0.add(-1, isExclusive: isExclusive) }
      state.forget(pool.site)
      return serve(&state)
    }
    hand(served)
  }

  /// Notes whether exchanges of a pool share a connection.
  ///
  /// Returns whether the reporting exchange is exclusive now. If a pool has more exchanges than the maximum number of
  /// connections, and a server negotiates HTTP/1, it is one of several servers with the same name. Then only the
  /// exchange with this server has its own connection.
  fileprivate func note(_ pool: Pool, isMultiplexed: Bool, isExclusive: Bool) -> Bool {
    let (served, isExclusive): ([Served], Bool) = state.withLock { state in
      let load = pool.load
      guard load.isMultiplexed != isMultiplexed else { return ([], isExclusive) }
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

  fileprivate func becomesExclusive(_ pool: Pool) {
    state.withLock { state in state.change(pool) { $0.exclusive += 1 } }
  }

  private typealias Served = (waiter: Waiter, pool: Pool, isExclusive: Bool)

  /// Removes the waiters for which there is room, each with its slot.
  private func serve(_ state: inout State) -> [Served] {
    var served: [Served] = []
    while !state.crowded.isEmpty, let next = nextServed(state) {
      guard take(next.pool, isExclusive: next.isExclusive, &state) else { break }
      if let waiter = next.pool[isExclusive: next.isExclusive].popFirst() {
        served.append((waiter, next.pool, next.isExclusive))
      }
      if next.pool.waiting == 0 { state.crowded[ObjectIdentifier(next.pool)] = nil }
    }
    return served
  }

  private func hand(_ served: [Served]) {
    // An aborted waiter does not take the slot, and dropping the slot releases it.
    for (waiter, pool, isExclusive) in served {
      waiter.result.resolve(.success(ConnectionSlot(limiter: self, pool: pool, isExclusive: isExclusive)))
    }
  }

  /// The longest waiting request for which there is room.
  private func nextServed(_ state: State) -> (pool: Pool, isExclusive: Bool)? {
    var best: (number: Int, pool: Pool, isExclusive: Bool)?
    for pool in state.crowded.values {
      for isExclusive in [false, true] {
        guard let number = pool[isExclusive: isExclusive].first?.number, best.map({ number < $0.number }) ?? true,
          load(pool, oneMore: isExclusive, state) != nil
        else { continue }
        best = (number, pool, isExclusive)
      }
    }
    return best.map { ($0.pool, $0.isExclusive) }
  }

  private func leave(_ number: Int, _ pool: Pool, isExclusive: Bool) {
    state.withLock { state in
      pool[isExclusive: isExclusive].removeFirst { $0.number == number }
      if pool.waiting == 0 {
        state.crowded[ObjectIdentifier(pool)] = nil
        state.forget(pool.site)
      }
    }
  }
}

/// The right to an exchange, until it is released or dropped.
final class ConnectionSlot: Sendable {
  private let limiter: ConnectionLimiter
  private let pool: ConnectionLimiter.Pool
  /// Whether the exchange shares no connection; `nil` once the slot was released.
  private let isExclusive: Locked<Bool?>

  fileprivate init(limiter: ConnectionLimiter, pool: ConnectionLimiter.Pool, isExclusive: Bool) {
    self.limiter = limiter
    self.pool = pool
    self.isExclusive = Locked(isExclusive)
  }

  deinit { release() }

  /// Releases the slot; calling it again does nothing.
  func release() {
    if let isExclusive = end() { limiter.release(pool, isExclusive: isExclusive) }
  }

  /// Ends the slot; returns whether it was exclusive, or `nil` if it had ended before.
  private func end() -> Bool? {
    isExclusive.withLock { isExclusive in
      defer { isExclusive = nil }
      return isExclusive
    }
  }

  /// Notes whether HTTP/2 was negotiated, so that others can share the connection.
  func noteVersion(isMultiplexed: Bool) {
    isExclusive.withLock { isExclusive in
      guard let known = isExclusive else { return }
      isExclusive = limiter.note(pool, isMultiplexed: isMultiplexed, isExclusive: known)
    }
  }

  /// Transfers the right to a new slot; `nil` if it was released.
  ///
  /// Releasing the old slot then does nothing. A right that outlasts its exchange has no connection that others could
  /// share.
  func handOn() -> ConnectionSlot? {
    guard let isExclusive = end() else { return nil }
    if !isExclusive { limiter.becomesExclusive(pool) }
    return ConnectionSlot(limiter: limiter, pool: pool, isExclusive: true)
  }
}

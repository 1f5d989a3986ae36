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
  private struct Waiter {
    let number: Int
    let result: Promise<ConnectionSlot>
  }

  /// Identifies a pool: exchanges with one origin that can share connections.
  ///
  /// An origin has two pools, because exchanges with and without prior knowledge of HTTP/2 share no connection. A slot
  /// stores the pool, so an exchange looks up its origin only once.
  fileprivate struct PoolID: Hashable {
    let site: Int
    let isMultiplexed: Bool
  }

  /// The use of a pool by an exchange.
  fileprivate struct Use: Hashable {
    let pool: PoolID
    /// Whether the exchange shares no connection.
    let isExclusive: Bool
  }

  /// The pools of one origin.
  private struct Site {
    let origin: Origin
    var agreed = Load(isMultiplexed: false)
    var multiplexed = Load(isMultiplexed: true)

    var active: Int { agreed.active + multiplexed.active }
    /// The number of connections that all its exchanges need.
    var connections: Int { agreed.connections + multiplexed.connections }
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

  private struct Limits {
    let perOrigin: Int
    let total: Int
    let requests: Int?
  }

  /// The exchanges of a pool in progress.
  private struct Load {
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

  private struct State: ~Copyable {
    /// The number of connections that all exchanges need.
    var connections = 0
    /// The sites; those in `free` belong to no origin.
    var sites: [Site] = []
    var free: [Int] = []
    var numbers: [Origin: Int] = [:]
    /// The site of the last exchange: a client often has one server.
    var last: Int?
    /// The waiting requests, in order of arrival; no queue is empty.
    var queues: [Use: FirstInFirstOut<Waiter>] = [:]
    var nextNumber = 0

    subscript(id: PoolID) -> Load {
      get { id.isMultiplexed ? sites[id.site].multiplexed : sites[id.site].agreed }
      _modify {
        if id.isMultiplexed { yield &sites[id.site].multiplexed } else { yield &sites[id.site].agreed }
      }
    }

    mutating func use(_ origin: Origin, _ version: Version) -> Use {
      Use(
        pool: PoolID(site: site(origin), isMultiplexed: version == .multiplexed), isExclusive: version == .exclusive)
    }

    private mutating func site(_ origin: Origin) -> Int {
      if let last, sites[last].origin == origin { return last }
      let number = numbers[origin] ?? free.popLast() ?? sites.count
      if number == sites.count {
        sites.append(Site(origin: origin))
      } else if sites[number].origin != origin {
        sites[number] = Site(origin: origin)
      }
      numbers[origin] = number
      last = number
      return number
    }

    mutating func change(_ pool: PoolID, _ change: (inout Load) -> Void) {
      connections -= self[pool].connections
      change(&self[pool])
      connections += self[pool].connections
    }

    mutating func forgetQueue(_ use: Use) {
      if queues[use]?.isEmpty == true { queues[use] = nil }
    }

    private func isAwaited(_ number: Int) -> Bool {
      [false, true].contains { isMultiplexed in
        let pool = PoolID(site: number, isMultiplexed: isMultiplexed)
        return [false, true].contains { queues[Use(pool: pool, isExclusive: $0)] != nil }
      }
    }

    /// Removes an idle origin; a few idle origins are kept for the next request.
    mutating func forget(_ number: Int) {
      let site = sites[number]
      // A late waiter may have the number of a site that is free by now.
      guard numbers.count > 32, site.active == 0, numbers[site.origin] == number, !isAwaited(number) else { return }
      numbers[site.origin] = nil
      sites[number] = Site(origin: site.origin)
      free.append(number)
      if last == number { last = nil }
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
      (state.sites.reduce(0) { $0 + $1.active }, state.queues.values.reduce(0) { $0 + $1.count })
    }
  }

  /// The numbers of waiting requests by origin.
  var waitingByOrigin: [Origin: Int] {
    state.withLock { state in
      var counts: [Origin: Int] = [:]
      for (use, queue) in state.queues { counts[state.sites[use.pool.site].origin, default: 0] += queue.count }
      return counts
    }
  }

  /// Whether exchanges with an origin are known to share connections.
  func isMultiplexed(_ origin: Origin) -> Bool {
    state.withLock { state in state.numbers[origin].map { state.sites[$0].agreed.isMultiplexed } ?? false }
  }

  func take(for origin: Origin, _ version: Version = .agreed) -> ConnectionSlot? {
    let taken: Use? = state.withLock { state in
      let use = state.use(origin, version)
      if take(use, &state) { return use }
      state.forget(use.pool.site)
      return nil
    }
    return taken.map { ConnectionSlot(self, $0) }
  }

  /// Acquires a slot for a pool if there is room.
  ///
  /// With room, no other request can be waiting for this pool in the same way: a release serves all requests that can
  /// be served.
  private func take(_ use: Use, _ state: inout State) -> Bool {
    guard let load = load(withOneMore: use, state) else { return false }
    state.change(use.pool) { $0 = load }
    return true
  }

  /// The load of a pool with one more exchange; `nil` above a limit.
  private func load(withOneMore use: Use, _ state: borrowing State) -> Load? {
    let load = state[use.pool]
    if let requests = limits.requests {
      guard state.sites[use.pool.site].active < requests else { return nil }
    } else if load.isMultiplexed {
      guard load.active < max(Self.streams, limits.perOrigin) else { return nil }
    }
    var next = load
    next.add(1, isExclusive: use.isExclusive)
    let added = next.connections - load.connections
    let connections = state.sites[use.pool.site].connections + added
    guard added == 0 || connections <= limits.perOrigin && state.connections + added <= limits.total else { return nil }
    return next
  }

  /// Acquires a slot, waiting for one until the source aborts.
  ///
  /// The slot returns when it is released or dropped.
  func acquire(
    for origin: Origin, _ version: Version = .agreed, abort source: AbortSource, onWait: () -> Void = {}
  ) async throws -> ConnectionSlot {
    let (use, waiter): (Use, Waiter?) = state.withLock { state in
      let use = state.use(origin, version)
      if take(use, &state) { return (use, nil) }
      state.nextNumber += 1
      let waiter = Waiter(number: state.nextNumber, result: Promise())
      state.queues[use, default: FirstInFirstOut()].append(waiter)
      return (use, waiter)
    }
    guard let waiter else { return ConnectionSlot(self, use) }
    onWait()
    let token = source.onAbort { error in
      self.leave(waiter.number, use)
      waiter.result.resolve(.failure(error))
    }
    defer { source.remove(token) }
    return try await waiter.result.take()
  }

  /// Acquires a slot for an exchange, and reports a wait to its call.
  func acquire(
    for origin: Origin, _ context: RequestContext, version: Version = .agreed
  ) async throws -> ConnectionSlot {
    let source = context.exchange.abortSource
    try source.check()
    var hasWaited = false
    defer { if hasWaited { context.call.report(.running) } }
    return try await acquire(for: origin, version, abort: source) {
      hasWaited = true
      context.call.report(.waiting(.connectionSlot))
    }
  }

  fileprivate func release(_ use: Use) {
    let served: [Served] = state.withLock { state in
      state.change(use.pool) { $0.add(-1, isExclusive: use.isExclusive) }
      state.forget(use.pool.site)
      return serve(&state)
    }
    hand(served)
  }

  /// Records whether exchanges of a pool share a connection.
  ///
  /// Returns whether the reporting exchange is exclusive now. If a pool has more exchanges than the maximum number of
  /// connections, and a server negotiates HTTP/1, it is one of several servers with the same name. Then only the
  /// exchange with this server has its own connection.
  fileprivate func record(_ use: Use, isMultiplexed: Bool) -> Bool {
    let (served, isExclusive): ([Served], Bool) = state.withLock { state in
      let load = state[use.pool]
      guard load.isMultiplexed != isMultiplexed else { return ([], use.isExclusive) }
      guard isMultiplexed || load.active <= limits.perOrigin else {
        if !use.isExclusive { state.change(use.pool) { $0.exclusive += 1 } }
        return ([], true)
      }
      state.change(use.pool) { $0.isMultiplexed = isMultiplexed }
      return (serve(&state), use.isExclusive)
    }
    hand(served)
    return isExclusive
  }

  fileprivate func becomesExclusive(_ pool: PoolID) {
    state.withLock { state in state.change(pool) { $0.exclusive += 1 } }
  }

  private typealias Served = (waiter: Waiter, use: Use)

  /// Removes the waiters for which there is room, each with its slot.
  private func serve(_ state: inout State) -> [Served] {
    var served: [Served] = []
    while let next = nextServed(state) {
      guard take(next, &state) else { break }
      if let waiter = state.queues[next]?.popFirst() { served.append((waiter, next)) }
      state.forgetQueue(next)
    }
    return served
  }

  private func hand(_ served: [Served]) {
    // An aborted waiter does not take the slot, and dropping the slot releases it.
    for (waiter, use) in served { waiter.result.resolve(.success(ConnectionSlot(self, use))) }
  }

  /// The use for which the longest waiting request waits, of those for which there is room.
  private func nextServed(_ state: borrowing State) -> Use? {
    var best: (number: Int, use: Use)?
    for (use, queue) in state.queues {
      guard let number = queue.first?.number, best.map({ number < $0.number }) ?? true,
        load(withOneMore: use, state) != nil
      else { continue }
      best = (number, use)
    }
    return best?.use
  }

  private func leave(_ number: Int, _ use: Use) {
    state.withLock { state in
      state.queues[use]?.removeFirst { $0.number == number }
      state.forgetQueue(use)
      state.forget(use.pool.site)
    }
  }
}

/// The right to an exchange, until it is released or dropped.
final class ConnectionSlot: Sendable {
  private let limiter: ConnectionLimiter
  private let pool: ConnectionLimiter.PoolID
  /// Whether the exchange shares no connection; `nil` once the slot was released.
  private let isExclusive: Locked<Bool?>

  fileprivate init(_ limiter: ConnectionLimiter, _ use: ConnectionLimiter.Use) {
    self.limiter = limiter
    pool = use.pool
    isExclusive = Locked(use.isExclusive)
  }

  deinit { release() }

  /// Releases the slot; calling it again does nothing.
  func release() {
    if let isExclusive = end() { limiter.release(.init(pool: pool, isExclusive: isExclusive)) }
  }

  /// Ends the slot; returns whether it was exclusive, or `nil` if it had ended before.
  private func end() -> Bool? { isExclusive.withLock { $0.take() } }

  /// Records whether HTTP/2 was negotiated and other requests can share the connection.
  func recordVersion(isMultiplexed: Bool) {
    isExclusive.withLock { isExclusive in
      guard let known = isExclusive else { return }
      isExclusive = limiter.record(.init(pool: pool, isExclusive: known), isMultiplexed: isMultiplexed)
    }
  }

  /// Transfers the right to a new slot; `nil` if it was released.
  ///
  /// Releasing the old slot then does nothing. A right that outlasts its exchange has no connection that others could
  /// share.
  func handOn() -> ConnectionSlot? {
    guard let isExclusive = end() else { return nil }
    if !isExclusive { limiter.becomesExclusive(pool) }
    return ConnectionSlot(limiter, .init(pool: pool, isExclusive: true))
  }
}

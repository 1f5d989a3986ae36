import MartletBase

/// The servers of a client's cluster, and their state; derived clients share it.
final class ServerPool: Sendable {
  let cluster: Cluster
  /// The URL of the service.
  let base: AbsoluteURL
  let urls: [AbsoluteURL]
  /// The pool's own timeline, because clients that share it were created at different times.
  private let timeline: Timeline
  private let table: Locked<ServerTable>

  init(_ cluster: Cluster, base: AbsoluteURL, _ urls: [AbsoluteURL], _ clock: any Clock<Duration>, random: Double) {
    (self.cluster, self.base, self.urls) = (cluster, base, urls)
    timeline = Timeline(clock)
    table = Locked(ServerTable(cluster, random: random))
  }

  /// The numbers of requests in progress, for tests.
  var inFlight: [Int] { table.withLock { $0.servers.map(\.inFlight) } }

  fileprivate func choose(after tried: [Int], first: Int?, isMove: Bool) -> ServerTable.Choice {
    let now = timeline.now()
    return table.withLock { $0.choose(after: tried, first: first, isMove: isMove, now: now) }
  }

  fileprivate func use(_ index: Int) -> ServerTable.Choice { table.withLock { $0.use(index) } }

  fileprivate func hasOther(than tried: [Int]) -> Bool {
    let now = timeline.now()
    return table.withLock { $0.hasOther(than: tried, now: now) }
  }

  fileprivate func respond(_ outcome: ServerTable.Outcome, _ choice: ServerTable.Choice, random: Double) -> Duration? {
    let now = timeline.now()
    return table.withLock {
      $0.respond(outcome, at: choice.index, isProbe: choice.isProbe, now: now, random: random)
    }
  }

  fileprivate func end(_ index: Int) { table.withLock { $0.end(index) } }
}

extension AbsoluteURL {
  /// Whether a URL has the origin of a server, or the one that HSTS changes it to.
  func isLocated(at server: AbsoluteURL) -> Bool {
    origin == server.origin || isSecure && !server.isSecure && origin == server.secure?.origin
  }
}

/// The servers that the attempts of one request have used.
final class ServerTrail: Sendable {
  private struct State {
    var tried: [Int] = []
    var attempt = 1
    /// The server of the current attempt, and that of its hedge, which uses another one.
    var current, hedge: ServerUse?
    var exchanges = Exchanges()
    /// The number of moves to another server.
    var moves = 0
    /// Whether the attempt is a move.
    var isMove = false
  }

  /// The outcomes of an attempt's exchanges.
  struct Exchanges {
    /// Whether the last exchange failed because of its server.
    private(set) var hasFailed = false
    /// Whether the last exchange could not reach its server, or sent it no request.
    private(set) var isUnreached = false
    /// Whether a server may have processed the request.
    private(set) var mayBeProcessed = false

    mutating func add(_ status: HTTPStatus) {
      (hasFailed, isUnreached) = (false, false)
      // A request without the right credential is not processed.
      if status != .unauthorized, status.rawValue != 407 { mayBeProcessed = true }
    }

    mutating func add(_ error: HTTPError) {
      // The server is overloaded: the next attempt waits, as after a 503.
      let isOverload = error.http2ErrorCode == HTTPError.enhanceYourCalm
      hasFailed = error.concernsServer && !isOverload || error.kind == .circuitOpen
      isUnreached = hasFailed && (error.isUnreached || error.kind == .circuitOpen)
      if error.mayHaveReachedServer { mayBeProcessed = true }
    }
  }

  let pool: ServerPool
  /// The server that a redirect leads to; the policy chooses the servers of further attempts.
  private let first: Int?
  private let state = Locked(State())

  init(_ pool: ServerPool, first: Int?) { (self.pool, self.first) = (pool, first) }

  /// Begins an attempt, which has its own server and outcome.
  func begin(_ attempt: Int) {
    state.withLock { state in
      state.attempt = attempt
      (state.current, state.hedge, state.exchanges) = (nil, nil, Exchanges())
    }
  }

  /// The server of an attempt, which all its exchanges use.
  ///
  /// Nonces, and connections that are authenticated, are known to one server only.
  func use(for attempt: Int, isHedge: Bool) -> ServerUse {
    state.withLock { state in
      let current = isHedge || state.attempt != attempt ? nil : state.current
      if let current, current.begin() { return current }
      let choice =
        current.map { pool.use($0.choice.index) }
        ?? pool.choose(after: state.tried, first: state.tried.isEmpty ? first : nil, isMove: state.isMove)
      let use = ServerUse(pool, choice)
      if !state.tried.contains(choice.index) { state.tried.append(choice.index) }
      // An exchange of an earlier attempt may be late.
      guard state.attempt == attempt else { return use }
      state.isMove = false
      if isHedge { state.hedge = use } else { state.current = use }
      return use
    }
  }

  /// Records the response of an exchange.
  func record(_ status: HTTPStatus, attempt: Int) {
    state.withLock { if $0.attempt == attempt { $0.exchanges.add(status) } }
  }

  /// Records the failure of an exchange.
  func record(_ error: HTTPError, attempt: Int) {
    state.withLock { if $0.attempt == attempt { $0.exchanges.add(error) } }
  }

  /// Makes the server of the hedge the one of the attempt, because its response is used.
  func promoteHedge() { state.withLock { $0.current = $0.hedge ?? $0.current } }

  /// The server of the current attempt.
  var server: AbsoluteURL? { state.withLock { $0.current?.url } }

  /// The server of the current attempt if it is an origin like any other; `nil` if all servers are one service.
  var ownServer: String? { pool.cluster.isOneService ? nil : server.map { "\($0.origin)" } }

  /// Whether the attempt failed because of its server, and another one is not left out.
  var hasOtherServer: Bool { state.withLock { $0.exchanges.hasFailed && pool.hasOther(than: $0.tried) } }

  /// Takes one of the moves of a request that did not reach its server; returns `false` if none is left.
  ///
  /// No exchange of the attempt may have been processed, because middleware may repeat a request that was. If all other
  /// servers are left out, one of them is tried.
  func takeMove(after error: HTTPError) -> Bool {
    state.withLock { state in
      guard !error.mayHaveReachedServer, state.exchanges.isUnreached, !state.exchanges.mayBeProcessed,
        state.moves < pool.urls.count - 1, state.moves == 0 || pool.hasOther(than: state.tried)
      else { return false }
      state.moves += 1
      state.isMove = true
      return true
    }
  }
}

/// The use of a server by an attempt, which counts as in progress until its stage and its exchanges have ended.
final class ServerUse: Sendable {
  private struct State {
    var holds = 1
    var hasResponded = false
  }

  let choice: ServerTable.Choice
  private let pool: ServerPool
  private let state = Locked(State())

  var url: AbsoluteURL { pool.urls[choice.index] }

  init(_ pool: ServerPool, _ choice: ServerTable.Choice) { (self.pool, self.choice) = (pool, choice) }

  /// Keeps the use in progress until ``end()``; returns `false` if it has ended.
  func begin() -> Bool {
    state.withLock { state in
      guard state.holds > 0 else { return false }
      state.holds += 1
      return true
    }
  }

  func end() {
    let (isLast, hasResponded): (Bool, Bool) = state.withLock { state in
      state.holds -= 1
      return (state.holds == 0, state.hasResponded)
    }
    guard isLast else { return }
    // A stored response, for example, needed no exchange.
    if !hasResponded { _ = pool.respond(.unknown, choice, random: 0) }
    pool.end(choice.index)
  }

  /// Records the outcome of an exchange; returns the pause if the server is left out from now on.
  func respond(_ outcome: ServerTable.Outcome, random: Double) -> Duration? {
    state.withLock { $0.hasResponded = true }
    return pool.respond(outcome, choice, random: random)
  }

  /// A hold that ends once.
  final class Hold: Sendable {
    private let use: ServerUse
    private let isOver = Locked(false)

    init?(_ use: ServerUse) {
      guard use.begin() else { return nil }
      self.use = use
    }

    deinit { end() }

    func end() {
      let isFirst = isOver.withLock { isOver in
        defer { isOver = true }
        return !isOver
      }
      if isFirst { use.end() }
    }
  }
}

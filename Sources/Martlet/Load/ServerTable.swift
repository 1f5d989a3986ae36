import MartletBase

/// Chooses a server of a cluster for an attempt, and leaves out servers that fail.
///
/// Each server has the circuit of a ``CircuitBreaker``, whose pause grows. It contains no lock and no clock;
/// ``ServerPool`` adds them.
struct ServerTable {
  struct Server {
    fileprivate(set) var circuit = Circuit()
    /// The number of times that the circuit has opened since the last response.
    fileprivate var openings = 0
    fileprivate(set) var inFlight = 0
    /// The time at which another request may test the server, because the last one still waits for the client.
    fileprivate var probeEnd = Duration.zero
  }

  struct Choice: Equatable {
    let index: Int
    /// Whether the request is the only one that tests a server that was left out.
    var isProbe = false
  }

  /// The outcome of an exchange with a server.
  enum Outcome {
    case response
    /// No response, or a status that counts as a failure.
    indirect case failure(HTTPError, isUnreached: Bool)
    /// The exchange says nothing about the server.
    case unknown
  }

  /// The maximum pause, unless the circuit breaker's own one is longer.
  static let maximumPause = Duration.seconds(60)

  private(set) var servers: [Server]
  private let policy: Cluster.Policy
  private let health: CircuitBreaker
  private var turn: Int

  /// `random` is a number from 0 up to 1: clients that start together should not begin with the same server.
  init(_ cluster: Cluster, random: Double) {
    servers = Array(repeating: Server(), count: cluster.servers.count)
    (policy, health) = (cluster.policy, cluster.health)
    turn = Int(random * Double(servers.count))
  }

  // MARK: Choosing

  /// Chooses a server, and counts the request as in progress.
  ///
  /// A server that is not left out takes precedence, then one that was not tried, then the policy's order. `first` is
  /// used even if it is left out. After a move, a server that was not tried takes precedence: a circuit may refuse the
  /// other ones.
  mutating func choose(after tried: [Int], first: Int? = nil, isMove: Bool = false, now: Duration) -> Choice {
    var best = 0
    var bestRank = (Int.max, Int.max)
    for offset in servers.indices {
      let index = policy == .inOrder ? offset : (turn + offset) % servers.count
      servers[index].circuit.notice(now, .afterFailures(1, pause: longestPause))
      servers[index].probeEnd = min(servers[index].probeEnd, now.adding(longestPause))
      let rank = (
        index == first ? -1 : (isLeftOut(index, now) ? 2 : 0) + (tried.contains(index) ? isMove ? 3 : 1 : 0),
        policy == .leastInFlight ? servers[index].inFlight : 0
      )
      if rank < bestRank { (best, bestRank) = (index, rank) }
    }
    turn = (best + 1) % max(servers.count, 1)
    var choice = use(best)
    guard !servers[best].circuit.isClosed, !isLeftOut(best, now) else { return choice }
    servers[best].circuit.probe()
    servers[best].probeEnd = now.adding(longestPause)
    choice.isProbe = true
    return choice
  }

  /// Counts another request to a server as in progress.
  mutating func use(_ index: Int) -> Choice {
    servers[index].inFlight += 1
    return Choice(index: index)
  }

  func isLeftOut(_ index: Int, _ now: Duration) -> Bool {
    guard let refusal = servers[index].circuit.refusal(now: now) else { return false }
    return refusal > .zero || now < servers[index].probeEnd
  }

  /// Whether a server remains that was not tried, and is not left out.
  func hasOther(than tried: [Int], now: Duration) -> Bool {
    servers.indices.contains { !tried.contains($0) && !isLeftOut($0, now) }
  }

  // MARK: Exchanges

  /// Records the end of a request.
  mutating func end(_ index: Int) { servers[index].inFlight = max(servers[index].inFlight - 1, 0) }

  /// Records the outcome of an exchange; returns the pause if the server is left out from now on.
  mutating func respond(
    _ outcome: Outcome, at index: Int, isProbe: Bool, now: Duration, random: Double
  ) -> Duration? {
    switch outcome {
    case .response:
      servers[index].circuit.succeeded()
      servers[index].openings = 0
    case .failure(let error, let isUnreached):
      guard !health.isOff else { return nil }
      let pause = health.pause.doubled(servers[index].openings, upTo: longestPause) * (1 - random / 2)
      let breaker = CircuitBreaker.afterFailures(isUnreached ? 1 : health.failures, pause: pause)
      guard servers[index].circuit.failed(error, isProbe: isProbe, breaker, now: now) else { return nil }
      servers[index].openings += 1
      return pause
    case .unknown:
      if isProbe { servers[index].circuit.probeEnded(now: now) }
    }
    return nil
  }

  private var longestPause: Duration { max(Self.maximumPause, health.pause) }
}

extension HTTPError {
  /// Whether an exchange failed because of its server, or of the network to it.
  ///
  /// An exchange that ended while it waited for the client itself says nothing about the server.
  var concernsServer: Bool {
    phase != .queued && !isExhaustion && (isConnectivity || isTimeout || kind == .tls || kind == .protocolViolation)
  }

  /// Whether no connection to the server could be opened, so another server can receive the request.
  var isUnreached: Bool {
    guard !mayHaveReachedServer, !isExhaustion else { return false }
    return kind == .cannotConnect || kind == .tls || phase == .connecting && (isConnectivity || isTimeout)
  }
}

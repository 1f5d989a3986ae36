/// Observes whether the machine has a network.
///
/// Whoever knows it can save an ``Outbox`` useless attempts, and have it try at once when the network is back.
public protocol Connectivity: Sendable {
  /// The state now, and then each change.
  var states: AsyncStream<ConnectivityState> { get }
}

/// The state of the network.
public enum ConnectivityState: Sendable, Hashable {
  /// Nothing: what becomes of requests will tell.
  case unknown
  /// There is one.
  case connected
  /// There is none; nothing is sent.
  case disconnected
}

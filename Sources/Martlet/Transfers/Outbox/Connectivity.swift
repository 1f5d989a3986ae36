/// Observes whether the machine has a network.
///
/// Whoever knows it can save an ``Outbox`` useless attempts, and have it try at once when the network is back.
public protocol Connectivity: Sendable {
  /// The state now, and then each change.
  var states: AsyncStream<ConnectivityState> { get }
}

/// The state of the network.
public enum ConnectivityState: Sendable, Hashable {
  /// Unknown: the outbox infers it from requests.
  case unknown
  /// There is a network.
  case connected
  /// There is no network; nothing is sent.
  case disconnected
}

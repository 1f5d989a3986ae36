/// Observes whether the machine has a network.
///
/// It saves an ``Outbox`` useless attempts, and lets it retry as soon as the network is back.
public protocol Connectivity: Sendable {
  /// The current state, then each change.
  var states: AsyncStream<ConnectivityState> { get }
}

/// The state of the network.
@nonexhaustive public enum ConnectivityState: Sendable, Hashable {
  /// Unknown: the outbox infers it from requests.
  case unknown
  /// There is a network.
  case connected
  /// There is no network; nothing is sent.
  case disconnected
}

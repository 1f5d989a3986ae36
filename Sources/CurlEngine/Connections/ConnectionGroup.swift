package import MartletBase

/// The exchanges that may share connections; each kind has its own engine.
///
/// libcurl keeps HTTP versions apart only for a request that requires HTTP/1. As soon as there is an HTTP/2 connection
/// to the host, libcurl sends a request that may use HTTP/2 on an HTTP/1.1 connection that another request is using.
package enum ConnectionGroup {
  /// Exchanges that negotiate the version by TLS, and those without TLS except prior knowledge.
  case agreed
  /// Exchanges that require HTTP/1 over TLS.
  case serial
  case priorKnowledge
  /// Exchanges that may use QUIC, whose connections the engine does not examine.
  case http3
  /// Exchanges that ask for another protocol, which keep their connections.
  case upgraded

  package init(_ route: CurlRoute?, _ origin: Origin, isUpgrade: Bool) {
    guard !isUpgrade else {
      self = .upgraded
      return
    }
    switch route?.version ?? .automatic {
    case .http1_0, .http1_1: self = origin.scheme == "https" ? .serial : .agreed
    case .priorKnowledge: self = .priorKnowledge
    case .http3: self = .http3
    case .automatic: self = .agreed
    }
  }
}

package import MartletBase

/// With which other exchanges one may share connections; each kind has an engine of its own.
///
/// libcurl tells the versions of connections apart only for a request that demands HTTP/1. One that may have HTTP/2 is sent
/// on a connection of HTTP/1.1 that another request is using, as soon as there is one of HTTP/2 with the same host.
package enum CurlSharing {
  /// Those that leave the version to TLS, and all without TLS but those below.
  case agreed
  /// Those that demand HTTP/1 over TLS.
  case serial
  /// HTTP/2 without TLS.
  case priorKnowledge

  package init(_ route: CurlRoute?, _ origin: Origin) {
    switch route?.version ?? .automatic {
    case .http1_0, .http1_1: self = origin.scheme == "https" ? .serial : .agreed
    case .priorKnowledge: self = .priorKnowledge
    case .automatic: self = .agreed
    }
  }
}

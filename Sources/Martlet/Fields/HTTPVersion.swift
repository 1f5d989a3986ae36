/// A version of HTTP, of a response (``HTTPResponse/httpVersion``) or for a request (``RequestOptions/httpVersion``).
public struct HTTPVersion: Sendable, Hashable, CustomStringConvertible {
  /// The name: `automatic`, `1.0`, `1.1`, `2` or `2-prior-knowledge`.
  public let description: String

  /// Creates a version from its name.
  ///
  /// - Parameter description: The name, such as `3`. A request with a version other than the static ones fails with
  ///   ``HTTPError/Kind/invalidRequest``.
  public init(_ description: String) { self.description = description }

  /// HTTP/2 if the server offers it in the TLS handshake (RFC 7301), otherwise HTTP/1.1; the default.
  public static let automatic = HTTPVersion("automatic")
  /// HTTP/1.0, which has no chunked request bodies.
  public static let http1_0 = HTTPVersion("1.0")
  /// HTTP/1.1 (RFC 9112), even if the server offers HTTP/2.
  public static let http1_1 = HTTPVersion("1.1")
  /// HTTP/2 (RFC 9113) over TLS, or HTTP/1.1 if the server does not offer HTTP/2.
  ///
  /// Without TLS the request fails with ``HTTPError/Kind/unsupported``; see ``http2PriorKnowledge``.
  public static let http2 = HTTPVersion("2")
  /// HTTP/2 without TLS, with prior knowledge (RFC 9113 §3.3); over TLS the same as ``http2``.
  ///
  /// For servers that are known to support it, such as those behind a proxy that terminates TLS. If the server does
  /// not, the request fails with an error that says so. Other requests do not share the connections of such requests;
  /// with libcurl 7.88 each has its own. Through an HTTP proxy without TLS they fail with
  /// ``HTTPError/Kind/unsupported``.
  public static let http2PriorKnowledge = HTTPVersion("2-prior-knowledge")

  /// Why no request can use this version, or `nil` if it can.
  var problem: String? {
    let known: [HTTPVersion] = [.automatic, .http1_0, .http1_1, .http2, .http2PriorKnowledge]
    return known.contains(self)
      ? nil : "no request can be sent with HTTP version '\(InvalidInput.printable(description))'"
  }
}

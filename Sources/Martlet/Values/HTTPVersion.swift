/// A version of HTTP: of a response (``HTTPResponse/httpVersion``), or to send a request with
/// (``RequestOptions/httpVersion``).
public struct HTTPVersion: Sendable, Hashable, CustomStringConvertible {
  /// The name: `automatic`, `1.0`, `1.1`, `2` or `2-prior-knowledge`.
  public let description: String

  /// Creates a version.
  ///
  /// - Parameter description: Its name, such as `3`. A request can be sent with the static versions only; with others it
  ///   fails with ``HTTPError/Kind/invalidRequest``.
  public init(_ description: String) { self.description = description }

  /// HTTP/2 where the server offers it in the TLS handshake (RFC 7301), else HTTP/1.1; the default.
  public static let automatic = HTTPVersion("automatic")
  /// HTTP/1.0, which has no chunked request bodies.
  public static let http1_0 = HTTPVersion("1.0")
  /// HTTP/1.1 (RFC 9112), also where the server offers HTTP/2.
  public static let http1_1 = HTTPVersion("1.1")
  /// HTTP/2 (RFC 9113) over TLS, and HTTP/1.1 from a server that does not offer it.
  ///
  /// Without TLS the request fails with ``HTTPError/Kind/unsupported``; see ``http2PriorKnowledge``.
  public static let http2 = HTTPVersion("2")
  /// HTTP/2 without TLS from the first byte on (RFC 9113 §3.3); over TLS the same as ``http2``.
  ///
  /// For servers that are known to speak it, such as those behind a proxy that ends TLS. One that does not ends the
  /// request with an error that says so. Such requests have connections of their own, which they share with no others;
  /// with libcurl 7.88 each has one.
  /// Through an HTTP proxy without TLS they fail with ``HTTPError/Kind/unsupported``.
  public static let http2PriorKnowledge = HTTPVersion("2-prior-knowledge")

  /// Why no request can be sent with it, if that is so.
  var problem: String? {
    let known: [HTTPVersion] = [.automatic, .http1_0, .http1_1, .http2, .http2PriorKnowledge]
    return known.contains(self)
      ? nil : "no request can be sent with HTTP version '\(InvalidInput.printable(description))'"
  }
}

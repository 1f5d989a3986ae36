/// The version of HTTP that a request is sent with.
///
/// The version of the answer is ``HTTPResponse/httpVersion``.
public struct HTTPVersion: Sendable, Hashable, CustomStringConvertible {
  /// The name: `automatic`, `1.0`, `1.1` or `2`.
  public let description: String

  private init(_ name: String) { description = name }

  /// HTTP/2 where the server offers it in the TLS handshake (RFC 7301), else HTTP/1.1; the default.
  public static let automatic = HTTPVersion("automatic")
  /// HTTP/1.0, which has no chunked request bodies.
  public static let http1_0 = HTTPVersion("1.0")
  /// HTTP/1.1 (RFC 9112), also where the server offers HTTP/2.
  public static let http1_1 = HTTPVersion("1.1")
  /// HTTP/2 (RFC 9113) over TLS, and HTTP/1.1 from a server that does not offer it.
  ///
  /// Without TLS the request fails with ``HTTPError/Kind/unsupported``.
  public static let http2 = HTTPVersion("2")
}

/// The version of HTTP of a response, such as ``HTTPResponse/httpVersion``.
public struct HTTPVersion: Sendable, Hashable, CustomStringConvertible {
  /// The number: `1.0`, `1.1`, `2` or another.
  public let description: String

  /// Creates a version from its number.
  ///
  /// - Parameter description: The number, such as `3`.
  public init(_ description: String) { self.description = description }

  /// HTTP/1.0 (RFC 1945).
  public static let http1_0 = HTTPVersion("1.0")
  /// HTTP/1.1 (RFC 9112).
  public static let http1_1 = HTTPVersion("1.1")
  /// HTTP/2 (RFC 9113).
  public static let http2 = HTTPVersion("2")
  /// HTTP/3 (RFC 9114).
  public static let http3 = HTTPVersion("3")
}

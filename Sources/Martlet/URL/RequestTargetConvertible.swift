public import MartletBase

/// A value that is a request target as a whole, such as a `URL` or a `String` in a variable.
///
/// Requests accept such a value where they accept a ``RequestTarget`` literal:
///
/// ```swift
/// let response = try await client.get(url)
/// ```
///
/// The value is a complete URL, or a path with a query that is joined to the base URL. Nothing in it is escaped again,
/// so build it from trusted parts. An invalid value throws ``HTTPError/Kind/invalidRequest`` before anything is sent.
///
/// A literal is always a ``RequestTarget``, and the values interpolated into it are escaped. To make an enum of routes
/// a target, let it conform. Functions that pass on a target should accept a ``RequestTarget``. With a parameter of
/// this protocol, a literal would be a `String`, and nothing in it would be escaped.
public protocol RequestTargetConvertible {
  /// The target.
  var requestTarget: RequestTarget { get }
}

extension RequestTarget: RequestTargetConvertible {
  /// The target itself.
  public var requestTarget: RequestTarget { self }
}

extension URL: RequestTargetConvertible {
  /// The URL as a target; a relative URL is joined to the base URL.
  public var requestTarget: RequestTarget { RequestTarget(self) }
}

extension String: RequestTargetConvertible {
  /// The string as a target; nothing in it is escaped again.
  public var requestTarget: RequestTarget { RequestTarget(text: self) }
}

extension Substring: RequestTargetConvertible {
  /// The substring as a target; nothing in it is escaped again.
  public var requestTarget: RequestTarget { RequestTarget(text: String(self)) }
}

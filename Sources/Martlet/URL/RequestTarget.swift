public import MartletBase

/// The target of a request: a full http or https URL, or a reference that is joined to a base URL.
///
/// A target is written as a literal; the values interpolated into it are escaped for their positions:
///
/// ```swift
/// let targets: [RequestTarget] = [
///   "/users/\(id)/repos?q=\(text)",  // nothing in `id` or `text` can leave its segment or its value
///   "https://\(host):\(port)/status",  // must be a plain host name, or an address, and a number
///   "/files/\(path: name)",  // slashes in `name` are kept
///   "/search?\(raw: encodedQuery)",  // as it is
/// ]
/// ```
///
/// All characters except unreserved ones (RFC 3986 §2.3) are percent-encoded. A path segment that contains a value and
/// becomes empty, `.` or `..` makes the target invalid, and so does an optional. An invalid target throws when the
/// request is sent, never earlier.
///
/// At the start of a target, a value is a path segment, so it cannot name another host; a string that begins with
/// a scheme and `://` makes the target invalid. A `URL` at the start is used unchanged:
///
/// ```swift
/// let users: [RequestTarget] = [
///   "\(baseURL)/users",  // a URL
///   "\(raw: baseText)/users",  // a String that is trusted
///   RequestTarget(text: "\(baseText)/users"),  // a String as a whole: nothing is escaped
/// ]
/// ```
///
/// The same rule applies wherever a literal becomes a target, including `RequestTarget("/users/\(id)")`: interpolated
/// values are escaped. Only ``init(text:)`` treats an interpolated literal as a plain `String`.
///
/// An expression is not a literal. `"/users/\(id)" + suffix` and `text ?? "/users/\(id)"` are strings, so nothing in
/// them is escaped. Write one literal, or `"/users/\(id)" as RequestTarget` for a part of an expression.
///
/// A target is appended to a base URL, whatever slashes stand between them:
///
/// | base | target | result |
/// |---|---|---|
/// | `https://a.test/api/v1` | `/users` or `users` | `https://a.test/api/v1/users` |
/// | `https://a.test/api/v1/` | `/users` or `users` | `https://a.test/api/v1/users` |
/// | `https://a.test/api/v1` | `../users` | `https://a.test/api/users` |
/// | `https://a.test/api?key=1` | `users?page=2` | `https://a.test/api/users?key=1&page=2` |
/// | `https://a.test/api?key=1` | `?page=2` | `https://a.test/api?key=1&page=2` |
/// | `https://a.test/api#top` | empty | `https://a.test/api` |
/// | `https://a.test/api?key=1` | `https://b.test/x` | `https://b.test/x` |
/// | any | `//b.test/x`, `/\b.test/x` or `\\b.test\x` | refused: it would change the host |
///
/// Characters that are illegal in a URL are percent-encoded as UTF-8; control characters are refused.
public struct RequestTarget: Sendable, Hashable {
  indirect enum Storage: Sendable, Hashable {
    /// A literal, or text whose interpolated values are already escaped.
    case text(String)
    /// A URL that is already resolved.
    case resolved(AbsoluteURL)
    /// Text with an interpolated value that is not allowed at its position.
    case invalid(String, InvalidInput)
  }

  let storage: Storage

  /// Creates a target from a URL.
  ///
  /// - Parameter url: An http or https URL, or a relative URL, which is joined to the base URL like text.
  public init(_ url: URL) {
    storage = .text(url.absoluteString)
  }

  /// Creates a target from a string, such as a URL typed on a command line.
  ///
  /// Nothing in the string is escaped like a value. A literal passed here is a target literal and not a `String`, so
  /// values interpolated into it are escaped as usual. ``init(text:)`` accepts such a literal without escaping.
  ///
  /// - Parameter text: A URL, or a reference that is joined to the base URL.
  @_disfavoredOverload public init(_ text: String) {
    storage = .text(text)
  }

  /// Creates a target from a literal, as in `.init("/users/\(id)")`.
  ///
  /// - Parameter target: The target.
  public init(_ target: RequestTarget) { self = target }

  /// Creates a target from a string; values interpolated into a literal are not escaped.
  ///
  /// - Parameter text: A URL, or a reference that is joined to the base URL. Untrusted input in it can change the host.
  public init(text: String) {
    storage = .text(text)
  }

  /// The target with the scheme `http` for `ws`, and `https` for `wss` (RFC 6455 §3).
  public var withHTTPScheme: RequestTarget {
    switch storage {
    case .text(let text): RequestTarget(text: Self.withHTTPScheme(text))
    case .resolved, .invalid: self
    }
  }

  /// A URL with the scheme `http` for `ws`, and `https` for `wss`; other text is unchanged.
  static func withHTTPScheme(_ text: String) -> String {
    for (scheme, other) in [("ws:", "http:"), ("wss:", "https:")]
    where FieldSyntax.isSameName(text.prefix(scheme.count), scheme) {
      return other + text.dropFirst(scheme.count)
    }
    return text
  }

  /// Creates a target from a resolved URL, which costs nothing to resolve again.
  package init(_ url: AbsoluteURL) {
    storage = .resolved(url)
  }
}

extension RequestTarget: CustomStringConvertible, CustomReflectable {
  /// The target without user name, password and fragment, and with query values masked; safe to log.
  public var description: String {
    switch storage {
    case .text(let text), .invalid(let text, _): InvalidInput.printable(URLRedaction.redact(text), limit: .max)
    case .resolved(let url): url.redacted
    }
  }

  /// A mirror without children, so `dump` shows no secrets.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

public import Foundation

/// Where a request goes: a full http or https URL, or a reference that is joined to a base URL.
///
/// A target is written as a literal, and what is interpolated into it is escaped for the place where it stands:
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
/// Everything but unreserved characters (RFC 3986 §2.3) is percent-encoded. A path segment that contains a value and
/// comes out empty, `.` or `..` makes the target invalid. So does an optional, at compile time. An invalid target
/// throws when the request is sent, never before.
///
/// At the very start a value is a path segment, so that it cannot name another host, and a string that begins with a
/// scheme and `://` makes the target invalid. A `URL` there is taken as it is:
///
/// ```swift
/// let users: [RequestTarget] = [
///   "\(baseURL)/users",  // a URL
///   "\(raw: baseText)/users",  // a String that is trusted
///   RequestTarget(text: "\(baseText)/users"),  // a String as a whole: nothing is escaped
/// ]
/// ```
///
/// One rule holds wherever a literal becomes a target, also in `RequestTarget("/users/\(id)")`: what is interpolated is
/// escaped. Only ``init(text:)`` takes an interpolated literal as a plain `String`.
///
/// A base URL and a target are joined by appending, whatever slashes stand between them:
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
/// Characters that a URL may not hold are percent-encoded as UTF-8; control characters are refused.
public struct RequestTarget: Sendable, Hashable {
  indirect enum Storage: Sendable, Hashable {
    /// A literal, or text with everything interpolated already escaped.
    case text(String)
    /// A URL that needs no more work.
    case resolved(AbsoluteURL)
    /// Text in which something interpolated may not stand where it does.
    case invalid(String, InvalidInput)
  }

  let storage: Storage

  init(storage: Storage) {
    self.storage = storage
  }

  /// Takes a URL as it is.
  ///
  /// - Parameter url: An http or https URL, or a relative one, which is joined to the base as text would be.
  public init(_ url: URL) {
    self.init(storage: .text(url.absoluteString))
  }

  /// Takes a string as a whole, such as a URL typed on a command line.
  ///
  /// Nothing in the string is escaped as a value would be. A literal here is a target literal and not a `String`: what
  /// is interpolated into it is escaped, as anywhere else. ``init(text:)`` takes such a literal without escaping.
  ///
  /// - Parameter text: A URL, or a reference that is joined to the base.
  public init(_ text: String) {
    self.init(storage: .text(text))
  }

  /// Takes a string as a whole; what is interpolated into a literal is not escaped.
  ///
  /// - Parameter text: A URL, or a reference that is joined to the base. Text in it from outside can change the host.
  public init(text: String) {
    self.init(storage: .text(text))
  }

  /// Takes a URL that was resolved before, so that resolving it again costs nothing.
  package init(_ url: AbsoluteURL) {
    self.init(storage: .resolved(url))
  }
}

extension RequestTarget: CustomStringConvertible, CustomReflectable {
  /// The target without user name, password and fragment, and with query values masked: fit for a log.
  public var description: String {
    switch storage {
    case .text(let text), .invalid(let text, _): InvalidInput.printable(URLRedaction.redact(text), limit: .max)
    case .resolved(let url): url.redacted
    }
  }

  /// A mirror without children, so that `dump` shows no secrets either.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

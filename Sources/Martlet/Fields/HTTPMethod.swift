import MartletBase

/// The method of a request, such as `GET`.
///
/// Any token is a method and case matters: `get` is not `GET` (RFC 9110 §9.1). Nothing is checked here; a request
/// whose method is not a token is refused before anything is sent.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
  /// The method as written in the request line.
  public let rawValue: String

  /// Creates a method from its exact spelling.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Creates a method from its exact spelling.
  public init(_ rawValue: String) {
    self.rawValue = rawValue
  }

  /// Whether the method is safe: it requests no change on the server.
  ///
  /// True for `GET`, `HEAD`, `OPTIONS`, `TRACE`, `QUERY`, and other methods that the IANA registry of HTTP methods lists
  /// as safe (RFC 9110 §9.2.1); false for unknown methods.
  public var isSafe: Bool { self == .get || Self.safe.contains(rawValue) }

  /// Whether several identical requests have the same intended effect as one.
  ///
  /// True for the safe methods, `PUT`, `DELETE`, and other methods that the IANA registry of HTTP methods lists as
  /// idempotent (RFC 9110 §9.2.2); false for unknown methods.
  public var isIdempotent: Bool { isSafe || Self.idempotent.contains(rawValue) }

  /// The safe methods of the IANA registry, which are idempotent as well.
  private static let safe: Set = [
    "GET", "HEAD", "OPTIONS", "PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH", "TRACE",
  ]

  /// The other idempotent methods of the IANA registry.
  private static let idempotent: Set = [
    "ACL", "BASELINE-CONTROL", "BIND", "CHECKIN", "CHECKOUT", "COPY", "DELETE", "LABEL", "LINK", "MERGE", "MKACTIVITY",
    "MKCALENDAR", "MKCOL", "MKREDIRECTREF", "MKWORKSPACE", "MOVE", "ORDERPATCH", "PROPPATCH", "PUT", "REBIND", "UNBIND",
    "UNCHECKOUT", "UNLINK", "UNLOCK", "UPDATE", "UPDATEREDIRECTREF", "VERSION-CONTROL",
  ]

  /// Whether the method is a token, as a request line requires (RFC 9110 §9.1, §5.6.2).
  var isValid: Bool { self == .get || FieldSyntax.isToken(rawValue) }
}

extension HTTPMethod {
  /// Transfers a current representation of the target (RFC 9110 §9.3.1).
  public static let get = HTTPMethod("GET")
  /// Like `GET`, but without the response content (RFC 9110 §9.3.2).
  public static let head = HTTPMethod("HEAD")
  /// Asks the target to process the content according to its own semantics (RFC 9110 §9.3.3).
  public static let post = HTTPMethod("POST")
  /// Replaces the state of the target with the content (RFC 9110 §9.3.4).
  public static let put = HTTPMethod("PUT")
  /// Changes a part of the state of the target (RFC 5789 §2).
  public static let patch = HTTPMethod("PATCH")
  /// Removes the association between the target and its state (RFC 9110 §9.3.5).
  public static let delete = HTTPMethod("DELETE")
  /// Asks the target to process the content safely, like a `GET` with a body (RFC 10008).
  public static let query = HTTPMethod("QUERY")
  /// Requests the communication options of the target (RFC 9110 §9.3.7).
  public static let options = HTTPMethod("OPTIONS")
  /// Requests a loop-back of the request (RFC 9110 §9.3.8).
  public static let trace = HTTPMethod("TRACE")
  /// Requests a tunnel from a proxy (RFC 9110 §9.3.6).
  public static let connect = HTTPMethod("CONNECT")
}

extension HTTPMethod: ExpressibleByStringLiteral {
  /// Creates a method from a literal in its exact spelling.
  public init(stringLiteral value: String) {
    self.init(rawValue: value)
  }
}

extension HTTPMethod: CustomStringConvertible {
  /// The method as written in the request line.
  public var description: String { rawValue }
}

import MartletBase

/// The method of a request, such as `GET`.
///
/// Any token is a method and case matters: `get` is not `GET` (RFC 9110 §9.1). Nothing is checked here; a request
/// whose method is not a token is refused before anything is sent.
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
  /// The method as it is written in the request line.
  public let rawValue: String

  /// Makes a method from its exact spelling.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Makes a method from its exact spelling.
  public init(_ rawValue: String) {
    self.rawValue = rawValue
  }

  /// Whether the method only reads, so that sending it asks for no change on the server.
  ///
  /// True for `GET`, `HEAD`, `OPTIONS` and `TRACE` (RFC 9110 §9.2.1), false for every method this library does not
  /// know.
  public var isSafe: Bool {
    switch self {
    case .get, .head, .options, .trace: true
    default: false
    }
  }

  /// Whether sending the request several times is meant to have the effect of sending it once.
  ///
  /// True for the safe methods, `PUT` and `DELETE` (RFC 9110 §9.2.2), false for every method this library does not
  /// know.
  public var isIdempotent: Bool {
    switch self {
    case .put, .delete: true
    default: isSafe
    }
  }

  /// Whether the method is a token, and so can stand in a request line (RFC 9110 §9.1, §5.6.2).
  var isValid: Bool { FieldSyntax.isToken(rawValue) }
}

extension HTTPMethod {
  /// Transfers a current representation of the target (RFC 9110 §9.3.1).
  public static let get = HTTPMethod("GET")
  /// Does what `GET` does, without the content of the response (RFC 9110 §9.3.2).
  public static let head = HTTPMethod("HEAD")
  /// Lets the target process the content in its own way (RFC 9110 §9.3.3).
  public static let post = HTTPMethod("POST")
  /// Replaces the target's state by the content (RFC 9110 §9.3.4).
  public static let put = HTTPMethod("PUT")
  /// Changes a part of the target's state (RFC 5789 §2).
  public static let patch = HTTPMethod("PATCH")
  /// Removes the association between the target and its state (RFC 9110 §9.3.5).
  public static let delete = HTTPMethod("DELETE")
  /// Asks which communication options the target has (RFC 9110 §9.3.7).
  public static let options = HTTPMethod("OPTIONS")
  /// Asks for a loop-back of the request (RFC 9110 §9.3.8).
  public static let trace = HTTPMethod("TRACE")
  /// Asks a proxy for a tunnel (RFC 9110 §9.3.6).
  public static let connect = HTTPMethod("CONNECT")
}

extension HTTPMethod: ExpressibleByStringLiteral {
  /// Makes a method from a literal in its exact spelling.
  public init(stringLiteral value: String) {
    self.init(rawValue: value)
  }
}

extension HTTPMethod: CustomStringConvertible {
  /// The method as it is written in the request line.
  public var description: String { rawValue }
}

/// The status code of a response, such as 404.
///
/// Codes that are not listed here are preserved; their first digit gives their class (RFC 9110 §15).
public struct HTTPStatus: RawRepresentable, Hashable, Sendable {
  /// The code as a number.
  public let rawValue: Int

  /// Creates a status from its code, which is not checked.
  public init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// Creates a status from its code, which is not checked.
  public init(_ rawValue: Int) {
    self.rawValue = rawValue
  }

  /// Whether the response is interim, 100 to 199 (RFC 9110 §15.2).
  public var isInformational: Bool { 100..<200 ~= rawValue }

  /// Whether the request succeeded, 200 to 299 (RFC 9110 §15.3).
  public var isSuccess: Bool { 200..<300 ~= rawValue }

  /// Whether further action is needed to fulfill the request, 300 to 399 (RFC 9110 §15.4).
  ///
  /// This includes 304, which is not a redirect.
  public var isRedirection: Bool { 300..<400 ~= rawValue }

  /// Whether the status is a client error, 400 to 499 (RFC 9110 §15.5).
  public var isClientError: Bool { 400..<500 ~= rawValue }

  /// Whether the status is a server error, 500 to 599 (RFC 9110 §15.6).
  public var isServerError: Bool { 500..<600 ~= rawValue }

  /// Whether a later response may have another status.
  var isTransient: Bool { [408, 425, 429, 500, 502, 503, 504].contains(rawValue) }
}

extension HTTPStatus: Comparable {
  /// Orders statuses by their codes.
  public static func < (left: HTTPStatus, right: HTTPStatus) -> Bool {
    left.rawValue < right.rawValue
  }
}

extension HTTPStatus: ExpressibleByIntegerLiteral {
  /// Creates a status from a literal code, which is not checked.
  public init(integerLiteral value: Int) {
    self.init(rawValue: value)
  }
}

extension HTTPStatus: CustomStringConvertible {
  /// The code with its registered reason phrase, if any, such as `404 Not Found` or `799`.
  public var description: String {
    reasonPhrase.isEmpty ? "\(rawValue)" : "\(rawValue) \(reasonPhrase)"
  }
}

extension RequestOptions {
  /// Which responses are accepted; others throw ``HTTPError/Kind/status``.
  public struct StatusAcceptance: Sendable {
    enum Rule: Sendable {
      case range(Range<Int>)
      case response(@Sendable (HTTPResponse) throws -> Bool)
    }

    let rule: Rule

    /// Every status below 400: an error is what the client or the server got wrong (RFC 9110 §15.5, §15.6).
    public static let success = StatusAcceptance(rule: .range(100..<400))

    /// Every status.
    public static let any = StatusAcceptance(rule: .range(0..<Int.max))

    /// The statuses of a range.
    ///
    /// - Parameter range: Such as `200..<300`.
    /// - Returns: The rule.
    public static func statuses(_ range: Range<Int>) -> StatusAcceptance {
      StatusAcceptance(rule: .range(range))
    }

    /// Responses for which a closure returns `true`.
    ///
    /// - Parameter isAccepted: It is called after the body was read, off the caller's actor; what it throws ends the
    ///   call.
    /// - Returns: The rule.
    public static func when(_ isAccepted: @escaping @Sendable (HTTPResponse) throws -> Bool)
      -> StatusAcceptance
    {
      StatusAcceptance(rule: .response(isAccepted))
    }

    /// The answer as far as the status alone decides; `nil` if the whole response is needed.
    func accepts(_ status: HTTPStatus) -> Bool? {
      if case .range(let range) = rule { range.contains(status.rawValue) } else { nil }
    }
  }
}

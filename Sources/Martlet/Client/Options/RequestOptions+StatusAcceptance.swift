extension RequestOptions {
  /// The rule for accepted responses; others throw ``HTTPError/Kind/status``.
  public struct StatusAcceptance: Sendable {
    enum Rule: Sendable {
      case range(Range<Int>)
      case response(@Sendable (HTTPResponse) throws -> Bool)
    }

    let rule: Rule

    /// Every status below 400: all except client and server errors (RFC 9110 §15.5, §15.6).
    public static let success = StatusAcceptance(rule: .range(100..<400))

    /// Every status.
    public static let any = StatusAcceptance(rule: .range(0..<Int.max))

    /// The statuses in a range.
    ///
    /// - Parameter range: The range, such as `200..<300`.
    /// - Returns: The rule.
    public static func statuses(_ range: Range<Int>) -> StatusAcceptance {
      StatusAcceptance(rule: .range(range))
    }

    /// Responses for which a closure returns `true`.
    ///
    /// - Parameter isAccepted: Called after the body has been read, off the caller's actor. An error that it throws
    ///   ends the call.
    /// - Returns: The rule.
    public static func when(_ isAccepted: @escaping @Sendable (HTTPResponse) throws -> Bool)
      -> StatusAcceptance
    {
      StatusAcceptance(rule: .response(isAccepted))
    }

    /// Whether a status is accepted; `nil` if the rule needs the whole response.
    func accepts(_ status: HTTPStatus) -> Bool? {
      // Only a requested upgrade has this final status.
      if status == .switchingProtocols { return true }
      return if case .range(let range) = rule { range.contains(status.rawValue) } else { nil }
    }
  }
}

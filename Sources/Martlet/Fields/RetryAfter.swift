public import MartletBase

extension HTTPHeaders {
  /// The delay that `Retry-After` requests (RFC 9110 §10.2.3).
  ///
  /// A date in the past means no delay. Delta-seconds saturate at 2³¹ (RFC 9111 §1.2.2).
  ///
  /// - Parameter now: The current date (``HTTPClient/Configuration/now``), from which a date counts.
  /// - Returns: The delay, or `nil` if the field is absent or malformed.
  public func retryAfter(now: Date) -> Duration? {
    guard let value = self["Retry-After"].map({ String(FieldSyntax.trimmed($0)) }) else { return nil }
    if let seconds = FieldSyntax.deltaSeconds(value) { return .seconds(seconds) }
    guard let date = HTTPDate(value, now: now)?.date else { return nil }
    let seconds = date.timeIntervalSince(now)
    // No valid date is more than ten thousand years away; the bound prevents a trap in the conversion.
    return seconds.isFinite ? .seconds(Swift.min(Swift.max(seconds, 0), 1e12)) : nil
  }
}

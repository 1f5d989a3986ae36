import MartletBase

/// The limits that a server reports in the fields of a response.
enum ServerLimits {
  private static let names = [
    ("RateLimit-Remaining", "RateLimit-Reset"), ("X-RateLimit-Remaining", "X-RateLimit-Reset"),
  ]

  /// The time for which the origin wants no requests; `nil` if it reports none.
  ///
  /// The time comes from `Retry-After` in a response with a status from 400 to 599 (RFC 9110 §10.2.3), or from fields
  /// that report no remaining requests: `RateLimit` of the IETF's draft, `"default";r=0;t=30`, and its predecessors
  /// `RateLimit-Remaining` and `X-RateLimit-Remaining` with `-Reset`. A reset is a number of seconds, or a time since
  /// 1970 in seconds, milliseconds or microseconds, as its magnitude shows; both numbers may have a fraction.
  static func pause(_ status: HTTPStatus, _ headers: HTTPHeaders, now: Date) -> Duration? {
    if (400...599).contains(status.rawValue), let asked = headers.retryAfter(now: now) { return asked }
    if let value = headers["RateLimit"] { return draft(value) }
    for (remaining, reset) in names {
      guard decimal(headers[remaining]) == 0, let reset = decimal(headers[reset]) else { continue }
      return .seconds(seconds(until: reset, now: now))
    }
    return nil
  }

  /// The seconds until a reset.
  ///
  /// No interval is as long as the time since 1970, so a number of that size is a date. The current date has 10 digits
  /// in seconds and 13 in milliseconds.
  private static func seconds(until reset: Double, now: Date) -> Double {
    guard reset > 1e9 else { return reset }
    var date = reset
    while date > 1e11, date.isFinite { date /= 1000 }
    return min(max(date - now.timeIntervalSince1970, 0), 1e9)
  }

  /// A decimal number without a sign, such as `12` or `0.5`.
  private static func decimal(_ text: String?) -> Double? {
    guard let text = text.map({ FieldSyntax.trimmed($0) }), (1...32).contains(text.utf8.count) else { return nil }
    let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy { 0x30...0x39 ~= $0 } }) else { return nil }
    return Double(text)
  }

  /// The longest pause of the items whose remaining quota is 0.
  private static func draft(_ value: String) -> Duration? {
    var longest: Duration?
    for item in value.split(separator: ",").prefix(16) {
      var remaining: Int64?
      var time: Int64?
      for parameter in item.split(separator: ";").dropFirst() {
        let parts = parameter.split(separator: "=", maxSplits: 1)
        guard parts.count == 2 else { continue }
        switch FieldSyntax.trimmed(parts[0]) {
        case "r": remaining = number(String(parts[1]))
        case "t": time = number(String(parts[1]))
        default: break
        }
      }
      if remaining == 0, let time { longest = max(longest ?? .zero, .seconds(time)) }
    }
    return longest
  }

  /// A number without a sign; large ones saturate at 2³¹ (RFC 9111 §1.2.2).
  private static func number(_ text: String?) -> Int64? {
    text.flatMap { FieldSyntax.deltaSeconds(FieldSyntax.trimmed($0)) }.map { Int64($0) }
  }
}

import MartletBase
import Foundation

/// What a server says about its limits in the fields of a response.
enum ServerLimits {
  private static let names = [
    ("RateLimit-Remaining", "RateLimit-Reset"), ("X-RateLimit-Remaining", "X-RateLimit-Reset"),
  ]

  /// How long the origin wants no requests; `nil` if it does not say.
  ///
  /// From `Retry-After` in a response with 429 or 503 (RFC 9110 §10.2.3, RFC 6585 §4), or from fields that leave no
  /// request: `RateLimit` of the IETF's draft, `"default";r=0;t=30`, and its forerunners `RateLimit-Remaining` and
  /// `X-RateLimit-Remaining` with `-Reset`, in seconds or as seconds since 1970.
  static func pause(_ status: HTTPStatus, _ headers: HTTPHeaders, now: Date) -> Duration? {
    if status.rawValue == 429 || status.rawValue == 503, let asked = RetryAfter.delay(headers, now: now) {
      return asked
    }
    if let value = headers["RateLimit"] { return draft(value) }
    for (remaining, reset) in names {
      guard let remaining = number(headers[remaining]), remaining == 0, let reset = number(headers[reset]) else {
        continue
      }
      // No interval is as long as the time since 1970, so this is a date.
      let seconds = reset > 1_000_000_000 ? Double(reset) - now.timeIntervalSince1970 : Double(reset)
      return .seconds(min(max(seconds, 0), 1e9))
    }
    return nil
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
        switch parts[0].trimmingCharacters(in: .whitespaces) {
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
    text.flatMap { FieldSyntax.deltaSeconds($0.trimmingCharacters(in: .whitespaces)) }.map { Int64($0) }
  }
}

import MartletBase
import Foundation

/// The `Retry-After` field (RFC 9110 §10.2.3).
enum RetryAfter {
  /// The requested delay; `nil` if the field is absent or malformed.
  ///
  /// A date in the past means no delay. Delta-seconds saturate at 2³¹ (RFC 9111 §1.2.2).
  static func delay(_ headers: HTTPHeaders, now: Date) -> Duration? {
    guard let value = headers["Retry-After"]?.trimmingCharacters(in: .whitespaces) else { return nil }
    if let seconds = FieldSyntax.deltaSeconds(value) { return .seconds(seconds) }
    guard let date = HTTPDate(value, now: now)?.date else { return nil }
    let seconds = date.timeIntervalSince(now)
    // No valid date is more than ten thousand years away; the bound prevents a trap in the conversion.
    return seconds.isFinite ? .seconds(min(max(seconds, 0), 1e12)) : nil
  }
}

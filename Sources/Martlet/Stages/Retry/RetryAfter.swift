import MartletBase
import Foundation

/// The `Retry-After` field (RFC 9110 §10.2.3).
enum RetryAfter {
  /// How long the server asks to wait, or `nil` if it does not say or what it says is malformed.
  ///
  /// A date in the past is no wait at all; delta-seconds saturate at 2³¹ (RFC 9111 §1.2.2).
  static func delay(_ headers: HTTPHeaders, now: Date) -> Duration? {
    guard let value = headers["Retry-After"]?.trimmingCharacters(in: .whitespaces) else { return nil }
    if let seconds = FieldSyntax.deltaSeconds(value) { return .seconds(seconds) }
    guard let date = HTTPDate(value, now: now)?.date else { return nil }
    let seconds = date.timeIntervalSince(now)
    // No date is more than ten thousand years away; the bound keeps the conversion from trapping.
    return seconds.isFinite ? .seconds(min(max(seconds, 0), 1e12)) : nil
  }
}

import Martlet
import MartletBase

/// The decisions of polling for a device's token (RFC 8628 §3.5).
///
/// ```
/// wait ──▶ request ─┬─ token                  ─▶ end
///                   ├─ authorization_pending  ─▶ wait
///                   ├─ slow_down              ─▶ wait, 5 s longer from now on
///                   ├─ transient error        ─▶ wait, twice as long from now on
///                   └─ another error          ─▶ throw
/// ```
struct DevicePolling {
  /// The interval if the server sends none.
  static let usualInterval = 5
  /// The longest interval; longer ones become it.
  static let longestInterval = Duration.seconds(3600)

  private(set) var interval: Duration
  /// The time at which the device code expires.
  let end: Duration

  /// - Parameters:
  ///   - seconds: The interval of the server; at least one second is waited.
  ///   - end: The time at which the device code expires.
  init(every seconds: Int, until end: Duration) {
    interval = min(max(.seconds(Int64(seconds)), .seconds(1)), Self.longestInterval)
    self.end = end
  }

  /// The time of the next request, or `nil` if the device code will have expired by then.
  func next(after now: Duration) -> Duration? {
    let time = now + interval
    return time < end ? time : nil
  }

  /// Whether to continue after an error of a request, with a new interval.
  mutating func continues(after error: HTTPError) -> Bool {
    switch error.oauthError?.code {
    case .authorizationPending?: return true
    case .slowDown?: interval += .seconds(5)
    case .serverError?, .temporarilyUnavailable?: interval = interval * 2
    case _?: return false
    case nil:
      guard error.isTransient, error.deadline == nil else { return false }
      interval = interval * 2
    }
    interval = min(interval, Self.longestInterval)
    return true
  }

  /// The error after the device code has expired.
  static let expired = HTTPError(
    .authenticationFailed, "the user has not signed in before the device code expired: begin again")
}

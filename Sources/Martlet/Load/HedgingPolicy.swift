/// Whether a slow request is sent twice, to use the first response.
///
/// ```swift
/// let user = try await client.get("/users/1", options: .hedging(.afterPercentile(0.95)), as: User.self)
/// ```
///
/// If no response has begun after the delay, the client sends the same request again. The first response that a retry
/// would not repeat (no connectivity failure, timeout, 408, 425, 429, 500, 502, 503 or 504) is used, and the other
/// exchange is cancelled. Over HTTP/1, that closes its connection. If one of the two fails, the client waits for the
/// other.
///
/// Only idempotent methods (RFC 9110 §9.2.2) with a replayable body are hedged; an `Idempotency-Key` is not enough,
/// because two requests with the same key are in progress at the same time. ``RequestOptions/isIdempotent`` decides
/// otherwise, in both directions. The time that a request waits for its turn or sends its body does not count.
/// Hedges use the same budget as retries: at most 20 % of the requests of the last ten seconds, plus three per second.
/// No hedge is sent if a ``ConcurrencyPolicy``, a ``RateLimit`` or a ``DataBudget`` would let it wait, while the
/// origin's circuit is open, through a proxy, or with Digest, NTLM or Negotiate authentication.
///
/// ``ActivityMonitor/Totals/hedges`` counts them, and ``ActivityMonitor/Totals/wastedBytes`` the bytes of cancelled
/// exchanges. Middleware per attempt runs for both exchanges at the same time; for the second exchange, it runs without
/// the caller's task-local values.
public struct HedgingPolicy: Sendable, Hashable {
  enum Rule: Sendable, Hashable {
    case off
    case after(Duration)
    case percentile(Double)
  }

  let rule: Rule

  /// Requests are sent once.
  public static let off = HedgingPolicy(rule: .off)

  /// Sends a second request after a delay.
  ///
  /// - Parameter delay: The delay without the start of a response, at least 1 ms; it is measured in steps of 5 ms.
  /// - Returns: The policy.
  public static func after(_ delay: Duration) -> HedgingPolicy { HedgingPolicy(rule: .after(delay)) }

  /// Sends a second request after a percentile of the latencies.
  ///
  /// The delay is measured with the requests that have such a policy, for each origin and ``Endpoint`` type; it is at
  /// least 5 ms. The first 20 requests are not hedged.
  ///
  /// - Parameter share: The share, from 0.5 to 0.999: with 0.95, one of twenty requests is hedged.
  /// - Returns: The policy.
  public static func afterPercentile(_ share: Double) -> HedgingPolicy { HedgingPolicy(rule: .percentile(share)) }

  var isOff: Bool { rule == .off }

  var problem: String? {
    switch rule {
    case .off: return nil
    case .after(let delay):
      return delay < .milliseconds(1) ? "the hedging delay is \(delay); it must be at least 1 ms" : nil
    case .percentile(let share):
      // This is also false for NaN.
      return share >= 0.5 && share <= 0.999
        ? nil : "the hedging percentile is \(share); it must be from 0.5 to 0.999"
    }
  }
}

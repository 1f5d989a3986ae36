/// Whether a request that takes long is sent a second time, to use the response that comes first.
///
/// ```swift
/// let user = try await client.get("/users/1", options: .hedging(.afterPercentile(0.95)), as: User.self)
/// ```
///
/// If no response has begun after the delay, the client sends the same request again. The first response that a retry
/// would not repeat (no connectivity failure, timeout, 408, 425, 429, 500, 502, 503 or 504) is used, and the other
/// exchange is cancelled. Over HTTP/1 that closes its connection. If one of the two fails, the client waits for the other.
///
/// Only idempotent methods (RFC 9110 §9.2.2) with a replayable body are hedged; an `Idempotency-Key` is not enough,
/// because two requests with the same key are in progress at the same time. ``RequestOptions/isIdempotent`` decides
/// otherwise, in both directions. The time that a request waits for its turn or sends its body does not count. Hedges
/// come out of the same budget as retries: no more than 20 % of the requests of the last ten seconds, plus three per
/// second. None is sent if a ``ConcurrencyPolicy``, a ``RateLimit`` or a ``DataBudget`` would let it wait, while the circuit
/// of the origin is open, through a proxy, or with Digest, NTLM or Negotiate authentication.
///
/// ``ActivityMonitor/Totals/hedges`` counts them, and ``ActivityMonitor/Totals/wastedBytes`` what cancelled exchanges
/// had transferred. Middleware per attempt runs for both exchanges, at the same time; for the second one without the
/// task-local values of the caller.
public struct HedgingPolicy: Sendable, Hashable {
  enum Rule: Sendable, Hashable {
    case off
    case after(Duration)
    case percentile(Double)
  }

  let rule: Rule

  /// Requests are sent once.
  public static let off = HedgingPolicy(rule: .off)

  /// A second request after a delay.
  ///
  /// - Parameter delay: The delay without the start of a response, at least 1 ms; it is measured in steps of 5 ms.
  /// - Returns: The policy.
  public static func after(_ delay: Duration) -> HedgingPolicy { HedgingPolicy(rule: .after(delay)) }

  /// A second request after a delay that this share of the requests does not reach.
  ///
  /// The delay is learnt from the requests with such a policy, for each origin and ``Endpoint`` type; it is at least 5 ms.
  /// Until there are 20 of them, none is hedged.
  ///
  /// - Parameter share: The share, from 0.5 to 0.999: with 0.95, one of twenty requests is hedged.
  /// - Returns: The policy.
  public static func afterPercentile(_ share: Double) -> HedgingPolicy { HedgingPolicy(rule: .percentile(share)) }

  var isOff: Bool { rule == .off }

  var problem: String? {
    switch rule {
    case .off: return nil
    case .after(let delay):
      return delay < .milliseconds(1) ? "the delay of the hedging is \(delay); it must be at least 1 ms" : nil
    case .percentile(let share):
      // Also false for NaN.
      return share >= 0.5 && share <= 0.999
        ? nil : "the percentile of the hedging is \(share); it must be from 0.5 to 0.999"
    }
  }
}

import MartletBase

/// Decides whether and when a failed attempt is repeated.
///
/// A policy depends on values only, never on the client or a task, so it is easy to test. Whatever it decides, a
/// request is repeated only if its body can be sent again. A request that is neither idempotent (RFC 9110 §9.2.2) nor
/// has an `Idempotency-Key` is repeated only if none of its bytes can have reached a server, unless
/// ``RequestOptions/isIdempotent`` says that repeating it is harmless. ``HTTPResponse/Attempt/retryRefusal`` reports a
/// refused repetition.
public struct RetryPolicy: Sendable {
  /// The outcome of an attempt.
  public struct Outcome: Sendable {
    /// The status of the response, if there was one.
    public var status: HTTPStatus?
    /// The header fields of that response.
    public var headers: HTTPHeaders = [:]
    /// The error, if there was no response.
    public var error: HTTPError?

    /// Whether the attempt failed: no response, or a status of 400 or more.
    var isFailure: Bool { error != nil || (status?.rawValue ?? 0) >= 400 }
  }

  /// The decision about another attempt.
  enum Decision: Sendable, Equatable {
    /// No further attempt.
    case ended(Explanation.Reason)
    /// The policy requests another attempt, which is not allowed for this reason.
    case refused(HTTPResponse.Attempt.RetryRefusal)
    /// Another attempt after a delay.
    case repeated(after: Duration, Explanation.Reason)
  }

  enum Rule: Sendable {
    case none
    case standard
    case timeouts
    case backoff(initialDelay: Duration, maximumDelay: Duration)
    case custom(@Sendable (Int, Outcome) -> Duration?)
  }

  let rule: Rule

  /// The maximum number of attempts, including the first; redirects start a new count.
  ///
  /// Repetitions at another server of a ``Cluster``, because one could not be reached, do not count.
  public let maximumAttempts: Int

  /// The maximum `Retry-After` to wait for; 60 seconds by default.
  ///
  /// A response that requests a longer wait is delivered instead of retried.
  public var maximumRetryAfter = Duration.seconds(60)

  /// Never retries.
  public static let off = RetryPolicy(rule: .none, maximumAttempts: 1)

  /// Repeats a request once, immediately, if its connection turns out to be dead before the response starts.
  ///
  /// This happens when a server closes an idle connection at the moment it is reused. Like all others except ``off``,
  /// this policy also repeats a request that an HTTP/2 server reports as not processed (RFC 9113 §8.7), whatever its
  /// method: up to ten times, or up to three times if the server ended the connection with an error. After
  /// ENHANCE_YOUR_CALM nothing is repeated at once: only ``backoff(attempts:initialDelay:maximumDelay:)`` repeats then,
  /// after its delay. With a ``Cluster``, a request whose connection could not be opened is repeated at another server.
  public static let standard = RetryPolicy(rule: .standard, maximumAttempts: 2)

  /// Retries after a timeout, without a delay.
  ///
  /// - Parameter count: The maximum number of retries.
  /// - Returns: The policy.
  public static func timeouts(_ count: Int) -> RetryPolicy {
    RetryPolicy(rule: .timeouts, maximumAttempts: count == .max ? count : count + 1)
  }

  /// Retries with exponential backoff and full jitter.
  ///
  /// Retries after connectivity failures, timeouts, files for which no descriptor or memory was left, and the statuses
  /// 408, 425, 429, 500, 502, 503 and 504. The delay before attempt n + 1 is random between zero and
  /// `initialDelay · 2ⁿ⁻¹`, at most `maximumDelay` ("full jitter"); a `Retry-After` field, in seconds or as a date
  /// (RFC 9110 §10.2.3), replaces it. The client's retry budget limits the share of retries.
  ///
  /// - Parameters:
  ///   - attempts: The maximum number of attempts, including the first.
  ///   - initialDelay: The maximum delay before the second attempt.
  ///   - maximumDelay: The maximum delay before any attempt.
  /// - Returns: The policy.
  public static func backoff(
    attempts: Int = 3, initialDelay: Duration = .milliseconds(200), maximumDelay: Duration = .seconds(20)
  ) -> RetryPolicy {
    RetryPolicy(rule: .backoff(initialDelay: initialDelay, maximumDelay: maximumDelay), maximumAttempts: attempts)
  }

  /// Lets a closure decide whether to retry, and after which delay.
  ///
  /// - Parameters:
  ///   - attempts: The maximum number of attempts, including the first.
  ///   - decide: Receives the number of the failed attempt (no response, or a status of 400 or more) and its outcome.
  ///     Returns the delay before the next attempt, or `nil` to give up.
  /// - Returns: The policy.
  public static func custom(
    attempts: Int = 10, _ decide: @escaping @Sendable (Int, Outcome) -> Duration?
  ) -> RetryPolicy {
    RetryPolicy(rule: .custom(decide), maximumAttempts: attempts)
  }

  var problem: String? {
    if maximumAttempts < 1 { return "the retry policy has \(maximumAttempts) attempts; it needs at least 1" }
    if case .backoff(let base, let cap) = rule, base < .zero || cap < .zero {
      return "the retry policy's delays must not be negative"
    }
    return nil
  }

  /// Whether the retry budget applies.
  ///
  /// It limits retries that may add load to an overloaded server.
  var usesBudget: Bool {
    switch rule {
    case .none, .standard: false
    case .timeouts, .backoff, .custom: true
    }
  }

  /// Whether to repeat requests that a server rejected without processing them.
  var repeatsRefusals: Bool { if case .none = rule { false } else { true } }

  /// Decides whether to make another attempt after this one, and when.
  ///
  /// `hasOtherServer` says whether the failure concerns one server of a cluster, and another one is left. `now` is for
  /// the date form of `Retry-After`; `random` is a number from 0 up to 1.
  func decision(
    after attempt: Int, of request: HTTPRequest, isIdempotent: Bool, outcome: Outcome, hasOtherServer: Bool = false,
    now: Date, random: Double
  ) -> Decision {
    guard outcome.isFailure else { return .ended(Self.outcome) }
    guard attempt < maximumAttempts else { return .ended(exhausted) }
    var proposal = proposal(after: attempt, outcome: outcome, now: now, random: random)
    if hasOtherServer, outcome.error != nil, case .backoff = rule, case .repeated = proposal {
      proposal = .repeated(after: .zero, .otherServer)
    }
    guard case .repeated = proposal else { return proposal }
    guard request.isUsable else { return .refused(.bodyNotReplayable) }
    guard isIdempotent || outcome.error?.mayHaveReachedServer == false else {
      return .refused(.notIdempotent(request.method))
    }
    return proposal
  }

  /// The reason why no attempt is left.
  var exhausted: Explanation.Reason {
    if case .none = rule { return Self.isOff }
    let maximum = maximumAttempts
    return .init("attemptsUsed", "the maximum number of attempts (\(maximum)) is reached")
  }

  /// The decision of the rule alone, for a request that may be repeated.
  private func proposal(after attempt: Int, outcome: Outcome, now: Date, random: Double) -> Decision {
    switch rule {
    case .none: return .ended(Self.isOff)
    case .standard:
      return outcome.error?.mayBeStaleConnection == true
        ? .repeated(after: .zero, .staleConnection) : .ended(Self.outcome)
    case .timeouts: return outcome.error?.isTimeout == true ? .repeated(after: .zero, .timeout) : .ended(Self.outcome)
    case .custom(let decide):
      return decide(attempt, outcome).map { .repeated(after: max($0.bounded, .zero), .closure) } ?? .ended(Self.closure)
    case .backoff(let base, let cap):
      guard isTransient(outcome) else { return .ended(Self.outcome) }
      if let asked = outcome.headers.retryAfter(now: now) {
        return asked <= maximumRetryAfter ? .repeated(after: asked, .retryAfter) : .ended(tooLong(asked))
      }
      return .repeated(after: base.doubled(attempt - 1, upTo: cap.bounded) * random, .backoff)
    }
  }

  private func isTransient(_ outcome: Outcome) -> Bool {
    if let status = outcome.status { return status.isTransient }
    return outcome.error.map { $0.isConnectivity || $0.isTimeout || $0.isExhaustion || $0.mayBeStaleConnection }
      ?? false
  }
}

// The reasons for making no further attempt, in codes and sentences.
extension RetryPolicy {
  private static let isOff = Explanation.Reason("off", "the policy is off")
  private static let outcome = Explanation.Reason(
    "outcome", "the retry policy does not repeat it after this outcome")
  private static let closure = Explanation.Reason("closure", "the retry policy's closure decided this")

  private func tooLong(_ asked: Duration) -> Explanation.Reason {
    let maximum = maximumRetryAfter
    return .init(
      "retryAfterTooLong",
      "the server requested a delay of \(asked.shown); the policy waits at most \(maximum.shown)",
      "RFC 9110 §10.2.3")
  }
}

extension RetryPolicy.Decision {
  var explanation: Explanation.Decision {
    let end = "the request is not repeated"
    switch self {
    case .ended(let reason): return .init("retry.ended", end, because: reason)
    case .refused(let refusal): return .init("retry.refused", end, because: refusal)
    case .repeated(let pause, let cause):
      return .init(
        "retry.repeated", "the request is repeated \(pause == .zero ? "at once" : "after \(pause.shown)")",
        because: cause)
    }
  }
}

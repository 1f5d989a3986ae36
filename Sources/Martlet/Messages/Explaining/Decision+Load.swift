extension Explanation {
  /// A decision of the limits for the load of servers: ``ConcurrencyPolicy``, ``RateLimit`` and ``CircuitBreaker``.
  public enum Load: Sendable, Hashable {
    /// The request waited for its turn.
    case waited(Duration)
    /// The request was not sent to the origin.
    case refused(String, Refusal)
    /// The origin gets no requests for a time, because it asked for a pause, which is bounded.
    case paused(String, for: Duration, asked: Duration)
    /// The circuit of the origin is open, because of this failure.
    case circuitOpened(String, for: Duration)

    /// Why a request was not sent.
    public enum Refusal: Sendable, Hashable {
      /// The circuit is open for this time; zero while another request is the probe.
      case circuitOpen(retryAfter: Duration)
      /// So many requests wait already.
      case queueFull(waiting: Int)
      /// The server asked for a longer pause than the request may wait.
      case pause(Duration, maximum: Duration)
      /// The request waited for the maximum time.
      case waitedTooLong(maximum: Duration)
      /// Less time is left for the request than the origin usually takes.
      case tooLate(latency: Duration)
    }
  }

  /// A decision about sending a request a second time.
  public enum Hedging: Sendable, Hashable {
    /// It was sent again after a time without a response.
    case sent(after: Duration)
    /// The response of the second request was used.
    case won
    /// The response of the first request was used.
    case lost
    /// It was not sent again.
    case notSent(Refusal)

    /// Why a request was not sent a second time.
    public enum Refusal: Sendable, Hashable {
      /// The body can be sent only once.
      case bodyNotReplayable
      /// The method is not idempotent, or ``RequestOptions/isIdempotent`` is `false`.
      case notIdempotent(HTTPMethod)
      /// Its authentication, or that of a proxy, is for one exchange at a time.
      case authentication
      /// Too few latencies are known for a percentile.
      case tooFewSamples(Int, minimum: Int)
      /// The budget for repetitions is used up.
      case budgetExhausted
      /// A limit of the client had no room for it.
      case limitReached
    }
  }
}

extension Explanation.Load {
  var sentence: String {
    switch self {
    case .waited(let time): "the request waited \(time.shown) for its turn"
    case .refused(let origin, let reason): "\(origin) gets no request: \(reason.text)"
    case .paused(let origin, let time, let asked):
      "\(origin) gets no requests for \(time.shown), because it asked for "
        + (time < asked ? "\(asked.shown), which is more than the maximum" : "that")
    case .circuitOpened(let origin, let time):
      "the circuit of \(origin) is open for \(time.shown): its last requests failed"
    }
  }
}

extension Explanation.Load.Refusal {
  var text: String {
    switch self {
    case .circuitOpen(.zero): "its last requests failed, and another one is trying it now"
    case .circuitOpen(let time): "its last requests failed; the next one is tried in \(time.shown)"
    case .queueFull(let waiting): "\(waiting) requests wait already, which is the maximum"
    case .pause(let time, let maximum):
      "it asked for a pause, of which \(time.shown) are left; a request waits at most \(maximum.shown)"
    case .waitedTooLong(let maximum): "it waited \(maximum.shown) for its turn, which is the maximum"
    case .tooLate(let latency):
      "less time is left for it than a response takes at present, which is \(latency.shown)"
    }
  }
}

extension Explanation.Hedging {
  var sentence: String {
    switch self {
    case .sent(let time): "the request was sent a second time: no response had begun after \(time.shown)"
    case .won: "the response of the second request is used"
    case .lost: "the response of the first request is used, and the second one was cancelled"
    case .notSent(let reason): "the request is not sent a second time: \(reason.text)"
    }
  }
}

extension Explanation.Hedging.Refusal {
  fileprivate var text: String {
    switch self {
    case .bodyNotReplayable: "its body can be sent only once"
    case .notIdempotent(let method):
      "\(InvalidInput.printable(method.rawValue)) is not idempotent, or isIdempotent is false"
    case .authentication: "its authentication, or that of the proxy, is for one exchange at a time"
    case .tooFewSamples(let count, let minimum): "only \(count) latencies are known, of at least \(minimum)"
    case .budgetExhausted: "the retry budget of the client is used up"
    case .limitReached: "a limit of the client has no room for it"
    }
  }
}

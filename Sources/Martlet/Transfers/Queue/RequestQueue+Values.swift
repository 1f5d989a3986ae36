extension RequestQueue {
  /// The limits on concurrent requests in a queue.
  public struct Limits: Sendable, Hashable {
    /// The maximum in total.
    public var total: Int
    /// The maximum per host.
    public var perHost: Int

    /// Limits on concurrent requests.
    ///
    /// - Parameters:
    ///   - total: The maximum for all hosts, at least 1.
    ///   - perHost: The maximum per host, at least 1; `total` by default.
    /// - Returns: The limits.
    public static func concurrent(_ total: Int, perHost: Int? = nil) -> Limits {
      Limits(total: max(1, total), perHost: max(1, perHost ?? total))
    }
  }

  /// The effect of a failure on the other requests of a queue.
  @nonexhaustive public enum FailurePolicy: Sendable, Hashable {
    /// No effect, except on requests that depend on the failed one.
    case continueOthers
    /// The first request that fails or is cancelled cancels all others.
    case cancelOthers
  }

  /// The outcomes of a queue's requests.
  public struct Summary: Sendable, Hashable {
    /// The requests added.
    public var added = 0
    /// The requests that ended with an accepted response.
    public var succeeded = 0
    /// The requests that ended with an error.
    public var failed = 0
    /// The requests that were cancelled.
    public var cancelled = 0

    /// The requests that have ended.
    public var ended: Int { succeeded + failed + cancelled }
  }

  /// The progress of a queue.
  public struct Progress: Sendable, Hashable {
    /// The completed fraction, from 0 to 1; it never decreases.
    public internal(set) var fraction = 0.0
    /// Whether ``fraction`` would have decreased, because requests were added, and is held until it is exact again.
    public internal(set) var isEstimate = false
    /// The counts.
    public internal(set) var summary = Summary()
    /// The body bytes received by all requests of the queue.
    public internal(set) var received: Int64 = 0
    /// The body bytes sent by all requests of the queue.
    public internal(set) var sent: Int64 = 0
  }

  /// An event in a queue.
  @nonexhaustive public enum Event: Sendable {
    /// Something happened to a request, but not its end.
    case request(RequestID, RequestEvent)
    /// A request ended.
    case ended(RequestID, RequestEvent.End)
    /// All requests have ended, after ``RequestQueue/finish()`` or the release of the queue.
    case finished(Summary)
  }
}

extension RequestQueue.Progress {
  /// How the progress of a queue is computed.
  @nonexhaustive public enum Kind: Sendable, Hashable {
    /// Each request counts equally, when it ends.
    case simple
    /// By bytes: a `HEAD` before each `GET` determines its length.
    ///
    /// A request whose length is still unknown counts as much as the others do on average.
    case accurate
  }
}

extension RequestQueue {
  /// The limits of concurrent requests in a queue.
  public struct Limits: Sendable, Hashable {
    /// The maximum in total.
    public var total: Int
    /// The maximum per host.
    public var perHost: Int

    /// Limits of concurrent requests.
    ///
    /// - Parameters:
    ///   - total: The most in all, at least 1.
    ///   - perHost: The most to one host, at least 1; by default as many as in all.
    /// - Returns: The limits.
    public static func concurrent(_ total: Int, perHost: Int? = nil) -> Limits {
      Limits(total: max(1, total), perHost: max(1, perHost ?? total))
    }
  }

  /// What a failure means for the other requests of a queue.
  public enum FailurePolicy: Sendable, Hashable {
    /// Nothing, but for the requests that depend on it.
    case carryOn
    /// The first request that fails or is cancelled cancels all others.
    case cancelOthers
  }

  /// The outcomes of a queue's requests.
  public struct Summary: Sendable, Hashable {
    /// The requests added.
    public var added = 0
    /// Those that ended with an accepted response.
    public var succeeded = 0
    /// Those that ended with an error.
    public var failed = 0
    /// Those that were cancelled.
    public var cancelled = 0

    /// Those that are at their end.
    public var ended: Int { succeeded + failed + cancelled }
  }

  /// The progress of a queue.
  public struct Progress: Sendable, Hashable {
    /// The completed fraction, from 0 to 1; it never decreases.
    public internal(set) var fraction = 0.0
    /// Whether it would have fallen since requests were added, and stands still until it is true again.
    public internal(set) var isEstimate = false
    /// The counts.
    public internal(set) var summary = Summary()
    /// The body bytes received by all requests of the queue.
    public internal(set) var received: Int64 = 0
    /// The body bytes sent by them.
    public internal(set) var sent: Int64 = 0
  }

  /// An event in a queue.
  public enum Event: Sendable {
    /// Something happened to a request, but not its end.
    case request(RequestID, RequestEvent)
    /// A request ended.
    case ended(RequestID, RequestEvent.End)
    /// All are at their end, after ``RequestQueue/finish()``.
    case finished(Summary)
  }
}

extension RequestQueue.Progress {
  /// How the progress of a queue is computed.
  public enum Kind: Sendable, Hashable {
    /// Each request is a share; it counts when it is at its end.
    case simple
    /// By bytes: each `GET` is preceded by a `HEAD`, which asks for its length.
    ///
    /// A request whose length is not known by then counts as much as the others do on average.
    case accurate
  }
}

/// Counts the repetitions of a hop that the policy does not count.
struct Repetition {
  /// The maximum number of repetitions of unprocessed requests, for a server that rejects every request.
  static let maximumRefusals = 10
  /// The number of rejections after which the request gets its own connection.
  ///
  /// If many requests share the capacity of a connection, one of them may fail ten times by chance, but not as the
  /// first request on its own connection. If the server ends that connection with an error (GOAWAY), there is no
  /// further attempt, because no other request can have caused it.
  private static let sharedRefusals = 3

  /// The number of attempts that do not count.
  private(set) var uncounted = 0
  private var refusals = 0
  private(set) var needsHTTP11 = false
  var needsNewConnection: Bool { refusals >= Self.sharedRefusals }
  private var hasBegunAnew = false

  /// Whether to repeat a request regardless of its method and the budget.
  ///
  /// True if the server has not processed the request (RFC 9113 §8.7), or requires HTTP/1.1. Each repetition uses
  /// another connection.
  mutating func mustRetry(after outcome: RetryPolicy.Outcome, isHTTP2Chosen: Bool) -> Bool {
    guard let error = outcome.error, refusals < Self.maximumRefusals else { return false }
    if error.wantsHTTP11 {
      guard !needsHTTP11, !isHTTP2Chosen else { return false }
      needsHTTP11 = true
    } else if !error.wasRefusedUnread || error.http2ErrorCode != nil && needsNewConnection {
      return false
    }
    refusals += 1
    uncounted += 1
    return true
  }

  /// Records a repetition at another server, because the last one could not be reached.
  mutating func moved() { uncounted += 1 }

  /// The number of an attempt, as the policy counts it.
  ///
  /// If a connection fails after a 401 or 407, the attempt counts as the first one. This applies once, and only to
  /// policies that repeat nothing else.
  mutating func counted(_ attempt: Int, after outcome: RetryPolicy.Outcome, _ policy: RetryPolicy) -> Int {
    if !policy.usesBudget, !hasBegunAnew, attempt - uncounted > 1, outcome.error?.followsAnswer == true {
      hasBegunAnew = true
      uncounted += 1
    }
    return attempt - uncounted
  }
}

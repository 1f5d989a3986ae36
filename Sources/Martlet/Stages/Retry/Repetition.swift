/// What of the attempts of one hop is not the policy's to count.
struct Repetition {
  /// How often a request may be refused unread: a server that takes nothing at all is not asked for ever.
  static let maximumRefusals = 10
  /// After how many refusals it gets a connection of its own, on which it is the first: where many requests share what a
  /// connection still takes, somebody may have no luck ten times in a row.
  ///
  /// Where the server names an error (GOAWAY), that try is the last one: nobody else can have caused it there.
  private static let sharedRefusals = 3

  /// How many attempts do not count.
  private(set) var uncounted = 0
  private var refusals = 0
  private(set) var needsHTTP11 = false
  var needsNewConnection: Bool { refusals >= Self.sharedRefusals }
  private var hasBegunAnew = false

  /// Whether a request is repeated whatever its method and without any budget: the server has not processed it (RFC 9113
  /// §8.7), or wants it by HTTP/1.1, each time on another connection.
  mutating func isOwed(after outcome: RetryPolicy.Outcome, isHTTP2Chosen: Bool) -> Bool {
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

  /// The number of an attempt for the policy.
  ///
  /// A connection that turns out dead after an answer in between, which asked for credentials, is as if it were the first
  /// one: once, where the policy repeats nothing else.
  mutating func counted(_ attempt: Int, after outcome: RetryPolicy.Outcome, _ policy: RetryPolicy) -> Int {
    if !policy.usesBudget, !hasBegunAnew, attempt - uncounted > 1, outcome.error?.followsAnswer == true {
      hasBegunAnew = true
      uncounted += 1
    }
    return attempt - uncounted
  }
}

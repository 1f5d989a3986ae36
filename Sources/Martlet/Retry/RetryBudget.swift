import MartletBase

/// Limits the retries of a client, to protect overloaded servers.
///
/// The budget allows 20 % of the requests of the last ten seconds, plus three per second, so a quiet client can
/// retry.
final class RetryBudget: Sendable {
  private struct Second {
    var number: Int64 = -1
    var requests = 0
    var retries = 0
  }

  private static let window = 10

  /// The budget's own timeline, because clients that share it were created at different times.
  private let timeline: Timeline
  private let seconds = Locked([Second](repeating: Second(), count: RetryBudget.window))

  init(_ timeline: Timeline = Timeline(ContinuousClock())) { self.timeline = timeline }

  func countRequest() { countRequest(at: timeline.now()) }

  /// Takes a retry from the budget; returns `false` if none is left.
  func takeRetry() -> Bool { takeRetry(at: timeline.now()) }

  func countRequest(at time: Duration) {
    seconds.withLock { RetryBudget.second(at: time, in: &$0) { $0.requests += 1 } }
  }

  func takeRetry(at time: Duration) -> Bool {
    seconds.withLock { seconds in
      let first = time.wholeSeconds - Int64(RetryBudget.window)
      var requests = 0
      var retries = 0
      for second in seconds where second.number > first {
        requests += second.requests
        retries += second.retries
      }
      guard retries < requests / 5 + 3 * RetryBudget.window else { return false }
      RetryBudget.second(at: time, in: &seconds) { $0.retries += 1 }
      return true
    }
  }

  private static func second(at time: Duration, in seconds: inout [Second], _ change: (inout Second) -> Void) {
    let number = max(0, time.wholeSeconds)
    let index = Int(number % Int64(window))
    if seconds[index].number < number { seconds[index] = Second(number: number) }
    change(&seconds[index])
  }
}

/// A rate limiter for one direction.
///
/// Waiting transfers get their turns in order.
///
/// ```
///   claim ──no transfer waits, and the bucket is open──▶ a slice
///     └──otherwise──▶ queue ──claim: first, and the bucket is open──▶ a slice
/// ```
package final class RateLimiter: Sendable {
  private struct State: ~Copyable {
    var bucket: TokenBucket
    var queue: [ObjectIdentifier] = []
  }

  /// The shortest wait in microseconds; a shorter one is not worth a wakeup.
  private static let shortestWait: Int64 = 10_000

  /// The bytes of one turn: 20 ms of the rate, at least 1 KiB.
  ///
  /// No more than libcurl delivers at once.
  package let slice: Int
  private let state: Locked<State>

  package init(rate: Int) {
    slice = min(max(rate / 50, 1 << 10), 16 << 10)
    state = Locked(State(bucket: TokenBucket(rate: rate)))
  }

  /// The number of waiting transfers, for tests.
  package var waiterCount: Int { state.withLock { $0.queue.count } }

  /// Requests a slice; returns `nil`, or the microseconds until the next try.
  ///
  /// A transfer that gets no slice joins the queue.
  package func claim(_ id: ObjectIdentifier, at now: Int64) -> Int64? {
    state.withLock {
      $0.bucket.advance(to: now, isAwaited: !$0.queue.isEmpty)
      let isNext = $0.queue.first.map { $0 == id } ?? true
      if isNext, $0.bucket.isOpen {
        if !$0.queue.isEmpty { $0.queue.removeFirst() }
        $0.bucket.spend(slice)
        return nil
      }
      if !$0.queue.contains(id) { $0.queue.append(id) }
      return max(Self.shortestWait, $0.bucket.wait)
    }
  }

  /// Ends a wait and returns unused bytes; negative if too many were used.
  package func leave(_ id: ObjectIdentifier, returning bytes: Int) {
    state.withLock {
      $0.queue.removeAll { $0 == id }
      $0.bucket.spend(-bytes)
    }
  }
}

/// One direction of a limit, shared by whatever moves bytes: who has to wait gets its turn in order.
///
/// ```
///   claim ──nobody waits, and the bucket is open──▶ a slice
///     └──else──▶ queue ──claim: first, and the bucket is open──▶ a slice
/// ```
package final class BandwidthLane: Sendable {
  private struct State {
    var bucket: TokenBucket
    var queue: [ObjectIdentifier] = []
  }

  /// Shorter waits are not worth waking up for.
  private static let shortestWait: Int64 = 10_000

  /// How many bytes a turn is: 20 ms of the rate, but 1 KiB at least, and no more than libcurl brings at once.
  package let slice: Int
  private let state: Locked<State>

  package init(rate: Int) {
    slice = min(max(rate / 50, 1 << 10), 16 << 10)
    state = Locked(State(bucket: TokenBucket(rate: rate)))
  }

  /// The number of those who wait, for tests.
  package var waiterCount: Int { state.withLock { $0.queue.count } }

  /// Asks for a slice; `nil` if it is granted, or when to ask again, in microseconds from now.
  ///
  /// Who does not get it waits for it from then on.
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

  /// Ends a wait, and gives back what was not used; less than nothing if more was.
  package func leave(_ id: ObjectIdentifier, returning bytes: Int) {
    state.withLock {
      $0.queue.removeAll { $0 == id }
      $0.bucket.spend(-bytes)
    }
  }
}

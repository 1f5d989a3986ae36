import Dispatch
import MartletBase
import Synchronization

/// Delivers elements to a receiver that may block, in order and without a lock.
///
/// An element that finds too many undelivered ones is dropped and counted.
final class DeliveryQueue<Element: Sendable>: Sendable {
  private struct State: ~Copyable {
    /// The undelivered elements, each with its size and the number of elements dropped before it.
    var waiting: [(element: Element, bytes: Int, dropped: Int)] = []
    /// The number of elements dropped since the last of `waiting`.
    var dropped = 0
    var isDelivering = false
    var flushes: [Promise<Void>] = []
  }

  private static var maximumCount: Int { 10_000 }

  private let maximumBytes: Int
  private let delay: Duration
  private let reportsLast: Bool
  private let receive: @Sendable (Element?, _ dropped: Int) -> Void
  private let state = Locked(State())
  private let undelivered = Atomic(0)
  private let undeliveredBytes = Atomic(0)
  /// A queue instead of a task, because the receiver may block, and a task's thread must not.
  private let queue: DispatchQueue

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - label: The label of the Dispatch queue.
  ///   - maximumBytes: The size of undelivered elements from which further ones are dropped.
  ///   - delay: The time for which elements are gathered.
  ///   - reportsLast: Whether `receive` is called without an element to report dropped ones, after those that were
  ///     waiting; otherwise the next element reports their number.
  ///   - receive: Receives each element, and the number of elements dropped before it.
  init(
    _ label: String, maximumBytes: Int, delay: Duration = .zero, reportsLast: Bool = false,
    _ receive: @escaping @Sendable (Element?, _ dropped: Int) -> Void
  ) {
    queue = DispatchQueue(label: label)
    (self.maximumBytes, self.delay, self.reportsLast) = (maximumBytes, delay, reportsLast)
    self.receive = receive
  }

  /// Adds an element, or a smaller one instead of it if the undelivered ones are too large.
  func add(_ element: Element, bytes: Int, orSmaller smaller: @autoclosure () -> Element? = nil) {
    let isFirst = state.withLock { state in
      let isTooLarge = bytes > 0 && undeliveredBytes.load(ordering: .relaxed) >= maximumBytes
      guard undelivered.load(ordering: .relaxed) < Self.maximumCount, let element = isTooLarge ? smaller() : element
      else {
        state.dropped += 1
        return false
      }
      let bytes = isTooLarge ? 0 : bytes
      state.waiting.append((element, bytes, reportsLast ? 0 : state.dropped))
      undelivered.add(1, ordering: .relaxed)
      undeliveredBytes.add(bytes, ordering: .relaxed)
      if !reportsLast { state.dropped = 0 }
      defer { state.isDelivering = true }
      return !state.isDelivering
    }
    if isFirst { queue.asyncAfter(deadline: .now() + delay.inSeconds) { self.deliver() } }
  }

  /// Waits until all elements so far are delivered, up to a time limit.
  func flush(within limit: Duration? = nil) async {
    let end = Promise<Void>()
    let isIdle = state.withLock { state in
      if state.isDelivering { state.flushes.append(end) }
      return !state.isDelivering
    }
    if isIdle { return }
    queue.async { self.deliver() }
    if let limit {
      DispatchQueue.global().asyncAfter(deadline: .now() + limit.inSeconds) { end.resolve(.success(())) }
    }
    _ = await end.outcome()
  }

  private func deliver() {
    while true {
      let (elements, dropped, flushes) = state.withLock { state in
        let dropped = reportsLast ? state.dropped : 0
        defer {
          state.isDelivering = !state.waiting.isEmpty || dropped > 0
          (state.waiting, state.flushes) = ([], [])
          state.dropped -= dropped
        }
        return (state.waiting, dropped, state.flushes)
      }
      for (element, bytes, dropped) in elements {
        receive(element, dropped)
        undelivered.subtract(1, ordering: .relaxed)
        undeliveredBytes.subtract(bytes, ordering: .relaxed)
      }
      if dropped > 0 { receive(nil, dropped) }
      // Calls of `flush` in the meantime wait for the elements that were added in the meantime.
      for flush in flushes { flush.resolve(.success(())) }
      if elements.isEmpty, dropped == 0 { return }
    }
  }
}

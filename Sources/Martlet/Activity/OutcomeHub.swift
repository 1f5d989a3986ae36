import MartletBase
import Synchronization

/// The outcome of one request of an endpoint type.
public enum EndpointEvent<Output: Sendable>: Sendable {
  /// Its output.
  case succeeded(Output)
  /// Its error; cancelled requests are not reported.
  case failed(any Error)
  /// The listener was too slow: so many of the oldest events were dropped before the next one.
  case missed(Int)
}

/// Carries outcomes of endpoints to listeners of their types.
final class OutcomeHub: Sendable {
  private struct State {
    var listeners: [ObjectIdentifier: [Int: any Sendable]] = [:]
    var nextListener = 0
  }

  private let count = Atomic<Int>(0)
  private let state = Locked(State())

  /// Tells the listeners of a type; costs one atomic read while there are none.
  func publish<E: Endpoint>(_ type: E.Type, _ event: EndpointEvent<E.Output>) {
    guard count.load(ordering: .relaxed) > 0 else { return }
    let listeners = state.withLock { $0.listeners[ObjectIdentifier(type)] }
    for case let listener as BoundedChannel<EndpointEvent<E.Output>> in listeners?.values ?? [:].values {
      listener.send(event)
    }
  }

  /// Makes a stream of the outcomes of a type.
  func stream<E: Endpoint>(of type: E.Type, keeping limit: Int) -> AsyncStream<EndpointEvent<E.Output>> {
    let channel = BoundedChannel<EndpointEvent<E.Output>>(limit: limit) { .missed($0) }
    let key = ObjectIdentifier(type)
    let id = state.withLock {
      $0.nextListener += 1
      $0.listeners[key, default: [:]][$0.nextListener] = channel
      return $0.nextListener
    }
    count.add(1, ordering: .relaxed)
    let subscription = Subscription { [weak self] in
      let removed = self?.state.withLock { $0.listeners[key]?.removeValue(forKey: id) }
      _ = removed
      self?.count.subtract(1, ordering: .relaxed)
    }
    return AsyncStream(unfolding: { [subscription] in
      _ = subscription
      return await channel.next()
    })
  }
}

/// Ends a subscription when the stream that holds it goes away.
final class Subscription: Sendable {
  private let end: @Sendable () -> Void

  init(_ end: @escaping @Sendable () -> Void) { self.end = end }

  deinit { end() }
}

/// A queue for one reader that drops its oldest elements when it is full, and says how many.
final class BoundedChannel<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var missed = 0
    var waiter: CheckedContinuation<Element?, Never>?
  }

  private let limit: Int
  private let missed: @Sendable (Int) -> Element
  private let state = Locked(State())

  init(limit: Int, missed: @escaping @Sendable (Int) -> Element) {
    self.limit = max(1, limit)
    self.missed = missed
  }

  func send(_ element: Element) {
    let waiter: CheckedContinuation<Element?, Never>? = state.withLock {
      if let waiter = $0.waiter {
        $0.waiter = nil
        return waiter
      }
      if $0.elements.count >= limit {
        $0.elements.removeFirst()
        $0.missed += 1
      }
      $0.elements.append(element)
      return nil
    }
    waiter?.resume(returning: element)
  }

  /// The next element, or `nil` when the task is cancelled.
  func next() async -> Element? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (element, isWaiting): (Element?, Bool) = state.withLock { state in
          if state.missed > 0 {
            defer { state.missed = 0 }
            return (missed(state.missed), false)
          }
          if !state.elements.isEmpty { return (state.elements.removeFirst(), false) }
          guard !Task.isCancelled, state.waiter == nil else { return (nil, false) }
          state.waiter = continuation
          return (nil, true)
        }
        if !isWaiting { continuation.resume(returning: element) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume(returning: nil)
    }
  }
}

import MartletBase
import Martlet

/// A value that tasks and threads change and that a test can wait for.
///
/// Waiting does not poll.
package final class Shared<Value: Sendable>: Sendable {
  private struct State {
    var value: Value
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var nextWaiter = 0
  }

  private let state: Locked<State>

  package init(_ value: Value) { state = Locked(State(value: value)) }

  package var value: Value { state.withLock { $0.value } }

  /// Reads or changes the value and wakes all waiters.
  @discardableResult
  package func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    let (result, waiters) = state.withLock { state in
      let result = body(&state.value)
      defer { state.waiters = [:] }
      return (result, state.waiters.values)
    }
    for waiter in waiters { waiter.resume() }
    return result
  }

  /// Waits until a condition on the value holds; returns early when the task is cancelled.
  package func wait(until isTrue: (Value) -> Bool) async {
    while !Task.isCancelled {
      let (isDone, id) = state.withLock { state in
        state.nextWaiter += 1
        return (isTrue(state.value), state.nextWaiter)
      }
      if isDone { return }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let isDone = state.withLock { state in
            guard !Task.isCancelled, !isTrue(state.value) else { return true }
            state.waiters[id] = continuation
            return false
          }
          if isDone { continuation.resume() }
        }
      } onCancel: {
        state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
      }
    }
  }
}

/// The observations of a test, in order, from any thread.
package final class Log<Element: Sendable>: Sendable {
  private let state = Shared<[Element]>([])

  package init() {}

  package var elements: [Element] { state.value }
  package var count: Int { state.withLock { $0.count } }

  package func add(_ element: Element) { state.withLock { $0.append(element) } }

  /// Waits until the log has this many elements; returns early when the task is cancelled.
  package func wait(for count: Int) async { await state.wait { $0.count >= count } }

  /// Waits until a condition on the elements holds; returns early when the task is cancelled.
  package func wait(until isTrue: ([Element]) -> Bool) async { await state.wait(until: isTrue) }
}

/// Holds callers until it is opened, and counts them.
package final class Gate: Sendable {
  private let state = Shared((isOpen: false, arrivals: 0, waiting: 0))

  package init() {}

  /// The number of callers so far; ``waitingCount`` counts those that are still waiting.
  package var arrivals: Int { state.value.arrivals }
  package var waitingCount: Int { state.value.waiting }

  /// Waits until the gate is open, or the task is cancelled.
  package func pass() async {
    state.withLock {
      $0.arrivals += 1
      $0.waiting += 1
    }
    await state.wait { $0.isOpen }
    state.withLock { $0.waiting -= 1 }
  }

  /// Releases all callers, now and later.
  package func open() { state.withLock { $0.isOpen = true } }

  /// Waits until this many callers have arrived.
  package func waitForArrivals(_ count: Int) async { await state.wait { $0.arrivals >= count } }
}

/// Reports its own release, and thereby the release of the object that holds it.
package final class ReleaseSignal: Sendable {
  private let onRelease: @Sendable () -> Void

  package init(_ onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }

  deinit { onRelease() }
}

import MartletBase
import Martlet

/// Records the events of a handle, a monitor or callbacks, and waits for them.
///
/// ```swift
/// let events = EventRecorder<String>()
/// client.get("/news", onSuccess: { events.record($0.text) })
/// #expect(await events.wait(for: 1))
/// ```
///
/// Every wait has a timeout and ends early when its task is cancelled. Nothing is polled.
public final class EventRecorder<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    /// The waits that have timed out or were cancelled.
    var expired: Set<Int> = []
    var nextID = 0
  }

  private let state = Locked(State())

  /// Creates an empty recorder.
  public init() {}

  /// The recorded elements, in order.
  public var elements: [Element] { state.withLock { $0.elements } }

  /// Appends an element; callable from any thread.
  public func record(_ element: Element) {
    let waiters = state.withLock { state in
      state.elements.append(element)
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Records the elements of a stream in a new task.
  ///
  /// - Parameter stream: The stream, recorded to its end.
  /// - Returns: The task, which ends with the stream or when it is cancelled.
  @discardableResult
  public func follow(_ stream: AsyncStream<Element>) -> Task<Void, Never> {
    Task {
      for await element in stream { record(element) }
    }
  }

  /// Waits until at least `count` elements have been recorded.
  ///
  /// - Parameters:
  ///   - count: The number of elements since the recorder was created.
  ///   - timeout: The longest wait, in real time; 30 seconds by default.
  /// - Returns: Whether they were recorded before the timeout.
  public func wait(for count: Int, timeout: Duration = .seconds(30)) async -> Bool {
    await wait(timeout: timeout) { $0.count >= count }
  }

  /// Waits until a condition on the elements holds.
  ///
  /// - Parameters:
  ///   - timeout: The longest wait, in real time; 30 seconds by default.
  ///   - condition: Receives all elements so far; evaluated immediately, and again after elements were recorded.
  /// - Returns: Whether the condition held before the timeout.
  public func wait(
    timeout: Duration = .seconds(30), until condition: @Sendable ([Element]) -> Bool
  ) async -> Bool {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    let timer = Task {
      // A cancelled timer belongs to a wait that has ended.
      guard (try? await Task.sleep(for: timeout)) != nil else { return }
      expire(id)
    }
    defer {
      timer.cancel()
      state.withLock { _ = $0.expired.remove(id) }
    }
    return await withTaskCancellationHandler {
      while true {
        // The condition is the caller's code and does not run under the lock.
        let seen = elements
        if condition(seen) { return true }
        guard await waitForMore(than: seen.count, id) else { return condition(elements) }
      }
    } onCancel: {
      expire(id)
    }
  }

  /// Waits until there are more than `count` elements; returns whether the wait may continue.
  private func waitForMore(than count: Int, _ id: Int) async -> Bool {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.elements.count > count || state.expired.contains(id) { return true }
        state.waiters[id] = continuation
        return false
      }
      if isOver { continuation.resume() }
    }
    return state.withLock { !$0.expired.contains(id) }
  }

  private func expire(_ id: Int) {
    let waiter = state.withLock { state in
      state.expired.insert(id)
      return state.waiters.removeValue(forKey: id)
    }
    waiter?.resume()
  }
}

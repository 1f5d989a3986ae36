import MartletBase
import Martlet

/// Records events, and waits for them.
///
/// The events may be those of a handle, a monitor or callbacks.
///
/// ```swift
/// let events = EventRecorder<String>()
/// client.get("/news", onSuccess: { events.record($0.text) })
/// #expect(await events.wait(for: 1))
/// ```
///
/// Every wait has a timeout and ends early when its task is cancelled. Nothing is polled.
public final class EventRecorder<Element: Sendable>: Sendable {
  private let recorded = Locked<[Element]>([])
  private let changes = ChangeSignal()

  /// Creates an empty recorder.
  public init() {}

  /// The recorded elements, in order.
  public var elements: [Element] { recorded.withLock { $0 } }

  /// Appends an element; callable from any thread.
  public func record(_ element: Element) {
    recorded.withLock { $0.append(element) }
    changes.signal()
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
  ///   - condition: Receives all elements so far; evaluated immediately, and again after elements were recorded or
  ///     another wait has timed out.
  /// - Returns: Whether the condition held before the timeout.
  public func wait(
    timeout: Duration = .seconds(30), until condition: @Sendable ([Element]) -> Bool
  ) async -> Bool {
    let hasExpired = Locked(false)
    let timer = Task {
      // A cancelled timer belongs to a wait that has ended.
      guard (try? await Task.sleep(for: timeout)) != nil else { return }
      hasExpired.withLock { $0 = true }
      changes.signal()
    }
    defer { timer.cancel() }
    var holds = false
    await changes.wait {
      // The condition is the caller's code and does not run under the lock.
      holds = condition(elements)
      return holds || hasExpired.withLock { $0 }
    }
    return holds || condition(elements)
  }
}

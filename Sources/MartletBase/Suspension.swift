#if DEBUG
  /// What resumes a waiting task, once: in a debug build with a check for that, and a word to the thread sanitizer.
  ///
  /// The sanitizer knows only the checked kind; what is inlined of the other one it takes for a race. And where a task is
  /// resumed just before it begins to wait, it does not see that what was written before comes before what the task reads.
  package struct Suspension<T>: Sendable {
    fileprivate let continuation: CheckedContinuation<T, any Error>
    fileprivate let order: SuspensionOrder

    package func resume(with result: sending Result<T, any Error>) {
      order.note.unlocking()
      continuation.resume(with: result)
    }

    package func resume(returning value: sending T) { resume(with: .success(value)) }

    package func resume(throwing error: any Error) { resume(with: .failure(error)) }
  }

  extension Suspension where T == Void {
    package func resume() { resume(with: .success(())) }
  }

  /// What comes before a task is resumed, and what after.
  private final class SuspensionOrder: Sendable {
    let note = LockNote()
  }

  /// Waits until a suspension is resumed.
  package func suspend<T>(_ body: (Suspension<T>) -> Void) async throws -> T {
    let order = SuspensionOrder()
    defer { order.note.locked() }
    return try await withCheckedThrowingContinuation { body(Suspension(continuation: $0, order: order)) }
  }
#else
  @usableFromInline package typealias Suspension<T> = UnsafeContinuation<T, any Error>

  @inlinable @inline(__always) package func suspend<T>(_ body: (Suspension<T>) -> Void) async throws -> T {
    try await withUnsafeThrowingContinuation(body)
  }
#endif

#if DEBUG
  /// A continuation; in debug builds, checked and known to the thread sanitizer.
  ///
  /// The sanitizer supports only checked continuations; it reports the inlined code of unsafe ones as a race. If a task
  /// is resumed just before it suspends, the sanitizer also misses that writes before the resumption precede the task's
  /// reads.
  public struct Suspension<T>: Sendable {
    fileprivate let continuation: CheckedContinuation<T, any Error>
    fileprivate let order: SuspensionOrder

    public func resume(with result: sending Result<T, any Error>) {
      order.note.unlocking()
      continuation.resume(with: result)
    }

    public func resume(returning value: sending T) { resume(with: .success(value)) }

    public func resume(throwing error: any Error) { resume(with: .failure(error)) }
  }

  extension Suspension where T == Void {
    public func resume() { resume(with: .success(())) }
  }

  /// Orders the code before a resumption and the code after it.
  private final class SuspensionOrder: Sendable {
    let note = LockNote()
  }

  /// Waits until a suspension is resumed.
  public func suspend<T>(_ body: (Suspension<T>) -> Void) async throws -> T {
    let order = SuspensionOrder()
    defer { order.note.locked() }
    return try await withCheckedThrowingContinuation { body(Suspension(continuation: $0, order: order)) }
  }
#else
  public typealias Suspension<T> = UnsafeContinuation<T, any Error>

  @inlinable @inline(__always) public func suspend<T>(_ body: (Suspension<T>) -> Void) async throws -> T {
    try await withUnsafeThrowingContinuation(body)
  }
#endif

#if DEBUG
  /// What resumes a waiting task, once: in a debug build with a check for that.
  ///
  /// The thread sanitizer, too, knows only the checked kind; what is inlined of the other one it takes for a race.
  @usableFromInline package typealias Suspension<T> = CheckedContinuation<T, any Error>

  /// Waits until a suspension is resumed.
  @inlinable package func suspend<T>(_ body: (Suspension<T>) -> Void) async throws -> T {
    try await withCheckedThrowingContinuation(body)
  }
#else
  /// What resumes a waiting task, once.
  @usableFromInline package typealias Suspension<T> = UnsafeContinuation<T, any Error>

  /// Waits until a suspension is resumed.
  @inlinable @inline(__always) package func suspend<T>(_ body: (Suspension<T>) -> Void) async throws -> T {
    try await withUnsafeThrowingContinuation(body)
  }
#endif

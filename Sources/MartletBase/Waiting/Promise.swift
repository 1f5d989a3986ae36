/// A result that is set once.
///
/// Any number of tasks can wait for it. A single task can also take it: the promise then keeps neither the result nor
/// its resources alive.
public final class Promise<Output: Sendable>: Sendable {
  @usableFromInline struct State: ~Copyable {
    @usableFromInline var result: Result<Output, any Error>?
    @usableFromInline var waiters = Numbered<Suspension<Output>>()
    @usableFromInline var isTaken = false

    @inlinable init() {}
  }

  @usableFromInline let state = Locked(State())

  @inlinable public init() {}

  /// The result, or `nil` before it is set.
  @inlinable public var current: Result<Output, any Error>? { state.withLock { $0.result } }

  /// Sets the result; returns `false` and keeps the first one if there is one.
  @discardableResult
  @inlinable public func resolve(_ result: Result<Output, any Error>) -> Bool {
    let waiters: Numbered<Suspension<Output>>? = state.withLock { state in
      guard state.result == nil else { return nil }
      state.result = state.isTaken ? .failure(CancellationError()) : result
      return state.waiters.removeAll()
    }
    waiters?.forEach { $0.resume(with: result) }
    return waiters != nil
  }

  /// Waits for the result, or until the task is cancelled.
  @inlinable public func value() async throws -> Output {
    let number = state.withLock { $0.waiters.reserve() }
    return try await withTaskCancellationHandler {
      try await wait(number) { state in
        // The cancellation handler may have run before there was a suspension to resume.
        state.result ?? (Task.isCancelled ? .failure(CancellationError()) : nil)
      }
    } onCancel: {
      state.withLock { $0.waiters.remove(number) }?.resume(throwing: CancellationError())
    }
  }

  /// Waits for the result, and ignores cancellation of the waiting task.
  @inlinable public func outcome() async -> Result<Output, any Error> {
    let number = state.withLock { $0.waiters.reserve() }
    do { return .success(try await wait(number) { $0.result }) } catch { return .failure(error) }
  }

  /// Waits for the result and takes it, ignoring cancellation of the waiting task; must be called only once.
  @inlinable public func take() async throws -> Output {
    try await wait(0) { state in
      guard !state.isTaken else { return .failure(CancellationError()) }
      state.isTaken = true
      guard let result = state.result else { return nil }
      state.result = .failure(CancellationError())
      return result
    }
  }

  /// Waits for the result, unless `result` returns one under the lock.
  @inlinable func wait(
    _ number: Int, unless result: (inout State) -> Result<Output, any Error>?
  ) async throws -> Output {
    try await suspend { waiter in
      let result: Result<Output, any Error>? = state.withLock { state in
        if let result = result(&state) { return result }
        state.waiters.add(waiter, as: number)
        return nil
      }
      if let result { waiter.resume(with: result) }
    }
  }
}

import MartletBase

/// A result that is set once and awaited by any number of tasks.
final class SharedResult<Output: Sendable>: Sendable {
  private typealias Waiter = CheckedContinuation<Result<Output, any Error>, Never>

  private struct State {
    var result: Result<Output, any Error>?
    var waiters: [Int: Waiter] = [:]
    var nextWaiter = 0
    var isSilenced = false
  }

  private let state = Locked(State())

  var isSilenced: Bool { state.withLock { $0.isSilenced } }

  var current: Result<Output, any Error>? { state.withLock { $0.result } }

  func silence() { state.withLock { $0.isSilenced = true } }

  /// Sets the result; later ones are ignored.
  func resolve(_ result: Result<Output, any Error>) {
    let waiters: Dictionary<Int, Waiter>.Values? = state.withLock { state in
      guard state.result == nil else { return nil }
      state.result = result
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters ?? [:].values { waiter.resume(returning: result) }
  }

  /// Waits for the result, or until the task is cancelled.
  func value() async throws -> Output {
    let id = nextWaiter()
    return try await withTaskCancellationHandler {
      try await wait(id, endsWithTask: true).get()
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: .failure(CancellationError()))
    }
  }

  /// Waits for the result and ignores cancellation of the waiting task.
  func outcome() async -> Result<Output, any Error> { await wait(nextWaiter(), endsWithTask: false) }

  private func nextWaiter() -> Int {
    state.withLock {
      $0.nextWaiter += 1
      return $0.nextWaiter
    }
  }

  private func wait(_ id: Int, endsWithTask: Bool) async -> Result<Output, any Error> {
    await withCheckedContinuation { continuation in
      let result: Result<Output, any Error>? = state.withLock {
        if let result = $0.result { return result }
        // The cancellation handler ran before there was a continuation to resume.
        if endsWithTask && Task.isCancelled { return .failure(CancellationError()) }
        $0.waiters[id] = continuation
        return nil
      }
      if let result { continuation.resume(returning: result) }
    }
  }
}

import MartletBase

/// Aborts a call, or one exchange of it, from outside and only once.
///
/// Cancelling a task is not enough: `cancelAll()` must end a request without cancelling the task that awaits it, and a
/// time limit must end one attempt without ending the call. Handlers run on the thread that aborts, after the lock is
/// released.
package final class AbortSource: Sendable {
  package typealias Handler = @Sendable (any Error) -> Void

  /// A struct, because a closure in a tuple is wrapped once more.
  private struct Entry: Sendable {
    let run: Handler
  }

  private struct State: ~Copyable {
    var error: (any Error)?
    var handlers = Numbered<Entry>()
  }

  private let state = Locked(State())

  package init() {}

  /// The abort reason, or `nil` before the abort.
  package var error: (any Error)? { state.withLock { $0.error } }

  /// Throws the abort reason after an abort.
  package func check() throws {
    if let error { throw error }
  }

  /// Registers an abort handler, or runs it if the source is aborted already; returns a token for ``remove(_:)``.
  @discardableResult
  package func onAbort(_ handler: @escaping Handler) -> Int {
    let (id, error): (Int, (any Error)?) = state.withLock {
      if let error = $0.error { return (0, error) }
      return ($0.handlers.add(Entry(run: handler)), nil)
    }
    if let error { handler(error) }
    return id
  }

  /// Removes a handler that is no longer needed.
  package func remove(_ id: Int) {
    // The removed handler is released after unlocking: it may own an object whose `deinit` calls this source.
    let removed = state.withLock { $0.handlers.remove(id) }
    _ = removed
  }

  /// Aborts with an error; returns `false` if the source has been aborted before.
  @discardableResult
  package func abort(_ error: any Error) -> Bool {
    let handlers: Numbered<Entry>? = state.withLock { state in
      guard state.error == nil else { return nil }
      state.error = error
      return state.handlers.removeAll()
    }
    handlers?.forEach { $0.run(error) }
    return handlers != nil
  }
}

/// Runs code that does not observe `source`, until an abort.
///
/// The code runs in its own task, which an abort cancels. The function does not wait for the end of that task: a
/// closure that ignores cancellation must not delay a caller beyond a time limit. With `endsWithTask`, cancelling the
/// caller's task also ends the wait.
// Not specialized: the function creates a task, whose cost exceeds that of generic code.
@_semantics("optimize.sil.specialize.generic.never")
package func withAbort<T: Sendable>(
  _ source: AbortSource, endsWithTask: Bool = false, _ body: @escaping @Sendable () async throws -> T
) async throws -> T {
  let once = Promise<T>()
  let task = Task {
    do { once.resolve(.success(try await body())) } catch { once.resolve(.failure(error)) }
  }
  // The result comes first, because a cancelled task may set one at once.
  let token = source.onAbort { error in
    once.resolve(.failure(error))
    task.cancel()
  }
  defer { source.remove(token) }
  guard endsWithTask else { return try await once.take() }
  return try await withTaskCancellationHandler {
    try await once.take()
  } onCancel: {
    once.resolve(.failure(source.error ?? CancellationError()))
    task.cancel()
  }
}

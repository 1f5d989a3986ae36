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
    let id: Int
    let run: Handler
  }

  private struct State {
    var error: (any Error)?
    /// The first entry, stored separately because there is rarely a second one.
    var first: Entry?
    var others: [Entry] = []
    var nextID = 0

    mutating func add(_ handler: @escaping Handler) -> Int {
      nextID += 1
      let entry = Entry(id: nextID, run: handler)
      if first == nil && others.isEmpty { first = entry } else { others.append(entry) }
      return nextID
    }

    mutating func remove(_ id: Int) -> Entry? {
      if let removed = first, removed.id == id {
        first = nil
        return removed
      }
      return others.firstIndex { $0.id == id }.map { others.remove(at: $0) }
    }
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
      return ($0.add(handler), nil)
    }
    if let error { handler(error) }
    return id
  }

  /// Removes a handler that is no longer needed.
  package func remove(_ id: Int) {
    // The removed handler is released after unlocking: it may own an object whose `deinit` calls this source.
    let removed = state.withLock { $0.remove(id) }
    _ = removed
  }

  /// Aborts with an error; returns `false` if the source has been aborted before.
  @discardableResult
  package func abort(_ error: any Error) -> Bool {
    let handlers: (first: Entry?, others: [Entry])? = state.withLock { state in
      guard state.error == nil else { return nil }
      state.error = error
      defer {
        state.first = nil
        state.others = []
      }
      return (state.first, state.others)
    }
    guard let handlers else { return false }
    handlers.first?.run(error)
    for handler in handlers.others { handler.run(error) }
    return true
  }
}

/// Runs code that does not observe `source`, until an abort.
///
/// The code runs in its own task, which an abort cancels. The function does not wait for the end of that task: a
/// closure that ignores cancellation must not delay a caller beyond a time limit. With `endsWithTask`, a cancellation of
/// the caller's task ends the wait as well.
package func withAbort<T: Sendable>(
  _ source: AbortSource, endsWithTask: Bool = false, _ body: @escaping @Sendable () async throws -> T
) async throws -> T {
  let once = OneShot<T>()
  let task = Task {
    do { once.resolve(.success(try await body())) } catch { once.resolve(.failure(error)) }
  }
  let token = source.onAbort { error in
    task.cancel()
    once.resolve(.failure(error))
  }
  defer { source.remove(token) }
  guard endsWithTask else { return try await once.value() }
  return try await withTaskCancellationHandler {
    try await once.value()
  } onCancel: {
    task.cancel()
    once.resolve(.failure(source.error ?? CancellationError()))
  }
}

/// A result that is set once and awaited once.
package final class OneShot<T: Sendable>: Sendable {
  private enum State {
    case empty
    case waiting(Suspension<T>)
    case result(Result<T, any Error>)
    case done
  }

  private let state = Locked(State.empty)

  package init() {}

  /// Sets the result; returns `false` and keeps the first one if there is one.
  @discardableResult
  package func resolve(_ result: Result<T, any Error>) -> Bool {
    let (waiter, isFirst): (Suspension<T>?, Bool) = state.withLock {
      switch $0 {
      case .empty:
        $0 = .result(result)
        return (nil, true)
      case .waiting(let continuation):
        $0 = .done
        return (continuation, true)
      case .result, .done: return (nil, false)
      }
    }
    waiter?.resume(with: result)
    return isFirst
  }

  /// Waits for the result; must be called only once.
  package func value() async throws -> T {
    try await suspend { continuation in
      let result: Result<T, any Error>? = state.withLock {
        switch $0 {
        case .result(let result):
          $0 = .done
          return result
        case .empty:
          $0 = .waiting(continuation)
          return nil
        case .waiting, .done:
          return .failure(CancellationError())
        }
      }
      if let result { continuation.resume(with: result) }
    }
  }
}

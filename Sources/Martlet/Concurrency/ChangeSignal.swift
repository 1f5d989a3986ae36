import MartletBase
import Synchronization

/// Notifies watchers of changes; costs one atomic read without watchers.
package final class ChangeSignal: Sendable {
  private struct State {
    var version = 0
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var nextWaiter = 0
  }

  private let watchers = Atomic<Int>(0)
  private let state = Locked(State())

  package init() {}

  var isWatched: Bool { watchers.load(ordering: .relaxed) > 0 }

  package func signal() {
    guard isWatched else { return }
    let waiters: Dictionary<Int, CheckedContinuation<Void, Never>>.Values? = state.withLock { state in
      state.version += 1
      guard !state.waiters.isEmpty else { return nil }
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters ?? [:].values { waiter.resume() }
  }

  package func addWatcher() { watchers.add(1, ordering: .relaxed) }
  package func removeWatcher() { watchers.subtract(1, ordering: .relaxed) }

  /// The number of the last change.
  package var version: Int { state.withLock { $0.version } }

  /// Waits until there is a change after `version`, or the task is cancelled.
  package func wait(after version: Int) async {
    let id = state.withLock {
      $0.nextWaiter += 1
      return $0.nextWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock {
          guard $0.version == version, !Task.isCancelled else { return true }
          $0.waiters[id] = continuation
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
    }
  }

  /// Waits until a condition holds or the task is cancelled.
  ///
  /// Every change that can make the condition true must call ``signal()``.
  package func wait(until isTrue: () -> Bool) async {
    addWatcher()
    defer { removeWatcher() }
    while !Task.isCancelled {
      let version = version
      if isTrue() { return }
      await wait(after: version)
    }
  }

  /// Waits until there is a change after `version`, or `limit` has passed.
  func wait(after version: Int, orFor limit: Duration, _ timeline: Timeline) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await self.wait(after: version) }
      group.addTask { try await timeline.watch(limit) }
      try await group.next()
      group.cancelAll()
    }
  }
}

import MartletBase
import Synchronization

/// Notifies watchers of changes; costs one atomic read without watchers.
package final class ChangeSignal: Sendable {
  private struct State {
    var version = 0
    /// The next change, if any task waits for it.
    var next: Promise<Void>?
  }

  private let watchers = Atomic<Int>(0)
  private let state = Locked(State())

  package init() {}

  var isWatched: Bool { watchers.load(ordering: .relaxed) > 0 }

  package func signal() {
    guard isWatched else { return }
    let change: Promise<Void>? = state.withLock { state in
      state.version += 1
      return state.next.take()
    }
    change?.resolve(.success(()))
  }

  package func addWatcher() { watchers.add(1, ordering: .relaxed) }
  package func removeWatcher() { watchers.subtract(1, ordering: .relaxed) }

  /// The number of the last change.
  package var version: Int { state.withLock { $0.version } }

  /// Waits until there is a change after `version`, or the task is cancelled.
  package func wait(after version: Int) async {
    let change: Promise<Void>? = state.withLock { state in
      guard state.version == version else { return nil }
      let change = state.next ?? Promise()
      state.next = change
      return change
    }
    try? await change?.value()
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

  /// Waits until there is a change after `version`, or a limit has passed.
  func wait(after version: Int, orFor limit: Duration?, _ timeline: Timeline) async throws {
    guard let limit else { return await wait(after: version) }
    try await race([{ await self.wait(after: version) }, { try await timeline.watch(limit) }])
  }
}

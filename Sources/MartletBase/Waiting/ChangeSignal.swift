public import Synchronization

/// Notifies watchers of changes; costs one atomic read without watchers.
public final class ChangeSignal: Sendable {
  private struct State: ~Copyable {
    var version = 0
    /// The next change, if any task waits for it.
    var next: Promise<Void>?
  }

  @usableFromInline let watchers = Atomic<Int>(0)
  private let state = Locked(State())

  public init() {}

  @inlinable public var isWatched: Bool { watchers.load(ordering: .relaxed) > 0 }

  @inlinable public func signal() { if isWatched { wakeWaiters() } }

  @usableFromInline func wakeWaiters() {
    let change: Promise<Void>? = state.withLock { state in
      state.version += 1
      return state.next.take()
    }
    change?.resolve(.success(()))
  }

  public func addWatcher() { watchers.add(1, ordering: .relaxed) }
  public func removeWatcher() { watchers.subtract(1, ordering: .relaxed) }

  /// The number of the last change.
  public var version: Int { state.withLock { $0.version } }

  /// Waits until there is a change after `version`, or the task is cancelled.
  public func wait(after version: Int) async {
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
  public func wait(until isTrue: () -> Bool) async {
    addWatcher()
    defer { removeWatcher() }
    while !Task.isCancelled {
      let version = version
      if isTrue() { return }
      await wait(after: version)
    }
  }

  /// Waits until there is a change after `version`, but no longer than `limit`.
  public func wait(after version: Int, orFor limit: Duration?, _ timeline: Timeline) async throws {
    guard let limit else { return await wait(after: version) }
    try await race([{ await self.wait(after: version) }, { try await timeline.watch(limit) }])
  }
}

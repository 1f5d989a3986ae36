import MartletBase

/// An object with time limits.
protocol Watched: AnyObject, Sendable {
  /// Handles expired limits; returns the time of the next check, or `nil` if no limit is left.
  func checkLimits(now: Duration) -> Duration?
}

/// Checks all time limits of a client with one timer.
///
/// A request that ends in time costs one insertion into a table and one removal. The timer moves only for a limit
/// that is earlier than all others. When it fires, all watched objects are scanned.
final class Watchdog: Sendable {
  private struct State: ~Copyable {
    var watched = Slots<(next: Duration, object: any Watched)>()
    var wake: Duration?
    var generation = 0
    var pump: Task<Void, Never>?
  }

  /// Limits within this interval are checked together, so many limits do not keep a core busy.
  private static let grain = Duration.milliseconds(5)

  /// The delay of the timer above which the process or the machine may have been suspended.
  private static let standstill = Duration.milliseconds(50)
  /// The maximum extra time after a suspension.
  ///
  /// The readers of data that arrived in the meantime were also suspended. Before the watchdog ends anything for its
  /// silence, it waits for the length of the suspension again, but no longer than this.
  static let grace = Duration.milliseconds(500)

  private let timeline: Timeline
  private let changes: ChangeSignal
  private let state = Locked(State())

  /// Creates an empty watchdog; `changes` signals each object that is no longer watched.
  init(_ timeline: Timeline, changes: ChangeSignal = ChangeSignal()) {
    self.timeline = timeline
    self.changes = changes
  }

  deinit { state.withLock { $0.pump }?.cancel() }

  /// Watches an object, or changes the time of its next check; `place` is its own.
  func watch(_ object: any Watched, at place: borrowing SlotIndex, next: Duration) {
    let needsMove = state.withLock {
      if $0.watched[place.number]?.object === object {
        $0.watched.replace(at: place.number, with: (next, object))
      } else {
        place.number = $0.watched.add((next, object))
      }
      guard let wake = $0.wake else { return true }
      return next < wake
    }
    if needsMove { moveTimer() }
  }

  func forget(_ object: any Watched, at place: borrowing SlotIndex) {
    let removed = state.withLock {
      $0.watched[place.number]?.object === object ? $0.watched.remove(at: place.number) : nil
    }
    _ = removed
    changes.signal()
  }

  var count: Int { state.withLock { $0.watched.count } }

  /// Sets the timer to the earliest limit.
  private func moveTimer() {
    let old: Task<Void, Never>? = state.withLock { state in
      guard let earliest = state.watched.all.lazy.map(\.next).min() else {
        state.wake = nil
        return nil
      }
      if let wake = state.wake, wake <= earliest { return nil }
      let old = state.pump
      state.wake = earliest
      state.generation += 1
      let generation = state.generation
      let timeline = timeline
      // Detached: it works for all requests, and must not have the task-local values of one of them.
      state.pump = Task.detached { [weak self] in
        var due = earliest
        // Bounded, so limits still expire on a machine that is always late.
        for _ in 0..<3 {
          guard (try? await timeline.watchUntil(due)) != nil else { return }
          let late = timeline.now() - due
          guard timeline.knowsStandstill, late > Watchdog.standstill else { break }
          due = timeline.now() + min(late, Watchdog.grace)
        }
        self?.look(generation: generation)
      }
      return old
    }
    // Outside the lock, because cancelling runs code of the clock.
    old?.cancel()
  }

  /// Checks all objects that are due.
  private func look(generation: Int) {
    let now = timeline.now()
    let due: [(place: Int, (next: Duration, object: any Watched))]? = state.withLock { state in
      guard state.generation == generation else { return nil }
      state.wake = nil
      return state.watched.numbered.filter { $0.1.next <= now + Watchdog.grain }
    }
    guard let due else { return }
    for (place, (seen, object)) in due {
      let next = object.checkLimits(now: now)
      state.withLock { state in
        // If the object was removed or rescheduled in the meantime, the newer state applies.
        guard let current = state.watched[place], current.object === object, current.next == seen else { return }
        if let next {
          // Wait at least one interval, so a limit that is almost reached does not cause a busy loop.
          state.watched.replace(at: place, with: (max(next, now + Watchdog.grain), object))
        } else {
          _ = state.watched.remove(at: place)
        }
      }
      if next == nil { changes.signal() }
    }
    moveTimer()
  }
}

import MartletBase

/// Something whose limits have to be looked at.
protocol Watched: AnyObject, Sendable {
  /// Acts on a limit that has passed; returns when to look again, or `nil` when no limit is left.
  func checkLimits(now: Duration) -> Duration?
}

/// Looks at all limits of a client with one timer.
///
/// A request that ends in time costs an insertion into a dictionary and a removal: the timer is only moved for a limit
/// that is earlier than all others, and a wake-up looks at everything that is alive.
final class Watchdog: Sendable {
  private struct State {
    var watched: [ObjectIdentifier: (next: Duration, object: any Watched)] = [:]
    var wake: Duration?
    var generation = 0
    var pump: Task<Void, Never>?
  }

  /// Limits closer together than this are looked at in one go, so that many of them cannot keep a core busy.
  private static let grain = Duration.milliseconds(5)

  /// A timer that is later than this may mean that the process was stopped, or that the machine slept.
  private static let standstill = Duration.milliseconds(50)
  /// Who should have read what came in the meantime was as late: before anything is ended for its silence, there is as
  /// much time again, but no more than this.
  static let grace = Duration.milliseconds(500)

  private let timeline: Timeline
  private let changes: ChangeSignal
  private let state = Locked(State())

  /// Creates a watchdog that watches nothing; `changes` is told whenever something is watched no longer.
  init(_ timeline: Timeline, changes: ChangeSignal = ChangeSignal()) {
    self.timeline = timeline
    self.changes = changes
  }

  deinit { state.withLock { $0.pump }?.cancel() }

  /// Starts watching, or moves the time of the next look.
  func watch(_ object: any Watched, next: Duration) {
    let needsMove = state.withLock {
      $0.watched[ObjectIdentifier(object)] = (next, object)
      guard let wake = $0.wake else { return true }
      return next < wake
    }
    if needsMove { moveTimer() }
  }

  func forget(_ object: any Watched) {
    let removed = state.withLock { $0.watched.removeValue(forKey: ObjectIdentifier(object)) }
    _ = removed
    changes.signal()
  }

  var count: Int { state.withLock { $0.watched.count } }

  /// Sets the timer to the earliest limit.
  private func moveTimer() {
    let old: Task<Void, Never>? = state.withLock { state in
      guard let earliest = state.watched.values.lazy.map(\.next).min() else {
        state.wake = nil
        return nil
      }
      if let wake = state.wake, wake <= earliest { return nil }
      let old = state.pump
      state.wake = earliest
      state.generation += 1
      let generation = state.generation
      let timeline = timeline
      state.pump = Task { [weak self] in
        var due = earliest
        // Bounded: a machine that is always late must not keep every limit from passing.
        for _ in 0..<3 {
          guard (try? await timeline.watch(max(due - timeline.now(), .zero))) != nil else { return }
          let late = timeline.now() - due
          guard timeline.knowsStandstill, late > Watchdog.standstill else { break }
          due = timeline.now() + min(late, Watchdog.grace)
        }
        self?.look(generation: generation)
      }
      return old
    }
    // Not under the lock: cancelling runs code of the clock.
    old?.cancel()
  }

  /// Looks at everything that is due.
  private func look(generation: Int) {
    let now = timeline.now()
    let due: [(next: Duration, object: any Watched)]? = state.withLock { state in
      guard state.generation == generation else { return nil }
      state.wake = nil
      return state.watched.values.lazy.filter { $0.next <= now + Watchdog.grain }.map { $0 }
    }
    guard let due else { return }
    for (seen, object) in due {
      let next = object.checkLimits(now: now)
      state.withLock { state in
        let id = ObjectIdentifier(object)
        // Gone, or moved meanwhile by what it watches over: the newer word counts.
        guard let current = state.watched[id], current.next == seen else { return }
        if let next {
          // Never at once again: a limit that was not reached by a hair must not spin.
          state.watched[id]?.next = max(next, now + Watchdog.grain)
        } else {
          state.watched[id] = nil
        }
      }
      if next == nil { changes.signal() }
    }
    moveTimer()
  }
}

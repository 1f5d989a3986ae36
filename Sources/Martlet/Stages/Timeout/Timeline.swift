/// The clock of a client, which counts from the client's creation.
///
/// The type opens `any Clock<Duration>` once, so that other code need not handle instants of an unknown type.
package struct Timeline: Sendable {
  /// The time since the start.
  package let now: @Sendable () -> Duration

  /// Sleeps for a requested delay; ends early if the task is cancelled.
  package let pause: @Sendable (Duration) async throws -> Void

  /// Sleeps until a limit must be checked.
  ///
  /// Unlike ``pause``, it passes a tolerance to the clock. A test clock can thus distinguish a delay, which it skips,
  /// from a limit, which must not be reached by skipping.
  package let watch: @Sendable (Duration) async throws -> Void

  /// Whether a very late wake-up means that the process or the machine was suspended.
  ///
  /// This is not the case for a clock that a test controls.
  let knowsStandstill: Bool

  package init(_ clock: any Clock<Duration>) { self.init(opening: clock, knowsStandstill: clock is ContinuousClock) }

  init(_ clock: any Clock<Duration>, knowsStandstill: Bool) {
    self.init(opening: clock, knowsStandstill: knowsStandstill)
  }

  private init<C: Clock<Duration>>(opening clock: C, knowsStandstill: Bool) {
    self.knowsStandstill = knowsStandstill
    if clock is ContinuousClock {
      // Called several times for each request, so avoid the clock of unknown type.
      let start = ContinuousClock.now
      now = { start.duration(to: ContinuousClock.now) }
    } else {
      let start = clock.now
      now = { start.duration(to: clock.now) }
    }
    pause = { try await clock.sleep(until: clock.now.advanced(by: Timeline.sane($0)), tolerance: nil) }
    watch = {
      try await clock.sleep(until: clock.now.advanced(by: Timeline.sane($0)), tolerance: .milliseconds(5))
    }
  }

  /// Limits a sleep to a year, because clocks of the runtime overflow with absurd durations.
  private static func sane(_ duration: Duration) -> Duration {
    min(max(duration, .zero), .seconds(365 * 24 * 3600))
  }
}

/// The client's clock, with time counted from the client's making.
///
/// Opens `any Clock<Duration>` once, so that nothing else has to handle instants of an unknown type.
package struct Timeline: Sendable {
  /// The time since the start.
  package let now: @Sendable () -> Duration

  /// Sleeps for as long as a caller asked to; ends early when the task is cancelled.
  package let pause: @Sendable (Duration) async throws -> Void

  /// Sleeps until a limit has to be looked at.
  ///
  /// It passes a tolerance to the clock, which ``pause`` does not: a test clock can so tell a pause, to be skipped, from
  /// a limit that must not be reached by skipping.
  package let watch: @Sendable (Duration) async throws -> Void

  /// Whether a sleep that ends far too late means that the process or the machine stood still.
  ///
  /// It means nothing on a clock that a test moves.
  let knowsStandstill: Bool

  package init(_ clock: any Clock<Duration>) { self.init(opening: clock, knowsStandstill: clock is ContinuousClock) }

  init(_ clock: any Clock<Duration>, knowsStandstill: Bool) {
    self.init(opening: clock, knowsStandstill: knowsStandstill)
  }

  private init<C: Clock<Duration>>(opening clock: C, knowsStandstill: Bool) {
    self.knowsStandstill = knowsStandstill
    if clock is ContinuousClock {
      // Asked several times for each request: without the detour through an unknown type.
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

  /// Clocks of the runtime overflow with absurd durations; nobody waits longer than a year in one sleep.
  private static func sane(_ duration: Duration) -> Duration {
    min(max(duration, .zero), .seconds(365 * 24 * 3600))
  }
}

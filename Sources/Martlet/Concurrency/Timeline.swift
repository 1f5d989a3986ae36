import Foundation

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

  /// Sleeps until a time of this timeline, like ``pause``.
  ///
  /// Unlike a delay, it does not become later if the clock moves while the sleep begins.
  let pauseUntil: @Sendable (Duration) async throws -> Void

  /// Sleeps until a time of this timeline, like ``watch``.
  let watchUntil: @Sendable (Duration) async throws -> Void

  /// Whether a very late wake-up means that the process or the machine was suspended.
  ///
  /// This is not the case for a clock that a test controls.
  let knowsStandstill: Bool

  package init(_ clock: some Clock<Duration>, knowsStandstill: Bool? = nil) {
    self.knowsStandstill = knowsStandstill ?? (clock is ContinuousClock)
    let start = clock.now
    if clock is ContinuousClock {
      // Called several times for each request, so avoid the clock of unknown type.
      now = Timeline.continuous()
    } else {
      now = { start.duration(to: clock.now) }
    }
    pauseUntil = { try await clock.sleep(until: start.advanced(by: Timeline.sane($0, 10)), tolerance: nil) }
    watchUntil = {
      try await clock.sleep(until: start.advanced(by: Timeline.sane($0, 10)), tolerance: .milliseconds(5))
    }
    pause = { try await clock.sleep(until: clock.now.advanced(by: Timeline.sane($0)), tolerance: nil) }
    watch = {
      try await clock.sleep(until: clock.now.advanced(by: Timeline.sane($0)), tolerance: .milliseconds(5))
    }
  }

  /// Limits a sleep to a year, because clocks of the runtime overflow with absurd durations.
  ///
  /// A time of a timeline is limited to ten years from its start.
  private static func sane(_ duration: Duration, _ years: Int64 = 1) -> Duration {
    min(max(duration, .zero), .seconds(years * 365 * 24 * 3600))
  }

  /// The time from now on, by `ContinuousClock`.
  private static func continuous() -> @Sendable () -> Duration {
    #if os(Linux)
      // Twice as quick as the difference of two instants of the same system clock.
      let start = boottime()
      return {
        let time = boottime()
        return Duration(
          secondsComponent: Int64(time.tv_sec &- start.tv_sec),
          attosecondsComponent: Int64(time.tv_nsec &- start.tv_nsec) &* 1_000_000_000)
      }
    #else
      let start = ContinuousClock.now
      return { start.duration(to: ContinuousClock.now) }
    #endif
  }

  #if os(Linux)
    private static func boottime() -> timespec {
      var time = timespec()
      clock_gettime(CLOCK_BOOTTIME, &time)
      return time
    }
  #endif
}

extension Duration {
  /// The number of whole seconds.
  ///
  /// Three times as quick as `components`.
  var wholeSeconds: Int64 { Int64(truncatingIfNeeded: attoseconds / 1_000_000_000_000_000_000) }
}

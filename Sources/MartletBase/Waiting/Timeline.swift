#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A clock that counts from its creation, such as a client's.
///
/// The type opens `any Clock<Duration>` once, so other code need not handle instants of an unknown type.
public struct Timeline: Sendable {
  /// The time since the start.
  public let now: @Sendable () -> Duration

  private let sleep: @Sendable (_ end: Duration, _ tolerance: Duration?) async throws -> Void

  /// Whether a very late wake-up means that the process or the machine was suspended.
  ///
  /// This is not the case for a clock that a test controls.
  public let knowsStandstill: Bool

  public init<Time: Clock<Duration>>(_ clock: Time, knowsStandstill: Bool? = nil) {
    self.knowsStandstill = knowsStandstill ?? (clock is ContinuousClock)
    let start: Time.Instant
    if clock is ContinuousClock {
      // Called several times for each request, so avoid the clock of unknown type.
      now = Timeline.continuous()
      // Read the clock after the time, because sleeps may end late, but never early.
      let passed = now()
      start = clock.now.advanced(by: .zero - passed)
    } else {
      let first = clock.now
      (start, now) = (first, { first.duration(to: clock.now) })
    }
    sleep = { try await clock.sleep(until: start.advanced(by: Timeline.sane($0, 10)), tolerance: $1) }
  }

  /// Sleeps for a requested delay; ends early if the task is cancelled.
  public func pause(_ delay: Duration) async throws { try await pauseUntil(now() + Self.sane(delay)) }

  /// Sleeps until a limit must be checked.
  ///
  /// Unlike ``pause(_:)``, it passes a tolerance to the clock. A test clock can thus distinguish a delay, which it
  /// skips, from a limit, which must not be reached by skipping.
  public func watch(_ limit: Duration) async throws { try await watchUntil(now() + Self.sane(limit)) }

  /// Sleeps until a time of this timeline, like ``pause(_:)``.
  ///
  /// Unlike a delay, the sleep does not end later if the clock moves while it begins.
  public func pauseUntil(_ end: Duration) async throws { try await sleep(end, nil) }

  /// Sleeps until a time of this timeline, like ``watch(_:)``.
  public func watchUntil(_ end: Duration) async throws { try await sleep(end, .milliseconds(5)) }

  /// Limits a sleep to a year, because clocks of the runtime overflow with absurd durations.
  ///
  /// A time of a timeline is limited to ten years from its start.
  private static func sane(_ duration: Duration, _ years: Int64 = 1) -> Duration {
    min(max(duration, .zero), .seconds(years * 365 * 24 * 3600))
  }

  /// The time from now on, by `ContinuousClock`.
  private static func continuous() -> @Sendable () -> Duration {
    #if os(Linux)
      // Twice as fast as the difference of two instants of the same system clock.
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
  /// Three times faster than `components`.
  @inlinable public var wholeSeconds: Int64 { Int64(truncatingIfNeeded: attoseconds / 1_000_000_000_000_000_000) }
}

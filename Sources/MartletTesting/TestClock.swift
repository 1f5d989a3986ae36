import MartletBase
import Martlet

/// A clock that advances only by sleeps or by hand.
///
/// By default, sleeps advance the clock: a sleeping task is resumed at once, and the time moves to its deadline.
/// Waits between retries then cost no real time, and can be checked exactly:
///
/// ```swift
/// #expect(clock.sleeps == [.milliseconds(200), .milliseconds(400)])
/// ```
///
/// Sleeping tasks are resumed in the order of their deadlines. Before the time moves, tasks that are about to sleep get
/// a chance to do so, without a guarantee; a test of exact interleavings uses ``Advancing/manually``.
public final class TestClock: Clock, Sendable {
  /// A length of time.
  public typealias Duration = Swift.Duration

  /// A point on a test clock, counted from its creation.
  public struct Instant: InstantProtocol, Hashable, Sendable {
    /// The time since the clock was created.
    public var offset: Swift.Duration

    /// Creates an instant.
    public init(offset: Swift.Duration = .zero) { self.offset = offset }

    /// The instant that is later by this duration.
    public func advanced(by duration: Swift.Duration) -> Instant { Instant(offset: offset + duration) }

    /// The duration from this instant to another.
    public func duration(to other: Instant) -> Swift.Duration { other.offset - offset }

    /// Whether one instant is before another.
    public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  /// How the time advances.
  @nonexhaustive public enum Advancing: Sendable {
    /// Every sleep advances the time as soon as it begins.
    ///
    /// The clock's limit excludes long sleeps.
    case automatically
    /// Only ``TestClock/advance(by:)`` advances the time.
    case manually
  }

  private let advancing: Advancing
  private let automaticLimit: Swift.Duration
  private let state = Locked(TestClockState())
  private let changes = ChangeSignal()

  /// Creates a clock at zero.
  ///
  /// - Parameters:
  ///   - advancing: How the time advances; by default with every sleep.
  ///   - automaticLimit: The longest sleep that advances the time; 60 seconds by default. A longer one, such as the
  ///     deadline of a whole call, must not overtake the work that it limits: it ends when other sleeps or
  ///     ``advance(by:)`` move the time past it.
  public init(advancing: Advancing = .automatically, automaticLimit: Swift.Duration = .seconds(60)) {
    self.advancing = advancing
    self.automaticLimit = automaticLimit
  }

  /// The current time of the clock.
  public var now: Instant { state.withLock { $0.now } }

  /// Zero: the clock is exact.
  public var minimumResolution: Swift.Duration { .zero }

  /// The durations of the completed sleeps, in order of completion.
  ///
  /// Sleeps with a tolerance, such as those of time limits, are left out. So are sleeps that were cancelled or have not
  /// ended, and those whose deadline had already passed.
  public var sleeps: [Swift.Duration] { state.withLock { $0.sleeps } }

  /// The number of sleeping tasks, including those of time limits.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// Sleeps until the clock reaches a deadline.
  ///
  /// - Parameters:
  ///   - deadline: When to resume; a deadline that is not in the future returns at once.
  ///   - tolerance: Any value marks the sleep as a time limit, which does not advance the time. The clock itself is
  ///     exact.
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Swift.Duration? = nil) async throws {
    try Task.checkCancellation()
    let number = state.withLock { $0.takeNumber() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        begin(number, until: deadline, isWatch: tolerance != nil, continuation)
      }
    } onCancel: {
      state.withLock { $0.cancel(number) }?.resume(throwing: CancellationError())
      changes.signal()
    }
  }

  /// Advances the time, and resumes the tasks that are due.
  ///
  /// Tasks are resumed in the order of their deadlines. Works in both modes. The tasks continue after the call, when
  /// the time has moved all the way; a task that then sleeps again counts from there.
  ///
  /// - Parameter duration: The duration to advance by; not negative.
  public func advance(by duration: Swift.Duration) {
    precondition(duration >= .zero, "Time does not run backwards.")
    for continuation in state.withLock({ $0.advance(to: $0.now.advanced(by: duration)) }) { continuation.resume() }
    changes.signal()
  }

  /// Waits until at least `count` tasks are asleep.
  ///
  /// - Parameters:
  ///   - count: The number of tasks.
  ///   - timeout: The longest wait in real time, by default 30 seconds.
  /// - Returns: Whether that happened before the timeout.
  @discardableResult
  public func waitForSleepers(_ count: Int, timeout: Swift.Duration = .seconds(30)) async -> Bool {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.wait(forSleepers: count) }
      group.addTask { try? await Task.sleep(for: timeout) }
      await group.next()
      group.cancelAll()
      await group.waitForAll()
      return sleeperCount >= count
    }
  }

  /// Waits until at least `count` tasks are asleep, or until cancellation, without a timeout.
  package func wait(forSleepers count: Int) async { await wait { $0.sleeperCount >= count } }

  /// Waits until a condition holds or the task is cancelled.
  ///
  /// The condition must depend only on the time and the sleeping tasks.
  package func wait(until isTrue: (TestClock) -> Bool) async { await changes.wait { isTrue(self) } }

  private func begin(
    _ number: Int, until deadline: Instant, isWatch: Bool, _ continuation: TestClockState.Continuation
  ) {
    let limit = advancing == .automatically ? automaticLimit : nil
    let outcome = state.withLock { $0.begin(number, until: deadline, limit: limit, isWatch: isWatch, continuation) }
    changes.signal()
    switch outcome {
    case .sleeping: break
    case .passed: continuation.resume()
    case .cancelled: continuation.resume(throwing: CancellationError())
    case .needsDriver: Task { await drive() }
    }
  }

  /// Ends the sleeps that advance the time, until none is left.
  private func drive() async {
    while true {
      await letOthersSleep()
      guard let due = state.withLock({ $0.advanceToNextAutomatic() }) else { return }
      for continuation in due { continuation.resume() }
      changes.signal()
    }
  }

  /// Yields until no task has begun or ended a sleep for a while.
  private func letOthersSleep() async {
    var seen = state.withLock { $0.changes }
    var quietTurns = 0
    // Bounded, because tasks that sleep repeatedly must not stop the time.
    for _ in 0..<1000 where quietTurns < 16 {
      await Task.yield()
      let changes = state.withLock { $0.changes }
      quietTurns = changes == seen ? quietTurns + 1 : 0
      seen = changes
    }
  }
}

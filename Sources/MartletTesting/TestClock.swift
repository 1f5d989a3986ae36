import MartletBase
import Martlet

/// A clock that moves only when a test or a sleep moves it.
///
/// By default the clock advances by itself: a task that sleeps is resumed at once, with the time moved to its deadline,
/// so that waits between retries cost no real time and can be checked exactly:
///
/// ```swift
/// #expect(clock.sleeps == [.milliseconds(200), .milliseconds(400)])
/// ```
///
/// Several tasks asleep are served in the order of their deadlines. Before the time moves, tasks that are about to
/// sleep get turns to do so, which is a courtesy and not a promise; a test of exact interleavings uses
/// ``Advancing/manually``.
public final class TestClock: Clock, Sendable {
  /// A length of time.
  public typealias Duration = Swift.Duration

  /// A point on a test clock, counted from its creation.
  public struct Instant: InstantProtocol, Hashable, Sendable {
    /// The time since the clock was created.
    public var offset: Swift.Duration

    /// Creates an instant.
    public init(offset: Swift.Duration = .zero) {
      self.offset = offset
    }

    /// The instant that is so much later.
    public func advanced(by duration: Swift.Duration) -> Instant { Instant(offset: offset + duration) }

    /// The time from this instant to another.
    public func duration(to other: Instant) -> Swift.Duration { other.offset - offset }

    /// Whether one instant is before another.
    public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  /// What makes the time pass.
  public enum Advancing: Sendable {
    /// Every sleep up to the limit of the clock, as soon as it begins.
    case automatically
    /// Only ``TestClock/advance(by:)``.
    case manually
  }

  private let advancing: Advancing
  private let automaticLimit: Swift.Duration
  private let state = Locked(TestClockState())
  private let changes = ChangeSignal()

  /// Creates a clock at zero.
  ///
  /// - Parameters:
  ///   - advancing: What makes the time pass; by default every sleep.
  ///   - automaticLimit: The longest sleep that moves the time by itself, by default 60 seconds. A longer one, such as
  ///     the deadline of a whole call, must not jump ahead of the work it watches: it ends when other sleeps or
  ///     ``advance(by:)`` carry the time past it.
  public init(advancing: Advancing = .automatically, automaticLimit: Swift.Duration = .seconds(60)) {
    self.advancing = advancing
    self.automaticLimit = automaticLimit
  }

  /// The time of the clock.
  public var now: Instant { state.withLock { $0.now } }

  /// Zero: the clock is exact.
  public var minimumResolution: Swift.Duration { .zero }

  /// The lengths of the pauses that came to their end, in that order.
  ///
  /// Sleeps with a tolerance, such as those of time limits, are left out. So are sleeps that were cancelled or still go on, and those
  /// whose deadline had passed already.
  public var sleeps: [Swift.Duration] { state.withLock { $0.sleeps } }

  /// The number of tasks asleep, those that watch over something included.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// Sleeps until the clock reaches a deadline.
  ///
  /// - Parameters:
  ///   - deadline: When to go on; one that is not in the future returns at once.
  ///   - tolerance: The clock is exact. A sleep that gives a tolerance watches over something, such as a time limit, and
  ///     does not move the time by itself.
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

  /// Moves the time forward and resumes the tasks whose deadlines it reaches, in the order of these.
  ///
  /// It works in both modes. The tasks go on after the call, when the time has moved all the way; one that then sleeps
  /// again counts from there.
  ///
  /// - Parameter duration: How far to move; not negative.
  public func advance(by duration: Swift.Duration) {
    precondition(duration >= .zero, "Time does not run backwards.")
    for continuation in state.withLock({ $0.advance(to: $0.now.advanced(by: duration)) }) { continuation.resume() }
    changes.signal()
  }

  /// Waits until at least so many tasks are asleep.
  ///
  /// - Parameters:
  ///   - count: The number of tasks.
  ///   - timeout: The longest wait in real time, by default 30 seconds.
  /// - Returns: Whether that happened in time.
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

  /// Waits until at least so many tasks are asleep, however long that takes, or the task is cancelled.
  package func wait(forSleepers count: Int) async { await wait { $0.sleeperCount >= count } }

  /// Waits until something holds that changes with the time or the tasks asleep only, or the task is cancelled.
  package func wait(until isTrue: (TestClock) -> Bool) async {
    await changes.wait { isTrue(self) }
  }

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

  /// Serves the sleeps that move the time by themselves, until none is left.
  private func drive() async {
    while true {
      await letOthersSleep()
      guard let due = state.withLock({ $0.advanceToNextAutomatic() }) else { return }
      for continuation in due { continuation.resume() }
      changes.signal()
    }
  }

  /// Gives way until no task has begun or ended a sleep for a while.
  private func letOthersSleep() async {
    var seen = state.withLock { $0.changes }
    var quietTurns = 0
    // The end is bounded: sleepers that come and go without pause must not hold the time still.
    for _ in 0..<1000 where quietTurns < 16 {
      await Task.yield()
      let changes = state.withLock { $0.changes }
      quietTurns = changes == seen ? quietTurns + 1 : 0
      seen = changes
    }
  }
}

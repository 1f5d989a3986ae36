/// The sleepers of a ``TestClock``; neither locks nor resumes.
struct TestClockState {
  typealias Continuation = CheckedContinuation<Void, any Error>

  struct Sleeper {
    let number: Int
    let deadline: TestClock.Instant
    let duration: Duration
    let movesTime: Bool
    /// Whether the sleep is a time limit instead of a pause.
    let isWatch: Bool
    let continuation: Continuation
  }

  enum Beginning {
    case sleeping
    case passed
    case cancelled
    /// The sleep advances the time, and no driver is running.
    case needsDriver
  }

  private(set) var now = TestClock.Instant()
  private(set) var sleeps: [Duration] = []
  /// The sleepers in the order of their deadlines, then of their beginning.
  private(set) var sleepers: [Sleeper] = []
  /// The number of changes, by which a driver detects activity.
  private(set) var changes = 0
  private var nextNumber = 0
  /// The sleeps cancelled between taking a number and falling asleep.
  private var cancelledEarly: Set<Int> = []
  private var hasDriver = false

  mutating func takeNumber() -> Int {
    defer { nextNumber += 1 }
    return nextNumber
  }

  /// Begins a sleep, unless it was cancelled early or its deadline has passed.
  ///
  /// `limit` is the longest sleep that advances the time, or `nil` if none does. The continuation is kept only if the
  /// result says that the task sleeps.
  mutating func begin(
    _ number: Int, until deadline: TestClock.Instant, limit: Duration?, isWatch: Bool, _ continuation: Continuation
  ) -> Beginning {
    changes += 1
    if cancelledEarly.remove(number) != nil { return .cancelled }
    let duration = now.duration(to: deadline)
    guard duration > .zero else { return .passed }
    let movesTime = !isWatch && limit.map { duration <= $0 } ?? false
    let place = sleepers.firstIndex { $0.deadline > deadline } ?? sleepers.endIndex
    sleepers.insert(
      Sleeper(
        number: number, deadline: deadline, duration: duration, movesTime: movesTime, isWatch: isWatch,
        continuation: continuation),
      at: place)
    guard movesTime, !hasDriver else { return .sleeping }
    hasDriver = true
    return .needsDriver
  }

  /// Ends a sleep early; returns the continuation to resume.
  mutating func cancel(_ number: Int) -> Continuation? {
    changes += 1
    guard let index = sleepers.firstIndex(where: { $0.number == number }) else {
      cancelledEarly.insert(number)
      return nil
    }
    return sleepers.remove(at: index).continuation
  }

  /// Advances the time; returns the continuations to resume, in order.
  mutating func advance(to instant: TestClock.Instant) -> [Continuation] {
    let due = sleepers.prefix { $0.deadline <= instant }
    sleepers.removeFirst(due.count)
    sleeps += due.lazy.filter { !$0.isWatch }.map(\.duration)
    now = max(now, instant)
    changes += 1
    return due.map(\.continuation)
  }

  /// Advances the time to the next sleep; `nil` if no sleep that advances it is left.
  mutating func advanceToNextAutomatic() -> [Continuation]? {
    // A longer sleep may end before that; it comes first, alone.
    guard sleepers.contains(where: \.movesTime), let next = sleepers.first else {
      hasDriver = false
      return nil
    }
    return advance(to: next.deadline)
  }
}

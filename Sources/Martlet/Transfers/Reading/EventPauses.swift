/// The pauses between the connections of one stream.
struct EventPauses {
  /// What grows, if the server asks for no pause at all.
  private static let least = Duration.milliseconds(100)

  private let minimum: Duration
  private let maximum: Duration
  /// What the server asks for, but no less than the shortest one.
  private var base: Duration
  /// Whether the server asks for less than that.
  private(set) var isHasty = false
  /// The connections since one that was of use.
  private var count = 0
  /// The pause before the connection that is there.
  private(set) var last = Duration.zero

  init(_ options: ServerSentEvents.Options) {
    base = max(options.initialDelay, .zero)
    minimum = max(options.minimumDelay, .zero)
    maximum = options.maximumDelay
  }

  mutating func ask(for pause: Duration) {
    isHasty = pause < minimum
    base = max(pause, minimum)
  }

  /// The pause after a connection, which was of use if it brought anything, or lasted.
  ///
  /// `asked` is what the server's `Retry-After` asks for; `random` is a number from 0 up to 1.
  mutating func next(wasOfUse: Bool, asked: Duration? = nil, random: Double) -> Duration {
    var longest = max(base, Self.least)
    if wasOfUse {
      count = 0
    } else {
      for _ in 0..<min(count, 32) where longest < maximum { longest = min(longest * 2, maximum) }
      count += 1
    }
    let isFirst = count <= 1
    last = isFirst ? base : base + (max(longest, base) - base) * min(max(random, 0), 1)
    // An hour is as long as a server gets with a status.
    if let asked { last = max(last, min(asked, .seconds(3600))) }
    return last
  }
}

import MartletBase

/// The delays between the connections of one stream.
struct EventPauses {
  /// The value from which delays grow, if the server requests no delay.
  private static let least = Duration.milliseconds(100)

  private let minimum: Duration
  private let maximum: Duration
  /// The initial delay or, once the server has requested one, that delay, but at least the minimum.
  private var base: Duration
  /// Whether the server requests a shorter delay than the minimum.
  private(set) var isHasty = false
  /// The number of connections since the last useful one.
  private var count = 0
  /// The delay before the current connection.
  private(set) var last = Duration.zero

  init(_ options: ServerSentEvents.Options) {
    base = max(options.initialDelay.bounded, .zero)
    minimum = max(options.minimumDelay.bounded, .zero)
    maximum = options.maximumDelay.bounded
  }

  mutating func ask(for pause: Duration) {
    isHasty = pause < minimum
    base = max(pause, minimum)
  }

  /// The delay after a connection, which was useful if it delivered anything, or lasted.
  ///
  /// `asked` is the delay in the server's `Retry-After`; `random` is a number from 0 up to 1.
  mutating func next(wasOfUse: Bool, asked: Duration? = nil, random: Double) -> Duration {
    var longest = max(base, Self.least)
    if wasOfUse {
      count = 0
    } else {
      if longest < maximum { longest = longest.doubled(count, upTo: maximum) }
      count = min(count, 1 << 20) + 1
    }
    let isFirst = count <= 1
    last = isFirst ? base : base + (max(longest, base) - base) * random
    // With a status, a server can request at most an hour.
    if let asked { last = max(last, min(asked, .seconds(3600))) }
    return last
  }
}

/// What one exchange has moved.
struct ExchangeBytes: Sendable {
  var sent: Int64 = 0
  var received: Int64 = 0
  var expectedToSend: Int64?
  var expectedToReceive: Int64?
  /// Whether what is received is part of what the caller asked for.
  var isCounted = true
}

/// The progress of one call over all its exchanges: what there is to tell of it, and when.
///
/// Adding is a few additions; a rate is kept, in memory of its own, only for a call that somebody watches.
struct ProgressLedger: Sendable {
  /// What is told 20 times a second at most.
  static let pause = Duration.milliseconds(50)
  /// A rate of less time than that says nothing.
  private static let leastSpan = 0.25

  private(set) var progress = TransferProgress()
  private var sent: Int64 = 0
  private var received: Int64 = 0
  private var exchanges = 0
  private var meter: BandwidthMeter?
  private var meteredFrom = Duration.zero
  private var told: Duration?
  private var isUntold = false

  mutating func begin() {
    exchanges += 1
    // The next one may expect more than this one did.
    if exchanges > 1 { progress.keepFractions() }
    progress.attempt = exchanges
  }

  mutating func add(sent: Int, received: Int, _ exchange: ExchangeBytes) {
    self.sent += Int64(sent)
    self.received += Int64(received)
    if exchange.sent > progress.sent { progress.sent = exchange.sent }
    if let expected = exchange.expectedToSend { progress.expectedToSend = expected }
    if exchange.isCounted {
      if exchange.received > progress.received { progress.received = exchange.received }
      if let expected = exchange.expectedToReceive { progress.expectedToReceive = expected }
    }
    progress.resent = self.sent - progress.sent
    progress.rereceived = self.received - progress.received
    isUntold = true
  }

  /// What is to be told now to somebody who watches; nothing if the last was told just before.
  mutating func due(sent: Int, received: Int, now: Duration) -> TransferProgress? {
    guard !progress.isFinished else { return nil }
    if let meter {
      meter.record(sent: sent, received: received, at: now)
    } else {
      // How long the first bytes took is not known.
      meter = BandwidthMeter()
      meteredFrom = now
    }
    if let told, now - told < Self.pause { return nil }
    return tell(now)
  }

  /// The last that is to be told; `nil` if the call failed and nothing moved since.
  mutating func last(succeeded: Bool, now: Duration) -> TransferProgress? {
    guard succeeded || isUntold, !progress.isFinished else { return nil }
    progress.isFinished = succeeded
    return tell(now)
  }

  private mutating func tell(_ now: Duration) -> TransferProgress {
    told = now
    isUntold = false
    progress.keepFractions()
    progress.bytesPerSecond = rate(now)
    progress.timeLeft = timeLeft
    return progress
  }

  /// The mean of the time that the meter looks back on, or of the time since it began if that is shorter.
  private func rate(_ now: Duration) -> ActivityMonitor.Bandwidth {
    guard let meter else { return ActivityMonitor.Bandwidth() }
    let window = Double(BandwidthMeter.window)
    let lookedBack = now / .seconds(1) - Double(now.components.seconds) + window - 1
    let span = min((now - meteredFrom) / .seconds(1), lookedBack)
    guard span >= Self.leastSpan else { return ActivityMonitor.Bandwidth() }
    let mean = meter.rate(at: now)
    return ActivityMonitor.Bandwidth(received: mean.received * window / span, sent: mean.sent * window / span)
  }

  private var timeLeft: Duration? {
    if progress.isFinished { return .zero }
    if let expected = progress.expectedToSend, progress.sent < expected {
      return Self.time(for: expected - progress.sent, at: progress.bytesPerSecond.sent)
    }
    guard let expected = progress.expectedToReceive else { return nil }
    return Self.time(for: expected - progress.received, at: progress.bytesPerSecond.received)
  }

  private static func time(for count: Int64, at rate: Double) -> Duration? {
    guard rate > 0 else { return nil }
    // No more than a century: a rate may be as small as it likes.
    return .seconds(min(max(0, Double(count)) / rate, 3.2e9))
  }
}

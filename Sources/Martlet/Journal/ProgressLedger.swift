import MartletBase

/// The bytes that one exchange has transferred.
struct ExchangeBytes: Sendable {
  var sent: Int64 = 0
  var received: Int64 = 0
  var expectedToSend: Int64?
  var expectedToReceive: Int64?
  /// Whether the received bytes belong to the response that the caller waits for.
  var isCounted = true
}

/// The progress of one call across all its exchanges, and when to report it.
///
/// Adding bytes takes a few additions. A rate is measured, in a separate object, only for an observed call.
struct ProgressLedger: Sendable {
  /// The minimum time between two reports: at most 20 per second.
  static let pause = Duration.milliseconds(50)
  /// The minimum time for a meaningful rate, in seconds.
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
    // The next exchange may expect more bytes than this one.
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

  /// The progress to report to observers now; `nil` soon after the last report.
  mutating func due(sent: Int, received: Int, now: Duration) -> TransferProgress? {
    guard !progress.isFinished else { return nil }
    if let meter {
      meter.record(sent: sent, received: received, at: now)
    } else {
      // The duration of the first bytes is unknown.
      meter = BandwidthMeter()
      meteredFrom = now
    }
    if let told, now - told < Self.pause { return nil }
    return deliver(now)
  }

  /// The last progress to report; `nil` if the call failed and nothing was transferred since the last report.
  mutating func last(succeeded: Bool, now: Duration) -> TransferProgress? {
    guard succeeded || isUntold, !progress.isFinished else { return nil }
    progress.isFinished = succeeded
    return deliver(now)
  }

  private mutating func deliver(_ now: Duration) -> TransferProgress {
    told = now
    isUntold = false
    progress.keepFractions()
    progress.bytesPerSecond = rate(now)
    progress.timeLeft = timeLeft
    return progress
  }

  /// The mean rate over the window of the meter, or since the first bytes if that is shorter.
  private func rate(_ now: Duration) -> TransferProgress.Bandwidth {
    guard let meter else { return TransferProgress.Bandwidth() }
    let window = Double(BandwidthMeter.window)
    let lookedBack = now.inSeconds - Double(now.clampedComponents.seconds) + window - 1
    let span = min((now - meteredFrom).inSeconds, lookedBack)
    guard span >= Self.leastSpan else { return TransferProgress.Bandwidth() }
    let mean = meter.rate(at: now)
    return TransferProgress.Bandwidth(received: mean.received * window / span, sent: mean.sent * window / span)
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
    // At most a century: the rate may be arbitrarily small.
    return .seconds(min(max(0, Double(count)) / rate, 3.2e9))
  }
}

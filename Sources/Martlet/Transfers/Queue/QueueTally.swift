/// Computes the progress of a queue from that of its requests.
struct QueueTally {
  private struct Share {
    var expected: Int64?
    var received: Int64 = 0
    var sent: Int64 = 0
  }

  private let kind: RequestQueue.Progress.Kind
  /// The shares of the requests in progress whose progress is known.
  private var shares: [RequestID: Share] = [:]
  /// The number of ended requests whose length was unknown.
  private var unknownDone = 0
  private(set) var progress = RequestQueue.Progress()
  private var told: RequestQueue.Progress?
  /// The expected bytes, the number of requests that they belong to, and the bytes that have arrived.
  ///
  /// Floating-point numbers, because servers may announce any length, and no sum may overflow.
  private var expected = 0.0
  private var expectedCount = 0
  private var arrived = 0.0

  init(_ kind: RequestQueue.Progress.Kind) { self.kind = kind }

  mutating func add() {
    progress.summary.added += 1
    update()
  }

  /// Sets the expected length of a response.
  mutating func expect(_ length: Int64, of id: RequestID) {
    var share = shares[id] ?? Share()
    guard share.expected == nil, length >= 0 else { return }
    share.expected = length
    shares[id] = share
    expected += Double(length)
    expectedCount += 1
    arrived += Double(min(share.received, length))
    update()
  }

  mutating func move(_ now: TransferProgress, of id: RequestID) {
    if kind == .accurate, let length = now.expectedToReceive { expect(length, of: id) }
    var share = shares[id] ?? Share()
    progress.received += max(0, now.received - share.received)
    progress.sent += max(0, now.sent - share.sent)
    if let length = share.expected {
      arrived += Double(min(now.received, length)) - Double(min(share.received, length))
    }
    share.received = max(share.received, now.received)
    share.sent = max(share.sent, now.sent)
    shares[id] = share
    update()
  }

  mutating func end(_ id: RequestID, _ end: RequestEvent.End) {
    let share = shares.removeValue(forKey: id) ?? Share()
    switch end {
    case .succeeded: progress.summary.succeeded += 1
    case .failed: progress.summary.failed += 1
    case .cancelled: progress.summary.cancelled += 1
    }
    if let length = share.expected {
      arrived += Double(length) - Double(min(share.received, length))
    } else {
      unknownDone += 1
    }
    update()
  }

  /// The progress to report, or `nil` if nothing is new; with simple counting, bytes are not reported.
  mutating func news() -> RequestQueue.Progress? {
    if kind == .simple, let told, told.fraction == progress.fraction, told.summary == progress.summary { return nil }
    guard told != progress else { return nil }
    told = progress
    return progress
  }

  private mutating func update() {
    let exact = exactFraction
    progress.isEstimate = exact < progress.fraction
    progress.fraction = max(progress.fraction, exact)
  }

  private var exactFraction: Double {
    let summary = progress.summary
    guard summary.added > 0 else { return 0 }
    if summary.ended == summary.added { return 1 }
    guard kind == .accurate, expectedCount > 0, expected > 0 else {
      return Double(summary.ended) / Double(summary.added)
    }
    // Requests of unknown length weigh as much as the others do on average.
    let mean = expected / Double(expectedCount)
    let unknown = Double(summary.added - expectedCount)
    return min(max(0, (arrived + Double(unknownDone) * mean) / (expected + unknown * mean)), 1)
  }
}

import MartletBase

/// Counts bytes in one-second buckets and averages the last five.
final class BandwidthMeter: Sendable {
  private struct Bucket {
    var second: Int64 = -1
    var received: Int64 = 0
    var sent: Int64 = 0
  }

  private struct State: ~Copyable {
    var buckets = [Bucket](repeating: Bucket(), count: BandwidthMeter.window)
    var received: Int64 = 0
    var sent: Int64 = 0
  }

  /// The number of seconds that a rate averages.
  static let window = 5
  private let state = Locked(State())

  func record(sent: Int, received: Int, at time: Duration) {
    let second = max(0, time.wholeSeconds)
    let index = Int(second % Int64(BandwidthMeter.window))
    state.withLock {
      if $0.buckets[index].second != second { $0.buckets[index] = Bucket(second: second) }
      $0.buckets[index].received += Int64(received)
      $0.buckets[index].sent += Int64(sent)
      $0.received += Int64(received)
      $0.sent += Int64(sent)
    }
  }

  /// The mean rate over the second of `time` and the four seconds before it.
  func rate(at time: Duration) -> TransferProgress.Bandwidth {
    let first = time.wholeSeconds - Int64(BandwidthMeter.window)
    return state.withLock {
      var sum = TransferProgress.Bandwidth()
      for bucket in $0.buckets where bucket.second > first {
        sum.received += Double(bucket.received)
        sum.sent += Double(bucket.sent)
      }
      let seconds = Double(BandwidthMeter.window)
      return TransferProgress.Bandwidth(received: sum.received / seconds, sent: sum.sent / seconds)
    }
  }

  var totals: (received: Int64, sent: Int64) { state.withLock { ($0.received, $0.sent) } }
}

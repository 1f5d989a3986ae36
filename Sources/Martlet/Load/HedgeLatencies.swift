import MartletBase

/// The latencies of one key, which all its requests share.
final class HedgeLog: Sendable {
  let key: HedgeLatencies.Key
  private let latencies = Locked(HedgeLatencies())

  init(_ key: HedgeLatencies.Key) { self.key = key }

  /// The delay of a hedge, from the latencies so far; `nil` if there are too few.
  func delay(_ percentile: Double) -> (delay: Duration?, samples: Int) {
    latencies.withLock { ($0.delay(percentile).map { max($0, HedgeLatencies.shortestDelay) }, $0.count) }
  }

  func record(_ latency: Duration) { latencies.withLock { $0.add(latency) } }
}

/// The latencies of the requests of one endpoint to one origin, as a histogram.
///
/// Each doubling is divided into eight classes, so a percentile is accurate to 9 %. Older latencies count half as much
/// after each thousand.
struct HedgeLatencies {
  struct Key: Hashable {
    let origin: Origin
    /// The type of the endpoint, or `nil` for other requests.
    let endpoint: ObjectIdentifier?
  }

  /// The minimum number of latencies for a delay.
  static let minimumCount = 20
  private static let maximumCount = 1_000
  /// The lower bound of the classes, in seconds; shorter latencies count as this one.
  private static let shortest = 1e-4
  private static let classesPerDoubling = 8.0
  /// The classes extend to 100 µs · 2²⁴, which is 28 minutes.
  private static let classes = 192

  private var counts = [UInt16](repeating: 0, count: classes)
  private(set) var count = 0

  mutating func add(_ latency: Duration) {
    let ratio = max(latency.inSeconds, Self.shortest) / Self.shortest
    let index = Int(min(log2(ratio) * Self.classesPerDoubling, Double(Self.classes - 1)))
    counts[index] += 1
    count += 1
    guard count >= Self.maximumCount else { return }
    for index in counts.indices { counts[index] /= 2 }
    count = counts.reduce(0) { $0 + Int($1) }
  }

  /// The shortest delay, because time limits are checked in steps of this length.
  static let shortestDelay = Duration.milliseconds(5)

  /// The latency that this share of the requests does not exceed; `nil` if there are too few latencies.
  func delay(_ percentile: Double) -> Duration? {
    guard count >= Self.minimumCount else { return nil }
    let rank = max(1, Int((Double(count) * percentile).rounded(.up)))
    var seen = 0
    for (index, number) in counts.enumerated() {
      seen += Int(number)
      // The delay is the upper end of the class.
      if seen >= rank {
        return .seconds(Self.shortest * exp2(Double(index + 1) / Self.classesPerDoubling))
      }
    }
    return nil
  }
}

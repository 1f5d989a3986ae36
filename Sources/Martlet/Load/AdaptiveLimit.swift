import MartletBase

/// A concurrency limit that adapts to the latency, like Envoy's gradient controller.
///
/// The median latency of a window is compared with the baseline, the latency without queues. While the two are similar,
/// the limit grows by its square root; when responses are slower, it shrinks in proportion:
///
/// ```
/// gradient = (1 + tolerance) · baseline / latency        between 0.5 and 2
/// limit    = gradient · limit + √(gradient · limit)      between the bounds
/// ```
///
/// Envoy measures the baseline by lowering the limit to a minimum once a minute. Here the baseline follows low
/// latencies at once. After some seconds of load, the limit is also halved until the latencies of at least ten
/// exchanges are known, as BBR does with its congestion window. A server that has become slower thus gets a higher
/// baseline, but a server that the requests of other clients have slowed down does not: the baseline never exceeds four
/// times the lowest of the last ten minutes, and falls back to the lowest when the server refuses exchanges or they
/// time out. The limit then shrinks by half of the share of these exchanges, and at least by a tenth, as in Netflix's
/// concurrency-limits.
struct AdaptiveLimit {
  /// A latency up to this much above the baseline is normal.
  private static let tolerance = 0.25
  private static let minimumSamples = 10
  private static let maximumSamples = 100
  /// The number of refusals that also ends a window: a client with few requests must not need minutes to slow down.
  private static let minimumDrops = 3
  /// The shortest window, in seconds.
  private static let shortestWindow = 0.1
  /// How far the baseline can rise above the lowest one, and how long the lowest one is kept, in seconds.
  private static let maximumRise = 4.0
  private static let lowestLife = 600.0
  private static let start = 10.0

  private struct Window {
    var start = 0.0
    var samples: [Double] = []
    var drops = 0
    /// The maximum number of exchanges in progress.
    var most = 0

    var isComplete: Bool { samples.count >= minimumSamples || drops >= minimumDrops }

    mutating func clear(at now: Double) {
      start = now
      samples.removeAll(keepingCapacity: true)
      (drops, most) = (0, 0)
    }
  }

  private enum Phase {
    case following
    /// The limit is halved until no more exchanges are in progress.
    case draining(saved: Double)
    /// The limit is halved until enough exchanges have begun, whose latencies are the next baseline.
    case gathering(saved: Double, count: Int)
    /// The limit is restored; the window ends when these exchanges have ended, including slow ones.
    case awaiting(count: Int, last: Double)
  }

  let bounds: ClosedRange<Int>
  private var exact: Double
  private var window = Window()
  private var phase = Phase.following
  private var measured = 0.0
  /// The latency without queues, in seconds.
  private(set) var baseline: Double?
  /// The lowest baseline, and the time at which it was set.
  private var lowest = (value: Double.infinity, since: 0.0)
  /// The median latency of the last window, in seconds.
  private(set) var latency: Double?
  /// The latency that 19 of 20 exchanges of the last window did not exceed, in seconds.
  private(set) var longLatency: Double?

  /// The limit.
  var value: Int { Int(exact) }

  init(_ bounds: ClosedRange<Int>) {
    self.bounds = bounds
    exact = min(max(Self.start, Double(bounds.lowerBound)), Double(bounds.upperBound))
    window.samples.reserveCapacity(Self.maximumSamples)
  }

  // MARK: Exchanges

  /// Records the start of an exchange.
  mutating func began(inFlight: Int, now: Duration) {
    window.most = max(window.most, inFlight)
    guard case .gathering(let saved, let count) = phase else { return }
    let now = now.inSeconds
    phase = .gathering(saved: saved, count: count + 1)
    // The phase lasts at least as long as one exchange, so the halved limit affects all measured exchanges.
    guard count + 1 >= Self.minimumSamples, now - window.start >= latency ?? 0 else { return }
    phase = .awaiting(count: count + 1, last: now)
    set(saved)
  }

  /// Records the response of an exchange, with its latency.
  mutating func succeeded(after latency: Duration, inFlight: Int, now: Duration) {
    let now = now.inSeconds
    let latency = max(latency.inSeconds, 1e-6)
    switch phase {
    case .following: add(latency)
    case .draining(let saved):
      guard Double(inFlight) <= exact else { return }
      phase = .gathering(saved: saved, count: 0)
      window.clear(at: now)
      return
    case .gathering, .awaiting:
      let begin = now - latency
      if case .awaiting(_, let last) = phase, begin > last { break }
      if begin >= window.start { add(latency) }
    }
    closeWindow(now)
  }

  /// Records an exchange that the server refused.
  mutating func dropped(now: Duration) {
    window.drops += 1
    closeWindow(now.inSeconds)
  }

  /// Records an exchange that got no response before a time limit.
  ///
  /// If the limit is not much longer than the usual latency, the timeout says nothing about the server's load.
  mutating func timedOut(after time: Duration, now: Duration) {
    let time = time.inSeconds
    // The response would have taken at least that long.
    longLatency = max(longLatency ?? time, time)
    if latency.map({ time >= 5 * $0 }) ?? true { dropped(now: now) }
  }

  private mutating func add(_ latency: Double) {
    if window.samples.count < Self.maximumSamples { window.samples.append(latency) }
  }

  // MARK: The end of a window

  private mutating func closeWindow(_ now: Double) {
    // A clock that was set back can return an earlier time than before.
    window.start = min(window.start, now)
    measured = min(measured, now)
    lowest.since = min(lowest.since, now)
    // A single refusal may be bad luck.
    let drops = window.drops < 2 ? 0 : Double(window.drops) / Double(window.drops + window.samples.count)
    if drops >= 0.1, window.isComplete {
      phase = .following
      // A baseline that has risen by now was that of an overloaded server.
      if baseline != nil { baseline = lowest.value }
      set(exact * min(0.9, 1 - drops / 2))
      return window.clear(at: now)
    }
    switch phase {
    case .following:
      guard window.isComplete, now - window.start >= Self.shortestWindow else { return }
      follow(now)
    case .draining, .gathering: return
    case .awaiting(let count, let last):
      // Some of the exchanges may have ended without a response.
      guard window.samples.count >= min(count, Self.maximumSamples) || now >= last + 3 * (latency ?? 0) else { return }
      phase = .following
      measured = now
      if !window.samples.isEmpty { setBaseline(median(), now) }
    }
    window.clear(at: now)
  }

  private mutating func median() -> Double {
    window.samples.sort()
    return window.samples[window.samples.count / 2]
  }

  private mutating func follow(_ now: Double) {
    let median = median()
    (latency, longLatency) = (median, window.samples[window.samples.count * 19 / 20])
    guard let base = baseline else {
      measured = now
      return setBaseline(median, now)
    }
    let isBusy = Double(window.most) * 2 >= exact
    if median < base {
      setBaseline(base + (median - base) * 0.2, now)
    } else if median < base * (1 + Self.tolerance) || !isBusy {
      setBaseline(base + (median - base) * 0.05, now)
    }
    // With little load, nothing can be learned about a higher limit, and latencies are those without queues.
    guard isBusy else {
      measured = now
      return
    }
    // A measurement halves the limit for a few latencies, which costs about one percent.
    if now - measured >= max(5, 100 * median) {
      phase = .draining(saved: exact)
      return set(exact / 2)
    }
    let gradient = min(max((1 + Self.tolerance) * base / median, 0.5), 2)
    set(gradient * exact + (gradient * exact).squareRoot())
  }

  private mutating func setBaseline(_ value: Double, _ now: Double) {
    if value <= lowest.value || now - lowest.since > Self.lowestLife { lowest = (value, now) }
    baseline = min(value, lowest.value * Self.maximumRise)
  }

  private mutating func set(_ limit: Double) {
    exact = min(max(limit, Double(bounds.lowerBound)), Double(bounds.upperBound))
  }
}

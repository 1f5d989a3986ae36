import MartletBase

/// Decides which requests to an origin, or under a rate limit, run, wait or fail.
///
/// ```
///   arrive ─▶ refused: circuit open, queue full, pause too long
///       ├───▶ goes ────────────────────────────▶ respond: latency, refusal or failure ─▶ release ─▶ serve
///       └───▶ waits ─ serve: a place, a token, or the end of a pause ─▶ goes
///               └──── leave: cancelled, or waited too long
/// ```
///
/// It contains no lock, no timer and no continuation; ``AdmissionQueue`` adds them.
struct AdmissionController {
  struct Rules {
    /// The bounds of the concurrency, if it adapts.
    var bounds: ClosedRange<Int>?
    var breaker = CircuitBreaker.off
    var rate = RateLimit.off
    var maximumWait = Duration.seconds(5)
    var maximumWaiting = 1_000
  }

  typealias Refusal = Explanation.LoadReason

  enum Verdict: Equatable {
    case goes(isProbe: Bool)
    case waits
    case refused(Refusal)
  }

  struct Served {
    let id: UInt64
    /// The reason why the request fails; `nil` if it runs.
    var refusal: Refusal?
  }

  /// The response of an exchange, or the reason why there was none.
  enum Outcome {
    /// A response; without a latency if it says nothing about the load.
    case response(after: Duration?)
    /// The server refused the exchange because of its load.
    case refusal
    indirect case failure(HTTPError, after: Duration)
    case cancelled
  }

  let rules: Rules
  private(set) var limit: AdaptiveLimit?
  private(set) var circuit = Circuit()
  private(set) var inFlight = 0
  private var pausedUntil: Duration?
  private var bucket: RateBucket?
  private var queue = FairQueue()
  private var ends: [UInt64: Duration] = [:]

  init(_ rules: Rules) {
    self.rules = rules
    limit = rules.bounds.map { AdaptiveLimit($0) }
    bucket = rules.rate.bucket
  }

  var waiting: Int { queue.count }

  /// Whether the controller can be discarded without losing state.
  func isIdle(now: Duration) -> Bool {
    guard inFlight == 0, queue.isEmpty, pauseLeft(now: now) == nil, circuit.state == .closed(failures: 0) else {
      return false
    }
    // A full bucket is equivalent to a new one.
    return bucket?.isFull(now: now) ?? true
  }

  // MARK: Arrival

  /// Decides about a new request; `end` is the time at which its own limits end it.
  mutating func arrive(
    _ id: UInt64, priority: Int = 0, caller: FairQueue.Caller = .anybody, end: Duration? = nil, now: Duration
  ) -> Verdict {
    notice(now)
    if !circuit.isClosed {
      if let refusal = circuitRefusal(now: now) { return .refused(refusal) }
      circuit.probe()
      begin(at: now)
      return .goes(isProbe: true)
    }
    if let rest = pauseLeft(now: now), rest > rules.maximumWait {
      return .refused(.pause(rest, maximum: rules.maximumWait))
    }
    if queue.isEmpty, mayGo(now) {
      begin(at: now)
      return .goes(isProbe: false)
    }
    guard queue.count < rules.maximumWaiting else { return .refused(.queueFull(waiting: queue.count)) }
    queue.push(id, priority: priority, caller: caller)
    ends[id] = end
    return .waits
  }

  /// The reason why the circuit refuses requests now, without making one the probe.
  func circuitRefusal(now: Duration) -> Refusal? { circuit.refusal(now: now).map { .circuitOpen(retryAfter: $0) } }

  /// Starts an exchange if that needs no wait, for a hedge.
  mutating func takeAtOnce(now: Duration) -> Bool {
    guard circuit.isClosed, queue.isEmpty, mayGo(now) else { return false }
    begin(at: now)
    return true
  }

  /// Limits times in the future: a clock that was set back prolongs neither a pause nor the wait for a token.
  private mutating func notice(_ now: Duration) {
    bucket?.notice(now)
    pausedUntil = pausedUntil.map { min($0, now.adding(rules.rate.maximumPause)) }
    circuit.notice(now, rules.breaker)
  }

  private var hasPlace: Bool { limit.map { inFlight < $0.value } ?? true }

  private func mayGo(_ now: Duration) -> Bool {
    guard hasPlace, pauseLeft(now: now) == nil else { return false }
    return bucket.map { $0.next(now: now) <= now } ?? true
  }

  private mutating func begin(at now: Duration) {
    // A rate does not limit the exchanges in progress, so nothing would have to be released.
    if limit != nil || !rules.breaker.isOff { inFlight += 1 }
    limit?.began(inFlight: inFlight, now: now)
    bucket?.take(now: now)
  }

  // MARK: The queue

  /// Removes the requests from the queue that may run now or must fail.
  mutating func serve(now: Duration) -> [Served] {
    notice(now)
    var served: [Served] = []
    while !queue.isEmpty, mayGo(now), let id = queue.pop() {
      let end = ends.removeValue(forKey: id)
      if let end, let latency = limit?.longLatency.map({ Duration.seconds($0) }), end - now < latency {
        served.append(Served(id: id, refusal: .tooLate(latency: latency)))
      } else {
        begin(at: now)
        served.append(Served(id: id))
      }
    }
    return served
  }

  /// The time at which the queue must be served unless an exchange ends before; `nil` if only that helps.
  func nextTime(now: Duration) -> Duration? {
    guard !queue.isEmpty, hasPlace else { return nil }
    let pause = pauseLeft(now: now).map { now + $0 } ?? now
    return max(pause, bucket?.next(now: now) ?? now)
  }

  /// Removes a request that no longer waits.
  mutating func leave(_ id: UInt64) {
    ends[id] = nil
    queue.remove(id)
  }

  /// Returns the token of an exchange that does not start yet.
  mutating func takeBackToken() { bucket?.refund() }

  // MARK: Exchanges

  /// Records the response of an exchange, or its failure.
  ///
  /// Returns the requests that fail because the circuit has opened.
  mutating func respond(_ outcome: Outcome, isProbe: Bool, now: Duration) -> [Served] {
    switch outcome {
    case .response(let latency):
      circuit.succeeded()
      if let latency { limit?.succeeded(after: latency, inFlight: inFlight, now: now) }
    case .refusal:
      circuit.succeeded()
      limit?.dropped(now: now)
    case .failure(let error, let time):
      if error.isTimeout { limit?.timedOut(after: time, now: now) }
      if circuit.failed(error, isProbe: isProbe, rules.breaker, now: now) { return refuseAll() }
    case .cancelled:
      if isProbe { circuit.probeEnded(now: now) }
    }
    return []
  }

  /// Records the end of an exchange; returns whether the queue must be served.
  mutating func release() -> Bool {
    inFlight = max(inFlight - 1, 0)
    return !queue.isEmpty
  }

  private mutating func refuseAll() -> [Served] {
    ends = [:]
    let refusal = Refusal.circuitOpen(retryAfter: rules.breaker.pause)
    return queue.removeAll().map { Served(id: $0, refusal: refusal) }
  }

  // MARK: Pauses

  /// Records that the server wants no requests until a time.
  mutating func pause(until time: Duration, now: Duration) {
    let time = min(time, now.adding(rules.rate.maximumPause))
    pausedUntil = max(pausedUntil ?? time, time)
  }

  /// The remaining time of the pause that the server requested.
  func pauseLeft(now: Duration) -> Duration? {
    guard let pausedUntil, pausedUntil > now else { return nil }
    return pausedUntil - now
  }
}

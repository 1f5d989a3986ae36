import MartletBase

/// The limits for the requests to one origin, or for those that count as one for a rate: who goes, who waits, who fails.
///
/// ```
///   arrive ─▶ refused: circuit open, queue full, pause too long
///       ├───▶ goes ────────────────────────────▶ respond: latency, refusal or failure ─▶ release ─▶ serve
///       └───▶ waits ─ serve: a place, a token, or the end of a pause ─▶ goes
///               └──── leave: cancelled, or waited too long
/// ```
///
/// It has no lock, no timer and no continuation: ``AdmissionControllers`` has them.
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
    /// Why the request fails; `nil` if it goes.
    var refusal: Refusal?
  }

  /// The response of an exchange, or why there was none.
  enum Outcome {
    /// `nil` if the latency says nothing.
    case response(after: Duration?)
    /// The server refused it, because of its load.
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

  /// Whether nothing would be lost without it.
  func isIdle(now: Duration) -> Bool {
    guard inFlight == 0, queue.isEmpty, pauseLeft(now: now) == nil, circuit.state == .closed(failures: 0) else {
      return false
    }
    // Full buckets are as good as new ones.
    return bucket?.isFull(now: now) ?? true
  }

  // MARK: Arrival

  /// Decides about a request that arrives; `end` is its end by its own limits.
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

  /// Why the circuit refuses requests now, without making one the probe.
  func circuitRefusal(now: Duration) -> Refusal? { circuit.refusal(now: now).map { .circuitOpen(retryAfter: $0) } }

  /// Takes a place without waiting, for a hedge.
  mutating func takeAtOnce(now: Duration) -> Bool {
    guard circuit.isClosed, queue.isEmpty, mayGo(now) else { return false }
    begin(at: now)
    return true
  }

  /// Notes the time: a clock that was set back prolongs neither a pause nor the wait for a token.
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
    // A rate has no places that would have to be freed.
    if limit != nil || !rules.breaker.isOff { inFlight += 1 }
    limit?.began(inFlight: inFlight, now: now)
    bucket?.take(now: now)
  }

  // MARK: The queue

  /// Takes those from the queue that may go now, or fail.
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

  /// The time at which the queue must be served, unless an exchange ends before; `nil` if only that can help.
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

  /// Takes back the token of an exchange that does not go yet.
  mutating func takeBackToken() { bucket?.refund() }

  // MARK: Exchanges

  /// Notes the response of an exchange, or its failure.
  ///
  /// Returns those that fail because the circuit has opened.
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

  /// Frees the place of an exchange; returns whether the queue is to be served.
  mutating func release() -> Bool {
    inFlight = max(inFlight - 1, 0)
    return !queue.isEmpty
  }

  private mutating func refuseAll() -> [Served] {
    ends = [:]
    let refusal = Refusal.circuitOpen(retryAfter: rules.breaker.pause)
    return queue.removeAll().map { Served(id: $0, refusal: refusal) }
  }

  // MARK: The server's words

  /// Notes that the server wants no requests until a time.
  mutating func pause(until time: Duration, now: Duration) {
    let time = min(time, now.adding(rules.rate.maximumPause))
    pausedUntil = max(pausedUntil ?? time, time)
  }

  /// What is left of the pause that the server asked for.
  func pauseLeft(now: Duration) -> Duration? {
    guard let pausedUntil, pausedUntil > now else { return nil }
    return pausedUntil - now
  }
}

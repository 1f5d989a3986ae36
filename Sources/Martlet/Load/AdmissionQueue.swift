import MartletBase

/// The requests that wait for an ``AdmissionController``, and the timer that serves them.
final class AdmissionQueue: Sendable {
  /// The purpose of a queue.
  ///
  /// Requests with different policies wait in different queues.
  enum Key: Hashable {
    case origin(Origin, ConcurrencyPolicy, CircuitBreaker)
    case rate(RateLimit, Subject)

    /// The origin whose pauses the queue obeys.
    var obeyedOrigin: Origin? {
      if case .rate(let rate, .origin(let origin)) = self, rate.obeysServers { origin } else { nil }
    }

    fileprivate var rules: AdmissionController.Rules {
      var rules = AdmissionController.Rules()
      switch self {
      case .origin(_, let concurrency, let breaker):
        rules.bounds = concurrency.bounds
        rules.breaker = breaker
        (rules.maximumWait, rules.maximumWaiting) = (concurrency.maximumWait, concurrency.maximumWaiting)
      case .rate(let rate, _):
        rules.rate = rate
        (rules.maximumWait, rules.maximumWaiting) = (rate.maximumWait, rate.maximumWaiting)
      }
      return rules
    }
  }

  /// The requests that a rate counts together.
  enum Subject: Hashable {
    case origin(Origin)
    case tag(String?)
    case endpoint(EndpointName?)
  }

  /// A type of endpoints.
  struct EndpointName: Hashable {
    let id: ObjectIdentifier
    let name: String

    init(_ type: Any.Type) { (id, name) = (ObjectIdentifier(type), "\(type)") }

    static func == (left: Self, right: Self) -> Bool { left.id == right.id }
    func hash(into hasher: inout Hasher) { hasher.combine(id) }
  }

  /// A waiting request, by the clock of its client.
  final class Waiter: Watched {
    /// Resolved when the request may run, or with a ``AdmissionController/Refusal``.
    let result = Promise<Void>()
    let since: Duration
    let place = SlotIndex()
    private let id: UInt64
    private let line: AdmissionQueue

    fileprivate init(_ id: UInt64, _ line: AdmissionQueue, since: Duration) {
      (self.id, self.line, self.since) = (id, line, since)
    }

    /// The latest end of the wait.
    var end: Duration { since.adding(line.maximumWait) }

    /// Ends the wait with an error.
    func leave(_ error: any Error) {
      line.leave(id)
      result.resolve(.failure(error))
    }

    func checkLimits(now: Duration) -> Duration? {
      guard now >= end else { return end }
      leave(AdmissionController.Refusal.waitedTooLong(maximum: line.maximumWait))
      return nil
    }
  }

  private struct State: ~Copyable {
    var gate: AdmissionController
    var waiters: [UInt64: Waiter] = [:]
    var nextID: UInt64 = 0
    /// The time of the timer that serves the queue, or `nil`.
    var timer: Duration?

    /// The time for a new timer, if it is earlier than that of the current one.
    mutating func newTimer(_ now: Duration) -> Duration? {
      guard let next = gate.nextTime(now: now), timer.map({ next < $0 }) ?? true else { return nil }
      timer = next
      return next
    }
  }

  let key: Key
  private let maximumWait: Duration
  private let timeline: Timeline
  private let state: Locked<State>

  init(_ key: Key, _ timeline: Timeline) {
    let rules = key.rules
    self.key = key
    self.timeline = timeline
    maximumWait = rules.maximumWait
    state = Locked(State(gate: AdmissionController(rules)))
  }

  /// The controller, for the activity monitor.
  var gate: AdmissionController { state.withLock { $0.gate } }
  var isIdle: Bool {
    let now = timeline.now()
    return state.withLock { $0.waiters.isEmpty && $0.gate.isIdle(now: now) }
  }
  var counts: (waiting: Int, inFlight: Int) { state.withLock { ($0.waiters.count, $0.gate.inFlight) } }

  // MARK: Arrival

  /// Decides about a new request.
  ///
  /// Clients that share the queue have different timelines: `end` is a time on the request's own timeline.
  func arrive(
    priority: Int, caller: FairQueue.Caller, end: Duration?, by own: Timeline
  ) -> (AdmissionController.Verdict, Waiter?) {
    let (now, since) = (timeline.now(), own.now())
    let end = end.map { now + ($0 - since) }
    let (verdict, waiter, timer): (AdmissionController.Verdict, Waiter?, Duration?) = state.withLock { state in
      state.nextID += 1
      let id = state.nextID
      let verdict = state.gate.arrive(id, priority: priority, caller: caller, end: end, now: now)
      guard verdict == .waits else { return (verdict, nil, nil) }
      let waiter = Waiter(id, self, since: since)
      state.waiters[id] = waiter
      return (verdict, waiter, state.newTimer(now))
    }
    if let timer { start(timer) }
    return (verdict, waiter)
  }

  /// The refusal by an open circuit; `nil` if requests may be tried.
  func circuitRefusal() -> AdmissionController.Refusal? { withGate { $0.circuitRefusal(now: $1) } }

  /// Starts an exchange if that needs no wait; returns whether it did.
  func takeAtOnce() -> Bool { withGate { $0.takeAtOnce(now: $1) } }

  private func leave(_ id: UInt64) {
    let removed = state.withLock { state in
      state.gate.leave(id)
      return state.waiters.removeValue(forKey: id)
    }
    _ = removed
  }

  // MARK: Exchanges

  /// Records the outcome of an exchange; returns whether it opened the circuit.
  func respond(_ outcome: AdmissionController.Outcome, isProbe: Bool) -> Bool {
    var hasOpened = false
    change { gate, now in
      let wasClosed = gate.circuit.isClosed
      defer { hasOpened = wasClosed && !gate.circuit.isClosed }
      return gate.respond(outcome, isProbe: isProbe, now: now)
    }
    return hasOpened
  }

  /// Records the end of an exchange.
  func release() {
    let isAwaited = state.withLock { $0.gate.release() }
    if isAwaited { change { $0.serve(now: $1) } }
  }

  /// Records that the server wants no requests until a time.
  func pause(until time: Duration) { withGate { $0.pause(until: time, now: $1) } }

  /// Returns the token of a request that goes back to the queue.
  func takeBackToken() { state.withLock { $0.gate.takeBackToken() } }

  var isPaused: Bool { withGate { $0.pauseLeft(now: $1) != nil } }

  private func withGate<T: Sendable>(_ body: (inout AdmissionController, Duration) -> T) -> T {
    let now = timeline.now()
    return state.withLock { body(&$0.gate, now) }
  }

  // MARK: The queue

  private func change(_ change: (inout AdmissionController, Duration) -> [AdmissionController.Served]) {
    let now = timeline.now()
    let (served, timer): ([(Waiter, AdmissionController.Refusal?)], Duration?) = state.withLock { state in
      let waiters = change(&state.gate, now).compactMap { one in
        state.waiters.removeValue(forKey: one.id).map { ($0, one.refusal) }
      }
      return (waiters, state.newTimer(now))
    }
    // Called without the lock, because it runs other code.
    for (waiter, refusal) in served {
      let outcome: Result<Void, any Error> = if let refusal { .failure(refusal) } else { .success(()) }
      // A request that was cancelled at the same moment does not run.
      if !waiter.result.resolve(outcome), refusal == nil { release() }
    }
    if let timer { start(timer) }
  }

  private func start(_ timer: Duration) {
    Task { [weak self, timeline] in
      try? await timeline.pauseUntil(timer)
      self?.serve(timer)
    }
  }

  private func serve(_ timer: Duration) {
    let isMine = state.withLock { state in
      guard state.timer == timer else { return false }
      state.timer = nil
      return true
    }
    if isMine { change { $0.serve(now: $1) } }
  }
}

/// The error that ends a wait in the queue.
extension AdmissionController.Refusal: Error {}

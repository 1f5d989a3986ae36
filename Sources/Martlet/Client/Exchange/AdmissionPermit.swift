import MartletBase

/// The error of a hedge that a limit does not admit.
struct NoCapacityForHedge: Error {}

/// Leads one exchange through the admission queues, and holds its place in the last one until the exchange ends.
final class AdmissionPermit: Sendable {
  private struct State: ~Copyable {
    var next = 0
    var isProbe = false
    /// The number of times that the exchange has returned to the origin's rate limiter.
    var returns = 0
    var hasResponded = false
    /// Whether the exchange has ended; its place is freed once the response is also recorded.
    var hasEnded = false
    var isOver = false
    var control: ExchangeControl?
  }

  let origin: Origin
  private let lines: [AdmissionQueue]
  /// The queue in which the exchange has a place, if it is the last one.
  private let last: AdmissionQueue?
  private let state = Locked(State())

  init(origin: Origin, _ call: Call) {
    self.origin = origin
    let (gates, rate) = (call.core.gates, call.options.rate)
    var lines: [AdmissionQueue] = []
    if !rate.isOff {
      switch rate.scope {
      case .origin: break
      case .tag: lines.append(gates.line(.rate(rate, .tag(call.tag))))
      case .endpoint: lines.append(gates.line(.rate(rate, .endpoint(call.endpoint.map { .init($0) }))))
      }
      if rate.scope == .origin || rate.obeysServers {
        lines.append(gates.line(.rate(rate.scope == .origin ? rate : rate.serverOnly, .origin(origin))))
      }
    }
    let settings = call.settings
    let (concurrency, breaker) = (settings.configuration.concurrency, settings.configuration.circuitBreaker)
    if concurrency.bounds != nil || !breaker.isOff {
      let line = gates.line(.origin(origin, concurrency, breaker))
      lines.append(line)
      last = line
    } else {
      last = nil
    }
    self.lines = lines
  }

  deinit { leave() }

  /// The exchange.
  var control: ExchangeControl? { state.withLock { $0.control } }

  func use(_ control: ExchangeControl) { state.withLock { $0.control = control } }

  /// Passes the queues that admit the exchange; returns the wait in the first one that does not.
  func advance(_ context: RequestContext) throws -> AdmissionQueue.Waiter? {
    let call = context.call
    // The state before a wait for a rate limiter.
    if lines.count > 1 || context.lane?.isHedge == true, let refusal = last?.circuitRefusal() {
      throw error(refusal, call)
    }
    while let line = state.withLock({ state in state.next < lines.count ? lines[state.next] : nil }) {
      if context.lane?.isHedge == true {
        guard context.lane?.isLost != true, line.takeAtOnce() else { throw NoCapacityForHedge() }
        entered(isProbe: false)
        continue
      }
      let (verdict, waiter) = line.arrive(
        priority: call.options.priority, caller: call.caller, end: call.end, by: call.core.timeline)
      switch verdict {
      case .goes(let isProbe): entered(isProbe: isProbe)
      case .waits: return waiter
      case .refused(let refusal): throw error(refusal, call)
      }
    }
    return nil
  }

  /// Records that a queue has admitted the exchange.
  func entered(isProbe: Bool) {
    state.withLock { state in
      state.next += 1
      state.isProbe = isProbe
    }
  }

  /// Releases the place if the server requested a pause during the wait.
  ///
  /// An exchange goes back at most three times, so its waits are bounded, whatever the server says.
  func observePause() {
    guard let last, let index = lines.firstIndex(where: { $0.key.obeyedOrigin != nil && $0.isPaused }) else { return }
    let goesBack = state.withLock { state in
      guard state.next == lines.count, index < lines.count - 1, !state.isProbe, state.returns < 3 else { return false }
      state.next = index
      state.returns += 1
      return true
    }
    guard goesBack else { return }
    last.release()
    lines[index].takeBackToken()
  }

  /// Records the outcome of the exchange.
  func respond(_ outcome: AdmissionController.Outcome, _ call: Call) {
    guard let last else { return }
    let (isProbe, hasEnded): (Bool?, Bool) = state.withLock { state in
      guard state.next == lines.count, !state.hasResponded else { return (nil, false) }
      state.hasResponded = true
      return (state.isProbe, state.hasEnded)
    }
    guard let isProbe else { return }
    if last.respond(outcome, isProbe: isProbe) {
      let (origin, pause) = (origin, call.settings.configuration.circuitBreaker.pause)
      call.decided(
        "load.circuitOpened", "the circuit of \(origin) is open for \(pause.shown): its last requests failed")
    }
    if hasEnded { leave() }
  }

  /// Records the end of the exchange, which frees its place as soon as the response is recorded.
  func end() {
    let isNoted = state.withLock { state in
      state.hasEnded = true
      return state.hasResponded
    }
    if isNoted { leave() }
  }

  /// Frees the place, even if the response was not recorded.
  private func leave() {
    guard let last else { return }
    let (holds, isOpenProbe): (Bool, Bool) = state.withLock { state in
      guard state.next == lines.count, !state.isOver else { return (false, false) }
      state.isOver = true
      return (true, state.isProbe && !state.hasResponded)
    }
    if isOpenProbe { _ = last.respond(.cancelled, isProbe: true) }
    if holds { last.release() }
  }

  func error(_ refusal: AdmissionController.Refusal, _ call: Call) -> HTTPError {
    let origin = origin
    call.report(.decided(.init("load.refused", "\(origin) gets no request", because: refusal)))
    let message = "\(origin) gets no request: \(refusal.wording.text)"
    guard case .circuitOpen = refusal else { return HTTPError(.overloaded, message, phase: .queued) }
    let failure = last?.gate.circuit.failure
    let cause = failure.map { "; the last failure: \($0.kind): \($0.message)" } ?? ""
    return HTTPError(.circuitOpen, message + cause, phase: .queued, underlying: failure)
  }
}

extension RateLimit {
  /// Only what servers say, with the same bounds.
  var serverOnly: RateLimit {
    RateLimit(rule: .server, maximumPause: maximumPause, maximumWait: maximumWait, maximumWaiting: maximumWaiting)
  }
}

extension Call {
  /// The caller, which decides the order when requests of several callers wait.
  var caller: FairQueue.Caller {
    if let tag { return .tag(tag) }
    return deadline.map { .work($0.deadline.identity) } ?? .anybody
  }
}

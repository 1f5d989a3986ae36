import MartletBase

/// The state of one exchange: phase, limits, bytes and abort.
///
/// The transport reports progress, the watchdog checks the limits, and aborting the call ends the exchange through
/// ``abortSource``.
package final class ExchangeControl: Watched {
  private struct State: ~Copyable {
    var phase = HTTPError.Phase.queued
    var phaseStart: Duration
    var lastMove: Duration
    var bytes = ExchangeBytes()
    /// The time of the watchdog's next check, if any.
    var nextLook: Duration?
    var isPaused = false
    /// Whether the transport waits for a network.
    var isOffline = false
    /// Whether the connection has changed to another protocol, in which silence is usual.
    var isUpgraded = false
    var queued = Duration.zero
    var probe: (@Sendable () -> Bool)?
    var lastProbe: Duration?
    var isConnectKnown = true
    var isOver = false
    /// Whether the other exchange of a hedged request has won.
    var isLost = false
    var measured = HTTPResponse.Timing()
    /// The facts that the transport reports at the end; boxed, because most transports report none.
    var late: Boxed<ExchangeMeasurement>?
  }

  /// Ends this exchange; aborting the call aborts it too.
  package let abortSource = AbortSource()

  let call: Call
  let start: Duration
  /// The number of the exchange, from 1 in its call; 0 without instruments.
  let number: Int
  /// The beginnings of the bodies, if an instrument wants them.
  let capture: BodyCapture?
  private let state: Locked<State>
  private let watchPlace = SlotIndex()

  init(call: Call, number: Int = 0, start: Duration) {
    self.call = call
    self.number = number
    self.start = start
    let limit = number > 0 ? call.settings.instruments?.maximumBodyBytes ?? 0 : 0
    capture = limit > 0 ? BodyCapture(limit) : nil
    state = Locked(State(phaseStart: start, lastMove: start))
  }

  package var phase: HTTPError.Phase { state.withLock { $0.phase } }

  /// The phase for error messages; the probe decides if the transport does not know it.
  var observedPhase: HTTPError.Phase {
    let (phase, probe) = state.withLock { ($0.phase, $0.probe) }
    return phase == .connecting && probe?() == true ? .waiting : phase
  }

  /// The time since which the exchange has waited for the server; `nil` while it waits for the client.
  var networkStart: Duration? {
    state.withLock { state in
      switch state.phase {
      case .queued, .sending, .pausing: nil
      case .connecting, .receiving: state.isPaused || state.isOffline ? nil : start + state.queued
      // Sending a body takes time, so the wait begins with this phase.
      case .waiting: state.bytes.sent > 0 ? state.phaseStart : start + state.queued
      }
    }
  }

  enum Wait {
    /// A free slot, the exchange's own body, or its reader.
    case client
    /// The server, since this time.
    case server(since: Duration)
    /// A response has begun, or the exchange has ended.
    case over
  }

  /// The event that the exchange waits for; one with a body waits for the server when all of it is sent.
  func wait(hasBody: Bool) -> Wait {
    state.withLock { state in
      if state.isOver { return .over }
      switch state.phase {
      case .queued, .sending, .pausing: return .client
      case .connecting:
        return hasBody || state.isPaused || state.isOffline ? .client : .server(since: start + state.queued)
      case .waiting: return .server(since: hasBody ? state.phaseStart : start + state.queued)
      case .receiving: return .over
      }
    }
  }

  /// Ends the exchange, because the request's other exchange has won.
  func lose(_ error: any Error) {
    state.withLock { $0.isLost = true }
    abortSource.abort(error)
  }

  /// Starts the clock of a phase.
  package func enter(_ phase: HTTPError.Phase) { enter(phase, at: call.core.timeline.now()) }

  func enter(_ phase: HTTPError.Phase, at now: Duration) {
    announce(
      state.withLock {
        if $0.phase == .queued { $0.queued = now - $0.phaseStart }
        return change(&$0, to: phase, at: now)
      })
  }

  /// The actions after the lock is released: the next check to plan, the new phase, and the end of a wait to report.
  private typealias Change = (next: Duration?, entered: HTTPError.Phase?, isOnline: Bool)

  private func change(_ state: inout State, to phase: HTTPError.Phase, at now: Duration) -> Change {
    let isNew = state.phase != phase && !state.isOver
    state.phase = phase
    state.phaseStart = now
    // Bytes may have been transferred since `now`.
    state.lastMove = max(state.lastMove, now)
    let isOnline = exchange(&state.isOffline, with: false)
    return (look(&state), isNew ? phase : nil, isOnline)
  }

  private func announce(_ change: Change) {
    if let next = change.next { watch(next) }
    if change.isOnline { call.report(.running) }
    if let phase = change.entered, number > 0 { call.report(.phase(phase, exchange: number)) }
  }

  /// Records that this transport cannot detect the end of the connection phase.
  ///
  /// The phase then lasts until the request or the response progresses. When the connect limit or the following limit
  /// ends, `probe` returns whether there is a connection; without it the limit is the sum of both.
  package func connectIsUnknown(probe: (@Sendable () -> Bool)? = nil) {
    state.withLock {
      $0.isConnectKnown = false
      $0.probe = probe
    }
  }

  package func didSend(_ bytes: Int, of expected: Int64?) {
    let now = call.core.timeline.now()
    let (moved, change): (ExchangeBytes, Change) = state.withLock {
      $0.lastMove = now
      $0.bytes.sent += Int64(bytes)
      if let expected { $0.bytes.expectedToSend = expected }
      let isLast = $0.bytes.expectedToSend.map { [sent = $0.bytes.sent] in sent >= $0 } ?? false
      let phase: HTTPError.Phase = isLast ? .waiting : .sending
      guard $0.phase != .receiving, $0.phase != phase else { return ($0.bytes, (nil, nil, false)) }
      return ($0.bytes, self.change(&$0, to: phase, at: now))
    }
    announce(change)
    call.didMove(sent: bytes, received: 0, now: now, moved)
  }

  /// Reports that a body of unknown length was sent completely.
  package func didSendAll() {
    let now = call.core.timeline.now()
    announce(
      state.withLock {
        $0.lastMove = now
        return $0.phase == .sending ? change(&$0, to: .waiting, at: now) : (nil, nil, false)
      })
  }

  /// Reports the status; the bytes of a response that is not accepted do not count as progress.
  package func didReceiveStatus(_ status: HTTPStatus) {
    guard !call.counts(status) else { return }
    state.withLock { $0.bytes.isCounted = false }
  }

  /// Reports that the request body progressed on the network, some time after it was sent.
  package func didMove() {
    let now = call.core.timeline.now()
    state.withLock {
      $0.lastMove = now
      // The wait for the response begins when the request has been sent.
      if $0.phase == .waiting { $0.phaseStart = now }
    }
  }

  package func didReceive(_ bytes: Int, of expected: Int64?) {
    let now = call.core.timeline.now()
    let moved = state.withLock {
      $0.lastMove = now
      $0.bytes.received += Int64(bytes)
      if let expected { $0.bytes.expectedToReceive = expected }
      return $0.bytes
    }
    call.didMove(sent: 0, received: bytes, now: now, moved)
  }

  /// Reports whether the exchange waits for its reader, its body source or a bandwidth limit instead of the network.
  package func setPaused(_ isPaused: Bool) {
    let now = call.core.timeline.now()
    state.withLock {
      $0.isPaused = isPaused
      $0.lastMove = now
    }
  }

  /// Reports that the transport waits for a network; only the total limit applies until the exchange progresses.
  package func waitForConnectivity() {
    let isNew = state.withLock { state in
      guard state.phase == .connecting, !state.isOver else { return false }
      return !exchange(&state.isOffline, with: true)
    }
    if isNew { call.report(.waiting(.connectivity)) }
  }

  /// Records what the transport could only measure at the end of the exchange.
  func didMeasure(_ measurement: ExchangeMeasurement) {
    if number > 0 {
      state.withLock { state in
        var measurement = measurement
        measurement.timing.queued = state.queued
        state.late = Boxed(measurement)
      }
    }
    guard call.explains, let connection = measurement.connection else { return }
    call.report(.decided(.connection(connection, measurement.httpVersion)))
  }

  /// Records that the connection has changed to another protocol.
  func upgraded() { state.withLock { $0.isUpgraded = true } }

  var isUpgraded: Bool { state.withLock { $0.isUpgraded } }

  /// Reports the status and the times that the transport measured.
  package func didReceiveHead(_ status: HTTPStatus, _ timing: HTTPResponse.Timing) {
    didReceiveStatus(status)
    state.withLock { $0.measured = timing }
  }

  /// The time spent waiting for a slot, and the time from the start until the arrival of the head.
  func timing(at now: Duration) -> HTTPResponse.Timing {
    var timing = state.withLock { state in
      var timing = state.measured
      timing.queued = state.queued
      return timing
    }
    timing.firstByte = now - start
    return timing
  }

  /// Ends the exchange; no limit applies any longer.
  package func end(_ error: (any Error)? = nil) {
    let (wasWatched, wasOver, isLost, wasOffline, phase, bytes, late) = state.withLock { state in
      // An abandoned transport may still report, and nothing would end its watch.
      defer { (state.nextLook, state.isOver, state.isOffline) = (nil, true, false) }
      return (
        state.nextLook != nil, state.isOver, state.isLost, state.isOffline, state.phase, state.bytes, state.late
      )
    }
    if wasOffline { call.report(.running) }
    if isLost, !wasOver { call.core.countWaste(bytes.sent + bytes.received) }
    if number > 0, !wasOver {
      let error = abortSource.error ?? error
      let summary = InstrumentEvent.Summary(
        sentBytes: bytes.sent, receivedBytes: bytes.received, phase: phase,
        failure: error is CancellationError ? .cancelled : (error as? HTTPError)?.kind,
        duration: call.core.timeline.now() - start,
        sentBody: capture?.sent, receivedBody: capture?.received, httpVersion: late?.value.httpVersion,
        connection: late?.value.connection, timing: late?.value.timing)
      call.notifyInstruments(.exchangeEnded(summary, exchange: number), isLate: true)
    }
    if wasWatched { call.core.watchdog.forget(self, at: watchPlace) }
    call.forget(self)
  }

  /// Starts the watch, unless the exchange has ended since the lock was released.
  private func watch(_ next: Duration) {
    call.core.watchdog.watch(self, at: watchPlace, next: next)
    if state.withLock({ $0.isOver }) { call.core.watchdog.forget(self, at: watchPlace) }
  }

  func checkLimits(now: Duration) -> Duration? {
    let probe = state.withLock { state -> (@Sendable () -> Bool)? in
      guard state.phase == .connecting, !state.isConnectKnown, passedLimit(state, now: now) != nil else { return nil }
      return state.probe
    }
    // Outside the lock, because the probe reads files.
    let isConnected = probe.map { $0() }
    let (next, passed): (Duration?, (Limit, HTTPError.Phase)?) = state.withLock {
      if let isConnected, $0.phase == .connecting {
        $0.lastProbe = now
        if isConnected {
          $0.phase = .waiting
        } else if let connect = call.timeouts.connect, now >= $0.phaseStart + connect {
          $0.isConnectKnown = true
        }
      }
      let passed = passedLimit($0, now: now)
      $0.nextLook = passed == nil ? nextLook($0) : nil
      return ($0.nextLook, passed.map { [phase = $0.phase] in ($0, phase) })
    }
    if let (limit, phase) = passed { abortSource.abort(timeout(limit, phase)) }
    return next
  }

  private func timeout(_ passed: Limit, _ phase: HTTPError.Phase) -> HTTPError {
    let message = HTTPError.passedLimit(passed.name, passed.length)
    var error = HTTPError(.timedOut, message, phase: phase)
    error.mayHaveReachedServer = phase != .queued && phase != .connecting
    call.decided("limit.time", message)
    return error
  }

  private struct Limit {
    let name: String
    let length: Duration
    let start: Duration

    var end: Duration { start + length }
  }

  private func limit(_ state: borrowing State) -> Limit? {
    switch state.phase {
    case .queued, .pausing: nil
    case .connecting: state.isOffline ? nil : connectLimit(state)
    case .waiting: headLimit(state)
    case .sending, .receiving: state.isPaused ? nil : state.isUpgraded ? upgradedLimit(state) : idleLimit(state)
    }
  }

  private func idleLimit(_ state: borrowing State) -> Limit? {
    call.timeouts.idle.map { Limit(name: "idle", length: $0, start: state.lastMove) }
  }

  private func upgradedLimit(_ state: borrowing State) -> Limit? {
    call.upgrade?.idleLimit.map { Limit(name: "idle", length: $0.bounded, start: state.lastMove) }
  }

  private func headLimit(_ state: borrowing State) -> Limit? {
    call.timeouts.firstByte.map { Limit(name: "first byte", length: $0, start: state.phaseStart) } ?? idleLimit(state)
  }

  private func connectLimit(_ state: borrowing State) -> Limit? {
    let connect = call.timeouts.connect.map { Limit(name: "connect", length: $0, start: state.phaseStart) }
    if state.isConnectKnown { return connect }
    guard let head = headLimit(state), let connect else { return connect ?? headLimit(state) }
    guard state.probe != nil else {
      let name = call.timeouts.firstByte == nil ? "connect and idle" : "connect and first byte"
      return Limit(name: name, length: connect.length + head.length, start: state.phaseStart)
    }
    // Either limit may apply. After a probe without a connection, the wait has not begun.
    let look = Limit(name: head.name, length: head.length, start: state.lastProbe ?? state.phaseStart)
    return look.end < connect.end ? look : connect
  }

  private func passedLimit(_ state: borrowing State, now: Duration) -> Limit? {
    guard !state.isOver, let limit = limit(state), now >= limit.end else { return nil }
    return limit
  }

  /// The time of the next check, if it is earlier than the one planned.
  private func look(_ state: inout State) -> Duration? {
    guard let next = nextLook(state) else { return nil }
    // A check at the earlier limit finds a later one.
    if let known = state.nextLook, known <= next { return nil }
    state.nextLook = next
    return next
  }

  /// The time of the next check; for a paused exchange, after its idle limit.
  private func nextLook(_ state: borrowing State) -> Duration? {
    if state.isOver { return nil }
    if let limit = limit(state) { return limit.end }
    let idle = state.isUpgraded ? call.upgrade?.idleLimit : call.timeouts.idle
    return state.isPaused ? idle.map { call.core.timeline.now() + $0.bounded } : nil
  }
}

extension ResponseBody {
  /// A copy for a transport that does not observe `exchange`: an abort ends each wait.
  ///
  /// Only these waits count as silence. Each chunk restarts the idle limit, and the reader's own time does not count.
  func abortable(_ exchange: ExchangeControl) -> ResponseBody {
    abortable(exchange.abortSource) { exchange.setPaused($0) }
  }
}

import MartletBase

/// One call, from its start to its single end.
///
/// ```
///            ┌──────── report(.waiting) ─────────┐
///   begun ─▶ running ◀──── report(.running) ──▶ waiting
///              └────────────┬───────────────────┘
///        finish (the pipeline returned or threw)      the first of the two wins,
///        abort (cancel, total limit, scope, client)   the other one does nothing
///                           ▼
///                         ended ─▶ is removed from the registry and notifies its watchers, once
/// ```
package final class Call: Watched {
  struct State: ~Copyable {
    var stage = RequestEvent.State.running
    var startedAt: Duration
    var attempts: [HTTPResponse.Attempt] = []
    var redirects: [HTTPResponse.Redirect] = []
    var current: HTTPRequest
    /// The current exchange, so the error of the total limit can name its phase.
    ///
    /// Released at the end of the exchange, because the exchange references its call.
    var exchange: ExchangeControl?
    /// Boxed, because most calls keep none.
    var response: Boxed<HTTPResponse>?
    var ledger = ProgressLedger()
    var delivery = ProgressDelivery()
    var history: [RequestEvent] = []
    /// Boxed, because most calls have none.
    var explanation: Boxed<Explanation>?
    /// Created for the first stream, because most calls have none.
    var events: Broadcast<RequestEvent>?
    var progressStreams: Broadcast<TransferProgress>?
    var progressWatchers: [@Sendable (TransferProgress) -> Void] = []
    var onSettled: [@Sendable () -> Void] = []
    var deliveries = 0
    var isSilenced = false
    var isAborted = false

    var hasWatchers: Bool { progressStreams?.isWatched ?? false || !progressWatchers.isEmpty }
    var isSettled: Bool { stage.isEnded && deliveries == 0 }
  }

  let id: RequestID
  let core: ClientCore
  let settings: ClientSettings
  /// The first request.
  let first: Hop
  let credential: CallCredential?
  let options: ResolvedOptions
  let endpoint: (any Endpoint.Type)?
  let retryOf: RequestID?
  /// The server of the cluster that the call begins with; `nil` for the one that the policy chooses.
  let server: Int?
  /// Observes events and progress, in addition to the streams.
  let observer: (any CallObserver)?
  /// Whether the call is managed: its events are kept, because they may be read later.
  let isManaged: Bool
  /// Whether all decisions are recorded; otherwise those that go beyond sending a request once.
  let explains: Bool
  /// The state for instruments and traces, if there are any.
  let watch: CallInstrumentation?
  package let abortSource = AbortSource()
  /// The deadline of the task that began the call.
  let deadline: CallDeadline?
  /// Set if the client has a bandwidth limit.
  let throttledTime: ThrottledTime?
  /// Its place in the registry, and the one in the watchdog.
  let place = SlotIndex()
  let watchPlace = SlotIndex()

  let state: Locked<State>

  init(
    id: RequestID, core: ClientCore, settings: ClientSettings, first: Hop, credential: CallCredential?,
    options: ResolvedOptions, endpoint: (any Endpoint.Type)?, retryOf: RequestID?, server: Int? = nil,
    isManaged: Bool, observer: (any CallObserver)? = nil, isObserved: Bool = true
  ) {
    self.id = id
    self.core = core
    self.settings = settings
    self.first = first
    self.credential = credential
    self.options = options
    self.endpoint = endpoint
    self.retryOf = retryOf
    self.server = server
    self.isManaged = isManaged
    self.observer = observer
    explains = isObserved && (options.explains || settings.instruments != nil)
    let trace = TraceContext.current
    let start = core.timeline.now()
    deadline = Deadline.current.map { CallDeadline($0, core.timeline) }
    watch =
      !isObserved || settings.instruments == nil && trace == nil
      ? nil
      : CallInstrumentation(
        id, first.request, settings, trace, tag: options.source.tag, endpoint: endpoint, start: start)
    throttledTime = settings.configuration.bandwidthBudget.map { _ in ThrottledTime() }
    state = Locked(State(startedAt: start, current: first.request))
  }

  var request: HTTPRequest { first.request }
  var timeouts: TimeoutPolicy { options.timeouts }
  var tag: String? { options.source.tag }
  var stage: RequestEvent.State { state.withLock { $0.stage } }
  var attempts: [HTTPResponse.Attempt] { state.withLock { $0.attempts } }
  var redirects: [HTTPResponse.Redirect] { state.withLock { $0.redirects } }
  /// The redirects followed, the attempts at the last hop, and the decisions.
  var trail: ([HTTPResponse.Redirect], [HTTPResponse.Attempt], Boxed<Explanation>?) {
    state.withLock { ($0.redirects, $0.attempts, $0.explanation) }
  }
  var explanation: Explanation { state.withLock { $0.explanation?.value ?? Explanation() } }
  var progress: TransferProgress { state.withLock { $0.ledger.progress } }
  var startedAt: Duration { state.withLock { $0.startedAt } }
  var elapsed: Duration { core.timeline.now() - startedAt }

  /// The request as it was last sent.
  var currentRequest: HTTPRequest { state.withLock { $0.current } }

  /// The response of a managed call that has ended, if it received one.
  var response: HTTPResponse? { state.withLock { $0.response?.value } }

  // MARK: The end

  /// Ends the call from outside.
  ///
  /// Returns `false` if it has ended before.
  @discardableResult
  package func abort(_ error: any Error) -> Bool {
    let end: RequestEvent.End = error is CancellationError ? .cancelled : .failed(error)
    guard terminate(end, response: nil, source: nil, isAbort: true) else { return false }
    abortSource.abort(error)
    return true
  }

  /// Ends the call with the result of the pipeline.
  ///
  /// Returns `false` if the call has ended before, with ``failure``.
  func finish(_ end: RequestEvent.End, response: HTTPResponse?, source: HTTPResponse.Source?) -> Bool {
    terminate(end, response: response, source: source, isAbort: false)
  }

  /// Whether the call was ended from outside; ``abortSource`` aborts shortly afterwards.
  var isAborted: Bool { state.withLock { $0.isAborted } }

  /// Whether the call has ended by a cancellation.
  var isCancelled: Bool { if case .ended(.cancelled) = stage { true } else { false } }

  /// The error with which the call has ended, or `nil`.
  var failure: (any Error)? {
    switch stage {
    case .ended(.failed(let error)): error
    case .ended(.cancelled): CancellationError()
    default: nil
    }
  }

  /// Cancels the call and suppresses callbacks that have not run yet.
  ///
  /// Returns `false` if the call has ended before.
  @discardableResult
  func cancel() -> Bool {
    state.withLock { $0.isSilenced = true }
    return abort(CancellationError())
  }

  /// Whether callbacks are suppressed.
  var isSilenced: Bool { state.withLock { $0.isSilenced } }

  /// Registers pending callbacks: until ``delivered()`` the call can still be silenced.
  func expectDelivery() {
    state.withLock { $0.deliveries += 1 }
    core.expectDelivery(self)
  }

  /// Reports that pending callbacks have run or were dropped.
  func delivered() {
    core.delivered(self)
    let actions = state.withLock {
      $0.deliveries -= 1
      return $0.takeSettled()
    }
    for action in actions { action() }
  }

  /// Runs `action` once the call has ended and its callbacks have run.
  ///
  /// Runs it immediately if both have happened already.
  func onSettled(_ action: @escaping @Sendable () -> Void) {
    let isSettled = state.withLock {
      if $0.isSettled { return true }
      $0.onSettled.append(action)
      return false
    }
    if isSettled { action() }
  }

  private func terminate(
    _ end: RequestEvent.End, response: HTTPResponse?, source: HTTPResponse.Source?, isAbort: Bool
  ) -> Bool {
    typealias Watchers = (events: Broadcast<RequestEvent>?, progress: Broadcast<TransferProgress>?)
    let (watchers, actions): (Watchers?, [@Sendable () -> Void]) = state.withLock { state in
      guard !state.stage.isEnded else { return (nil, []) }
      state.stage = .ended(end)
      state.isAborted = isAbort
      // An unmanaged call returns its response directly; only a managed call keeps it for later.
      if isManaged {
        state.response = response.map { Boxed($0) }
        state.history.append(.ended(end))
      }
      defer { (state.events, state.progressStreams, state.progressWatchers) = (nil, nil, []) }
      return ((state.events, state.progressStreams), state.takeSettled())
    }
    guard let watchers else { return false }
    notifyInstruments(.ended(end, source: source), isLate: true)
    core.leave(self, end)
    watchers.events?.finish(.ended(end))
    watchers.progress?.finish()
    for action in actions { action() }
    return true
  }

  /// Starts a held call, whose time counts from now.
  ///
  /// Returns `false` if the call has ended in the meantime.
  func launch() -> Bool {
    let now = core.timeline.now()
    let isAlive = state.withLock {
      guard !$0.stage.isEnded else { return false }
      $0.startedAt = now
      $0.stage = .running
      return true
    }
    if isAlive { core.launched(self) }
    return isAlive
  }

  /// The time at which the total limit or the deadline ends the call; `nil` without either.
  var end: Duration? {
    let total = totalEnd
    guard let deadline else { return total }
    return min(total ?? deadline.end, deadline.end)
  }

  /// The end by the total limit, which does not count while a queue holds the call.
  private var totalEnd: Duration? {
    guard let total = timeouts.total else { return nil }
    return state.withLock { if case .waiting(.queue) = $0.stage { nil } else { $0.startedAt + total } }
  }

  /// The error of a call that its nearest limit ends.
  var endError: HTTPError {
    if let deadline, deadline.end <= totalEnd ?? deadline.end { return deadline.error }
    return HTTPError(.timedOut, "the total limit of \((timeouts.total ?? .zero).shown) was exceeded")
  }

  func checkLimits(now: Duration) -> Duration? {
    guard let end else { return nil }
    guard now >= end else { return end }
    let phase = currentPhase()
    var error = endError
    let message = error.message
    error.phase = phase
    error.mayHaveReachedServer = !attempts.isEmpty || phase != .queued && phase != .connecting
    decided("limit.time", message)
    complete(&error)
    abort(error)
    return nil
  }

  private func currentPhase() -> HTTPError.Phase {
    if case .waiting(.retryDelay) = stage { return .pausing }
    return state.withLock { $0.exchange }?.observedPhase ?? .queued
  }

  /// Adds the details of the call to an error.
  func complete(_ error: inout HTTPError) {
    error.describe(currentRequest)
    error.redact(settings.configuration.redaction)
    if error.attempts.isEmpty { error.attempts = attempts }
    if error.elapsed == nil { error.elapsed = elapsed }
    if error.explanation.isEmpty { error.explanation = explanation }
  }

  // MARK: Events during the call

  func setCurrent(_ request: HTTPRequest, _ exchange: ExchangeControl) {
    let previous = state.withLock { state in
      defer { state.exchange = exchange }
      state.ledger.begin()
      state.current = request
      return state.exchange
    }
    // The previous exchange is released after unlocking.
    _ = previous
  }

  /// Makes the other exchange of a hedged request the current one.
  func promote(_ exchange: ExchangeControl) { state.withLock { $0.exchange = exchange } }

  /// Ends the current exchange, but not the call.
  func endExchange() {
    let exchange = state.withLock { $0.exchange }
    exchange?.abortSource.abort(CancellationError())
  }

  /// The number of the current exchange; 0 without instruments.
  var exchangeNumber: Int { state.withLock { $0.exchange }?.number ?? 0 }

  /// The protocol to which the connection has changed, or `nil`.
  var upgradedProtocol: String? {
    guard let upgrade, state.withLock({ $0.exchange })?.isUpgraded == true else { return nil }
    return upgrade.protocolName
  }

  func forget(_ exchange: ExchangeControl) {
    state.withLock { if $0.exchange === exchange { $0.exchange = nil } }
  }

  // MARK: Progress

  func didMove(sent: Int, received: Int, now: Duration, _ exchange: ExchangeBytes) {
    core.didMove(sent: sent, received: received, now: now)
    count(sent + received)
    let isMine = state.withLock {
      $0.ledger.add(sent: sent, received: received, exchange)
      guard hasListener || $0.hasWatchers, !$0.stage.isEnded else { return false }
      guard let due = $0.ledger.due(sent: sent, received: received, now: now) else { return false }
      return $0.delivery.add(due)
    }
    if isMine { deliverOnQueue() }
  }

  /// Counts bytes for the data budget, if there is one.
  func count(_ bytes: Int) {
    settings.configuration.dataLedger?.add(bytes, tag, now: settings.configuration.now, core.timeline)
  }

  /// Delivers the last progress before the end of the call is reported.
  func deliverLast(succeeded: Bool) async {
    // Most calls cannot have listeners.
    if hasListener || isManaged { await deliverLastToWatchers(succeeded: succeeded) }
  }

  private func deliverLastToWatchers(succeeded: Bool) async {
    let now = core.timeline.now()
    let isMine: Bool? = state.withLock {
      guard !$0.stage.isEnded, let last = $0.ledger.last(succeeded: succeeded, now: now) else { return nil }
      guard hasListener || $0.hasWatchers else { return nil }
      return $0.delivery.add(last)
    }
    guard let isMine else { return }
    // Otherwise another thread is delivering, and delivers this progress as well.
    if isMine { deliverOnQueue() }
    try? await suspend { continuation in
      let isDone = state.withLock { !$0.delivery.wait(continuation) }
      if isDone { continuation.resume() }
    }
  }

  /// Calls a closure with the progress, now and until the end.
  func watchProgress(_ watcher: @escaping @Sendable (TransferProgress) -> Void) {
    let progress = state.withLock {
      if !$0.stage.isEnded { $0.progressWatchers.append(watcher) }
      return $0.ledger.progress
    }
    watcher(progress)
  }

  /// Whether the bytes of a response with this status count as progress.
  func counts(_ status: HTTPStatus) -> Bool {
    if options.accepts.accepts(status) == false { return false }
    return !(options.redirects.isFollowing && [301, 302, 303, 307, 308].contains(status.rawValue))
  }

  private var hasListener: Bool {
    if observer != nil { return true }
    return if case nil = options.source.onProgress { false } else { true }
  }

  /// Delivers progress on a queue.
  ///
  /// A closure may block, and all requests of a client share the thread that transfers bytes.
  private func deliverOnQueue() { ProgressCallbackQueues.shared.run { self.deliver() } }

  /// Delivers pending progress in order and without the lock.
  private func deliver() {
    while true {
      let (next, watchers) = state.withLock { state in
        let next = state.delivery.next()
        // Under the lock, because otherwise a stream that begins now could get newer progress first.
        if let progress = next.0 { state.progressStreams?.yield(progress) }
        return (next, state.progressWatchers)
      }
      guard let progress = next.0 else {
        next.1?.resume()
        return
      }
      for watcher in watchers { watcher(progress) }
      options.source.onProgress?(progress)
      observer?.call(id, didMove: progress)
    }
  }

  // MARK: Watchers

  func eventStream() -> AsyncStream<RequestEvent> {
    state.withLock { state in
      let events = state.events ?? Broadcast(isOver: state.stage.isEnded)
      if !state.stage.isEnded { state.events = events }
      return events.stream(.bufferingNewest(512), first: state.history)
    }
  }

  func progressStream() -> AsyncStream<TransferProgress> {
    state.withLock { state in
      let streams = state.progressStreams ?? Broadcast(isOver: state.stage.isEnded)
      if !state.stage.isEnded { state.progressStreams = streams }
      return streams.stream(.bufferingNewest(1), first: [state.ledger.progress])
    }
  }
}

/// Observes a call; the methods must return quickly.
protocol CallObserver: AnyObject, Sendable {
  /// An event has occurred; not called for the end.
  func call(_ id: RequestID, did event: RequestEvent)
  /// Bytes were transferred.
  func call(_ id: RequestID, didMove progress: TransferProgress)
}

extension Call.State {
  fileprivate mutating func takeSettled() -> [@Sendable () -> Void] {
    guard isSettled else { return [] }
    defer { onSettled = [] }
    return onSettled
  }
}

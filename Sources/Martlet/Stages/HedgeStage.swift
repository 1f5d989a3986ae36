import MartletBase

/// Sends a slow request a second time (``HedgingPolicy``).
///
/// The stage is below the cache, so both requests reach the server, and above the middleware per exchange.
struct HedgeStage: Stage {
  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    guard let race = race(hop, context, next) else { return try await next(hop, context) }
    defer { race.end() }
    let result = await race.send(in: race.primary)
    let (response, hedge) = race.judge(result)
    if let response { return response }
    return try await race.choose(result, hedge)
  }

  /// The race of a request that may be hedged; `nil` for others.
  private func race(_ hop: Hop, _ context: RequestContext, _ next: Next) -> HedgeRace? {
    let call = context.call
    if let refusal = refusal(hop.request, context) {
      call.explain(.notHedged(refusal))
      return nil
    }
    switch call.options.hedging.rule {
    case .off: return nil
    case .after(let delay): return HedgeRace(hop, context, next, delay: delay, log: nil)
    case .percentile(let share):
      let log = call.core.gates.hedgeLog(
        .init(origin: hop.origin, endpoint: call.endpoint.map { ObjectIdentifier($0) }))
      let (delay, samples) = log.delay(share)
      if delay == nil {
        let least = HedgeLatencies.minimumCount
        call.explain(
          .notHedged(.init("tooFewSamples", "only \(samples) latencies are known; at least \(least) are needed")))
      }
      return HedgeRace(hop, context, next, delay: delay, log: log)
    }
  }

  private func refusal(_ request: HTTPRequest, _ context: RequestContext) -> Explanation.Reason? {
    guard request.isReplayable else { return .init("bodyNotReplayable", "its body can be sent only once") }
    // The state of these exchanges, such as counters and connections, supports one exchange at a time.
    let isDigest = request.headers["Authorization"].map { FieldSyntax.isSameName($0.prefix(7), "Digest ") } ?? false
    guard context.handshake == nil, !isDigest, context.proxyExchange == nil else {
      return .init("authentication", "its authentication or the proxy's supports only one exchange at a time")
    }
    guard context.call.options.isIdempotent ?? request.method.isIdempotent else {
      let method = request.method.rawValue
      return .init("notIdempotent", "\(InvalidInput.printable(method)) is not idempotent, or isIdempotent is false")
    }
    return nil
  }
}

/// A request that is sent a second time, if its response does not begin in time.
///
/// ```
///   waits ─ delay ─▶ hedged ─ a usable response ─▶ over: the other lane is cancelled
///     └─ response, failure ─▶ over
/// ```
final class HedgeRace: Watched {
  private enum State {
    case waits
    case hedged(Hedge)
    /// The hedge has a usable response, and the first exchange had none.
    case won(Hedge, StreamedResponse)
    case over
  }

  let primary: HedgeExchange
  private let hop: Hop
  private let context: RequestContext
  private let next: Next
  private let delay: Duration?
  /// The log in which the latency is recorded.
  private let log: HedgeLog?
  private let state = Locked(State.waits)
  private let watchPlace = SlotIndex()

  /// The second exchange, which most races do not have.
  fileprivate final class Hedge: Sendable {
    let lane: HedgeExchange
    let result = Promise<StreamedResponse>()

    init(_ context: RequestContext) { lane = HedgeExchange(context, isHedge: true) }
  }

  private var call: Call { context.call }

  init(
    _ hop: Hop, _ context: RequestContext, _ next: Next, delay: Duration?, log: HedgeLog?
  ) {
    (self.hop, self.context, self.next, self.delay, self.log) = (hop, context, next, delay, log)
    primary = HedgeExchange(context, isHedge: false)
    if let delay { call.core.watchdog.watch(self, at: watchPlace, next: call.core.timeline.now().adding(delay)) }
  }

  /// Sends the request in a branch, whose end also ends the wait for middleware.
  func send(in lane: HedgeExchange) async -> Result<StreamedResponse, any Error> {
    var context = context
    context.enter(lane)
    return await Result.awaiting {
      if call.settings.isAbortAware { return try await next(hop, context) }
      return try await withAbort(lane.branch.source) { [hop, next, context] in try await next(hop, context) }
    }
  }

  /// Ends the watch, and the hedge if it is still in progress.
  func end() {
    if delay != nil { call.core.watchdog.forget(self, at: watchPlace) }
    let rest = state.withLock { state in
      defer { state = .over }
      return state
    }
    if case .hedged(let hedge) = rest { hedge.lane.lose() }
  }

  // MARK: The hedge

  func checkLimits(now: Duration) -> Duration? {
    guard let delay else { return nil }
    // Time that the client itself spends does not count.
    let since: Duration
    switch primary.control?.wait(hasBody: hop.body != nil) {
    case .client, nil: return now.adding(delay)
    case .over: return nil
    case .server(let start): since = start
    }
    if now < since.adding(delay) { return since.adding(delay) }
    guard context.abortSource.error == nil, state.withLock({ if case .waits = $0 { true } else { false } }) else {
      return nil
    }
    guard call.core.budget.takeRetry() else {
      let reason = Explanation.Reason("budgetExhausted", "the retry budget of the client is used up")
      call.report(.decided(.notHedged(reason)))
      return nil
    }
    startHedge(after: now - since)
    return nil
  }

  private func startHedge(after time: Duration) {
    let hedge = Hedge(context)
    let isHedged = state.withLock { state in
      guard case .waits = state else { return false }
      state = .hedged(hedge)
      return true
    }
    guard isHedged else { return }
    call.core.countHedge(hasWon: false)
    Task { [self] in
      if hedge.lane.isLost { return settle(hedge, .failure(CancellationError())) }
      call.decided(
        "hedging.sent", "the request was sent a second time: no response had begun after \(time.shown)")
      settle(hedge, await send(in: hedge.lane))
    }
  }

  private func settle(_ hedge: Hedge, _ result: Result<StreamedResponse, any Error>) {
    if case .failure(is NoCapacityForHedge) = result {
      let reason = Explanation.Reason("limitReached", "a limit of the client does not admit it")
      call.report(.decided(.notHedged(reason)))
    }
    if case .success(let response) = result, Self.isUsable(response, isHedge: true) {
      let hasWon = state.withLock { state in
        guard case .hedged = state else { return false }
        state = .won(hedge, response)
        return true
      }
      if hasWon { primary.lose() }
    }
    hedge.result.resolve(result)
  }

  /// Whether a response is used, even though the other exchange might still receive one.
  private static func isUsable(_ response: StreamedResponse, isHedge: Bool = false) -> Bool {
    // A server may refuse to see the same credential twice.
    if isHedge, response.status == .unauthorized || response.status.rawValue == 407 { return false }
    return !response.status.isTransient
  }

  // MARK: The end

  /// The response to use, or `nil` if the hedge may still receive a better one.
  fileprivate func judge(_ first: Result<StreamedResponse, any Error>) -> (StreamedResponse?, Hedge?) {
    learn(first)
    let response = try? first.get()
    let isUsable = response.map { Self.isUsable($0) } ?? false
    let end: State = state.withLock { state in
      let end = state
      if case .hedged = state, !isUsable { return end }
      state = .over
      return end
    }
    switch end {
    case .waits, .over: return (response, nil)
    case .hedged(let hedge):
      guard isUsable else { return (nil, hedge) }
      hedge.lane.lose()
      call.decided(
        "hedging.lost", "the response of the first request is used, and the second one was cancelled")
      return (response, nil)
    case .won(let hedge, let response):
      hasWon(hedge)
      return (response, nil)
    }
  }

  private func hasWon(_ hedge: Hedge) {
    if let control = hedge.lane.control { call.promote(control) }
    context.servers?.promoteHedge()
    call.decided("hedging.won", "the response of the second request is used")
    call.core.countHedge(hasWon: true)
  }

  private func learn(_ first: Result<StreamedResponse, any Error>) {
    guard let log, let since = primary.control?.networkStart else { return }
    // A cancelled exchange counts with the time so far, because it would have taken at least that long.
    if case .failure = first, !primary.isLost { return }
    log.record(call.core.timeline.now() - since)
  }

  /// The response to use if the first of two responses is not usable.
  fileprivate func choose(
    _ first: Result<StreamedResponse, any Error>, _ hedge: Hedge?
  ) async throws -> StreamedResponse {
    guard let hedge else { return try first.get() }
    if let control = hedge.lane.control { call.promote(control) }
    let result = await hedge.result.outcome()
    state.withLock { $0 = .over }
    if case .success(let response) = result, (try? first.get()) == nil || Self.isUsable(response, isHedge: true) {
      hasWon(hedge)
      return response
    }
    if case .failure(var error as HTTPError) = first, case .failure(let other as HTTPError) = result {
      // Either exchange may have been processed.
      error.mayHaveReachedServer = error.mayHaveReachedServer || other.mayHaveReachedServer
      throw error
    }
    return try first.get()
  }
}

extension Explanation.Decision {
  fileprivate static func notHedged(_ reason: Explanation.Reason) -> Self {
    Self("hedging.notSent", "the request is not sent a second time", because: reason)
  }
}

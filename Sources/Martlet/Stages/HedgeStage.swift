import MartletBase

/// Sends a request that takes long a second time (``HedgingPolicy``).
///
/// The stage is below the cache, so that both requests reach the server, and above the middleware per attempt.
struct HedgeStage: Stage {
  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    guard let race = race(request, context, next) else { return try await next(request, context) }
    defer { race.end() }
    let result = await race.send(in: race.primary)
    if let response = race.judge(result) { return response }
    return try await race.choose(result)
  }

  /// The race of a request that may be hedged; `nil` for others.
  @inline(never) private func race(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) -> HedgeRace? {
    let call = context.call
    guard let origin = try? request.target.resolve(against: nil).origin else { return nil }
    if let refusal = refusal(request, context) {
      call.explain(.hedging(.notSent(refusal)))
      return nil
    }
    switch call.options.hedging.rule {
    case .off: return nil
    case .after(let delay): return HedgeRace(request, context, next, delay: delay, log: nil)
    case .percentile(let share):
      let log = call.core.gates.hedgeLog(.init(origin: origin, endpoint: call.endpoint.map { ObjectIdentifier($0) }))
      let (delay, samples) = log.delay(share)
      if delay == nil {
        call.explain(.hedging(.notSent(.tooFewSamples(samples, minimum: HedgeLatencies.minimumCount))))
      }
      return HedgeRace(request, context, next, delay: delay, log: log)
    }
  }

  private func refusal(_ request: HTTPRequest, _ context: RequestContext) -> Explanation.Hedging.Refusal? {
    guard request.isReplayable else { return .bodyNotReplayable }
    // The state of these exchanges is for one at a time: counters, connections.
    let isDigest = request.headers["Authorization"].map { FieldSyntax.isSameName($0.prefix(7), "Digest ") } ?? false
    guard context.handshake == nil, !isDigest, context.proxyExchange == nil else { return .authentication }
    guard context.call.options.isIdempotent ?? request.method.isIdempotent else {
      return .notIdempotent(request.method)
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
    /// The hedge has a usable response, while the first exchange had none.
    case won(Hedge, StreamedResponse)
    case over
  }

  let primary: HedgeLane
  private let request: HTTPRequest
  private let context: RequestContext
  private let next: Next
  private let delay: Duration?
  /// Where the latency is noted.
  private let log: HedgeLog?
  private let start: Duration
  private let state = Locked(State.waits)
  private let watchPlace = Place()

  /// The second exchange, which most races do not have.
  private final class Hedge: Sendable {
    let lane: HedgeLane
    let result = OneShot<Result<StreamedResponse, any Error>>()

    init(_ context: RequestContext) { lane = HedgeLane(context, isHedge: true) }
  }

  private var call: Call { context.call }

  init(
    _ request: HTTPRequest, _ context: RequestContext, _ next: Next, delay: Duration?, log: HedgeLog?
  ) {
    (self.request, self.context, self.next, self.delay, self.log) = (request, context, next, delay, log)
    start = context.call.core.timeline.now()
    primary = HedgeLane(context, isHedge: false)
    if let delay { context.call.core.watchdog.watch(self, at: watchPlace, next: start.adding(delay)) }
  }

  /// Sends the request in a lane, whose end also ends the wait for middleware.
  func send(in lane: HedgeLane) async -> Result<StreamedResponse, any Error> {
    var context = context
    context.enter(lane)
    do {
      if call.settings.isAbortAware { return .success(try await next(request, context)) }
      return .success(
        try await withAbort(lane.branch.source) { [request, next, context] in try await next(request, context) })
    } catch {
      return .failure(error)
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
    // The time that passes because of the client itself does not count.
    let since: Duration
    switch primary.control?.wait(hasBody: request.body != nil) {
    case .client, nil: return now.adding(delay)
    case .over: return nil
    case .server(let start): since = start
    }
    if now < since.adding(delay) { return since.adding(delay) }
    guard context.abortSource.error == nil, state.withLock({ if case .waits = $0 { true } else { false } }) else {
      return nil
    }
    guard call.core.budget.takeRetry() else {
      call.note(.hedging(.notSent(.budgetExhausted)))
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
      call.note(.hedging(.sent(after: time)))
      settle(hedge, await send(in: hedge.lane))
    }
  }

  private func settle(_ hedge: Hedge, _ result: Result<StreamedResponse, any Error>) {
    if case .failure(is LoadBusy) = result { call.note(.hedging(.notSent(.limitReached))) }
    if case .success(let response) = result, Self.isUsable(response, isHedge: true) {
      let hasWon = state.withLock { state in
        guard case .hedged = state else { return false }
        state = .won(hedge, response)
        return true
      }
      if hasWon { primary.lose() }
    }
    hedge.result.resolve(.success(result))
  }

  /// Whether a response is used, although the other exchange might still have another one.
  private static func isUsable(_ response: StreamedResponse, isHedge: Bool = false) -> Bool {
    // A server may refuse to see the same credential twice.
    if isHedge, response.status == .unauthorized || response.status.rawValue == 407 { return false }
    return !response.status.isTransient
  }

  // MARK: The end

  /// The response to use, or `nil` if the hedge may have a better one.
  ///
  /// Not inlined, like many functions of the pipeline.
  @inline(never) func judge(_ first: Result<StreamedResponse, any Error>) -> StreamedResponse? {
    learn(first)
    let verdict: Verdict = state.withLock { state in
      switch state {
      case .won(let hedge, let response):
        state = .over
        return .hedge(hedge, response)
      case .hedged(let hedge):
        guard case .success(let response) = first, Self.isUsable(response) else { return .open }
        state = .over
        return .first(response, hedge)
      case .waits, .over:
        state = .over
        return .alone
      }
    }
    switch verdict {
    case .alone: return try? first.get()
    case .open: return nil
    case .first(let response, let hedge):
      hedge.lane.lose()
      call.note(.hedging(.lost))
      return response
    case .hedge(let hedge, let response):
      hasWon(hedge)
      return response
    }
  }

  private enum Verdict {
    case alone
    case open
    case first(StreamedResponse, Hedge)
    case hedge(Hedge, StreamedResponse)
  }

  private func hasWon(_ hedge: Hedge) {
    if let control = hedge.lane.control { call.promote(control) }
    call.note(.hedging(.won))
    call.core.countHedge(hasWon: true)
  }

  private func learn(_ first: Result<StreamedResponse, any Error>) {
    guard let log, let since = primary.control?.networkStart else { return }
    // A cancelled exchange would have taken longer.
    if case .failure = first, !primary.isLost { return }
    log.note(call.core.timeline.now() - since)
  }

  /// The response to use, of two of which the first one is not usable.
  func choose(_ first: Result<StreamedResponse, any Error>) async throws -> StreamedResponse {
    guard let hedge = sentHedge else { return try first.get() }
    if let control = hedge.lane.control { call.promote(control) }
    // No result if the wait was cancelled.
    return try choose(first, hedge, try? await hedge.result.value())
  }

  private var sentHedge: Hedge? {
    state.withLock { state in
      switch state {
      case .hedged(let hedge), .won(let hedge, _): hedge
      case .waits, .over: nil
      }
    }
  }

  @inline(never) private func choose(
    _ first: Result<StreamedResponse, any Error>, _ hedge: Hedge, _ result: Result<StreamedResponse, any Error>?
  ) throws -> StreamedResponse {
    state.withLock { $0 = .over }
    guard let result else { return try first.get() }
    if case .success(let response) = result, (try? first.get()) == nil || Self.isUsable(response, isHedge: true) {
      hasWon(hedge)
      return response
    }
    if case .failure(var error as HTTPError) = first, case .failure(let other as HTTPError) = result {
      // Either may have been processed.
      error.mayHaveReachedServer = error.mayHaveReachedServer || other.mayHaveReachedServer
      throw error
    }
    return try first.get()
  }
}

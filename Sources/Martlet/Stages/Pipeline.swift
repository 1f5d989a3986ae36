import MartletBase

/// The path of a call, from its request to its response.
enum Pipeline {
  /// How the body is delivered.
  enum Delivery: Sendable {
    /// The whole body in memory.
    case whole
    /// The body as it arrives, if the status is accepted.
    case stream
    /// By a stage of the call, such as one that writes the body to a file.
    case own(any Stage)

    /// Whether the stages belong to one call.
    var isOwn: Bool { if case .own = self { true } else { false } }

    /// Whether the caller awaits the complete response.
    var isWhole: Bool { if case .whole = self { true } else { false } }

    /// The stage that reads the body.
    var stage: any Stage {
      switch self {
      case .whole: CollectStage(isStreamed: false)
      case .stream: CollectStage(isStreamed: true)
      case .own(let stage): stage
      }
    }
  }

  /// The ordered list of stages, which defines the architecture (decision 0003).
  ///
  /// A stage whose policy is off is omitted, not skipped at run time. Stage 0, the total limit, covers all stages: the
  /// watchdog aborts the call.
  static func stages(
    _ settings: ClientSettings, _ features: ClientSettings.Features, hasCredential: Bool = false, _ delivery: Delivery
  ) -> [any Stage] {
    let (configuration, guards, cache) = (settings.configuration, settings.guards, settings.cache)
    let cluster = settings.servers.map { [ClusterStage(servers: $0)] } ?? []
    let isOneService = settings.servers?.cluster.isOneService ?? false
    // Declared with its type, because the compiler would need too long to infer it.
    let stages: [[any Stage]] = [
      // 1 your middleware, once per call
      configuration.middleware.map(MiddlewareStage.init),
      // 2 once per hop: drops credentials when the origin changes (RFC 9110 §15.4)
      features.isFollowing ? [RedirectStage()] : [],
      //   stored responses, when all attempts have failed (RFC 5861 §4)
      cache.isOff ? [] : [FallbackStage(cache: cache)],
      // 3 once per attempt (RFC 9110 §9.2.2, §10.2.3); always present: it records the attempts
      [RetryStage()],
      //   a truncated body is a failed attempt; the next one resumes a download (RFC 9110 §14)
      [delivery.stage],
      //   chooses a server, whose credentials, cookies and stored responses the stages below use
      isOneService ? [] : cluster,
      //   rejects disallowed destinations; https for HSTS hosts (RFC 6797), before anything is chosen for the URL
      guards.map { [GuardStage(guards: $0, listens: !isOneService)] } ?? [],
      // 4 credentials; after a 401, all waiting requests share one question, and are then sent again (RFC 9110 §11.6)
      hasCredential || !configuration.authenticators.isEmpty ? [AuthStage()] : [],
      //   the same for the 407 of a proxy (RFC 9110 §11.7)
      configuration.proxy.isNone ? [] : [ProxyAuthStage()],
      // 5 once per exchange: sends the URL's cookies, and stores those of the response (RFC 6265bis)
      features.hasCookies ? [CookieStage(jar: settings.jar)] : [],
      // 6 serves fresh responses; stores new ones once they are read to the end (RFC 9111)
      cache.isOff ? [] : [CacheStage(cache: cache)],
      //   sends a slow request a second time, and uses the first response
      features.isHedging ? [HedgeStage()] : [],
      //   chooses a server of one service: the stages above use the URL of the service
      isOneService ? cluster : [],
      // 7 your middleware, once per exchange
      configuration.exchangeMiddleware.map(MiddlewareStage.init),
      //   rejects disallowed destinations again, after that middleware or the choice of a server
      configuration.exchangeMiddleware.isEmpty && !isOneService
        ? [] : guards.map { [GuardStage(guards: $0, listens: isOneService)] } ?? [],
      //   records whether the server responds
      cluster.isEmpty ? [] : [ServerStage()],
      //   waits for the data budget, and for its turn under the load limits
      configuration.dataLedger.map { [DataStage(ledger: $0)] } ?? [],
      features.isLimited ? [LoadStage()] : [],
      // 8 one exchange on the wire
      [ExchangeStage(transport: settings.transport)],
    ]
    return stages.flatMap { $0 }
  }

  @inline(__always)
  static func run(_ call: Call, _ delivery: Delivery) async throws -> StreamedResponse {
    let first = first(for: call, delivery)
    // Middleware cannot be aborted, but the wait for it can. A complete response is awaited in this way further up.
    var response =
      !delivery.isWhole && !call.settings.isAbortAware
      ? try await runWithAbort(first, RequestContext(call: call, isStreamed: true))
      : try await first(call.first, RequestContext(call: call, isStreamed: !delivery.isWhole))
    complete(&response, call, isWhole: delivery.isWhole)
    return response
  }

  private static func first(for call: Call, _ delivery: Delivery) -> Next {
    Next(stages: call.settings.stages(call.options, hasCredential: call.credential != nil, delivery))
  }

  private static func complete(_ response: inout StreamedResponse, _ call: Call, isWhole: Bool) {
    if call.explains { explain(response.status, call, isWhole: isWhole) }
    let explanation: Boxed<Explanation>?
    (response.redirects, response.attempts, explanation) = call.trail
    if let explanation { response.explanation = explanation.value }
    response.timing.total = call.elapsed
  }

  private static func explain(_ status: HTTPStatus, _ call: Call, isWhole: Bool) {
    if Redirection.isRedirect(status), !call.options.redirects.isFollowing {
      call.report(.decided(RedirectStage.notFollowed(status, .off)))
    }
    // A whole response is judged with its body.
    if !isWhole, call.options.accepts.accepts(status) == true { call.accepted(status) }
  }

  private static func runWithAbort(
    _ first: Next, _ context: RequestContext
  ) async throws -> StreamedResponse {
    let call = context.call
    return try await withAbort(call.abortSource) { try await first(call.first, context) }
  }
}

extension ClientSettings {
  /// The stages of a call, which nearly all calls share.
  func stages(
    _ options: ResolvedOptions, hasCredential: Bool = false, _ delivery: Pipeline.Delivery
  ) -> [any Stage] {
    let features = options === self.options ? features : features(of: options)
    guard !hasCredential, !delivery.isOwn, features == self.features else {
      return Pipeline.stages(self, features, hasCredential: hasCredential, delivery)
    }
    let usual = usualStages.withLock { $0 } ?? makeUsualStages()
    return delivery.isWhole ? usual.whole : usual.stream
  }

  private func makeUsualStages() -> UsualStages {
    let made = UsualStages(
      whole: Pipeline.stages(self, features, .whole), stream: Pipeline.stages(self, features, .stream))
    usualStages.withLock { $0 = made }
    return made
  }
}

import MartletBase

/// The path of a call, from its request to its response.
enum Pipeline {
  /// How the body is delivered.
  enum Delivery: Sendable {
    /// The whole body in memory.
    case whole
    /// The body as it arrives, if the status is accepted.
    case stream
    /// By a stage that belongs to one call, such as one that writes the body to a file.
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

  /// What the options of a request need.
  struct Features: Equatable {
    var isFollowing: Bool
    var isHedging: Bool
    var isLimited: Bool

    init(_ options: ResolvedOptions, limitsLoad: Bool) {
      isFollowing = options.redirects.isFollowing
      isHedging = !options.hedging.isOff
      isLimited = !options.rate.isOff || limitsLoad
    }
  }

  /// The ordered list of stages, which defines the architecture (Docs/Decisions/0003).
  ///
  /// A stage whose policy is off is omitted, not skipped at run time. Stage 0, the total limit, covers all stages: the
  /// watchdog aborts the call.
  static func stages(
    _ configuration: HTTPClient.Configuration, _ transport: any Transport, _ guards: GuardSet?, _ features: Features,
    hasCredential: Bool = false, cookies: CookieJar?, cache: ResponseCache, _ delivery: Delivery
  ) -> [any Stage] {
    [
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
      //   rejects disallowed destinations; https for HSTS hosts (RFC 6797), before anything is chosen for the URL
      guards.map { [GuardStage(guards: $0)] } ?? [],
      // 4 credentials; after a 401, all waiting requests share one question, and are then sent again (RFC 9110 §11.6)
      hasCredential || !configuration.authenticators.isEmpty ? [AuthStage()] : [],
      //   the same for the 407 of a proxy (RFC 9110 §11.7)
      configuration.proxy.isNone ? [] : [ProxyAuthStage()],
      // 5 once per exchange: sends the URL's cookies, and stores those of the response (RFC 6265bis)
      cookies.map { [CookieStage(jar: $0)] } ?? [],
      // 6 serves fresh responses; stores new ones once they are read to the end (RFC 9111)
      cache.isOff ? [] : [CacheStage(cache: cache)],
      //   sends a request that takes long a second time, and uses the first response
      features.isHedging ? [HedgeStage()] : [],
      // 7 your middleware, once per exchange
      configuration.attemptMiddleware.map(MiddlewareStage.init),
      //   rejects disallowed destinations again, after that middleware
      configuration.attemptMiddleware.isEmpty ? [] : guards.map { [GuardStage(guards: $0, listens: false)] } ?? [],
      //   waits for the data budget, and for its turn at the limits for the load of servers
      limits(configuration, features),
      // 8 one exchange on the wire
      [ExchangeStage(transport: transport)],
    ].flatMap { $0 as [any Stage] }
  }

  /// On its own, because the compiler would need too long for the whole list.
  private static func limits(_ configuration: HTTPClient.Configuration, _ features: Features) -> [any Stage] {
    var stages: [any Stage] = []
    if let ledger = configuration.dataLedger { stages.append(DataStage(ledger: ledger)) }
    if features.isLimited { stages.append(LoadStage()) }
    return stages
  }

  @inline(__always)
  static func run(_ call: Call, _ delivery: Delivery) async throws -> StreamedResponse {
    let first = first(for: call, delivery)
    // Middleware cannot be aborted, but the wait for it can. A complete response is awaited in this way further up.
    var response =
      !delivery.isWhole && !call.settings.isAbortAware
      ? try await runWithAbort(first, RequestContext(call: call, isStreamed: true))
      : try await first(call.request, RequestContext(call: call, isStreamed: !delivery.isWhole))
    complete(&response, call, isWhole: delivery.isWhole)
    return response
  }

  // The functions below are not inlined: an async function reserves memory for its inlined callees while it waits.

  @inline(never) private static func first(for call: Call, _ delivery: Delivery) -> Next {
    Next(stages: call.settings.stages(call.options, hasCredential: call.credential != nil, delivery))
  }

  @inline(never) private static func complete(_ response: inout StreamedResponse, _ call: Call, isWhole: Bool) {
    if call.explains { explain(response.status, call, isWhole: isWhole) }
    let explanation: Boxed<Explanation>?
    (response.redirects, response.attempts, explanation) = call.trail
    if let explanation { response.explanation = explanation.value }
    response.timing.total = call.elapsed
  }

  private static func explain(_ status: HTTPStatus, _ call: Call, isWhole: Bool) {
    if Redirection.isRedirect(status), !call.options.redirects.isFollowing {
      call.note(.redirect(.notFollowed(status, .off)))
    }
    // A whole response is judged with its body.
    if !isWhole, call.options.accepts.accepts(status) == true { call.note(.status(.accepted(status))) }
  }

  @inline(never) private static func runWithAbort(
    _ first: Next, _ context: RequestContext
  ) async throws -> StreamedResponse {
    let call = context.call
    return try await withAbort(call.abortSource) { try await first(call.request, context) }
  }
}

extension ClientSettings {
  /// The stages of a call, which nearly all calls share.
  func stages(
    _ options: ResolvedOptions, hasCredential: Bool = false, _ delivery: Pipeline.Delivery
  ) -> [any Stage] {
    guard !hasCredential, !delivery.isOwn, options === self.options || isUsual(options) else {
      return stages(options, hasCredential, delivery)
    }
    let usual = usualStages.withLock { $0 } ?? makeUsualStages()
    return delivery.isWhole ? usual.whole : usual.stream
  }

  private func isUsual(_ options: ResolvedOptions) -> Bool {
    features(options) == features(self.options) && hasCookies(options) == hasCookies(self.options)
  }

  @inline(never) private func makeUsualStages() -> UsualStages {
    let made = UsualStages(whole: stages(options, false, .whole), stream: stages(options, false, .stream))
    usualStages.withLock { $0 = made }
    return made
  }

  private func features(_ options: ResolvedOptions) -> Pipeline.Features {
    Pipeline.Features(options, limitsLoad: configuration.limitsLoad)
  }

  private func stages(
    _ options: ResolvedOptions, _ hasCredential: Bool, _ delivery: Pipeline.Delivery
  ) -> [any Stage] {
    Pipeline.stages(
      configuration, transport, guards, features(options), hasCredential: hasCredential,
      cookies: hasCookies(options) ? jar : nil, cache: cache, delivery)
  }
}

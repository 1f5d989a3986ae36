/// The way of one call, from its request to its response.
enum Pipeline {
  /// What the caller wants of the body.
  enum Delivery: Sendable {
    /// The whole body in memory.
    case whole
    /// The body as it arrives, if the status is accepted.
    case stream
    /// The body, or a part of it, in a file.
    case file(DownloadJob, DownloadJob.Role)

    /// Whether the stages are made for one call.
    var isOwn: Bool { if case .file = self { true } else { false } }

    /// Whether the whole response is waited for further up.
    var isWhole: Bool { if case .whole = self { true } else { false } }

    /// What reads the body.
    var stage: any Stage {
      switch self {
      case .whole: CollectStage(isStreamed: false)
      case .stream: CollectStage(isStreamed: true)
      case .file(let job, let role): DownloadStage(job: job, role: role)
      }
    }
  }

  /// The ordered stages: this list is the architecture (Docs/Decisions/0003).
  ///
  /// A stage whose policy is off is left out here, not skipped at run time. Stage 0, the total limit, covers all of it:
  /// the watchdog aborts the call.
  static func stages(
    _ configuration: HTTPClient.Configuration, _ transport: any Transport, _ guards: GuardSet?, isFollowing: Bool,
    hasCredential: Bool = false, cookies: CookieJar?, cache: ResponseCache, _ delivery: Delivery
  ) -> [any Stage] {
    [
      // 1 yours, once per call
      configuration.middleware.map(MiddlewareStage.init),
      // 2 once per hop: drops credentials when the origin changes (RFC 9110 §15.4)
      isFollowing ? [RedirectStage()] : [],
      //   what is stored, when all attempts have failed (RFC 5861 §4)
      cache.isOff ? [] : [FallbackStage(cache: cache)],
      // 3 once per attempt (RFC 9110 §9.2.2, §10.2.3); also where nothing is repeated: it records the one attempt
      [RetryStage()],
      //   a body that breaks off is an attempt lost; what of it is in a file is not fetched again (RFC 9110 §14)
      [delivery.stage],
      //   where a request may go; https for hosts that want it (RFC 6797), before anything is chosen for its URL
      guards.map { [GuardStage(guards: $0)] } ?? [],
      // 4 credentials; on 401 one question shared by all who wait for it, then one replay (RFC 9110 §11.6)
      hasCredential || !configuration.authenticators.isEmpty ? [AuthStage()] : [],
      //   the same for the 407 of a proxy (RFC 9110 §11.7)
      configuration.proxy.isNone ? [] : [ProxyAuthStage()],
      // 5 once per exchange: what belongs to its URL, and what the response sets (RFC 6265bis)
      cookies.map { [CookieStage(jar: $0)] } ?? [],
      // 6 a fresh entry ends the trip here; what comes is stored once it was read to its end (RFC 9111)
      cache.isOff ? [] : [CacheStage(cache: cache)],
      // 7 yours, once per exchange
      configuration.attemptMiddleware.map(MiddlewareStage.init),
      //   where it may go, of what those have made of it
      configuration.attemptMiddleware.isEmpty ? [] : guards.map { [GuardStage(guards: $0, listens: false)] } ?? [],
      // 8 one exchange on the wire
      [ExchangeStage(transport: transport)],
    ].flatMap { $0 as [any Stage] }
  }

  static func run(_ call: Call, _ delivery: Delivery) async throws -> StreamedResponse {
    let first = first(for: call, delivery)
    // Middleware is code that we cannot end: the wait for it is. A whole response is waited for like that further up.
    var response =
      !delivery.isWhole && !call.settings.isAbortAware
      ? try await runWithAbort(first, RequestContext(call: call, isStreamed: true))
      : try await first(call.request, RequestContext(call: call, isStreamed: !delivery.isWhole))
    complete(&response, call)
    return response
  }

  // What follows is not inlined: an asynchronous function keeps room for all that is in it as long as a request waits.

  @inline(never) private static func first(for call: Call, _ delivery: Delivery) -> Next {
    Next(stages: call.settings.stages(call.options, hasCredential: call.credential != nil, delivery))
  }

  @inline(never) private static func complete(_ response: inout StreamedResponse, _ call: Call) {
    (response.redirects, response.attempts) = call.trail
    response.timing.total = call.elapsed
  }

  @inline(never) private static func runWithAbort(
    _ first: Next, _ context: RequestContext
  ) async throws -> StreamedResponse {
    let call = context.call
    return try await withAbort(call.abortSource) { try await first(call.request, context) }
  }
}

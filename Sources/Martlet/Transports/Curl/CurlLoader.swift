#if os(Linux)
  import MartletBase
  import CMartletShim
  import CurlEngine
  import Synchronization

  /// The implementation of ``CurlTransport`` for one client.
  ///
  /// Requests start its engines, which last as long as the client.
  final class CurlLoader: AbortAwareTransport, AddressCheckingTransport, HandshakeTransport, DiagnosableTransport {
    private let settings: TransportSettings
    private let problem: InvalidInput?
    let limiter: ConnectionLimiter
    private let cache = HeaderLinesCache()
    private let expectations = CurlExpectations()
    private let router: CurlRouter
    private let engines: Locked<CurlEngines>
    /// The TLS files; `nil` if the settings name none.
    private let files: TLSFiles?
    /// Called before a transfer starts, for example to assign it a session's task.
    private let willStart: (@Sendable (CurlTransfer) -> Void)?
    let awaitedCount = AwaitedCount()

    init(_ settings: TransportSettings, willStart: (@Sendable (CurlTransfer) -> Void)? = nil) {
      self.settings = settings
      self.willStart = willStart
      engines = Locked(CurlEngines(threads: settings.engineThreads))
      problem = settings.problem
      files = TLSFiles(settings.tls, interval: settings.fileInterval)
      router = CurlRouter(settings)
      limiter = ConnectionLimiter(
        perOrigin: settings.maximumConnectionsPerHost, total: settings.maximumConnections,
        requests: settings.maximumRequestsPerHost)
    }

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      let transfer = try await makeTransfer(for: request, context)
      let isAnswered = start(transfer)
      let answer = try await transfer.value()
      if isAnswered && awaitedCount.hasToYield() { await Task.yield() }
      guard isRefusal(answer, transfer) else { return StreamedResponse(answer, to: request) }
      context.call.decided(
        "expectation.refused",
        "the server refused the expectation (417), so the request is sent again without it",
        "RFC 9110 §10.1.1")
      // The body has no reader, and may be endless.
      answer.body.abandon()
      return try await sendUnasked(request, context)
    }

    /// Sends the request again, without `Expect: 100-continue`.
    private func sendUnasked(
      _ request: HTTPRequest, _ context: RequestContext
    ) async throws -> StreamedResponse {
      let transfer = try await makeTransfer(for: request, context, addsExpect: false)
      _ = start(transfer)
      return StreamedResponse(try await transfer.value(), to: request)
    }

    /// Starts a transfer; returns whether its response is available already.
    private func start(_ transfer: CurlTransfer) -> Bool {
      willStart?(transfer)
      transfer.watchForAbort()
      if let socket = transfer.startHere() { transfer.awaitAnswer(on: socket) }
      return transfer.isAnswered
    }

    /// Whether the server rejects only `Expect: 100-continue`.
    ///
    /// The request is then sent without it (RFC 9110 §10.1.1).
    private func isRefusal(_ answer: CurlResponse, _ transfer: CurlTransfer) -> Bool {
      guard answer.status == 417, transfer.job.addsExpect, transfer.upload?.isUnread != false else { return false }
      expectations.record(transfer.job.origin)
      return true
    }

    /// Creates the transfer of a request when it has a slot; it is not started yet.
    func makeTransfer(
      for request: HTTPRequest, _ context: RequestContext, addsExpect: Bool = true
    ) async throws -> CurlTransfer {
      switch try makeTransferAtOnce(for: request, context, addsExpect: addsExpect) {
      case .made(let transfer): return transfer
      case .waits(let job): return try await makeTransferLater(for: request, job.value, context)
      }
    }

    /// Creates a transfer that opens a connection and sends nothing, when it has a slot.
    func makeTransfer(toPreconnect request: HTTPRequest, _ context: RequestContext) async throws -> CurlTransfer {
      var job = try check(request, context, addsExpect: false)
      let problem: String? =
        if !CurlLibrary.tellsBeforeSending {
          "this requires libcurl 7.80 or later"
        } else if context.httpVersion == .http2PriorKnowledge, job.origin.scheme == "http" {
          // libcurl makes requests wait until it knows that the connection uses HTTP/2, and nothing would show it.
          "HTTP/2 with prior knowledge begins with a request"
        } else if settings.idleConnectionLifetime == .zero {
          "idleConnectionLifetime is zero, so connections are used once"
        } else {
          nil
        }
      if let problem { throw request.unsupported("cannot open connections in advance: \(problem)") }
      job.isPreconnect = true
      job.needsNewConnection = !limiter.isMultiplexed(job.origin)
      let transfer = try await makeTransferLater(for: request, job, context)
      guard transfer.route?.sharesConnections != false else {
        throw request.unsupported("cannot open connections in advance: each request to this server has its own")
      }
      return transfer
    }

    private enum Beginning {
      case made(CurlTransfer)
      /// The transfer waits for its route or for a slot.
      case waits(Boxed<CurlJob>)
    }

    private func check(_ request: HTTPRequest, _ context: RequestContext, addsExpect: Bool) throws -> CurlJob {
      try CurlLibrary.check()
      if let problem = CurlLibrary.problem { throw request.unsupported(problem) }
      // A client checks that earlier. This check keeps users of a transport without a client from sending insecurely.
      if let problem { throw HTTPError(.invalidRequest, problem.message, request: request) }
      let job = try CurlJob.make(for: request, context, cache, addsExpect ? expectations : nil)
      try context.exchange.abortSource.check()
      return job
    }

    /// Creates the transfer if it need not wait.
    private func makeTransferAtOnce(
      for request: HTTPRequest, _ context: RequestContext, addsExpect: Bool
    ) throws -> Beginning {
      let job = try check(request, context, addsExpect: addsExpect)
      let isExclusive = job.isExclusive(request, context, perHost: settings.maximumConnectionsPerHost)
      let version: ConnectionLimiter.Version = isExclusive ? .exclusive : .agreed
      guard router.isDirect(request, job, context), let slot = limiter.take(for: job.origin, version) else {
        return .waits(Boxed(job))
      }
      return .made(try makeTransfer(for: request, job, nil, .agreed, isExclusive: isExclusive, slot, context))
    }

    /// Creates the transfer once its route is known and there is a slot.
    private func makeTransferLater(
      for request: HTTPRequest, _ job: CurlJob, _ context: RequestContext
    ) async throws -> CurlTransfer {
      let isDirect = router.isDirect(request, job, context)
      let route = isDirect ? nil : try await router.route(for: request, job, context)
      let isExclusive = job.isExclusive(request, context, perHost: settings.maximumConnectionsPerHost)
      let sharing = ConnectionGroup(route, job.origin, isUpgrade: job.isUpgrade)
      let version = sharing.slotVersion(route, isExclusive: isExclusive)
      let slot = try await limiter.acquire(for: job.origin, context, version: version)
      return try makeTransfer(for: request, job, route, sharing, isExclusive: isExclusive, slot, context)
    }

    private func makeTransfer(
      for request: HTTPRequest, _ job: consuming CurlJob, _ route: CurlRoute?, _ sharing: ConnectionGroup,
      isExclusive: Bool, _ slot: ConnectionSlot, _ context: RequestContext
    ) throws -> CurlTransfer {
      let upload = try job.makeUpload(of: request)
      if job.addsExpect { upload?.addsExpect { [expectations, origin = job.origin] in expectations.record(origin) } }
      let generation = files.map { newestGeneration(of: $0, context) }
      let opened = engines.withLock { engines in
        if let generation { engines.renew(to: generation) }
        return engines.open(
          for: sharing, job.origin,
          streams: !isExclusive && limiter.isMultiplexed(job.origin) ? ConnectionLimiter.streams : 1,
          CurlConnectionSettings(newestSettings, for: sharing))
      }
      guard let (mailbox, share) = opened else {
        throw HTTPError(.cannotConnect, "no file descriptors are left for the transport", request: request)
      }
      let control = context.exchange
      control.enter(.connecting)
      let budget = context.call.settings.configuration.bandwidthBudget
      return CurlTransfer(
        job, upload, route, control, context.proxyExchange, sharing, isExclusive: isExclusive, slot: slot,
        throttle: budget.map { CurlThrottle(down: $0.down, up: $0.up, context.call.throttledTime) },
        mailbox: mailbox, share: share)
    }

    /// Looks at the TLS files, and returns the generation of their contents.
    ///
    /// libcurl compares the names of files, not their contents, and a TLS session could be resumed with the old
    /// certificate. So new engines replace the current ones, which end with their last exchanges.
    private func newestGeneration(of files: TLSFiles, _ context: RequestContext) -> Int {
      switch files.look() {
      case nil: break
      case .renewed?:
        context.call.decided("tls.renewed", "the TLS files have changed, so new connections use their new contents")
      case .refused(let problem)?: context.call.decided("tls.kept", problem)
      }
      return files.generation
    }

    private var newestSettings: TransportSettings {
      guard let files else { return settings }
      var settings = settings
      settings.tls = files.settings
      return settings
    }

    /// The problem of the TLS files, for diagnostics.
    var fileWarnings: [String] { files?.problem.map { [$0] } ?? [] }

    /// Whether there is a thread, for tests.
    var hasThread: Bool { threadCount > 0 }

    /// The number of threads, for tests.
    var threadCount: Int { mailboxes.count { $0.isRunning } }

    var mailboxes: [CurlMailbox] { engines.withLock { $0.mailboxes } }

    package var diagnostics: HTTPClient.Diagnostics {
      var facts = CurlLibrary.diagnostics(.engine, problem: CurlLibrary.problem)
      facts.warnings += fileWarnings
      return facts
    }

    func handshakeProblem(_ scheme: AuthenticationScheme) -> String? { CurlLibrary.handshakeProblem(scheme) }

    func closeIdleConnections() { for mailbox in mailboxes { mailbox.post(.closeIdle) } }
  }

  /// Counts responses that were available before their callers had to suspend.
  ///
  /// A task that never suspends would never yield its thread, so it yields from time to time.
  final class AwaitedCount: Sendable {
    private static let burst = 16

    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    /// Counts a response; returns whether it is time to yield.
    func hasToYield() -> Bool { count.wrappingAdd(1, ordering: .relaxed).newValue % Self.burst == 0 }
  }
#endif

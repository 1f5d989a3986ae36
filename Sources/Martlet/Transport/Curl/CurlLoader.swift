#if os(Linux)
  import CMartletShim

  /// The working side of ``CurlTransport``: one engine for the life of a client, started by its first request.
  final class CurlLoader: AbortAwareTransport, AddressCheckingTransport, HandshakeTransport {
    private let settings: TransportSettings
    private let problem: InvalidInput?
    private let limiter: ConnectionLimiter
    private let cache = HeaderLinesCache()
    private let expectations = CurlExpectations()
    private let router: CurlRouter
    private let engines: Locked<CurlEngines>
    /// What has a task for each transfer that lasts, if there is a session.
    private let tasks: CurlSessionTasks?
    let awaitedCount = AwaitedCount()

    init(_ settings: TransportSettings, tasks: CurlSessionTasks? = nil) {
      self.settings = settings
      self.tasks = tasks
      engines = Locked(CurlEngines(threads: settings.engineThreads))
      problem = settings.problem
      router = CurlRouter(settings)
      limiter = ConnectionLimiter(
        perOrigin: settings.maximumConnectionsPerHost, total: settings.maximumConnections,
        requests: settings.maximumRequestsPerHost)
    }

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      let transfer = try await makeTransfer(for: request, context)
      let isAnswered = start(transfer)
      let response = try await transfer.value()
      if isAnswered && awaitedCount.hasToYield() { await Task.yield() }
      return isRefusal(response, transfer) ? try await sendUnasked(request, context) : response
    }

    /// Sends once more, without asking for leave.
    @inline(never) private func sendUnasked(
      _ request: HTTPRequest, _ context: RequestContext
    ) async throws -> StreamedResponse {
      let transfer = try await makeTransfer(for: request, context, asksLeave: false)
      _ = start(transfer)
      return try await transfer.value()
    }

    /// Starts a transfer.
    ///
    /// - Returns: Whether its answer is there already.
    @inline(never) private func start(_ transfer: CurlTransfer) -> Bool {
      tasks?.add(transfer)
      transfer.watchForAbort()
      if let socket = transfer.startHere() { transfer.awaitAnswer(on: socket) }
      return transfer.isAnswered
    }

    /// Whether the server refuses to be asked for leave, and nothing else: the request is then sent without asking (RFC 9110
    /// §10.1.1).
    private func isRefusal(_ response: StreamedResponse, _ transfer: CurlTransfer) -> Bool {
      guard response.status == .expectationFailed, transfer.wire.asksLeave, transfer.upload?.isUnread != false else {
        return false
      }
      expectations.note(transfer.wire.origin)
      return true
    }

    /// Makes the transfer of a request when there is a slot for it; it is neither watched nor started yet.
    func makeTransfer(
      for request: HTTPRequest, _ context: RequestContext, asksLeave: Bool = true
    ) async throws -> CurlTransfer {
      switch try makeTransferAtOnce(for: request, context, asksLeave: asksLeave) {
      case .made(let transfer): return transfer
      case .waits(let wire): return try await makeTransferLater(for: wire.value, context)
      }
    }

    private enum Beginning {
      case made(CurlTransfer)
      /// For what it takes to reach the server.
      case waits(Boxed<CurlRequest>)
    }

    // What follows is not inlined: an asynchronous function keeps room for all that is in it as long as a request waits.

    private func check(
      _ request: HTTPRequest, _ context: RequestContext, asksLeave: Bool
    ) throws -> CurlRequest {
      try CurlLibrary.check()
      if let problem = CurlLibrary.problem { throw HTTPError(.unsupported, problem, request: request) }
      // A client asks that before; nothing insecure is done for those who use a transport without one.
      if let problem { throw HTTPError(.invalidRequest, problem.message, request: request) }
      let wire = try CurlRequest(request, context.call.options.decompression, cache) {
        asksLeave && expectations.asks($0, length: $1, context)
      }
      try context.exchange.abortSource.check()
      return wire
    }

    /// Makes it if there is nothing to wait for.
    @inline(never) private func makeTransferAtOnce(
      for request: HTTPRequest, _ context: RequestContext, asksLeave: Bool
    ) throws -> Beginning {
      let wire = try check(request, context, asksLeave: asksLeave)
      let isExclusive = wire.isExclusive(context, perHost: settings.maximumConnectionsPerHost)
      let version: ConnectionLimiter.Version = isExclusive ? .exclusive : .agreed
      guard router.isDirect(wire, context), let slot = limiter.take(for: wire.origin, version) else {
        return .waits(Boxed(wire))
      }
      return .made(try makeTransfer(for: wire, nil, .agreed, isExclusive: isExclusive, slot, context))
    }

    /// Makes it once it is known how to reach the server, and there is a slot.
    @inline(never) private func makeTransferLater(
      for wire: CurlRequest, _ context: RequestContext
    ) async throws -> CurlTransfer {
      let route = router.isDirect(wire, context) ? nil : try await router.route(for: wire, context)
      let isExclusive = wire.isExclusive(context, perHost: settings.maximumConnectionsPerHost)
      let sharing = CurlSharing(route, wire.origin)
      let version = sharing.slotVersion(route, isExclusive: isExclusive)
      let slot = try await limiter.acquire(for: wire.origin, context, version: version)
      return try makeTransfer(for: wire, route, sharing, isExclusive: isExclusive, slot, context)
    }

    private func makeTransfer(
      for wire: CurlRequest, _ route: CurlRoute?, _ sharing: CurlSharing, isExclusive: Bool, _ slot: ConnectionSlot,
      _ context: RequestContext
    ) throws -> CurlTransfer {
      let upload = try wire.makeUpload()
      if wire.asksLeave { upload?.asksLeave { [expectations, origin = wire.origin] in expectations.note(origin) } }
      let (mailbox, share) = try openEngine(for: wire, sharing, isExclusive: isExclusive)
      context.exchange.enter(.connecting)
      return CurlTransfer(
        wire, upload, route, context, sharing, isExclusive: isExclusive, slot: slot, mailbox: mailbox, share: share)
    }

    /// Whether there is a thread, for tests.
    var hasThread: Bool { threadCount > 0 }

    /// How many threads there are, for tests.
    var threadCount: Int { engines.withLock { $0.mailboxes }.count { $0.isRunning } }

    func handshakeProblem(_ scheme: AuthenticationScheme) -> String? { CurlLibrary.handshakeProblem(scheme) }

    func closeIdleConnections() { for mailbox in engines.withLock({ $0.mailboxes }) { mailbox.post(.closeIdle) } }

    private func openEngine(
      for wire: CurlRequest, _ sharing: CurlSharing, isExclusive: Bool
    ) throws -> (CurlMailbox, LoadShare?) {
      let opened = engines.withLock { engines in
        let streams = { !isExclusive && self.limiter.isMultiplexed(wire.origin) ? ConnectionLimiter.streams : 1 }
        return engines.open(for: sharing, wire.origin, streams: streams(), settings)
      }
      guard let opened else {
        throw HTTPError(.cannotConnect, "there are no descriptors left for the transport", request: wire.request)
      }
      return opened
    }
  }

  /// What is known of the system's libcurl.
  enum CurlLibrary {
    /// Why it cannot be used, or `nil`.
    static let problem: String? = martlet_curl_problem().map { String(cString: $0) }

    /// Its version, such as `7.88.1`.
    static let version: String? = martlet_curl_version_text().map { String(cString: $0) }

    /// Whether the process exits, and libcurl is left alone.
    static var isExiting: Bool { martlet_is_exiting() }

    /// Whether this thread works for an engine now, and all its transfers would wait for what it waits for.
    static var isInside: Bool { martlet_library_is_inside() }

    /// Throws if the process exits: then nothing is begun, and no other loader is asked.
    static func check() throws { if isExiting { throw refusal } }

    /// What a transfer fails with that cannot begin.
    static var refusal: HTTPError {
      isExiting
        ? HTTPError(.clientClosed, "the process exits", phase: .queued)
        : HTTPError(.cannotConnect, "there is no memory, or there are no descriptors, for a transfer", phase: .queued)
    }

    /// Whether it may send on threads that have not blocked `SIGPIPE`: before 7.88 it let OpenSSL write by itself.
    static let worksOnAnyThread = martlet_curl_version() >= 0x075800

    /// Why it cannot do the handshake of a scheme, or `nil`.
    static func handshakeProblem(
      _ scheme: AuthenticationScheme, features: CInt = martlet_curl_features()
    ) -> String? {
      // CURL_VERSION_NTLM, CURL_VERSION_SPNEGO
      let isKnown = features & (scheme == .ntlm ? 1 << 4 : 1 << 8) != 0
      return isKnown ? nil : "the system's libcurl \(version ?? "") was built without \(scheme)"
    }

    /// Whether its TLS library is GnuTLS; those that it could use instead are named in parentheses.
    static let hasGnuTLS = martlet_curl_tls_name().map { String(cString: $0).hasPrefix("GnuTLS/") } ?? false

    /// Whether it reads for transfers that are paused (curl #12632).
    static let readsWhilePaused = martlet_curl_version() == 0x080500

    /// Whether it tells of a request before that is sent; before 7.80 it tells afterwards, in its log.
    ///
    /// HTTP/2 is not spoken then, and what must not be sent twice gets a new connection: libcurl sends once more by itself
    /// only what it sent on one that has served before.
    static let tellsBeforeSending = martlet_curl_tells_before_sending()

    /// Whether it writes percent-encodings in upper case.
    static let changesEscapes = martlet_curl_version() >= 0x081400

    /// Whether a used handle has to be guarded against a folded first header line.
    static let needsGuard = martlet_curl_needs_guard()

    /// Whether its log shows the body of a response as it came: 8.5.0 logs it without the chunked coding.
    static let showsRawBody = martlet_curl_version() != 0x080500

    /// Whether it ends no stream of HTTP/2 whose request it has stopped sending, after a response from 300 on.
    static let leavesStreamsOpen = martlet_curl_version() >= 0x080700

    /// Whether what is sent over HTTP/2 may be sent twice if the socket is full.
    static let repeatsUploads = martlet_curl_repeats_uploads()

    /// Whether the streams of an HTTP/2 connection that breaks end without an error, and GOAWAY is told of.
    static let hidesBrokenConnections = martlet_curl_hides_broken_connections()
  }
#endif

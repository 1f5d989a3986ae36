#if canImport(Darwin) || URLSession
  import MartletBase
  import Foundation

  #if os(Linux)
    import CurlEngine
  #endif

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// The implementation of ``URLSessionTransport`` with the system's loader.
  ///
  /// It has one session for the life of a client, or one for each proxy, and its own limiter.
  final class URLSessionLoader: AbortAwareTransport, AddressCheckingTransport, DiagnosableTransport {
    private struct State: ~Copyable {
      var sessions = RecentlyUsed<SessionRoute, RoutedSession>(maximumCount: 16)
      /// The number of exchanges without a head, by port.
      var pending: [Int: Int] = [:]
    }

    /// Serial, which keeps delegate calls, starts and cancellations of tasks in order.
    ///
    /// See ``URLSessionExchange``.
    let queue = OperationQueue()
    private let settings: TransportSettings
    private let limiter: ConnectionLimiter
    private let state = Locked(State())
    /// Whether WebSockets are allowed.
    private let opensWebSockets: Bool
    /// Whether a slow reader suspends its task.
    private let suspends: Bool
    /// The configuration that the program has changed; `nil` for the default.
    private let ownConfiguration: URLSessionConfiguration?
    /// The problem of that configuration, which every request throws.
    private let configurationProblem: InvalidInput?
    #if canImport(Security)
      private let router: SystemRouter
    #endif

    /// Creates a loader without a session; the first request opens it.
    ///
    /// `configure` changes the session's configuration. `opensWebSockets` allows WebSockets, and `suspends` allows
    /// suspended tasks, even with Foundation on Linux, for tests.
    init(
      _ settings: TransportSettings, configure: URLSessionTransport.Configure? = nil,
      opensWebSockets: Bool = URLSessionLoader.isFoundationDarwins,
      suspends: Bool = URLSessionLoader.isFoundationDarwins
    ) {
      self.settings = settings
      self.opensWebSockets = opensWebSockets
      self.suspends = suspends
      (ownConfiguration, configurationProblem) = configure.map { Self.configured(settings, $0) } ?? (nil, nil)
      #if canImport(Security)
        router = SystemRouter(settings.proxy)
      #endif
      limiter = ConnectionLimiter(
        perOrigin: settings.maximumConnectionsPerHost, total: settings.maximumConnections,
        requests: settings.maximumRequestsPerHost)
      queue.maxConcurrentOperationCount = 1
      queue.name = "Martlet.URLSession"
    }

    package var diagnostics: HTTPClient.Diagnostics { HTTPClient.Diagnostics(loader: .system) }

    deinit {
      // Responses that are still being read keep their tasks, and this does not end them.
      for opened in state.withLock({ $0.sessions.values }) { opened.session.finishTasksAndInvalidate() }
    }

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      let version = context.call.options.httpVersion
      let isLimited = context.call.settings.configuration.bandwidth != nil
      if let configurationProblem { throw RequestGate.problem(configurationProblem, of: request) }
      if let problem = settings.systemLoaderProblem(for: request, version, isLimited: isLimited) { throw problem }
      let control = context.exchange
      let messages = try messages(for: request, context)
      guard messages != nil || context.call.options.decompression == .automatic else {
        throw HTTPError(
          .unsupported,
          "the system's URLSession always decodes bodies; for .decompression(.off) use .curl, or .urlSession on Linux",
          request: request)
      }
      let wire = try URLSessionWire(request, isIdempotent: context.options.isIdempotent, messages: messages)
      #if canImport(Security)
        let route = try await router.route(for: request, to: wire.origin, context)
      #else
        let route = SessionRoute.system
      #endif
      let slot = try await limiter.acquire(for: wire.origin, context)

      let port = wire.origin.port
      #if os(Linux)
        control.connectIsUnknown { [weak self] in
          ConnectionProbe.isConnected(to: port, waiting: self?.state.withLock { $0.pending[port] ?? 0 } ?? 0)
        }
      #else
        control.connectIsUnknown()
      #endif
      count(1, port)
      defer { count(-1, port) }
      control.enter(.connecting)
      let exchange = URLSessionExchange(wire, context, slot: slot, queue: queue, suspends: suspends)
      exchange.watchForAbort()
      // Creating, resuming and cancelling a task block while the process's only loading queue is busy, for seconds
      // during a name lookup. That must not delay the caller.
      queue.addOperation { [self] in
        do {
          try exchange.start(in: openSession(for: route))
        } catch {
          exchange.refuse(RequestGate.problem(error, of: request))
        }
      }
      return try await exchange.head.take()
    }

    /// The messages of a WebSocket; throws for other protocols, and for options that need the protocol's bytes.
    private func messages(for request: HTTPRequest, _ context: RequestContext) throws(HTTPError) -> MessageUpgrade? {
      guard let name = context.upgradeProtocol else { return nil }
      guard let messages = context.call.messageUpgrade else {
        let shown = InvalidInput.printable(name, limit: 100)
        throw HTTPError(
          .unsupported, "the system's URLSession cannot change the protocol to '\(shown)': use the engine of Linux",
          request: request)
      }
      guard opensWebSockets else {
        throw HTTPError(
          .unsupported, "the system's URLSession on Linux divides and loses messages; use .curl or .urlSession",
          request: request)
      }
      guard let option = messages.bytesOption else { return messages }
      throw HTTPError(
        .unsupported, "URLSession's WebSockets do not support '\(option)'; the engine of Linux does", request: request)
    }

    private func count(_ change: Int, _ port: Int) {
      state.withLock { state in
        let count = (state.pending[port] ?? 0) + change
        state.pending[port] = count == 0 ? nil : count
      }
    }

    /// Whether Foundation is Apple's.
    ///
    /// On Linux, WebSocket tasks divide and lose messages, a resumed task sends its request again, and there are no
    /// metrics.
    static var isFoundationDarwins: Bool {
      #if canImport(FoundationNetworking)
        false
      #else
        true
      #endif
    }

    /// The session for a route; called on the delegate's queue only.
    private func openSession(for route: SessionRoute) throws -> RoutedSession {
      #if os(Linux)
        // The same libcurl. If we open it first, its OpenSSL is not cleared when the process exits.
        _ = CurlLibrary.problem
      #endif
      if let opened = state.withLock({ $0.sessions.use(route) }) { return opened }
      // A copy, because each route changes it.
      let own = ownConfiguration?.copy() as? URLSessionConfiguration
      let configuration = own ?? Self.configuration(for: settings)
      #if canImport(Security)
        let security = try SessionSecurity(settings.tls, proxy: route.proxy)
        security.apply(to: configuration)
        try route.apply(to: configuration, settings.tls)
        let bridge = URLSessionBridge(security)
      #else
        let bridge = URLSessionBridge()
      #endif
      let session = URLSession(configuration: configuration, delegate: bridge, delegateQueue: queue)
      let opened = RoutedSession(session: session, bridge: bridge)
      let unused = state.withLock { $0.sessions.insert(opened, for: route) }
      unused?.session.finishTasksAndInvalidate()
      return opened
    }

    /// A configuration that a program has changed, and its problem.
    private static func configured(
      _ settings: TransportSettings, _ change: URLSessionTransport.Configure
    ) -> (URLSessionConfiguration?, InvalidInput?) {
      let changed = configuration(for: settings)
      change(changed)
      // The program may have kept the object.
      guard let copy = changed.copy() as? URLSessionConfiguration else { return (nil, nil) }
      let properties = SessionProperty.changed(from: configuration(for: settings), to: copy)
      return (copy, SessionProperty.problem(properties, hasProxy: !settings.proxy.isNone))
    }

    private static func configuration(for settings: TransportSettings) -> URLSessionConfiguration {
      let configuration = configuration
      #if canImport(Darwin)
        configuration.allowsExpensiveNetworkAccess = settings.allowsExpensiveNetworks
        configuration.allowsConstrainedNetworkAccess = settings.allowsConstrainedNetworks
      #endif
      return configuration
    }

    /// A session only loads; the client does everything else.
    static var configuration: URLSessionConfiguration {
      let configuration = URLSessionConfiguration.default
      configuration.urlCache = nil
      configuration.httpCookieStorage = nil
      // Only this keeps the Linux loader from parsing cookies, which can crash it.
      configuration.httpCookieAcceptPolicy = .never
      configuration.httpShouldSetCookies = false
      configuration.urlCredentialStorage = nil
      // The client enforces limits: the loader's are whole seconds, and infinity crashes it.
      configuration.timeoutIntervalForRequest = 1e6
      configuration.timeoutIntervalForResource = 1e6
      // The limiter enforces this. Requests queued inside the loader would be indistinguishable from slow ones.
      configuration.httpMaximumConnectionsPerHost = 10_000
      return configuration
    }
  }
#endif

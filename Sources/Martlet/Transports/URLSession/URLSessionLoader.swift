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
  /// It has one session for the life of a client, and its own limiter.
  final class URLSessionLoader: AbortAwareTransport, AddressCheckingTransport, DiagnosableTransport {
    private struct State: ~Copyable {
      var session: URLSession?
      /// The number of exchanges without a head, by port.
      var pending: [Int: Int] = [:]
    }

    /// Serial, which keeps delegate calls, starts and cancellations of tasks in order.
    ///
    /// See ``URLSessionExchange``.
    private let queue = OperationQueue()
    private let bridge = URLSessionBridge()
    private let settings: TransportSettings
    private let limiter: ConnectionLimiter
    private let state = Locked(State())

    init(_ settings: TransportSettings) {
      self.settings = settings
      limiter = ConnectionLimiter(
        perOrigin: settings.maximumConnectionsPerHost, total: settings.maximumConnections,
        requests: settings.maximumRequestsPerHost)
      queue.maxConcurrentOperationCount = 1
      queue.name = "Martlet.URLSession"
    }

    package var diagnostics: HTTPClient.Diagnostics { HTTPClient.Diagnostics(loader: .system) }

    deinit {
      // Responses that are still being read keep their tasks, and this does not end them.
      state.withLock { $0.session }?.finishTasksAndInvalidate()
    }

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      let version = context.call.options.httpVersion
      let isLimited = context.call.settings.configuration.bandwidth != nil
      if let problem = settings.systemLoaderProblem(for: request, version, isLimited: isLimited) { throw problem }
      let control = context.exchange
      guard context.upgradeProtocol == nil else {
        throw HTTPError(
          .unsupported, "the system's URLSession cannot change the protocol: use the engine of Linux", request: request)
      }
      guard context.call.options.decompression == .automatic else {
        throw HTTPError(
          .unsupported,
          "the system's URLSession always decodes bodies; for .decompression(.off) use .curl, or .urlSession on Linux",
          request: request)
      }
      let wire = try URLSessionWire(request, isIdempotent: context.options.isIdempotent)
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
      let exchange = URLSessionExchange(wire, context, slot: slot, queue: queue)
      exchange.watchForAbort()
      // Creating, resuming and cancelling a task block while the process's only loading queue is busy, for seconds
      // during a name lookup. That must not delay the caller.
      queue.addOperation { [self] in
        exchange.start(in: openSession(), bridge)
      }
      return try await exchange.head.take()
    }

    private func count(_ change: Int, _ port: Int) {
      state.withLock { state in
        let count = (state.pending[port] ?? 0) + change
        state.pending[port] = count == 0 ? nil : count
      }
    }

    private func openSession() -> URLSession {
      #if os(Linux)
        // The same libcurl. If we open it first, its OpenSSL is not cleared when the process exits.
        _ = CurlLibrary.problem
      #endif
      return state.withLock { state in
        if let session = state.session { return session }
        let configuration = Self.configuration
        #if canImport(Darwin)
          configuration.allowsExpensiveNetworkAccess = settings.allowsExpensiveNetworks
          configuration.allowsConstrainedNetworkAccess = settings.allowsConstrainedNetworks
        #endif
        let session = URLSession(configuration: configuration, delegate: bridge, delegateQueue: queue)
        state.session = session
        return session
      }
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

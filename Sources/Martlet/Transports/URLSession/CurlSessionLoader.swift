#if os(Linux)
  import CurlEngine
  import MartletBase

  /// The working side of ``URLSessionTransport`` on Linux: the engine on libcurl sends, and what lasts is a task of a session
  /// that lives as long as a client.
  ///
  /// ```
  ///   send ──start──▶ CurlMailbox ──▶ loop ──head and body──▶ caller
  ///    │                               │
  ///    └─▶ CurlSessionTasks ◀───over───┘
  ///             └─ after 50 ms: a task, resume ──▶ work queue: CurlURLProtocol
  /// ```
  ///
  /// Without a usable libcurl the system's loader does it.
  final class CurlSessionLoader: AbortAwareTransport, AddressCheckingTransport, HandshakeTransport,
    DiagnosableTransport
  {
    let tasks: CurlSessionTasks
    private let settings: TransportSettings
    private let requiresEngine: Bool
    private let curl: CurlLoader
    private let problem: @Sendable () -> String?
    private let notice: Notice
    private let system = Locked<URLSessionLoader?>(nil)

    /// Makes a loader without a session; the first request that lasts opens it.
    ///
    /// `requiresEngine` says whether the system's loader is not to be used in any case; `notice` says why libcurl
    /// cannot be.
    init(
      _ settings: TransportSettings, requiresEngine: Bool = false, tasks: CurlSessionTasks = CurlSessionTasks(),
      problem: @escaping @Sendable () -> String? = { CurlLibrary.problem }, notice: Notice = .systemLoader
    ) {
      self.settings = settings
      self.requiresEngine = requiresEngine
      self.tasks = tasks
      self.problem = problem
      self.notice = notice
      curl = CurlLoader(settings, tasks: tasks)
    }

    // Transfers whose bodies are still being read keep their tasks, and are not ended by this.
    deinit { tasks.close() }

    var awaitedCount: AwaitedCount { curl.awaitedCount }

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      try CurlLibrary.check()
      if let problem = problem() {
        guard !requiresEngine else { throw HTTPError(.unsupported, problem, request: request) }
        return try await systemLoader(problem).send(request, context: context)
      }
      return try await curl.send(request, context: context)
    }

    func handshakeProblem(_ scheme: AuthenticationChallenge.Scheme) -> String? {
      guard let problem = problem() else { return curl.handshakeProblem(scheme) }
      return requiresEngine ? problem : "the system's loader does not support \(scheme): \(problem)"
    }

    func closeIdleConnections() { curl.closeIdleConnections() }

    package var diagnostics: HTTPClient.Diagnostics {
      let problem = problem()
      return CurlLibrary.diagnostics(problem == nil || requiresEngine ? .engine : .system, problem: problem)
    }

    @inline(never) private func systemLoader(_ problem: String) -> URLSessionLoader {
      notice.say("Martlet: \(problem); URLSession uses the system's loader, which a server can crash.")
      return system.withLock { system in
        let loader = system ?? URLSessionLoader(settings)
        system = loader
        return loader
      }
    }
  }
#endif

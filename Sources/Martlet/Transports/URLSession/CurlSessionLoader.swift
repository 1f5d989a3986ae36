#if canImport(Darwin) || URLSession
  #if os(Linux)
    import CurlEngine
    import MartletBase

    /// The implementation of ``URLSessionTransport`` on Linux.
    ///
    /// The engine on libcurl sends the requests. Long transfers also are tasks of a session that lives as long as the
    /// client.
    ///
    /// ```
    ///   send ──start──▶ CurlMailbox ──▶ loop ──head and body──▶ caller
    ///    │                               │
    ///    └─▶ CurlSessionTasks ◀───over───┘
    ///             └─ after 50 ms: a task, resume ──▶ work queue: CurlURLProtocol
    /// ```
    ///
    /// Without a usable libcurl it uses the system's loader.
    final class CurlSessionLoader: AbortAwareTransport, AddressCheckingTransport, HandshakeTransport,
      DiagnosableTransport, PreconnectingTransport, ConnectionCountingTransport
    {
      let tasks: CurlSessionTasks
      private let settings: TransportSettings
      private let requiresEngine: Bool
      private let curl: CurlLoader
      private let problem: @Sendable () -> String?
      private let notice: Notice
      private let system = Locked<URLSessionLoader?>(nil)

      /// Creates a loader without a session; the first long request opens it.
      ///
      /// `requiresEngine` rules out the system's loader. `notice` reports why libcurl cannot be used.
      init(
        _ settings: TransportSettings, requiresEngine: Bool = false, tasks: CurlSessionTasks = CurlSessionTasks(),
        problem: @escaping @Sendable () -> String? = { CurlLibrary.problem }, notice: Notice = .systemLoader
      ) {
        self.settings = settings
        self.requiresEngine = requiresEngine
        self.tasks = tasks
        self.problem = problem
        self.notice = notice
        curl = CurlLoader(settings) { [tasks] in tasks.add($0) }
      }

      // Transfers whose bodies are still being read keep their tasks, and this does not end them.
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

      func handshakeProblem(_ scheme: AuthenticationScheme) -> String? {
        guard let problem = problem() else { return curl.handshakeProblem(scheme) }
        return requiresEngine ? problem : "the system's loader does not support \(scheme): \(problem)"
      }

      func preconnect(for request: HTTPRequest, count: Int, context: RequestContext) async throws {
        if let problem = problem() {
          throw HTTPError(.unsupported, "cannot open connections in advance: \(problem)", request: request)
        }
        try await curl.preconnect(for: request, count: count, context: context)
      }

      var connectionPools: [ActivityMonitor.ConnectionPool] { curl.connectionPools }

      func closeIdleConnections() { curl.closeIdleConnections() }

      package var diagnostics: HTTPClient.Diagnostics {
        let problem = problem()
        var facts = CurlLibrary.diagnostics(problem == nil || requiresEngine ? .engine : .system, problem: problem)
        if problem == nil { facts.warnings += curl.fileWarnings }
        return facts
      }

      private func systemLoader(_ problem: String) -> URLSessionLoader {
        notice.say("Martlet: \(problem); URLSession uses the system's loader, which a server can crash.")
        return system.withLock { system in
          let loader = system ?? URLSessionLoader(settings)
          system = loader
          return loader
        }
      }
    }
  #endif
#endif

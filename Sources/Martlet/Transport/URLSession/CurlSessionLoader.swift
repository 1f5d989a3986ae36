#if os(Linux)
  import Foundation
  import FoundationNetworking

  /// The working side of ``URLSessionTransport`` on Linux: a session for the life of a client, whose tasks are loaded by
  /// the engine on libcurl.
  ///
  /// ```
  ///   send ──task, resume──▶ work queue: CurlURLProtocol
  ///    │ ▲                        │ ends what is over
  ///    │ │                   CurlSessionTasks ◀──over──┐
  ///    │ └──── head and body, beside the session ──────┤
  ///    └──start──▶ CurlMailbox ──▶ loop ───────────────┘
  ///   abort ──cancel──▲
  /// ```
  ///
  /// Without a usable libcurl the system's loader does it.
  final class CurlSessionLoader: AbortAwareTransport, AddressCheckingTransport, HandshakeTransport {
    private struct State {
      var session: URLSession?
      /// The exchanges that have no task yet.
      var waiting: [CurlSessionExchange] = []
      var isStarting = false
    }

    let tasks = CurlSessionTasks()
    private let settings: TransportSettings
    private let curl: CurlLoader
    private let problem: @Sendable () -> String?
    private let notice: Notice
    private let queue = DispatchQueue(label: "Martlet.CurlSession")
    private let state = Locked(State())
    private let system = Locked<URLSessionLoader?>(nil)

    /// Makes a loader without a session; the first request opens it.
    ///
    /// - Parameters:
    ///   - settings: The client's.
    ///   - problem: Why libcurl cannot be used.
    ///   - notice: What says so.
    init(
      _ settings: TransportSettings, problem: @escaping @Sendable () -> String? = { CurlLibrary.problem },
      notice: Notice = .systemLoader
    ) {
      self.settings = settings
      self.problem = problem
      self.notice = notice
      curl = CurlLoader(settings)
    }

    deinit {
      // Transfers whose bodies are still being read have their tasks, and are not ended by this.
      session?.finishTasksAndInvalidate()
    }

    var awaitedCount: AwaitedCount { curl.awaitedCount }

    /// The session, once a request was sent.
    var session: URLSession? { state.withLock { $0.session } }

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      try CurlLibrary.check()
      if let problem = problem() { return try await systemLoader(problem).send(request, context: context) }
      let transfer = try await curl.makeTransfer(for: request, context)
      let isAnswered = load(transfer)
      let response = try await transfer.value()
      if isAnswered && awaitedCount.hasToYield() { await Task.yield() }
      return curl.isRefusal(response, transfer) ? try await sendUnasked(request, context) : response
    }

    /// Sends once more, without asking for leave.
    @inline(never) private func sendUnasked(
      _ request: HTTPRequest, _ context: RequestContext
    ) async throws -> StreamedResponse {
      let transfer = try await curl.makeTransfer(for: request, context, asksLeave: false)
      _ = load(transfer)
      return try await transfer.value()
    }

    /// Starts a transfer as a task of the session; not inlined, so that a request that waits keeps no room for it.
    ///
    /// - Returns: Whether its answer is there already.
    @inline(never) private func load(_ transfer: CurlTransfer) -> Bool {
      let exchange = CurlSessionExchange(transfer, tasks)
      transfer.observer = exchange
      let isAlone = tasks.admit()
      transfer.watchForAbort()
      guard isAlone else {
        enqueue(exchange)
        return false
      }
      // Who waits for the answer sends by itself, and the session goes on with its task while the server answers.
      if let socket = start(exchange, { $0.startHere() }) { transfer.awaitAnswer(on: socket) }
      return transfer.isAnswered
    }

    func handshakeProblem(_ scheme: AuthenticationScheme) -> String? {
      problem().map { "the system's loader has no \(scheme): \($0)" } ?? curl.handshakeProblem(scheme)
    }

    func closeIdleConnections() { curl.closeIdleConnections() }

    @inline(never) private func systemLoader(_ problem: String) -> URLSessionLoader {
      notice.say("Martlet: \(problem); URLSession uses the system's loader, which a server can crash.")
      return system.withLock { system in
        let loader = system ?? URLSessionLoader(settings)
        system = loader
        return loader
      }
    }

    /// Has an exchange started on another thread.
    ///
    /// Each start waits for the queue that all sessions of the process share: a name lookup of another session can keep it
    /// busy for seconds, and that must hold up neither callers nor their cancellation. Several starts at a time would wait
    /// for each other, too. Only one that is alone, after others that did not have to wait, is not worth the way.
    private func enqueue(_ exchange: CurlSessionExchange) {
      let isStarting = state.withLock { state in
        state.waiting.append(exchange)
        defer { state.isStarting = true }
        return state.isStarting
      }
      if !isStarting { queue.async { self.startWaiting() } }
    }

    private func startWaiting() {
      while true {
        let exchanges = state.withLock { state in
          defer { state.waiting = [] }
          state.isStarting = !state.waiting.isEmpty
          return state.waiting
        }
        if exchanges.isEmpty { return }
        for exchange in exchanges {
          start(exchange) { transfer -> CInt? in
            transfer.start()
            return nil
          }
        }
      }
    }

    /// Starts the transfer of an exchange as it is told, and its task, which may block.
    @discardableResult
    private func start(_ exchange: CurlSessionExchange, _ begin: (CurlTransfer) -> CInt?) -> CInt? {
      let session = session ?? openSession()
      let start = ContinuousClock.now
      guard let (task, transfer) = exchange.make(in: session) else { return nil }
      let made = ContinuousClock.now
      let socket = begin(transfer)
      let begun = ContinuousClock.now
      task.resume()
      tasks.startTook(made - start + (ContinuousClock.now - begun))
      return socket
    }

    private func openSession() -> URLSession {
      let configuration = URLSessionLoader.configuration
      configuration.protocolClasses = [CurlURLProtocol.self]
      let made = URLSession(configuration: configuration)
      return state.withLock { state in
        // Another thread may have been faster.
        let session = state.session ?? made
        state.session = session
        return session
      }
    }
  }
#endif

#if canImport(Darwin) || URLSession
  #if os(Linux)
    import Foundation
    import FoundationNetworking
    import MartletTesting
    import TestSupport
    import Testing

    @testable import CurlEngine
    @testable import MartletBase
    @testable import Martlet

    /// The session's tasks over the engine: each task ends, whatever ends it.
    @Suite(.ownThreads, .hangLimit) struct CurlSessionTests {
      private func loader(of client: HTTPClient) throws -> CurlSessionLoader {
        try #require(client.core.settings.transport as? CurlSessionLoader)
      }

      /// A transport that creates tasks for all but very quick requests.
      private static let tasks: ClientSetting = .transport(
        .loading(with: CurlSessionTasks(patience: .milliseconds(1))))

      /// Expects that all tasks end, which the session's release shows: a session is not released while it has a task.
      private func expectEnd(of client: inout HTTPClient?) async throws {
        weak var session: URLSession?
        if let client {
          let loader = try loader(of: client)
          session = loader.tasks.session
          #expect(session != nil)
          #expect(await becomes { loader.tasks.counts == (0, 0) })
          // A handle has its result before its task has ended.
          #expect(await becomes { client.core.entryCount == 0 })
        }
        client = nil
        #expect(await becomes { session == nil })
      }

      @Test func `ends the tasks of many requests that are cancelled at random moments`() async throws {
        let server = try MockServer { (request: RecordedRequest) in
          if request.path == "/slow" { try? await Task.sleep(for: .milliseconds(5)) }
          return .ok("hello")
        }
        defer { server.stop() }
        var client: HTTPClient? = HTTPClient(Self.tasks) {
          $0.maximumConnectionsPerHost = 32
          $0.retry = .off
        }
        let count = Stress.count(800, full: 20_000)
        var answers = 0
        var cancellations = 0
        for _ in 0..<(count / 100) {
          server.forgetRequests()
          await withTaskGroup(of: Result<String, any Error>.self) { [client] group in
            for number in 0..<100 {
              group.addTask {
                guard let client else { return .success("no client") }
                let path = number % 10 == 0 ? "/slow" : "/fast"
                let task = Task { try await client.get("\(raw: server.url)\(raw: path)").text }
                if number % 3 != 0 {
                  try? await Task.sleep(for: .microseconds(Int.random(in: 0...5_000)))
                  task.cancel()
                }
                return await task.result
              }
            }
            for await result in group {
              switch result {
              case .success("hello"): answers += 1
              case .failure(is CancellationError): cancellations += 1
              case .success(let text): Issue.record("\(text)")
              case .failure(let error): Issue.record("\(error)")
              }
            }
          }
        }

        #expect(answers + cancellations == count)
        #expect(answers >= count / 3)
        #expect(cancellations > 0)
        try await expectEnd(of: &client)
      }

      @Test func `cancelAll ends 200 unanswered requests`() async throws {
        let server = try MockServer(.hang)
        defer { server.stop() }
        var client: HTTPClient? = HTTPClient(Self.tasks) {
          $0.maximumConnectionsPerHost = 200
          $0.maximumConnections = 200
        }
        func use(_ client: HTTPClient) async throws {
          let handles = (0..<200).map { client.start(.get(RequestTarget(server.url("/\($0)")))) }
          #expect(await server.waitForRequests(200))

          let start = ContinuousClock.now
          client.cancelAll()
          for handle in handles { await #expect(throws: CancellationError.self) { try await handle.value } }
          let duration = ContinuousClock.now - start

          #expect(!Stress.isOn || isSanitized || duration < .seconds(10), "\(duration)")
          #expect(await server.waitForOpenConnections(atMost: 0))
        }

        try await use(try #require(client))

        try await expectEnd(of: &client)
      }

      /// Starts tasks as the loader does; unless a task is to be kept, the session cancels it slightly later.
      private struct CancellingTransport: AbortAwareTransport {
        /// Reports the end as ``CurlSessionTasks`` does.
        final class Observer: CurlTransferObserver {
          let exchange: CurlSessionExchange

          init(_ exchange: CurlSessionExchange) { self.exchange = exchange }

          func transferIsOver(_ transfer: CurlTransfer) {
            DispatchQueue.global().async { self.exchange.end() }
          }
        }

        let curl = CurlLoader(TransportSettings())
        let session: URLSession

        func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
          let transfer = try await curl.makeTransfer(for: request, context)
          let exchange = CurlSessionExchange(transfer)
          transfer.observer = Observer(exchange)
          transfer.watchForAbort()
          exchange.start(in: session)
          let task = exchange.task
          transfer.start()
          if request.headers["X-Fate"] != "kept" {
            let delay = DispatchTimeInterval.microseconds(Int.random(in: 0...2_000))
            DispatchQueue.global().asyncAfter(deadline: .now() + delay) { task?.cancel() }
          }
          return StreamedResponse(try await transfer.value(), to: request)
        }
      }

      /// Normally, only the session cancels its tasks, and only when it ends.
      ///
      /// The process must survive a cancellation.
      @Test func `a request ends when the session cancels its task at any moment`() async throws {
        let server = try MockServer { (request: RecordedRequest) in
          request.header("X-Fate") == "silent" ? .hang : .ok("x").delayed(by: .milliseconds(1))
        }
        defer { server.stop() }
        weak var weakSession: URLSession?
        func use() async throws {
          let configuration = URLSessionLoader.configuration
          configuration.protocolClasses = [CurlURLProtocol.self]
          let session = URLSession(configuration: configuration)
          weakSession = session
          let client = HTTPClient {
            $0.transport = CancellingTransport(session: session)
            $0.retry = .off
          }
          var answers = 0
          var cancellations = 0
          await withTaskGroup(of: (Int, Int).self) { group in
            for _ in 0..<16 {
              group.addTask {
                var counts = (0, 0)
                for number in 0..<(Stress.count(20, full: 200)) {
                  // Fixed fates ensure that some requests get a response and some do not.
                  let fate = [0: "kept", 1: "silent"][number % 8] ?? "any"
                  do {
                    _ = try await client.get(RequestTarget(server.url), headers: ["X-Fate": fate])
                    counts.0 += 1
                  } catch is CancellationError {
                    counts.1 += 1
                  } catch {
                    Issue.record("\(error)")
                  }
                }
                return counts
              }
            }
            for await counts in group {
              answers += counts.0
              cancellations += counts.1
            }
          }
          #expect(answers + cancellations == 16 * (Stress.count(20, full: 200)))
          #expect(answers > 0)
          #expect(cancellations > 0)
          session.finishTasksAndInvalidate()
        }

        try await use()

        #expect(await becomes { weakSession == nil })
      }

      /// Cancels a transfer that is about to start, before there is a loop to notice it.
      private struct EarlyTransport: AbortAwareTransport {
        let tasks: CurlSessionTasks

        func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
          let transfer = try await CurlLoader(TransportSettings()).makeTransfer(for: request, context)
          tasks.add(transfer)
          transfer.cancel(CancellationError())
          return StreamedResponse(try await transfer.value(), to: request)
        }
      }

      @Test func `cancelling ends a request before its loop starts`() async throws {
        let tasks = CurlSessionTasks()
        let client = HTTPClient { $0.transport = EarlyTransport(tasks: tasks) }
        await #expect(throws: CancellationError.self) { try await client.get("http://127.0.0.1:9/") }
        #expect(tasks.counts == (0, 0))
      }

      @Test func `the session is released with its client`() async throws {
        let server = try MockServer { _ in
          .status(401, headers: ["WWW-Authenticate": "Basic realm=\"a\""], body: "who?").delayed(by: .milliseconds(20))
        }
        defer { server.stop() }
        var client: HTTPClient? = HTTPClient(Self.tasks)
        for method in [HTTPMethod.get, "get", .head, .post, "X-Y"] {
          let response = try await client?.send(
            HTTPRequest(method, RequestTarget(server.url("/a?b=[%5D]"))), options: .accepts(.any))
          #expect(response?.status == .unauthorized)
        }

        try await expectEnd(of: &client)

        #expect(server.requests.map(\.method) == ["GET", "get", "HEAD", "POST", "X-Y"])
        #expect(await server.waitForOpenConnections(atMost: 0))
      }

      // MARK: A busy queue

      /// Keeps the queue that all sessions of a process share busy, as a name lookup does, until `isOver` is set.
      private final class Blocker: URLProtocol {
        static let isBlocking = Shared(false)
        static let isOver = Shared(false)

        override class func canInit(with request: URLRequest) -> Bool { true }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func startLoading() {
          Self.isBlocking.withLock { $0 = true }
          while !Self.isOver.value { Thread.sleep(forTimeInterval: 0.01) }
          client?.urlProtocolDidFinishLoading(self)
        }
        override func stopLoading() {}

        static func block() async throws {
          let configuration = URLSessionConfiguration.default
          configuration.protocolClasses = [Blocker.self]
          let session = URLSession(configuration: configuration)
          session.dataTask(with: try #require(URL(string: "http://a.test/"))).resume()
          session.finishTasksAndInvalidate()
          await isBlocking.wait { $0 }
        }
      }

      @Test func `requests complete, time out and cancel while other sessions block their queue`() async {
        await #expect(processExitsWith: .success) {
          let server = try MockServer { (request: RecordedRequest) in request.path == "/" ? .ok("x") : .hang }
          let client = HTTPClient()
          let running = client.start(.get(RequestTarget(server.url("/running"))))
          #expect(await server.waitForRequests(1))
          let tasks = try #require(client.core.settings.transport as? CurlSessionLoader).tasks
          // Waits until the request has a task.
          #expect(
            await becomes {
              await withCheckedContinuation { answer in
                guard let session = tasks.session else { return answer.resume(returning: false) }
                session.getAllTasks { answer.resume(returning: $0.count == 1) }
              }
            })
          try await Blocker.block()
          let started = client.start(.get(RequestTarget(server.url("/started"))))
          #expect(await server.waitForRequests(2))
          // Waits until the second task is being created.
          #expect(await becomes { tasks.counts.lasting == 2 })
          running.cancel()
          await #expect(throws: CancellationError.self) { try await running.value }

          #expect(try await client.get(RequestTarget(server.url)).text == "x")
          let error = await #expect(throws: HTTPError.self) {
            try await client.get(RequestTarget(server.url("/late")), options: .timeout(.milliseconds(100)))
          }
          client.cancelAll()
          await #expect(throws: CancellationError.self) { try await started.value }

          #expect(error?.kind == .timedOut)
          #expect(await server.waitForOpenConnections(atMost: 1))
          // The queue was busy during all of this.
          Blocker.isOver.withLock { $0 = true }
        }
      }

      // MARK: Without libcurl

      @Test func `falls back to the system loader without libcurl and reports that once`() async throws {
        let server = try MockServer(.ok("hello"))
        defer { server.stop() }
        let lines = Locked<[String]>([])
        let notice = Notice { line in lines.withLock { $0.append(line) } }

        for _ in 0..<2 {
          let client = HTTPClient(
            PreparedTransport { CurlSessionLoader($0, problem: { "no libcurl was found" }, notice: notice) })
          for _ in 0..<2 { #expect(try await client.get(RequestTarget(server.url)).text == "hello") }
          #expect(try loader(of: client).tasks.session == nil)
        }

        let said = lines.withLock { $0 }
        #expect(said.count == 1)
        #expect(said.first?.contains("no libcurl was found") == true)
        #expect(said.first?.contains("\n") == false)
      }

      @Test func `a client that requires the engine does not fall back to the system loader`() async throws {
        let notice = Notice { line in Issue.record("\(line)") }
        let without = CurlSessionLoader(
          TransportSettings(), requiresEngine: true, problem: { "no libcurl was found" }, notice: notice)
        let server = try MockServer(.ok("hello"))

        let error = await #expect(throws: HTTPError.self) {
          try await HTTPClient { $0.transport = without }.get(RequestTarget(server.url))
        }
        let client = HTTPClient { $0.transport = .urlSession(loader: .engine) }

        #expect(error?.kind == .unsupported && error?.message == "no libcurl was found")
        #expect(try await client.get(RequestTarget(server.url)).text == "hello")
        #expect(server.requests.count == 1)
      }

      // MARK: Diagnostics

      @Test(arguments: Lane.engines) func `diagnostics describe the engine`(_ lane: Lane) async throws {
        let facts = lane.client().diagnostics

        #expect(facts.loader == .engine && facts.engineProblem == nil)
        #expect(facts.libcurl == CurlLibrary.version)
        #expect(facts.libcurlPath.map { FileManager.default.fileExists(atPath: $0) } == true)
        #expect(facts.httpVersions.prefix(2) == ["1.0", "1.1"])
        #expect(facts.contentCodings.first == "gzip")
        #expect("\(facts)".contains("libcurl: \(facts.libcurl ?? "?"), "))
      }

      @Test func `diagnostics explain why the engine is not used`() {
        let without = CurlSessionLoader(TransportSettings(), problem: { "no libcurl was found" }).diagnostics
        let system = HTTPClient { $0.transport = .urlSession(loader: .system) }.diagnostics
        let stubbed = HTTPClient { $0.transport = StubTransport(script: []) }.diagnostics

        #expect(without.loader == .system && without.engineProblem == "no libcurl was found" && without.libcurl == nil)
        #expect("\(without)".hasPrefix("loader: the system's URLSession\nengine: not used: no libcurl was found"))
        #expect(system.loader == .system && system.engineProblem == nil)
        #expect(stubbed.loader == HTTPClient.Diagnostics.Loader.other("StubTransport"))
      }
    }
  #endif
#endif

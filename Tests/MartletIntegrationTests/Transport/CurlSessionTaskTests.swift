#if canImport(Darwin) || URLSession
  #if os(Linux)
    import Foundation
    import FoundationNetworking
    import MartletTesting
    import TestSupport
    import Testing

    @testable import CurlEngine
    @testable import Martlet

    /// The session's tasks over the engine: which requests have one, and when it ends.
    @Suite(.hangLimit) struct CurlSessionTaskTests {
      /// Ends a transfer before the session loads its task, and then reports the end a second time.
      private struct HastyTransport: AbortAwareTransport {
        let session: URLSession

        func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
          let transfer = try await CurlLoader(TransportSettings()).makeTransfer(for: request, context)
          let exchange = CurlSessionExchange(transfer)
          exchange.start(in: session)
          transfer.cancel(CancellationError())
          exchange.end()
          exchange.end()
          return StreamedResponse(try await transfer.value(), to: request)
        }
      }

      @Test func `a task ends even if its transfer ends before the task starts`() async throws {
        weak var weakSession: URLSession?
        func use() async throws {
          let configuration = URLSessionLoader.configuration
          configuration.protocolClasses = [CurlURLProtocol.self]
          let session = URLSession(configuration: configuration)
          weakSession = session
          let client = HTTPClient { $0.transport = HastyTransport(session: session) }

          for _ in 0..<3 {
            await #expect(throws: CancellationError.self) { try await client.get("http://127.0.0.1:9/") }
          }

          session.finishTasksAndInvalidate()
        }

        try await use()

        // A session is not released while it has a task.
        #expect(await becomes { weakSession == nil })
      }

      @Test func `each long request has a task, and the session is released with its client`() async throws {
        let server = try SteppedServer()
        weak var weakTasks: CurlSessionTasks?
        weak var weakSession: URLSession?
        func use() async throws {
          let client = Lane.urlSession.client()
          let tasks = try #require(client.core.settings.transport as? CurlSessionLoader).tasks
          weakTasks = tasks
          for number in 0..<3 {
            async let text = client.get(server.target).text
            // Closing the connection would make the client's next request fail.
            _ = try await number == 0 ? server.request() : server.nextRequest()
            #expect(await becomes { tasks.counts == (1, 1) })
            #expect(await becomes { tasks.session != nil })
            weakSession = tasks.session
            try await server.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(number)")

            #expect(try await text == "\(number)")
            #expect(await becomes { tasks.isIdle })
          }
        }

        try await use()

        #expect(await becomes { weakTasks == nil && weakSession == nil })
      }

      @Test func `short requests have no task`() async throws {
        let server = try MockServer(.ok("x"))
        let tasks = CurlSessionTasks(patience: .seconds(600))
        let client = HTTPClient { $0.transport = .loading(with: tasks) }

        for _ in 0..<20 { #expect(try await client.get(RequestTarget(server.url)).text == "x") }

        #expect(tasks.counts == (0, 0) && tasks.session == nil)
      }

      /// The body is read after its client and the session have been released.
      @Test func `a body can be read after its client is released, with or without a task`() async throws {
        for patience in [DispatchTimeInterval.milliseconds(1), .seconds(600)] {
          let server = try SteppedServer()
          let tasks = CurlSessionTasks(patience: patience)
          var client: HTTPClient? = HTTPClient { $0.transport = .loading(with: tasks) }
          let target = server.target
          let reading = try #require(
            client.map { client in Task { try await client.stream(.get(target)) { try await $0.text(upTo: 10) } } })
          client = nil
          try await server.request()
          try await server.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
          if patience != .seconds(600) { #expect(await becomes { tasks.counts == (1, 1) }) }

          try await server.send("b")

          #expect(try await reading.value == "ab")
          #expect(await becomes { tasks.counts == (0, 0) })
        }
      }
    }

    extension Transport where Self == PreparedTransport {
      /// The default transport, which creates tasks after a longer or shorter time than usual.
      static func loading(with tasks: CurlSessionTasks) -> PreparedTransport {
        PreparedTransport { CurlSessionLoader($0, tasks: tasks) }
      }
    }
  #endif
#endif

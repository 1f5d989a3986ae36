#if os(Linux)
  import Foundation
  import FoundationNetworking
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// The tasks of the session over the engine, one after the other.
  @Suite(.hangLimit) struct CurlSessionTaskTests {
    /// Has a transfer end before the session loads its task, and says once more that it is over.
    private struct HastyTransport: AbortAwareTransport {
      let tasks: CurlSessionTasks
      let session: URLSession

      func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
        let transfer = try await CurlLoader(TransportSettings()).makeTransfer(for: request, context)
        let exchange = CurlSessionExchange(transfer, tasks)
        transfer.observer = exchange
        _ = tasks.admit()
        let started = exchange.make(in: session)
        transfer.cancel(CancellationError())
        transfer.release()
        started?.task.resume()
        return try await transfer.value()
      }
    }

    @Test func `a task whose transfer was over before it began ends all the same, and counts once`() async throws {
      weak var weakSession: URLSession?
      func use() async throws {
        let tasks = CurlSessionTasks()
        let configuration = URLSessionLoader.configuration
        configuration.protocolClasses = [CurlURLProtocol.self]
        let session = URLSession(configuration: configuration)
        weakSession = session
        let client = HTTPClient { $0.transport = HastyTransport(tasks: tasks, session: session) }

        for _ in 0..<3 {
          await #expect(throws: CancellationError.self) { try await client.get("http://127.0.0.1:9/") }
        }

        #expect(tasks.counts == (0, 0))
        session.finishTasksAndInvalidate()
      }

      try await use()

      // A session is not released while it knows a task.
      #expect(await becomes { weakSession == nil })
    }

    @Test func `the last task ends by itself, each time, and nothing looks after tasks for ever`() async throws {
      let server = try MockServer(.ok("x"))
      weak var weakTasks: CurlSessionTasks?
      func use() async throws {
        let client = Lane.urlSession.client()
        let tasks = try #require(client.core.settings.transport as? CurlSessionLoader).tasks
        weakTasks = tasks
        for _ in 0..<4 {
          #expect(try await client.get(RequestTarget(server.url)).text == "x")
          #expect(await becomes { tasks.counts == (0, 0) })
          // So that nothing looks after tasks any more when the next one begins.
          try await Task.sleep(for: .milliseconds(100))
        }
      }

      try await use()

      #expect(await becomes { weakTasks == nil })
    }
  }
#endif

#if canImport(Darwin) || URLSession
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  extension URLSessionTests {
    @Suite(.hangLimit) struct CancellationTests {
      private enum Peer: CaseIterable, CustomTestStringConvertible {
        case fast, slow, redirecting, streaming, challenging

        var testDescription: String { "\(self)" }

        var response: MockResponse {
          switch self {
          case .fast: .ok("x")
          case .slow: .ok("x").delayed(by: .milliseconds(12))
          case .redirecting: .redirect(to: "/again", status: 307)
          case .streaming: .repeating(Data(count: 1 << 14), count: 1 << 8)
          case .challenging: .status(401, headers: ["WWW-Authenticate": "Basic realm=\"a\""])
          }
        }
      }

      @Test(arguments: URLSessionTests.loaders)
      func `ends an unanswered request and closes its connection`(_ loader: URLSessionTransport.Loader) async throws {
        let server = try MockServer(.hang)
        let client = HTTPClient(.urlSession(loader: loader), .retry(.off), .maximumConnectionsPerHost(16))
        let task = Task { try await client.get(RequestTarget(server.url), options: .timeout(.unlimited)) }
        _ = await server.waitForRequests(1)

        task.cancel()
        let result = await task.result

        #expect(throws: CancellationError.self) { try result.get() }
        #expect(await server.waitForOpenConnections(atMost: 0))
      }

      /// Cancelling at the wrong moment crashes the loader on Linux, or makes it hang.
      @Test(arguments: Peer.allCases, URLSessionTests.loaders)
      private func `survives many cancellations`(_ peer: Peer, _ loader: URLSessionTransport.Loader) async throws {
        let server = try MockServer(peer.response)
        let client = HTTPClient(.urlSession(loader: loader), .retry(.off), .maximumConnectionsPerHost(16))
        var generator = SystemRandomNumberGenerator()
        let count = Stress.count(60, full: 1_000)

        let ends = await withTaskGroup(of: Bool.self) { group in
          var ends = 0
          for number in 0..<count {
            if number >= 20, await group.next() != nil { ends += 1 }
            let delay = Duration.microseconds(Int.random(in: 0..<20_000, using: &generator))
            group.addTask {
              let task = Task { try await client.get(RequestTarget(server.url), options: .accepts(.any)) }
              try? await Task.sleep(for: delay)
              task.cancel()
              _ = await task.result
              return true
            }
          }
          for await _ in group { ends += 1 }
          return ends
        }

        #expect(ends == count)
        let after = try MockServer(.ok("alive"))
        #expect(try await client.get(RequestTarget(after.url)).text == "alive")
      }

      @Test(arguments: URLSessionTests.loaders)
      func `cancels all requests that wait for a connection`(_ loader: URLSessionTransport.Loader) async throws {
        let server = try MockServer(.hang)
        let client = HTTPClient(.urlSession(loader: loader), .retry(.off), .maximumConnectionsPerHost(16))

        let handles = (0..<200).map { _ in client.start(.get(RequestTarget(server.url)), options: .coalesces(false)) }
        #expect(await server.waitForRequests(16))
        client.cancelAll()
        for handle in handles { await #expect(throws: CancellationError.self) { try await handle.value } }

        #expect(await server.waitForOpenConnections(atMost: 0))
      }
    }
  }
#endif

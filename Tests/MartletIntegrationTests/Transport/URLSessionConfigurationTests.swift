#if os(Linux) && URLSession
  import Foundation
  import FoundationNetworking
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  extension URLSessionTests {
    /// Sessions that the program has configured.
    @Suite(.hangLimit) struct ConfigurationTests {
      @Test func `requests use the configured session`() async throws {
        let source = PausingSource(size: 1 << 20)
        let client = HTTPClient(
          .urlSession(loader: .system) { $0.protocolClasses = [PausingProtocol.self] }, .retry(.off))

        let body = try await client.get(source.target).body

        #expect(body.count == 1 << 20)
        #expect(client.diagnostics.loader == .system)
      }

      @Test func `a change after the closure has returned has no effect`() async throws {
        let server = try MockServer(.ok("hello"))
        let kept = Shared<URLSessionConfiguration?>(nil)
        let client = HTTPClient(
          .urlSession(loader: .system) { configuration in kept.withLock { $0 = configuration } }, .retry(.off))
        kept.withLock { $0?.httpAdditionalHeaders = ["X-Late": "1"] }

        #expect(try await client.get(RequestTarget(server.url)).text == "hello")
        #expect(server.requests.first?.header("X-Late") == nil)
      }

      @Test func `a refused property or the engine sends nothing`() async throws {
        let server = try MockServer(.ok())
        let refused: [any Transport] = [
          .urlSession(loader: .system) { $0.httpShouldSetCookies = true }, .urlSession { _ in },
          .urlSession(loader: .engine) { _ in },
        ]

        for transport in refused {
          await #expect(throws: HTTPError.self) { try await HTTPClient(transport).get(RequestTarget(server.url)) }
        }

        #expect(server.connectionCount == 0)
      }
    }
  }
#endif

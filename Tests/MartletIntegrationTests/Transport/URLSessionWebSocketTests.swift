#if canImport(Darwin) || URLSession
  import Foundation
  import MartletTesting
  import MartletWebSocket
  import TestSupport
  import Testing

  @testable import Martlet

  extension URLSessionTests {
    /// The usual toolchains of Linux contain Foundation without WebSockets, so these tests mostly check the errors.
    @Suite(.hangLimit) struct WebSocketTaskTests {
      @Test(arguments: [
        (WebSocketOptions { $0.compression = .deflate }, "'compression'"),
        (WebSocketOptions { $0.maximumFrameBytes = 100 }, "'maximumFrameBytes'"),
      ]) func `rejects options that it does not support`(options: WebSocketOptions, name: String) async throws {
        let server = try MockServer(.webSocket([.echo]))

        let error = await #expect(throws: HTTPError.self) {
          _ = try await Self.client().webSocket(.get(RequestTarget(server.url)), options: options)
        }

        #expect(error?.kind == .unsupported && error?.message.contains(name) == true)
        #expect(server.requests.isEmpty)
      }

      @Test func `changes to no other protocol`() async throws {
        let server = try MockServer(.ok())

        let error = await #expect(throws: HTTPError.self) {
          _ = try await Self.client().upgrade(.get(RequestTarget(server.url)), to: "tcp")
        }

        #expect(error?.kind == .unsupported && error?.message.contains("'tcp'") == true)
        #expect(server.requests.isEmpty)
      }

      #if canImport(FoundationNetworking)
        @Test func `the system's loader on Linux rejects WebSockets`() async throws {
          let server = try MockServer(.webSocket([.echo]))
          let client = HTTPClient(.urlSession(loader: .system), .retry(.off))

          let error = await #expect(throws: HTTPError.self) {
            _ = try await client.webSocket(.get(RequestTarget(server.url)))
          }

          #expect(error?.kind == .unsupported && error?.message.contains("use .curl or .urlSession") == true)
          #expect(server.requests.isEmpty)
        }
      #endif

      @Test func `exchanges messages if Foundation supports WebSockets`() async throws {
        let server = try MockServer(.webSocket([.echo], subprotocols: ["chat"]))
        let client = Self.client()
        let options = WebSocketOptions { $0.subprotocols = ["chat"] }

        do {
          try await client.webSocket(.get(RequestTarget(server.url)), options: options) { socket in
            #expect(socket.subprotocol == "chat")
            try await socket.send("hello")
            #expect(try await socket.receive() == .text("hello"))
            try await socket.send(Data([1, 2]))
            #expect(try await socket.receive() == .binary(Data([1, 2])))
            #expect(try await socket.ping() > .zero)
          }
          let record = try #require(await server.waitForWebSocket { $0.isEnded })
          #expect(record.closeCode == .normalClosure)
        } catch let error as HTTPError where error.kind == .unsupported {
          #expect(error.message.contains("WebSockets not supported"))
          #expect(server.requests.isEmpty)
        }
        await client.waitUntilEmpty()
      }

      private static func client() -> HTTPClient { HTTPClient(Loader(), .retry(.off)) }
    }

    /// The system's loader, with WebSockets even on Linux.
    private struct Loader: Transport {
      func prepared(for settings: TransportSettings) -> any Transport {
        URLSessionLoader(settings, opensWebSockets: true)
      }

      func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
        try await prepared(for: TransportSettings()).send(request, context: context)
      }
    }
  }
#endif

#if os(Linux)
  import Foundation
  @testable import CurlEngine
  @testable import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Large bodies that arrive fast, for which sockets wake the loop only when many bytes have arrived.
  @Suite(.hangLimit) struct ReceiveMarkTests {
    private static let block = Data(count: 65_536) { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    /// Returns a server that sends a number of blocks, then `rest`, and then performs the steps.
    private static func server(blocks: Int, rest: String, then steps: [MockResponse.Step]) throws -> MockServer {
      try MockServer { (request: RecordedRequest) in
        guard request.target == "/large" else { return .ok("small") }
        let length = blocks * block.count + rest.utf8.count + (steps.isEmpty ? 0 : 1 << 30)
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n"
        return .steps([.text(head), .repeating(block, count: blocks), .text(rest)] + steps)
      }
    }

    private static func eager(_ lane: Lane) -> PreparedTransport {
      PreparedTransport { settings in
        var settings = settings
        settings.receiveMarks = ReceiveLowWaterMarks(turns: 1, patience: 20_000)
        return lane.transport.prepared(for: settings)
      }
    }

    private static let settings: ClientSetting = [
      .retry(.off), .cache(.off), ClientSetting { $0.timeout.idle = .seconds(600) },
    ]

    @Test(arguments: Lane.engines) func `delivers all bytes of a fast streamed body`(_ lane: Lane) async throws {
      let blocks = 48
      let server = try Self.server(blocks: blocks, rest: "the end", then: [])
      let client = HTTPClient(Self.eager(lane), Self.settings)
      var expected = Data()
      for _ in 0..<blocks { expected += Self.block }
      expected += Data("the end".utf8)

      for _ in 0..<5 {
        let body = try await client.stream(.get(RequestTarget(server.url("/large")))) { response in
          var body = Data()
          for try await piece in response.body { body.append(piece) }
          return body
        }
        let isRight = body == expected
        #expect(isRight)
        // The settings of the connection are undone; otherwise this request would wait for bytes that never arrive.
        let small = try await client.get(RequestTarget(server.url("/small")))
        #expect(small.text == "small")
      }

      #expect(server.connectionCount == 1)
    }

    @Test(arguments: Lane.engines) func `delivers all received bytes when the server pauses`(_ lane: Lane) async throws
    {
      let blocks = 48
      let server = try Self.server(blocks: blocks, rest: "so far", then: [.hang])
      let client = HTTPClient(Self.eager(lane), Self.settings)

      for _ in 0..<5 {
        let tail = try await client.stream(.get(RequestTarget(server.url("/large")))) { response in
          var count = 0
          var tail = Data()
          for try await piece in response.body {
            count += piece.count
            tail = (tail + piece).suffix(6)
            if count == blocks * Self.block.count + 6 { break }
          }
          return tail
        }
        #expect(String(decoding: tail, as: UTF8.self) == "so far")
        // The transfer was abandoned, and the next connection may get the same descriptor.
        let small = try await client.get(RequestTarget(server.url("/small")))
        #expect(small.text == "small")
      }
    }

    @Test(arguments: Lane.engines) func `detects a connection that ends within the body`(_ lane: Lane) async throws {
      let server = try Self.server(blocks: 48, rest: "cut", then: [.cut])
      let client = HTTPClient(Self.eager(lane), Self.settings)

      for _ in 0..<5 {
        let error = await #expect(throws: HTTPError.self) {
          _ = try await client.stream(.get(RequestTarget(server.url("/large")))) { response in
            for try await _ in response.body {}
          }
        }
        #expect(error?.kind == .connectionLost)
      }
    }

    @Test(arguments: Lane.engines) func `delivers all bytes of a fast collected body`(_ lane: Lane) async throws {
      let server = try Self.server(blocks: 48, rest: "the end", then: [])
      let client = HTTPClient(Self.eager(lane), Self.settings)

      // Whether a turn receives many bytes depends on the machine; `ReceiveLowWaterMarksTests` covers what follows from
      // that.
      for _ in 0..<5 {
        let body = try await client.get(RequestTarget(server.url("/large"))).body
        #expect(body.count == 48 * Self.block.count + 7)
        #expect(String(decoding: body.suffix(7), as: UTF8.self) == "the end")
      }
      #expect(server.connectionCount == 1)
    }
  }
#endif

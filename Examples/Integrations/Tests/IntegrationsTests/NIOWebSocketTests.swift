#if os(Linux)
  import Foundation
  import Martlet
  import MartletWebSocket
  import Testing

  /// Martlet against a server on SwiftNIO.
  @Suite(.timeLimit(.minutes(1))) struct NIOWebSocketTests {
    private static func request(_ port: Int, _ path: String = "/echo") -> HTTPRequest {
      .get("\(raw: "ws://127.0.0.1:\(port)\(path)")")
    }

    @Test func `NIO's WebSocket echoes messages, pings and the close`() async throws {
      try await NIOServer.run { port, ends in
        let options = WebSocketOptions {
          $0.subprotocols = ["chat"]
          $0.compression = .deflate
        }
        try await HTTPClient().webSocket(Self.request(port), options: options) { socket in
          #expect(socket.subprotocol == "chat" && !socket.isCompressed)
          for size in [0, 1, 125, 126, 65_535, 65_536, 2 << 20] {
            let (text, data) = (String(repeating: "ü", count: size / 2), Data(repeating: 7, count: size))
            async let sending: Void = socket.send(text)
            #expect(try await socket.receive() == .text(text))
            try await sending
            async let sendingBytes: Void = socket.send(data)
            #expect(try await socket.receive() == .binary(data))
            try await sendingBytes
          }
          #expect(try await socket.ping() > .zero)
          try await socket.close(.init(rawValue: 4001), reason: "grün")
        }
        #expect(await ends.next() == "closed 4001 grün")
      }
    }

    @Test func `fragments arrive in both directions`() async throws {
      try await NIOServer.run { port, ends in
        let socket = try await HTTPClient().webSocket(Self.request(port, "/fragments"))
        #expect(try await socket.receive() == .text("grün"))
        #expect(await ends.next() == "pong between")

        let parts = AsyncStream { continuation in
          for number in 0..<100 { continuation.yield(Data(repeating: UInt8(number), count: 1_000)) }
          continuation.finish()
        }
        try await socket.send(parts: parts)
        #expect(try await socket.receive() == .binary(Data((0..<100_000).map { UInt8($0 / 1_000) })))

        await socket.close()
        #expect(await ends.next() == "closed 1000 ")
      }
    }

    @Test func `the server's close has its code and reason`() async throws {
      try await NIOServer.run { port, ends in
        let socket = try await HTTPClient().webSocket(Self.request(port, "/close"))
        let error = await #expect(throws: HTTPError.self) { try await socket.receive() }

        #expect(error?.kind == .webSocketClosed)
        #expect(socket.closeCode?.rawValue == 4000 && socket.closeReason == "grün")
        #expect(await ends.next()?.hasPrefix("closed 4000") == true)
      }
    }

    @Test func `a frame above the server's limit closes with 1009`() async throws {
      try await NIOServer.run(maximumFrameBytes: 1_000) { port, _ in
        let socket = try await HTTPClient().webSocket(Self.request(port))
        try await socket.send(Data(count: 1_001))
        await #expect(throws: HTTPError.self) { try await socket.receive() }

        #expect(socket.closeCode == .messageTooBig)
      }
    }

    @Test func `NIOTypedHTTPServerUpgradeHandler changes to another protocol`() async throws {
      try await NIOServer.run { port, _ in
        let url: RequestTarget = "\(raw: "http://127.0.0.1:\(port)/")"
        let block = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 >> 3) })
        let received = try await HTTPClient().upgrade(.get(url), to: "echo") { connection in
          async let writing: Void = connection.write(block)
          var bytes = connection.bytes.makeAsyncIterator()
          var received = Data()
          while received.count < block.count, let chunk = try await bytes.next() { received += chunk }
          try await writing
          connection.finish()
          while let chunk = try await bytes.next() { received += chunk }
          return received
        }
        #expect(received == block + Data("bye".utf8))

        let error = await #expect(throws: HTTPError.self) { try await HTTPClient().upgrade(.get(url), to: "other") }
        #expect(error?.kind == .status && error?.status == .notFound)
      }
    }
  }
#endif

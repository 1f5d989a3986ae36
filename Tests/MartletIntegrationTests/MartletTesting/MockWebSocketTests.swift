import Foundation
import MartletTesting
import MartletWebSocket
import TestSupport
import Testing

@Suite(.hangLimit)
struct MockWebSocketTests {
  @Test func `plays a script and records the client's messages`() async throws {
    let server = try MockServer(
      .webSocket(
        [.text("hello"), .receive("a"), .fragments(["b", "c"]), .close(.goingAway, reason: "bye")],
        subprotocols: ["chat"]))

    let events = try await onThread { [port = server.port] in
      let socket = try RawWebSocket(port: port, "/chat?x=1", subprotocols: ["other", "chat"])
      #expect(socket.agreement.subprotocol == "chat")
      try socket.send(socket.writer.ping(Data("1".utf8)) + socket.writer.text("a"))
      let events = [try socket.next(), try socket.next(), try socket.next(), try socket.next()].compactMap(\.self)
      try socket.send(socket.writer.close(.goingAway))
      #expect(try socket.next() == nil)
      return events
    }

    #expect(events.first == .text("hello"))
    #expect(Set(events) == [.text("hello"), .pong(Data("1".utf8)), .text("bc"), .close(.goingAway, reason: "bye")])
    let record = try #require(await server.waitForWebSocket { $0.isEnded })
    #expect(record.path == "/chat")
    #expect(record.request.query == "x=1")
    #expect(record.subprotocol == "chat")
    #expect(record.compression == nil)
    #expect(record.messages == [.ping(Data("1".utf8)), .text("a"), .close(.goingAway, reason: "")])
    #expect(record.frames.map(\.opcode) == [9, 1, 8])
    #expect(record.frames.map(\.isMasked) == [true, true, true])
    #expect(record.failure == nil)
    #expect(server.disconnects == 0)
    #expect(server.requests.count == 1)
  }

  @Test func `echoes compressed messages`() async throws {
    let compression = MockWebSocket.Compression(serverNoContextTakeover: true, clientMaxWindowBits: 10)
    let server = try MockServer(.webSocket([.echo], compression: compression))
    let text = String(repeating: "hello ", count: 100_000)

    let events = try await onThread { [port = server.port] in
      let socket = try RawWebSocket(port: port, deflate: PermessageDeflate.Offer())
      try socket.send(socket.writer.text(text) + socket.writer.binary(Data()) + socket.writer.close(nil))
      return try socket.rest()
    }

    #expect(events == [.text(text), .binary(Data()), .close(nil, reason: "")])
    let record = try #require(await server.waitForWebSocket { $0.isEnded })
    #expect(record.compression == compression)
    #expect(record.frames.map(\.rsv1) == [true, true, false])
    #expect(record.closeCode == .noStatusReceived)
  }

  @Test func `reads frames that arrive with the request`() async throws {
    let server = try MockServer(.webSocket([.echo]))

    let events = try await onThread { [port = server.port] in
      let socket = try RawWebSocket(port: port) { try $0.text("a") + $0.close(.normalClosure) }
      return try socket.rest()
    }

    #expect(events == [.text("a"), .close(.normalClosure, reason: "")])
  }

  @Test func `opens a WebSocket after other requests on a connection`() async throws {
    let server = try MockServer(script: [.ok("a"), .webSocket([.text("b"), .cut])])

    let response = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
      try client.send(rawGet() + rawGet("/", "Upgrade: websocket\r\nConnection: Upgrade\r\n\(key)"))
      return try client.receiveAll()
    }

    #expect(response.contains("\r\n\r\naHTTP/1.1 101 Switching Protocols\r\n"))
    #expect(response.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
    // U+FFFD replaces the first byte of the frame, which is not UTF-8.
    #expect(response.hasSuffix("\r\n\r\n\u{FFFD}\u{1}b"))
  }

  @Test func `responds to a request that is not a handshake and keeps the connection`() async throws {
    let server = try MockServer(.webSocket())

    let response = try await onThread { [port = server.port] in
      let client = try RawClient(port: port)
      try client.send(rawGet() + rawGet("/", "Connection: close\r\n"))
      return try client.receiveAll()
    }

    #expect(response.components(separatedBy: "HTTP/1.1 426 Upgrade Required\r\n").count == 3)
    #expect(response.contains("Sec-WebSocket-Version: 13\r\n"))
    #expect(response.hasSuffix("the request's Upgrade does not contain websocket\n"))
    #expect(server.webSockets.isEmpty)
  }

  @Test(arguments: [MockWebSocket.Step.cut, .cut(inside: .text("hello")), .reset])
  func `ends the connection without a close frame`(step: MockWebSocket.Step) async throws {
    let server = try MockServer(.webSocket([.text("a"), .delay(.milliseconds(20)), step]))

    let last = try await onThread { [port = server.port] in
      let socket = try RawWebSocket(port: port)
      #expect(try socket.next() == .text("a"))
      // A reset is an error of the socket.
      return try? socket.next()
    }

    #expect(last == nil)
    #expect(await server.waitForWebSocket { $0.isEnded }?.closeCode == nil)
  }

  @Test func `delivers its close frame while the client keeps sending`() async throws {
    let server = try MockServer(.webSocket([.echo]))

    let events = try await onThread { [port = server.port] in
      let socket = try RawWebSocket(port: port)
      try socket.send(Data([0x81, 0]) + Data(count: 4 << 20))
      return try socket.rest()
    }

    guard case .close(.protocolError, _) = events.last else {
      Issue.record("\(events)")
      return
    }
    let record = await server.waitForWebSocket { $0.isEnded }
    #expect(record?.failure?.contains("unmasked") == true)
  }

  @Test func `stops reading if the client does not read`() async throws {
    let server = try MockServer(.webSocket([.echo]))
    let count = 64

    try await onThread { [port = server.port] in
      let socket = try RawWebSocket(port: port, timeout: 0.5)
      let message = try socket.writer.binary(Data(count: 1 << 20))
      // The timeout ends when the buffers of the system and the server are full.
      #expect(throws: RawClient.Failure.self) { for _ in 0..<count { try socket.send(message) } }
      let other = try RawWebSocket(port: port)
      try other.send(other.writer.text("a"))
      #expect(try other.next() == .text("a"))
    }

    let record = try #require(await server.waitForWebSocket { $0.isEnded })
    #expect(record.messages.count < count)
  }

  @Test func `records a client that disconnects without a close frame`() async throws {
    let server = try MockServer(.webSocket([.hang]))

    try await onThread { [port = server.port] in _ = try RawWebSocket(port: port) }

    let record = try #require(await server.waitForWebSocket { $0.isEnded })
    #expect(record.closeCode == nil)
    #expect(record.messages.isEmpty)
    #expect(server.disconnects == 0)
  }

  @Test func `discards records of WebSockets`() async throws {
    let server = try MockServer(.webSocket([.echo]))

    try await onThread { [port = server.port] in
      let first = try RawWebSocket(port: port, "/1")
      server.forgetRequests()
      let second = try RawWebSocket(port: port, "/2")
      for socket in [first, second] {
        try socket.send(socket.writer.text(socket === first ? "a" : "b"))
        _ = try socket.next()
      }
    }

    #expect(server.webSocketURL() == "ws://127.0.0.1:\(server.port)/")
    #expect(server.webSocketURL("chat") == "ws://127.0.0.1:\(server.port)/chat")
    #expect(server.webSockets.map(\.path) == ["/2"])
    #expect(server.webSockets.map(\.texts) == [["b"]])
    #expect(await server.waitForWebSocket(1, timeout: .milliseconds(10)) == nil)
  }
}

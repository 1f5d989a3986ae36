import Foundation
import MartletTesting
import MartletWebSocket
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct StubWebSocketTests {
  @Test func `plays a script and records the client's messages`() async throws {
    let transport = StubTransport(routes: [
      "GET /chat": .webSocket([
        .text("hello"), .receive("login"), .fragments(["wel", "come"]), .binary(Data([1, 2])), .echo(1),
        .close(.goingAway, reason: "restart"),
      ])
    ])
    let client = HTTPClient.stubbed(transport)

    let socket = try await client.webSocket("/chat?room=1")
    #expect(try await socket.receive() == .text("hello"))
    try await socket.send("login")
    #expect(try await socket.receive() == .text("welcome"))
    #expect(try await socket.receive() == .binary(Data([1, 2])))
    try await socket.send(Data([3]))
    #expect(try await socket.receive() == .binary(Data([3])))
    #expect(try await socket.receive() == nil)
    #expect(socket.closeCode == .goingAway && socket.closeReason == "restart")

    let record = try #require(await transport.waitForWebSocket { $0.isEnded })
    #expect(record.messages == [.text("login"), .binary(Data([3])), .close(.goingAway, reason: "")])
    #expect(record.frames.map(\.isMasked) == [true, true, true])
    #expect(record.path == "/chat" && record.request.query == "room=1" && record.failure == nil)
    #expect(record.request.header("Host") == "example.test" && record.request.header("Upgrade") == "websocket")
    #expect(record.request.header("Sec-WebSocket-Key") == transport.requests.first?.headers["Sec-WebSocket-Key"])
    await client.waitUntilEmpty()
    #expect(client.activity.current.totals.succeeded == 1)
  }

  @Test func `a delay advances a test clock`() async throws {
    let clock = TestClock()
    let transport = StubTransport { _ in
      .webSocket([.delay(.seconds(30)), .text("late"), .drip(.text("ab"), chunk: 2, every: .seconds(5)), .close])
    }

    let socket = try await HTTPClient.stubbed(transport, clock: clock).webSocket("/")

    #expect(try await socket.receive() == .text("late"))
    #expect(try await socket.receive() == .text("ab"))
    #expect(clock.sleeps == [.seconds(30), .seconds(5)])
  }

  @Test func `waits on a clock that is advanced manually`() async throws {
    let clock = TestClock(advancing: .manually)
    let transport = StubTransport(routes: ["GET /": .webSocket([.delay(.seconds(30)), .text("late")])])
    let client = HTTPClient.stubbed(transport, clock: clock)
    let socket = try await client.webSocket("/")
    let received = Shared<WebSocket.Message?>(nil)
    let reading = Task {
      let message = try await socket.receive()
      received.withLock { $0 = message }
    }

    // A pong shows that the delay's step has begun.
    _ = try await socket.ping()
    clock.advance(by: .seconds(29))
    _ = try await socket.ping()
    #expect(received.withLock { $0 } == nil)
    clock.advance(by: .seconds(1))
    try await reading.value

    #expect(received.withLock { $0 } == .text("late"))
  }

  @Test func `negotiates a subprotocol and compression`() async throws {
    let transport = StubTransport { _ in
      .webSocket([.echo], subprotocols: ["b"], compression: .on, headers: ["X-Server": "stub"])
    }
    let options = WebSocketOptions {
      $0.compression = .deflate
      $0.subprotocols = ["a", "b"]
    }
    let text = String(repeating: "long ", count: 10_000)

    try await HTTPClient.stubbed(transport).webSocket("/", options: options) { socket in
      #expect(socket.isCompressed && socket.subprotocol == "b")
      #expect(socket.response.headers["X-Server"] == "stub" && socket.response.status == .switchingProtocols)
      try await socket.send(text)
      #expect(try await socket.receive() == .text(text))
    }

    let record = try #require(await transport.waitForWebSocket { $0.isEnded })
    #expect(record.compression == .on && record.subprotocol == "b")
    #expect(record.texts == [text] && record.closeCode == .normalClosure)
    #expect(record.frames.first?.rsv1 == true)
  }

  @Test(arguments: [
    (MockWebSocket.Handshake.wrongAccept, HTTPError.Kind.protocolViolation), (.omitting("Upgrade"), .protocolViolation),
    (.subprotocol("x"), .protocolViolation), (.status(200), .unsupported), (.status(403), .status),
  ])
  func `an invalid handshake fails the request`(handshake: MockWebSocket.Handshake, kind: HTTPError.Kind) async {
    let client = HTTPClient.stubbed(StubTransport { _ in .webSocket(handshake: handshake) })

    let error = await #expect(throws: HTTPError.self) { try await client.webSocket("/") }

    #expect(error?.kind == kind)
    await client.waitUntilEmpty()
  }

  @Test func `a request without upgrade gets 426`() async throws {
    let transport = StubTransport { _ in .webSocket([.text("hello")]) }

    let response = try await HTTPClient.stubbed(transport, .accepts(.any)).get("/")

    #expect(response.status == .upgradeRequired && response.headers["Upgrade"] == "websocket")
    #expect(transport.webSockets.isEmpty && transport.requests.count == 1)
  }

  @Test(arguments: [
    (MockWebSocket.Step.cut, HTTPError.Kind.connectionLost), (.reset, .connectionLost),
    (.cut(inside: .text("hello")), .connectionLost), (.frame(opcode: 3), .protocolViolation),
    (.close(.internalServerError), .webSocketClosed),
  ])
  func `a fault fails the WebSocket`(step: MockWebSocket.Step, kind: HTTPError.Kind) async throws {
    let transport = StubTransport { _ in .webSocket([.text("a"), step]) }
    let client = HTTPClient.stubbed(transport)
    let socket = try await client.webSocket("/")

    #expect(try await socket.receive() == .text("a"))
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }

    #expect(error?.kind == kind)
    #expect(await transport.waitForWebSocket { $0.isEnded } != nil)
    await client.waitUntilEmpty()
  }

  @Test func `an unexpected message fails the connection`() async throws {
    let transport = StubTransport { _ in .webSocket([.receive("a"), .text("never")]) }
    let socket = try await HTTPClient.stubbed(transport).webSocket("/")

    try await socket.send("b")
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }

    #expect(error?.kind == .webSocketClosed)
    #expect(await transport.waitForWebSocket { $0.failure != nil }?.failure == #"expected text "a", received text "b""#)
  }

  @Test func `cancelling and draining the client end the connection`() async throws {
    let transport = StubTransport { _ in .webSocket([.hang]) }
    let cancelled = HTTPClient.stubbed(transport)
    let first = try await cancelled.webSocket("/")
    cancelled.cancelAll()
    await #expect(throws: (any Error).self) { try await first.receive() }
    #expect(await transport.waitForWebSocket { $0.isEnded }?.closeCode == nil)

    let polite = StubTransport { _ in .webSocket() }
    let drained = HTTPClient.stubbed(polite)
    let second = try await drained.webSocket("/")
    await drained.drain()
    #expect(try await second.receive() == nil)
    #expect(await polite.waitForWebSocket { $0.isEnded }?.closeCode == .goingAway)
  }

  @Test func `a server that does not read leaves no room to write`() async throws {
    let transport = StubTransport { _ in .webSocket([.delay(.seconds(1)), .receive, .receive, .text("done")]) }
    let clock = TestClock(advancing: .manually)
    let socket = try await HTTPClient.stubbed(transport, clock: clock).webSocket("/")
    try await socket.send(Data(count: 2 << 20))
    let isSent = Shared(false)
    let sending = Task {
      try await socket.send("second")
      isSent.withLock { $0 = true }
    }

    await letOthersRun()
    #expect(!isSent.withLock { $0 })
    await clock.wait { $0.sleeperCount > 0 }
    clock.advance(by: .seconds(1))
    try await sending.value

    #expect(try await socket.receive() == .text("done"))
    #expect(transport.webSockets.first?.texts == ["second"])
  }

  // MARK: Other protocols

  @Test func `a closure responds to the bytes of another protocol`() async throws {
    let transport = StubTransport(routes: [
      "POST /attach": .upgrade(to: "tcp", headers: ["X-A": "1"], greeting: Data("hi ".utf8)) { bytes in
        bytes == Data("exit".utf8) ? nil : Data(bytes.reversed())
      }
    ])
    let client = HTTPClient.stubbed(transport)

    let connection = try await client.upgrade(.post("/attach"), to: "tcp").connection
    #expect(connection.response.status == .switchingProtocols && connection.response.headers["X-A"] == "1")
    var bytes = connection.bytes.makeAsyncIterator()
    #expect(try await bytes.next() == Data("hi ".utf8))
    try await connection.write(Data("abc".utf8))
    #expect(try await bytes.next() == Data("cba".utf8))
    #expect(connection.sentCount == 3)
    try await connection.write(Data("exit".utf8))
    #expect(try await bytes.next() == nil)
    #expect(!connection.writeNow(Data("x".utf8)))
    await client.waitUntilEmpty()
  }

  @Test func `the end of the client's bytes ends the server's`() async throws {
    let transport = StubTransport { _ in .upgrade(to: "echo") { $0 } }

    try await HTTPClient.stubbed(transport).upgrade("/", to: "echo") { connection in
      try await connection.write(Data("abc".utf8))
      connection.finish()
      #expect(try await connection.bytes.collect(upTo: 10) == Data("abc".utf8))
    }
  }

  @Test func `another protocol gets 426`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in .upgrade(to: "tcp") { $0 } }, .accepts(.any))

    guard case .response(let response) = try await client.upgrade("/", to: "h2c") else {
      Issue.record("the connection changed to another protocol")
      return
    }

    #expect(response.status == .upgradeRequired && response.headers["Upgrade"] == "tcp")
  }
}

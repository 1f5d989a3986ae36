import Foundation
import Martlet
import MartletTesting
import MartletWebSocket
import Testing

/// Samples from the articles on WebSockets.
extension SamplesTests {
  nonisolated struct Price: Decodable, Sendable { var value: Double }

  nonisolated struct Subscription: Encodable, Sendable { var symbols: [String] }

  @Test func `records the messages of a WebSocket`() async throws {
    let server = try MockServer(.webSocket([.text("hello"), .echo]))
    let client = HTTPClient { $0.transport = .curl }
    try await client.webSocket(.get(RequestTarget(server.webSocketURL("/chat")))) { socket in
      #expect(try await socket.receive() == .text("hello"))
      try await socket.send("hello")
      #expect(try await socket.receive() == .text("hello"))
    }

    let socket = await server.waitForWebSocket { $0.isEnded }

    #expect(socket?.path == "/chat")
    #expect(socket?.texts == ["hello"])
    #expect(socket?.closeCode == .normalClosure)
    #expect(socket?.frames.map(\.isMasked) == [true, true])
  }

  @Test func `responds to a WebSocket without a network`() async throws {
    let transport = StubTransport(routes: [
      "GET /chat": .webSocket([.receive("login"), .text("welcome"), .close])
    ])
    let client = HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://example.test"
    }

    let chat = try await client.webSocket("/chat")
    try await chat.send("login")

    #expect(try await chat.receive() == .text("welcome"))
    #expect(transport.webSockets.first?.texts == ["login"])
  }

  @Test func `responds to another protocol without a network`() async throws {
    let transport = StubTransport { _ in .upgrade(to: "echo") { bytes in bytes } }
    let client = HTTPClient { $0.transport = transport }

    try await client.upgrade("http://example.test/", to: "echo") { connection in
      try await connection.write(Data("hello".utf8))
      connection.finish()
      #expect(try await connection.bytes.collect(upTo: 100) == Data("hello".utf8))
    }
  }
}

/// These are compiled but not run, because they would use the network.
private enum WebSocketSamples {
  typealias Price = SamplesTests.Price
  typealias Subscription = SamplesTests.Subscription

  static func closure() async throws {
    let client = HTTPClient()
    try await client.webSocket("wss://chat.example.com/rooms/1") { socket in
      try await socket.send("hello")
      for try await message in socket.messages {
        if case .text(let text) = message { print(text) }
      }
    }
  }

  static func stubComment() -> StubTransport {
    let transport = StubTransport(routes: ["GET /chat": .webSocket([.receive("ping"), .text("pong"), .close])])
    return transport
  }

  static func comment(_ client: HTTPClient) async throws {
    try await client.webSocket("wss://chat.example.com/rooms/1") { socket in
      try await socket.send("hello")
      for try await message in socket.messages { print(message) }
    }
  }

  static func held(_ client: HTTPClient) async throws {
    let socket = try await client.webSocket("wss://feed.example.com/prices")
    try await socket.send(json: ["subscribe": "AAPL"])
    while let price = try await socket.receive(as: Price.self) { print(price) }
    await socket.close()
  }

  static func heldComment(_ client: HTTPClient, _ show: (Price) -> Void) async throws {
    let socket = try await client.webSocket("wss://feed.example.com/prices")
    try await socket.send(json: Subscription(symbols: ["AAPL"]))
    while let price = try await socket.receive(as: Price.self) { show(price) }
  }

  static func parts(_ client: HTTPClient, _ chunks: AsyncStream<Data>) async throws {
    var received = 0
    let options = WebSocketOptions { $0.deliversParts = true }
    try await client.webSocket("wss://files.example.com/upload", options: options) { socket in
      try await socket.send(parts: chunks)
      while let part = try await socket.receivePart() {
        received += part.data.count
        if part.isLast { break }
      }
    }
  }

  static func reconnecting(
    _ client: HTTPClient, _ request: HTTPRequest, _ show: (String) -> Void, _ receive: (WebSocket.Message) -> Void
  ) async throws {
    let feed = client.reconnectingWebSocket(request) { socket, interruption in
      try await socket.send(json: ["subscribe": "AAPL"])
    }
    for try await event in feed.events {
      switch event {
      case .opened: show("connected")
      case .message(let message): receive(message)
      case .interrupted(let interruption):
        let count = interruption.unconfirmedCount
        show("\(interruption.cause); \(count) messages may be lost")
      }
    }
  }

  static func reconnectingComment(_ client: HTTPClient, _ show: (WebSocket.Message) -> Void) async throws {
    let feed = client.reconnectingWebSocket("wss://feed.example.com/prices") { socket, _ in
      try await socket.send(json: Subscription(symbols: ["AAPL"]))
    }
    for try await event in feed.events {
      switch event {
      case .opened: print("connected")
      case .message(let message): show(message)
      case .interrupted(let interruption): print("interrupted: \(interruption.cause)")
      }
    }
  }

  static func reconnectingEvents(_ feed: ReconnectingWebSocket, _ show: (WebSocket.Message) -> Void) async throws {
    for try await event in feed.events {
      switch event {
      case .opened: print("connected")
      case .message(let message): show(message)
      case .interrupted(let interruption):
        print("interrupted: \(interruption.cause), \(interruption.unconfirmedCount) messages may be lost")
      }
    }
  }

  final class LastNumber: Sendable { let value = 0 }

  static func resuming(_ last: LastNumber) -> ReconnectingWebSocket.Options {
    let options = ReconnectingWebSocket.Options {
      $0.webSocket.keepAlive = .pings(every: .seconds(20))
      $0.prepare = { request, _ in request.query = ["since": "\(last.value)"] }
    }
    return options
  }

  static func codes(_ code: WebSocketCloseCode, _ reconnect: () -> Void) {
    if code == .goingAway { reconnect() }
    let quotaExceeded = WebSocketCloseCode(rawValue: 4001)
    _ = quotaExceeded
  }

  static func servers() throws -> [MockServer] {
    [try script(), try choices(), try handshake(), try fault(), try comment()]
  }

  private static func comment() throws -> MockServer {
    let server = try MockServer(.webSocket([.receive("ping"), .text("pong"), .close]))
    return server
  }

  private static func records(_ server: MockServer) async {
    let socket = await server.waitForWebSocket { $0.isEnded }
    #expect(socket?.texts == ["hello"])
    #expect(socket?.closeCode == .normalClosure)
  }

  private static func script() throws -> MockServer {
    let script: [MockWebSocket.Step] = [
      .receive("login"), .fragments(["wel", "come"]), .delay(.milliseconds(20)), .close(.goingAway, reason: "restart"),
    ]
    let server = try MockServer(.webSocket(script))
    return server
  }

  private static func choices() throws -> MockServer {
    let server = try MockServer(.webSocket([.echo], subprotocols: ["chat.v2", "chat.v1"], compression: .on))
    return server
  }

  private static func handshake() throws -> MockServer {
    let server = try MockServer(.webSocket(handshake: .wrongAccept))
    return server
  }

  private static func fault() throws -> MockServer {
    let server = try MockServer(.webSocket([.text("hello"), .cut(inside: .text("world"))]))
    return server
  }
}

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

import Foundation
import MartletTesting
import MartletWebSocket
import TestSupport
import Testing

@testable import Martlet

/// Which messages of upgraded connections instruments receive.
@Suite(.hangLimit) struct MessageEventTests {
  private final class Recorder: Instrument {
    let events = Log<InstrumentEvent>()
    let maximumBodyBytes: Int

    init(maximumBodyBytes: Int = 0) { self.maximumBodyBytes = maximumBodyBytes }

    func observe(_ event: InstrumentEvent) { events.add(event) }

    var messages: [InstrumentEvent.Message] {
      events.elements.compactMap { if case .message(let message, 1) = $0.kind { message } else { nil } }
    }

    var words: [String] { messages.map { "\($0.direction) \($0.kind) \($0.body.count)" } }
  }

  @Test func `reports sent and received messages in order`() async throws {
    let recorder = Recorder(maximumBodyBytes: 4)
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        .webSocket([.receive, .fragments(["he", "llo"]), .echo(1), .close(.goingAway, reason: "x")])
      },
      .instruments(recorder))

    try await client.webSocket("/") { socket in
      try await socket.send("hé")
      #expect(try await socket.receive() == .text("hello"))
      try await socket.send(Data([1, 2, 3, 4]))
      #expect(try await socket.receive() == .binary(Data([1, 2, 3, 4])))
      #expect(try await socket.receive() == nil)
    }
    await client.drain()

    #expect(
      recorder.words == [
        "sent text 3", "received text 5", "sent binary 4", "received binary 4", "received close 3", "sent close 2",
      ])
    let bodies = recorder.messages.map(\.body)
    #expect(bodies[0].data == Data("hé".utf8) && bodies[0].isWhole)
    #expect(bodies[1].data == Data("hell".utf8) && !bodies[1].isWhole)
    #expect(bodies[4].data == Data([0x03, 0xE9, UInt8(ascii: "x")]) && bodies[4].isWhole)
    let summary = recorder.events.elements.compactMap {
      if case .exchangeEnded(let end, _) = $0.kind { end } else { nil }
    }
    #expect(summary.count == 1 && summary.first?.receivedBody == nil)
    #expect(try #require(summary.first).receivedBytes > 16)
    guard case .ended(.succeeded(.switchingProtocols), _)? = recorder.events.elements.last?.kind else {
      Issue.record("the call did not succeed last")
      return
    }
  }

  @Test func `reports messages in parts once, when they are complete`() async throws {
    let recorder = Recorder(maximumBodyBytes: 3)
    let client = HTTPClient.stubbed(
      StubTransport { _ in .webSocket([.fragments([Data([1]), Data([2, 3]), Data([4])]), .receive, .close]) },
      .instruments(recorder))

    let socket = try await client.webSocket("/", options: WebSocketOptions { $0.deliversParts = true })
    #expect(try await socket.receive() == .binary(Data([1, 2, 3, 4])))
    let parts = AsyncStream { continuation in
      for part in ["ab", "", "cd"] { continuation.yield(part) }
      continuation.finish()
    }
    try await socket.send(parts: parts)
    #expect(try await socket.receive() == nil)
    await client.drain()

    #expect(recorder.words.prefix(2) == ["received binary 4", "sent text 4"])
    #expect(recorder.messages.prefix(2).map(\.body.data) == [Data([1, 2, 3]), Data("abc".utf8)])
  }

  @Test func `contains only sizes unless an instrument wants bodies`() async throws {
    let recorder = Recorder()
    let client = HTTPClient.stubbed(
      StubTransport { _ in .webSocket([.text("secret"), .close]) }, .instruments(recorder))

    let socket = try await client.webSocket("/")
    #expect(try await socket.receive() == .text("secret"))
    #expect(try await socket.receive() == nil)
    await client.drain()

    #expect(recorder.words.first == "received text 6")
    #expect(recorder.messages.allSatisfy { $0.body.data.isEmpty })
  }

  @Test func `nothing is reported without instruments`() async throws {
    try await HTTPClient.stubbed(StubTransport { _ in .upgrade(to: "tcp") { $0 } }).upgrade("/", to: "tcp") {
      #expect($0.maximumReportedBytes == nil)
      $0.report(.sent, .text, Data(), count: 0)
    }
  }

  @Test func `another protocol reports its own messages`() async throws {
    let recorder = Recorder(maximumBodyBytes: 2)
    let client = HTTPClient.stubbed(StubTransport { _ in .upgrade(to: "tcp") { $0 } }, .instruments(recorder))

    try await client.upgrade("/", to: "tcp") { connection in
      #expect(connection.maximumReportedBytes == 2)
      connection.report(.sent, .binary, Data([1, 2, 3]), count: 5)
    }
    await client.drain()

    #expect(recorder.words == ["sent binary 5"] && recorder.messages.first?.body.data == Data([1, 2]))
  }

  @Test func `the activity and the explanation show an upgraded connection`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in .webSocket([.echo]) }) { $0.options.explains = true }
    let socket = try await client.webSocket("/chat")
    try await socket.send("hello")
    #expect(try await socket.receive() == .text("hello"))

    let info = try #require(client.activity.current.running.first)
    #expect(info.upgradedProtocol == "websocket" && info.attempt == 1)
    // The frames have 2 bytes before the text, and the client's have a key of 4 bytes.
    #expect(info.progress.sent == 11 && info.progress.received == 7)
    #expect(
      socket.response.explanation.entries.map(\.code.rawValue) == ["cache.off", "upgrade.accepted", "status.accepted"])

    await socket.close()
    await client.waitUntilEmpty()
    #expect(client.activity.current.running.isEmpty && client.activity.current.totals.succeeded == 1)
  }
}

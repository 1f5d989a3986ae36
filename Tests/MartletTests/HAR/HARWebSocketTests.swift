import Foundation
import MartletBase
import MartletTesting
import MartletWebSocket
import TestSupport
import Testing

@testable import Martlet
@testable import MartletHAR

/// The messages of WebSockets in HAR files.
@Suite(.hangLimit) struct HARWebSocketTests {
  /// Opens a WebSocket, and returns the entry and the text of the file.
  private static func record(
    _ steps: [MockWebSocket.Step], maximumBodyBytes: Int = 64 << 10, redaction: Redaction = .standard,
    _ use: @Sendable (WebSocket) async throws -> Void
  ) async throws -> (HAREntry, String) {
    let folder = try TemporaryFolder()
    let recorder = try HARRecorder(
      to: URL(filePath: folder.path("x.har")), maximumBodyBytes: maximumBodyBytes, redaction: redaction,
      delay: .seconds(300))
    let client = HTTPClient.stubbed(StubTransport { _ in .webSocket(steps) }) { $0.instruments = [recorder] }
    let socket = try await client.webSocket("/chat")
    try await use(socket)
    while try await socket.receive() != nil {}
    await client.drain()
    let entries = try HARFile(at: folder.path("x.har")).entries
    #expect(entries.count == 1 && recorder.problem == nil && recorder.droppedEventCount == 0)
    let text = try String(contentsOfFile: folder.path("x.har"), encoding: .utf8)
    return (try #require(entries.first), text)
  }

  @Test func `records messages as Chrome does`() async throws {
    let (entry, text) = try await Self.record(
      [.receive, .text("hello"), .binary(Data([0xFF, 0])), .close], redaction: .revealingSecrets
    ) { try await $0.send("hi") }

    let messages = try #require(entry.webSocketMessages)
    #expect(messages.map(\.isSent) == [true, false, false, false, true])
    #expect(messages.map(\.opcode) == [1, 1, 2, 8, 8])
    #expect(
      messages.map(\.body.content) == [
        .text("hi"), .text("hello"), .bytes(Data([0xFF, 0])), .bytes(Data([0x03, 0xE8])), .bytes(Data([0x03, 0xE8])),
      ])
    #expect(messages.allSatisfy { abs($0.time.timeIntervalSince1970 - 1_700_000_000) < 1 })
    #expect(text.contains(#""_resourceType":"websocket""#))
    #expect(text.contains(#"{"type":"send","time":1700000000.000000,"opcode":1,"data":"hi"}"#))
    #expect(text.contains(#""opcode":2,"data":"/wA="}"#))
    #expect(entry.response.status == 101 && entry.response.body?.size == 0 && entry.failure == nil)
    #expect(entry.response.bodySize > 0 && entry.request.bodySize > 0)
  }

  @Test func `masks secrets in messages`() async throws {
    let (entry, text) = try await Self.record(
      [.receive, .text(#"{"access_token":"canary","n":1}"#), .binary(Data([0xFF, 0])), .close]
    ) { try await $0.send(#"{"password":"canary"}"#) }

    let messages = try #require(entry.webSocketMessages)
    #expect(messages[0].body.content == .text(#"{"password":"***"}"#))
    #expect(messages[1].body.content == .text(#"{"access_token":"***","n":1}"#))
    #expect(messages[2].body.content == .none && messages[2].body.size == 2)
    #expect(messages[2].body.comment == "not recorded: secrets in it could not be masked")
    #expect(!text.contains("canary"))
  }

  @Test func `hides all content with a strict redaction`() async throws {
    let (entry, text) = try await Self.record(
      [.text("canary"), .close(.goingAway, reason: "canary")], redaction: .strict
    ) {
      _ in
    }

    let messages = try #require(entry.webSocketMessages)
    #expect(messages[0].body.content == .none && messages[0].body.size == 6)
    #expect(messages[1].body.content == .bytes(Data([0x03, 0xE9])))
    #expect(!text.contains("canary"))
  }

  @Test func `records the beginning of a long message`() async throws {
    let (entry, _) = try await Self.record([.text("hello"), .close], maximumBodyBytes: 3) { _ in }

    let message = try #require(entry.webSocketMessages?.first)
    #expect(message.body.content == .text("hel") && !message.body.isWhole && message.body.size == 5)
  }

  @Test func `keeps a limited number of messages and bytes`() {
    let body = InstrumentEvent.Body(data: Data(count: 1 << 20), isWhole: true, count: 1 << 20)
    let small = InstrumentEvent.Body(data: Data(), isWhole: true, count: 0)
    let now = Date(timeIntervalSince1970: 0)
    var large = RecordedMessages()
    var many = RecordedMessages()
    for _ in 0..<20 {
      large.add(.init(direction: .sent, kind: .binary, body: body), at: now, .standard, maximumBodyBytes: 1 << 20)
    }
    for _ in 0..<10_005 {
      many.add(.init(direction: .sent, kind: .binary, body: small), at: now, .standard, maximumBodyBytes: 1 << 20)
    }

    #expect(large.messages.count == 16 && large.omittedCount == 4)
    #expect(many.messages.count == 10_000 && many.omittedCount == 5)
  }

  @Test func `reads messages from Chrome`() throws {
    let text = """
      {"log":{"version":"1.2","entries":[{"request":{"method":"GET","url":"wss://a.test/x"},"response":{"status":101},
      "_resourceType":"websocket","_webSocketMessages":[
      {"type":"send","time":1700000000.123456,"opcode":1,"data":"a"},
      {"type":"receive","time":1700000001,"opcode":2,"data":"AQI="}]}]}}
      """

    let file = try HARFile(Data(text.utf8), name: "x.har")
    let again = try HARFile(file.data(), name: "y.har")

    for messages in [file, again].map({ $0.entries.first?.webSocketMessages }) {
      #expect(messages?.map(\.isSent) == [true, false])
      #expect(messages?.map(\.body.content) == [.text("a"), .bytes(Data([1, 2]))])
      #expect(messages?.first?.time == Date(timeIntervalSince1970: 1_700_000_000.123456))
    }
  }
}

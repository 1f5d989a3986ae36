import Foundation
import MartletTesting
import MartletWebSocket
import TestSupport
import Testing

@testable import Martlet
@testable import MartletHAR

/// Records WebSockets and replays them.
@Suite(.hangLimit) struct CassetteWebSocketTests {
  private let folder: TemporaryFolder
  private var file: URL { folder.url.appending(path: "x.har") }

  init() throws { folder = try TemporaryFolder() }

  /// Records a WebSocket, and closes it after a closure.
  private func record(
    _ response: StubResponse, options: WebSocketOptions = WebSocketOptions(),
    _ use: @Sendable (WebSocket) async throws -> Void
  ) async throws {
    let cassette = Cassette(file, mode: .recordAll, recording: StubTransport { _ in response })
    let client = HTTPClient.stubbed(cassette)
    try await client.webSocket("/chat?room=1", options: options) { try await use($0) }
    await client.waitUntilEmpty()
    #expect(cassette.entryCount == 1)
  }

  private func replay(
    _ settings: ClientSetting = [], matching: Cassette.Matching = .standard, pacing: Cassette.Pacing = .immediate,
    options: WebSocketOptions = WebSocketOptions()
  ) async throws -> (WebSocket, Cassette) {
    let cassette = Cassette(file, mode: .replay, matching: matching, pacing: pacing)
    return (try await HTTPClient.stubbed(cassette, settings).webSocket("/chat?room=1", options: options), cassette)
  }

  private func write(_ messages: String, _ response: String = "") throws {
    let text = """
      {"log":{"version":"1.2","creator":{"name":"WebInspector","version":"1"},"entries":[{"request":{"method":"GET",
      "url":"ws://example.test/chat?room=1"},"response":{"status":101\(response)},
      "_resourceType":"websocket","_webSocketMessages":[\(messages)]}]}}
      """
    try Data(text.utf8).write(to: file)
  }

  @Test(arguments: [false, true])
  func `replays a recording`(isCompressed: Bool) async throws {
    let options = WebSocketOptions {
      $0.subprotocols = ["a", "b"]
      $0.compression = isCompressed ? .deflate : .off
    }
    let text = String(repeating: "long ", count: 1000)
    let bytes = Data([0xFF, 0])
    let stub = StubResponse.webSocket(
      [.text("welcome"), .receive, .text(text), .binary(bytes), .receive, .close(.goingAway, reason: "bye")],
      subprotocols: ["b"], compression: isCompressed ? .on : nil, headers: ["X-A": "1"])
    @Sendable func use(_ socket: WebSocket) async throws {
      #expect(socket.subprotocol == "b" && socket.response.headers["X-A"] == "1")
      #expect(try await socket.receive() == .text("welcome"))
      try await socket.send("hello")
      #expect(try await socket.receive() == .text(text))
      #expect(try await socket.receive() == .binary(bytes))
      try await socket.send(Data([0, 0xFF]))
      #expect(try await socket.receive() == nil)
      #expect(socket.closeCode == .goingAway && socket.closeReason == "bye")
    }
    try await record(stub, options: options, use)

    let (socket, cassette) = try await replay(options: options)
    try await use(socket)

    #expect(!socket.isCompressed && cassette.unused.isEmpty)
  }

  @Test func `sends a message only after the recorded messages before it`() async throws {
    try await record(.webSocket([.echo(2)])) { socket in
      for text in ["a", "b"] {
        try await socket.send(text)
        #expect(try await socket.receive() == .text(text))
      }
    }

    let (socket, _) = try await replay()
    let received = Shared<[WebSocket.Message]>([])
    let reading = Task {
      while let message = try await socket.receive() { received.withLock { $0.append(message) } }
    }
    await letOthersRun()
    #expect(received.withLock { $0 } == [])
    try await socket.send("a")
    await received.wait { $0 == [.text("a")] }
    try await socket.send("b")
    await received.wait { $0 == [.text("a"), .text("b")] }
    await socket.close()
    try await reading.value
    #expect(socket.closeCode == .normalClosure)
  }

  @Test func `another message fails the WebSocket`() async throws {
    try await record(.webSocket([.echo(1)])) { socket in
      try await socket.send("hello")
      #expect(try await socket.receive() == .text("hello"))
    }

    let (socket, _) = try await replay()
    try await socket.send("goodbye")
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }

    #expect(error?.kind == .unsupported)
    #expect(
      error?.message == """
        entry 1 of cassette 'x.har': the client sent text "goodbye", and message 1 is text "hello"; run the test with \
        MARTLET_CASSETTES=missing to record it
        """)
    let (lenient, _) = try await replay(matching: .standard.ignoringBody())
    try await lenient.send("goodbye")
    #expect(try await lenient.receive() == .text("hello"))
  }

  @Test func `a message after the last recorded one fails the WebSocket`() async throws {
    try write(#"{"type":"receive","time":1,"opcode":1,"data":"hello"}"#)

    let (socket, _) = try await replay()
    #expect(try await socket.receive() == .text("hello"))
    try await socket.send("more")
    let error = await #expect(throws: HTTPError.self) { try await socket.receive() }

    #expect(error?.message.contains(#"the client's text "more" follows the last recorded message"#) == true)
  }

  @Test func `compares messages with their secrets masked`() async throws {
    try await record(.webSocket([.receive, .text(#"{"token":"canary"}"#)])) { socket in
      try await socket.send(#"{"password":"canary","n":1}"#)
      #expect(try await socket.receive() == .text(#"{"token":"canary"}"#))
    }
    #expect(!(try String(contentsOf: file, encoding: .utf8)).contains("canary"))

    let (socket, _) = try await replay()
    try await socket.send(#"{"password":"other","n":1}"#)
    #expect(try await socket.receive() == .text(#"{"token":"***"}"#))
    let (second, _) = try await replay()
    try await second.send(#"{"password":"other","n":2}"#)
    await #expect(throws: HTTPError.self) { try await second.receive() }
  }

  @Test func `replays files of browsers`() async throws {
    try write(
      """
      {"type":"send","time":1,"opcode":1,"data":"hello"},{"type":"receive","time":1.5,"opcode":2,"data":"AQI="}
      """, #","headers":[{"name":"Sec-WebSocket-Accept","value":"x"},{"name":"Connection","value":"Upgrade"}]"#)

    let (socket, _) = try await replay()
    try await socket.send("hello")
    #expect(try await socket.receive() == .binary(Data([1, 2])))
    await socket.close()

    #expect(socket.closeCode == .normalClosure)
  }

  @Test func `replays with the recorded pauses`() async throws {
    try write(
      """
      {"type":"receive","time":1,"opcode":1,"data":"a"},{"type":"receive","time":3.5,"opcode":1,"data":"b"}
      """)
    let clock = TestClock()

    let (socket, _) = try await replay(pacing: .recorded(clock))
    #expect(try await socket.receive() == .text("a"))
    #expect(try await socket.receive() == .text("b"))

    #expect(clock.sleeps == [.milliseconds(2500)])
  }

  @Test(arguments: [
    (#"{"type":"receive","opcode":1,"data":"a","_truncated":true,"_size":9}"#, "only the beginning of message 1"),
    (#"{"type":"receive","opcode":2,"data":"","_size":9}"#, "lacks the content of message 1"),
  ])
  func `an incomplete record is an error`(message: String, problem: String) async throws {
    try write(message)

    let error = await #expect(throws: HTTPError.self) { try await replay([.retry(.off)]) }

    #expect(error?.kind == .fileFailed && error?.message.contains(problem) == true)
  }

  @Test func `records and replays a refused upgrade`() async throws {
    let cassette = Cassette(file, mode: .recordAll, recording: StubTransport { _ in .text("no", status: .forbidden) })
    await #expect(throws: HTTPError.self) { try await HTTPClient.stubbed(cassette).webSocket("/chat?room=1") }
    #expect(cassette.entryCount == 1)

    let error = await #expect(throws: HTTPError.self) { try await replay() }

    #expect(error?.status == .forbidden)
  }

  @Test func `other protocols are not recorded`() async throws {
    let stub = StubTransport { _ in .upgrade(to: "tcp") { $0 } }
    let client = HTTPClient.stubbed(Cassette(file, mode: .recordAll, recording: stub))

    let error = await #expect(throws: HTTPError.self) { try await client.upgrade("/", to: "tcp") }

    #expect(error?.kind == .unsupported && stub.requests.isEmpty)
  }

  @Test func `replays what a recorder has written`() async throws {
    let recorder = try HARRecorder(to: file)
    let client = HTTPClient.stubbed(StubTransport { _ in .webSocket([.echo(1), .close]) }, .instruments(recorder))
    let live = try await client.webSocket("/chat?room=1")
    try await live.send("hello")
    while try await live.receive() != nil {}
    await client.drain()
    recorder.close()

    let (socket, _) = try await replay()
    try await socket.send("hello")
    #expect(try await socket.receive() == .text("hello"))
    #expect(try await socket.receive() == nil)

    #expect(socket.closeCode == .normalClosure)
  }
}

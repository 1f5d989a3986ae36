import Foundation
import TestSupport
import Testing

@testable import MartletTesting
@testable import MartletWebSocket

@Suite struct WebSocketSessionTests {
  @Test func `plays messages, fragments and control frames in order`() throws {
    let client = SessionClient([
      .text("a"), .binary(hex("0102")), .fragments(["b", "", "c"]), .ping(hex("31")), .pong(), .bytes(hex("8100")),
      .close,
    ])

    #expect(client.play() == .wait)

    #expect(
      client.bytes == hex("8101 61 8202 0102 0101 62 0000 8001 63 8901 31 8a00 8100 8802 03e8"))
  }

  @Test func `sends a frame with any header`() throws {
    let client = SessionClient([
      .frame(opcode: 0xF3, hex("01"), isFinal: false, rsv1: true, rsv2: true, rsv3: true),
      .frame(opcode: 1, Data("hi".utf8), isMasked: true),
    ])

    _ = client.play()

    #expect(client.bytes.prefix(3) == hex("7301 01"))
    var reader = MessageReader(.server)
    reader.append(client.bytes.dropFirst(3))
    #expect(try reader.next() == .text("hi"))
  }

  @Test func `cuts inside a frame`() {
    let client = SessionClient([.text("a"), .cut(inside: .text("hello")), .text("never")])

    #expect(client.play() == .cut)

    #expect(client.bytes == hex("8101 61 8105 68"))
  }

  @Test func `sends the first frames with the head`() {
    let client = SessionClient([.text("a"), .ping(), .delay(.seconds(1)), .text("b")], handshake: .withFirstFrames)
    #expect(client.session.withOutput { Data($0) } == Data("head".utf8) + hex("8101 61 8900"))
    let separate = SessionClient([.text("a")])
    #expect(separate.session.withOutput { Data($0) } == Data("head".utf8))
  }

  @Test func `drips a step, and sends pongs after its last chunk`() {
    let client = SessionClient([.drip(.text("abc"), chunk: 2, every: .seconds(1)), .delay(.seconds(1)), .close])
    #expect(client.play() == .wait)
    #expect(client.bytes == hex("8103"))

    client.send(client.writer.ping())
    #expect(client.play() == .wait)
    #expect(client.bytes == hex("8103"))

    client.now += .seconds(1)
    #expect(client.play() == .wait)
    #expect(client.bytes == hex("8103 6162"))
    client.now += .seconds(1)
    #expect(client.play() == .wait)
    #expect(client.bytes == hex("8103 6162 63 8a00"))
    #expect(client.session.nextTimer == client.now + .seconds(1))
  }

  @Test func `responds to pings during a delay and after the script`() {
    let client = SessionClient([.delay(.seconds(1))])
    _ = client.play()
    client.send(client.writer.ping(hex("31")))
    _ = client.play()
    client.now += .seconds(1)
    _ = client.play()
    client.send(client.writer.ping(hex("32")))
    _ = client.play()

    #expect(client.bytes == hex("8a01 31 8a01 32"))
    #expect(client.record.messages == [.ping(hex("31")), .ping(hex("32"))])
  }

  @Test func `sets no timer while output waits for the socket`() {
    let client = SessionClient([.delay(.seconds(1))])
    _ = client.play()
    #expect(client.session.nextTimer == client.now + .seconds(1))
    client.send(client.writer.ping())
    #expect(client.session.next(now: client.now) == .send)
    #expect(client.session.nextTimer == nil)
  }

  @Test func `sends no pongs if they are off`() {
    let client = SessionClient([.echo], sendsPongs: false)
    client.send(client.writer.ping())
    #expect(client.play() == .wait)
    #expect(client.bytes.isEmpty)
  }

  @Test func `takes messages that arrived during earlier steps`() throws {
    let client = SessionClient([
      .delay(.seconds(1)), .receive("a"), .text("1"), .receive(hex("02")), .text("2"), .echo(1),
    ])
    _ = client.play()
    client.send(try client.writer.text("a") + client.writer.binary(hex("02")))
    client.now += .seconds(1)

    #expect(client.play() == .wait)
    client.send(try client.writer.text("b") + client.writer.text("c"))
    #expect(client.play() == .wait)

    #expect(client.bytes == hex("8101 31 8101 32 8101 62"))
    #expect(client.record.texts == ["a", "b", "c"])
  }

  @Test func `closes with 1008 if a message is not the expected one`() throws {
    let client = SessionClient([.receive("a"), .text("never")])
    client.send(try client.writer.text("b"))
    #expect(client.play() == .wait)

    client.send(client.writer.close(.policyViolation))
    #expect(client.play() == .cut)

    #expect(client.events == [.close(.policyViolation, reason: #"expected text "a", received text "b""#)])
    #expect(client.record.failure == #"expected text "a", received text "b""#)
    #expect(client.record.closeCode == .policyViolation)
  }

  @Test func `echoes all messages before the client's close frame`() throws {
    let client = SessionClient([.echo])
    client.send(
      try client.writer.text("a") + client.writer.binary(hex("01")) + client.writer.close(.goingAway, reason: "b"))

    #expect(client.play() == .cut)

    #expect(client.events == [.text("a"), .binary(hex("01")), .close(.goingAway, reason: "b")])
    #expect(client.record.closeReason == "b")
  }

  @Test func `ends at the next step that waits after the client's close frame`() {
    let client = SessionClient([.text("a"), .delay(.seconds(9)), .text("never")])
    client.send(client.writer.close(nil))

    #expect(client.play() == .cut)

    #expect(client.events == [.text("a"), .close(nil, reason: "")])
    #expect(client.record.closeCode == .noStatusReceived)
  }

  @Test func `plays all steps of a script that waits for the client's close frame`() {
    let client = SessionClient([
      .receive, .waitForClose, .text("a"), .delay(.seconds(1)), .close(.serviceRestart, reason: "b"),
    ])
    client.send(client.writer.close(.normalClosure))
    #expect(client.play() == .wait)
    client.now += .seconds(1)

    #expect(client.play() == .cut)

    #expect(client.events == [.text("a"), .close(.serviceRestart, reason: "b")])
  }

  @Test func `waits for the client's close frame after its own`() {
    let client = SessionClient([.closeWithoutCode, .text("never")])
    #expect(client.play() == .wait)
    client.send(client.writer.ping() + client.writer.close(nil))

    #expect(client.play() == .cut)

    #expect(client.bytes == hex("8800"))
  }

  @Test func `sends nothing after hanging, and records messages`() throws {
    let client = SessionClient([.hang, .text("never")])
    _ = client.play()
    client.send(try client.writer.text("a") + client.writer.ping() + client.writer.close(.normalClosure))

    #expect(client.play() == .wait)

    #expect(client.bytes.isEmpty)
    #expect(client.record.messages == [.text("a"), .ping(Data()), .close(.normalClosure, reason: "")])
    client.session.peerEnded()
    #expect(client.session.isAbandoned)
  }

  @Test func `stops reading while more than 1 MiB waits`() throws {
    let client = SessionClient([.delay(.seconds(1)), .receive, .delay(.seconds(1)), .echo])
    _ = client.play()
    let message = try client.writer.binary(Data(count: 700_000))
    client.send(message)
    #expect(client.session.wantsRead)
    client.send(message)
    #expect(!client.session.wantsRead)

    client.now += .seconds(1)
    _ = client.play()
    #expect(client.session.wantsRead)
    client.now += .seconds(1)
    _ = client.play()
    #expect(client.events == [.binary(Data(count: 700_000))])

    // The client does not read this message.
    client.send(try client.writer.binary(Data(count: 2 << 20)))
    #expect(client.session.next(now: client.now) == .send)
    #expect(!client.session.wantsRead)
  }

  @Test func `discards messages that no step takes`() throws {
    let client = SessionClient([.receive, .text("a")])
    client.send(try client.writer.text("b") + client.writer.binary(Data(count: 2 << 20)))

    #expect(client.play() == .wait)

    #expect(client.session.wantsRead)
    #expect(client.record.messages.count == 2)
  }

  @Test func `fails on an unmasked frame and records its header`() {
    let client = SessionClient([.echo])
    client.send(hex("8102 6869"))

    #expect(client.play() == .cut)

    #expect(client.record.failure == "the client sent an unmasked frame; clients must mask all frames")
    #expect(client.record.frames.map(\.isMasked) == [false])
    #expect(client.events.count == 1)
    guard case .close(.protocolError, _) = client.events.first else {
      Issue.record("\(client.events)")
      return
    }
  }

  @Test func `fails on a message of more than 64 MiB`() {
    let client = SessionClient([.echo])
    client.send(hex("81ff 0000000004000001 01020304"))
    #expect(client.play() == .cut)
    guard case .close(.messageTooBig, _) = client.events.first else {
      Issue.record("\(client.events)")
      return
    }
  }

  @Test func `records messages beyond the limit as empty`() throws {
    let client = SessionClient([], options: MockServer.Options(maximumKeptBodyBytes: 5))
    client.send(try client.writer.text("abc") + client.writer.text("def") + client.writer.binary(hex("0102")))
    _ = client.play()
    #expect(client.record.messages == [.text("abc"), .text(""), .binary(hex("0102"))])
    #expect(client.record.frames.map(\.payloadLength) == [3, 3, 2])
  }

  @Test func `compresses messages and fragments`() throws {
    let client = SessionClient([.text("hello hello"), .fragments(["a", "b"]), .echo], deflate: PermessageDeflate())
    client.send(try client.writer.text("hello hello"))

    _ = client.play()

    #expect(client.events == [.text("hello hello"), .text("ab"), .text("hello hello")])
    #expect(client.bytes.first == 0xC1)
    #expect(client.record.frames.map(\.rsv1) == [true])
  }

  @Test func `finds the headers of frames in single bytes`() {
    var scanner = FrameScanner()
    let bytes = hex("8100 1a82 01020304 ffff 82fe0080 05060708") + Data(count: 128) + hex("f000")
    let frames = singleBytes(bytes).flatMap { byte in byte.withUnsafeBytes { scanner.scan($0) } }

    #expect(frames.map(\.opcode) == [1, 10, 2, 0])
    #expect(frames.map(\.isFinal) == [true, false, true, true])
    #expect(frames.map(\.rsv1) == [false, false, false, true])
    #expect(frames.map(\.rsv3) == [false, true, false, true])
    #expect(frames.map(\.maskingKey) == [nil, 0x0102_0304, 0x0506_0708, nil])
    #expect(frames.map(\.payloadLength) == [0, 2, 128, 0])
    var whole = FrameScanner()
    #expect(bytes.withUnsafeBytes { whole.scan($0) } == frames)
  }
}

/// A session without a server, and its client.
private final class SessionClient {
  private final class Records {
    var socket: RecordedWebSocket

    init(_ socket: RecordedWebSocket) { self.socket = socket }
  }

  let session: WebSocketServerSession
  var writer: MessageWriter
  /// The time of the session, which only tests advance.
  var now = upgradeRequest().arrival
  /// The bytes that the session has sent, without the head.
  private(set) var bytes = Data()
  private(set) var events: [WebSocketEvent] = []
  private var reader: MessageReader
  private let records: Records

  var record: RecordedWebSocket { records.socket }

  init(
    _ steps: [MockWebSocket.Step], handshake: MockWebSocket.Handshake = .valid, deflate: PermessageDeflate? = nil,
    sendsPongs: Bool = true, options: MockServer.Options = MockServer.Options()
  ) {
    var socket = MockWebSocket(steps: steps)
    socket.handshake = handshake
    socket.sendsPongs = sendsPongs
    let records = Records(RecordedWebSocket(request: upgradeRequest(), subprotocol: nil, compression: nil))
    self.records = records
    session = WebSocketServerSession(socket, head: Data("head".utf8), deflate: deflate, options: options) {
      $0(&records.socket)
    }
    writer = MessageWriter(.client, deflate: deflate)
    reader = MessageReader(.client, deflate: deflate)
  }

  func send(_ bytes: Data) { bytes.withUnsafeBytes { session.receive($0) } }

  /// Receives all bytes until the session waits or ends.
  func play() -> WebSocketServerSession.Action {
    while true {
      if session.hasOutput {
        let sent = session.withOutput { Data($0) }
        session.sent(sent.count)
        guard sent != Data("head".utf8) else { continue }
        bytes += sent
        reader.append(sent)
        while let event = try? reader.next() { events.append(event) }
      }
      let action = session.next(now: now)
      guard action == .send else { return action }
    }
  }
}

/// A request that opens a WebSocket, unless the fields are changed.
func upgradeRequest(
  method: String = "GET", version: String = "HTTP/1.1", changing changes: [String: String?] = [:]
) -> RecordedRequest {
  let fields: [(String, String)] = [
    ("Host", "test"), ("Upgrade", "websocket"), ("Connection", "keep-alive, Upgrade"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Protocol", "a, b"), ("Sec-WebSocket-Extensions", "permessage-deflate"),
  ]
  let headers = fields.compactMap { name, value in
    (changes[name] ?? value).map { RecordedRequest.Field(name, $0) }
  }
  return RecordedRequest(
    method: method, target: "/chat", httpVersion: version, headers: headers, rawHead: Data(), connection: 0,
    indexOnConnection: 0, arrival: .now)
}

import MartletBase
import Testing

@testable import Martlet
@testable import MartletWebSocket

@Suite struct WebSocketMessagesTests {
  typealias Message = MessageUpgrade.Message

  @Test func `frames become messages, and fragments are collected`() throws {
    var writer = MessageWriter(.client)
    var bytes = try writer.text("grün") + writer.binary(hex("0102")) + writer.part(.text, Data("a".utf8), isLast: false)
    bytes += writer.ping(hex("31")) + writer.pong()
    bytes += try writer.part(.text, Data("b".utf8), isLast: true) + writer.close(.goingAway, reason: "bye")

    for chunks in [[bytes], singleBytes(bytes)] {
      var codec = WebSocketMessages()
      let messages = try chunks.flatMap { try codec.messages(in: $0) }
      #expect(
        messages == [
          .text("grün"), .binary(hex("0102")), .ping(hex("31")), .pong(Data()), .text("ab"),
          .close(.init(code: 1001, reason: Data("bye".utf8))),
        ])
    }
  }

  @Test func `messages become the server's frames`() throws {
    var codec = WebSocketMessages()
    let messages: [Message] = [
      .text("a"), .binary(hex("01")), .ping(hex("31")), .pong(hex("32")),
      .close(.init(code: 4001, reason: Data("why".utf8))),
    ]

    let bytes = try messages.map { try codec.bytes(of: $0) }

    #expect(bytes == [hex("810161"), hex("820101"), hex("890131"), hex("8a0132"), hex("88050fa1776879")])
    #expect(try codec.bytes(of: .close(.init(code: nil, reason: Data()))) == hex("8800"))
  }

  @Test func `limits the collected fragments`() throws {
    var writer = MessageWriter(.client)
    var codec = WebSocketMessages(maximumMessageBytes: 3)
    let parts = [
      try writer.part(.binary, hex("0102"), isLast: false), try writer.part(.binary, hex("0304"), isLast: true),
    ]

    #expect(try codec.messages(in: parts[0]) == [])
    #expect(throws: WebSocketViolation.self) { try codec.messages(in: parts[1]) }
  }

  @Test func `the fields of the response pass the check of the handshake`() throws {
    let handshake = try WebSocketHandshake(subprotocols: ["a", "b"])
    let request = HTTPRequest(.get, "http://example.test/", headers: ["Sec-WebSocket-Key": handshake.key])

    for subprotocol in ["b", nil] {
      let fields = WebSocketMessages.responseFields(request, subprotocol).map { (name: $0.name, value: $0.value) }
      #expect(try handshake.check(status: 101, fields) == .init(subprotocol: subprotocol, deflate: nil))
    }
  }

  @Test(
    arguments: [
      (WebSocketOptions(), nil), (WebSocketOptions { $0.compression = .deflate }, "compression"),
      (WebSocketOptions { $0.maximumFrameBytes = 1 }, "maximumFrameBytes"),
      (WebSocketOptions { $0.deliversParts = true }, nil),
    ] as [(WebSocketOptions, String?)])
  func `names the options that require frames`(options: WebSocketOptions, name: String?) {
    #expect(options.messages.bytesOption == name)
    #expect(options.messages.maximumMessageBytes == 16 << 20)
  }
}

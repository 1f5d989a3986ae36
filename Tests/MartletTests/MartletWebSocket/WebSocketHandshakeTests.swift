import MartletBase
import Testing

@testable import MartletWebSocket

@Suite struct WebSocketHandshakeTests {
  // RFC 6455 §1.3.
  private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
  private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
  private static let response: [WebSocketHandshake.Field] = [
    ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept),
  ]

  private static func handshake(
    _ subprotocols: [String] = [], deflate: PermessageDeflate.Offer? = nil
  ) throws -> WebSocketHandshake {
    try WebSocketHandshake(key: key, subprotocols: subprotocols, deflate: deflate)
  }

  private static func problem(
    status: Int = 101, _ fields: [WebSocketHandshake.Field], subprotocols: [String] = ["chat"]
  ) throws -> String? {
    let handshake = try handshake(subprotocols)
    do throws(HandshakeProblem) {
      _ = try handshake.check(status: status, fields)
      return nil
    } catch {
      return error.message
    }
  }

  @Test func `derives the accept value of RFC 6455`() {
    #expect(WebSocketHandshake.acceptValue(for: Self.key) == Self.accept)
  }

  @Test(arguments: [
    ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
    (String(repeating: "a", count: 1000), "291e9a6c66994949b57ba5e650361e98fc36b1ba"),
  ])
  func `computes SHA-1`(_ text: String, _ digest: String) {
    #expect(Data(SHA1.hash(text.utf8)) == hex(digest))
  }

  @Test func `creates random keys of 16 bytes`() throws {
    let keys = try (0..<20).map { _ in try WebSocketHandshake().key }
    #expect(Set(keys).count == 20)
    for key in keys { #expect(Data(base64Encoded: key)?.count == 16) }
  }

  @Test func `lists the fields of a request`() throws {
    let fields = try Self.handshake(["chat", "superchat"], deflate: PermessageDeflate.Offer()).fields
    #expect(
      fields.map { "\($0.name): \($0.value)" } == [
        "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: chat, superchat",
        "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
      ])
    #expect(try Self.handshake().fields.count == 4)
  }

  @Test func `accepts a valid response`() throws {
    let fields: [WebSocketHandshake.Field] = [
      ("upgrade", "h2c, WebSocket"), ("connection", "keep-alive"), ("CONNECTION", "x, upgrade"),
      ("sec-websocket-accept", " \(Self.accept) "), ("Sec-WebSocket-Protocol", "superchat"),
      ("Sec-WebSocket-Extensions", "permessage-deflate; client_no_context_takeover"),
    ]
    let agreement = try Self.handshake(["chat", "superchat"], deflate: PermessageDeflate.Offer())
      .check(status: 101, fields)
    #expect(agreement.subprotocol == "superchat")
    #expect(agreement.deflate == PermessageDeflate(clientNoContextTakeover: true))
    #expect(try Self.handshake().check(status: 101, Self.response) == WebSocketHandshake.Agreement())
  }

  @Test(
    arguments: [
      ("Upgrade", nil, "the response has no Upgrade"),
      ("Upgrade", "websocket/13", "Upgrade is websocket/13; it must contain websocket"),
      ("Connection", nil, "the response has no Connection"),
      ("Connection", "close", "Connection is close; it must contain upgrade"),
      ("Sec-WebSocket-Accept", nil, "the response has no Sec-WebSocket-Accept"),
      (
        "Sec-WebSocket-Accept", "S3PPLMBITXAQ9KYGZZHZRBK+XOO=",
        "Sec-WebSocket-Accept is S3PPLMBITXAQ9KYGZZHZRBK+XOO=; for this key, it must be s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
      ),
    ] as [(String, String?, String)])
  func `rejects a response without the required fields`(_ name: String, _ value: String?, _ message: String) throws {
    var fields = Self.response.filter { $0.name != name }
    if let value { fields.append((name, value)) }
    #expect(try Self.problem(fields) == message)
  }

  @Test func `rejects other statuses`() throws {
    #expect(
      try Self.problem(status: 200, Self.response)
        == "the server responded 200 to the upgrade; only 101 opens a WebSocket")
  }

  @Test func `rejects repeated accept fields`() throws {
    #expect(
      try Self.problem(Self.response + [("Sec-WebSocket-Accept", Self.accept)])
        == "the response has 2 fields Sec-WebSocket-Accept; it must have one")
  }

  @Test func `rejects subprotocols that were not offered`() throws {
    let name = "Sec-WebSocket-Protocol"
    #expect(
      try Self.problem(Self.response + [(name, "Chat")])
        == "the server selected the subprotocol Chat; the client offered chat")
    #expect(
      try Self.problem(Self.response + [(name, "chat")], subprotocols: [])
        == "the server selected the subprotocol chat; the client offered no subprotocol")
    #expect(
      try Self.problem(Self.response + [(name, "chat"), (name, "chat")])
        == "the server selected 2 subprotocols; it may select one")
  }

  @Test func `rejects extensions that were not offered`() throws {
    #expect(
      try Self.problem(Self.response + [("Sec-WebSocket-Extensions", "permessage-deflate")])
        == "the server selected the extension permessage-deflate, which was not offered")
  }

  @Test(arguments: [
    ([""], "the subprotocol \"\" is not a token (RFC 9110 §5.6.2)"),
    (["a b"], "the subprotocol \"a b\" is not a token (RFC 9110 §5.6.2)"),
    (["a", "a"], "the subprotocol a occurs twice; subprotocols must be distinct"),
  ])
  func `rejects invalid subprotocols`(_ subprotocols: [String], _ message: String) {
    #expect(throws: HandshakeProblem(message)) { try WebSocketHandshake(subprotocols: subprotocols) }
  }

  @Test func `accepts its own request as a server`() throws {
    let client = try WebSocketHandshake(subprotocols: ["a", "b"], deflate: PermessageDeflate.Offer())
    let deflate = PermessageDeflate(serverNoContextTakeover: true, clientMaxWindowBits: 12)
    let server = try WebSocketHandshake.accept(client.fields, subprotocols: ["b"], deflate: deflate)
    #expect(server.agreement.subprotocol == "b")
    #expect(server.agreement.deflate == deflate)
    #expect(try client.check(status: 101, server.fields) == server.agreement)
  }

  @Test(arguments: ["Upgrade", "Connection", "Sec-WebSocket-Version", "Sec-WebSocket-Key"])
  func `rejects a request without the required fields`(_ name: String) throws {
    let fields = try WebSocketHandshake().fields.filter { $0.name != name }
    #expect(throws: HandshakeProblem.self) { try WebSocketHandshake.accept(fields) }
  }
}

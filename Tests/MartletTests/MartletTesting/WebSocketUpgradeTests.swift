import Foundation
import TestSupport
import Testing

@testable import MartletTesting
@testable import MartletWebSocket

@Suite struct WebSocketUpgradeTests {
  @Test func `accepts a valid request`() {
    var socket = MockWebSocket()
    socket.subprotocols = ["c", "b", "a"]
    socket.compression = MockWebSocket.Compression(serverMaxWindowBits: 3)
    socket.headers = [MockResponse.Field("X-A", "1")]

    let upgrade = Outcome(upgradeRequest(), socket)

    #expect(
      upgrade.head == """
        HTTP/1.1 101 Switching Protocols
        Upgrade: websocket
        Connection: Upgrade
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=
        Sec-WebSocket-Protocol: a
        Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=8
        X-A: 1


        """)
    #expect(upgrade.subprotocol == "a")
    #expect(upgrade.deflate == PermessageDeflate(serverMaxWindowBits: 8))
  }

  @Test func `refuses subprotocols and compression by default`() {
    let upgrade = Outcome(upgradeRequest(), MockWebSocket())
    #expect(upgrade.subprotocol == nil)
    #expect(upgrade.deflate == nil)
    #expect(!upgrade.head.contains("Protocol: "))
    #expect(!upgrade.head.contains("Extensions"))
  }

  @Test(arguments: [
    (upgradeRequest(changing: ["Upgrade": nil]), 426, "the request's Upgrade does not contain websocket\n"),
    (
      upgradeRequest(changing: ["Sec-WebSocket-Version": "8"]), 426,
      "the request's Sec-WebSocket-Version does not contain 13\n"
    ),
    (
      upgradeRequest(changing: ["Connection": "keep-alive"]), 400,
      "the request's Connection does not contain upgrade\n"
    ),
    (
      upgradeRequest(changing: ["Sec-WebSocket-Key": "c2hvcnQ="]), 400,
      "the request has no Sec-WebSocket-Key with 16 bytes in Base64\n"
    ),
    (upgradeRequest(method: "POST"), 400, "the request's method is POST; an opening handshake uses GET\n"),
    (
      upgradeRequest(version: "HTTP/1.0"), 400,
      "the request's version is HTTP/1.0; an opening handshake needs HTTP/1.1\n"
    ),
  ]) func `refuses an invalid request`(request: RecordedRequest, status: Int, reason: String) throws {
    let message = try #require(Outcome(request, MockWebSocket()).response)

    #expect(message.status == status)
    #expect(message.headers.contains(RecordedRequest.Field("Sec-WebSocket-Version", "13")))
    #expect(message.headers.contains(RecordedRequest.Field("Upgrade", "websocket")) == (status == 426))
    guard case .data(let body) = message.body else {
      Issue.record("\(message.body)")
      return
    }
    #expect(String(decoding: body, as: UTF8.self) == reason)
  }

  @Test(arguments: [
    (MockWebSocket.Handshake.wrongAccept, "for this key, it must be"),
    (.subprotocol("z"), "the server selected the subprotocol z"),
    (.extensions("x-foo"), "the server selected the extension x-foo"),
    (.omitting("upgrade"), "the response has no Upgrade"),
    (.omitting("Sec-WebSocket-Accept"), "the response has no Sec-WebSocket-Accept"),
    (.omitting("Connection"), "the response has no Connection"),
  ]) func `violates the handshake on demand`(handshake: MockWebSocket.Handshake, problem: String) throws {
    var socket = MockWebSocket()
    socket.handshake = handshake
    let upgrade = Outcome(upgradeRequest(), socket)
    let fields = upgrade.head.split(separator: "\n").dropFirst().map { line in
      let parts = line.split(separator: ": ", maxSplits: 1).map(String.init)
      return (name: parts[0], value: parts[1])
    }
    let client = try WebSocketHandshake(key: "dGhlIHNhbXBsZSBub25jZQ==", subprotocols: ["a", "b"], deflate: nil)

    let error = #expect(throws: HandshakeProblem.self) { try client.check(status: 101, fields) }

    #expect(error?.message.contains(problem) == true)
  }

  @Test func `responds with another status`() throws {
    var socket = MockWebSocket()
    socket.handshake = .status(200)
    let message = try #require(Outcome(upgradeRequest(), socket).response)
    #expect(message.status == 200)
    #expect(message.headers.map(\.name).contains("Sec-WebSocket-Accept"))
  }
}

/// The parts of an upgrade's result.
private struct Outcome {
  var head = ""
  var subprotocol: String?
  var deflate: PermessageDeflate?
  var response: MockResponse.Message?

  init(_ request: RecordedRequest, _ socket: MockWebSocket) {
    switch WebSocketUpgrade(request, socket) {
    case .open(let fields, let subprotocol, let deflate):
      self.head = String(decoding: WebSocketUpgrade.head(fields), as: UTF8.self).replacing("\r\n", with: "\n")
      (self.subprotocol, self.deflate) = (subprotocol, deflate)
    case .response(let message): response = message
    }
  }
}

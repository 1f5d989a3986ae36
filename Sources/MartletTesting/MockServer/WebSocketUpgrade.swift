import MartletBase
import MartletWebSocket
import Foundation

/// The server's result of an opening handshake (RFC 6455 §4.2).
enum WebSocketUpgrade {
  /// The WebSocket opens after a head with these fields.
  case open(fields: [MockResponse.Field], subprotocol: String?, deflate: PermessageDeflate?)
  /// The connection continues with HTTP after this response.
  case response(MockResponse.Message)

  init(_ request: RecordedRequest, _ socket: MockWebSocket) {
    guard request.method == "GET" else {
      self = Self.refusal(400, "the request's method is \(request.method); an opening handshake uses GET")
      return
    }
    guard request.httpVersion == "HTTP/1.1" else {
      self = Self.refusal(400, "the request's version is \(request.httpVersion); an opening handshake needs HTTP/1.1")
      return
    }
    do {
      let accepted = try WebSocketHandshake.accept(
        request.headers.map { ($0.name, $0.value) }, subprotocols: socket.subprotocols,
        deflate: Self.refusesCompression(socket.handshake) ? nil : socket.compression?.deflate)
      self = Self.open(accepted.fields.map { .init($0.name, $0.value) }, accepted.agreement, socket)
    } catch {
      let supports =
        request.contains("websocket", in: "Upgrade")
        && request.contains(WebSocketHandshake.version, in: "Sec-WebSocket-Version")
      self = Self.refusal(supports ? 400 : 426, error.message)
    }
  }

  private static func open(
    _ valid: [MockResponse.Field], _ agreement: WebSocketHandshake.Agreement, _ socket: MockWebSocket
  ) -> Self {
    var fields = valid
    var subprotocol = agreement.subprotocol
    switch socket.handshake {
    case .valid, .withFirstFrames: break
    case .wrongAccept: fields.replace("Sec-WebSocket-Accept", WebSocketHandshake.acceptValue(for: "another key"))
    case .subprotocol(let name):
      fields.replace("Sec-WebSocket-Protocol", name)
      subprotocol = name
    case .extensions(let value): fields.replace("Sec-WebSocket-Extensions", value)
    case .omitting(let name):
      fields.removeAll { FieldSyntax.isSameName($0.name, name) }
      if FieldSyntax.isSameName(name, "Sec-WebSocket-Protocol") { subprotocol = nil }
    case .status(let status): return .response(MockResponse.Message(status: status, headers: fields + socket.headers))
    }
    return .open(fields: fields + socket.headers, subprotocol: subprotocol, deflate: agreement.deflate)
  }

  /// The head of a response that opens a WebSocket.
  static func head(_ fields: [MockResponse.Field]) -> Data {
    fields.head(line: "HTTP/1.1 101 Switching Protocols")
  }

  /// A response that names the version of the protocol (RFC 6455 §4.4).
  private static func refusal(_ status: Int, _ reason: String) -> Self {
    var fields: [MockResponse.Field] = [
      .init("Content-Type", "text/plain; charset=utf-8"), .init("Sec-WebSocket-Version", WebSocketHandshake.version),
    ]
    // RFC 9110 §15.5.22: 426 names the protocol.
    if status == 426 { fields += [.init("Upgrade", "websocket"), .init("Connection", "Upgrade")] }
    return .response(MockResponse.Message(status: status, headers: fields, body: .data(Data("\(reason)\n".utf8))))
  }

  /// Whether the response contains other extensions than compression.
  private static func refusesCompression(_ handshake: MockWebSocket.Handshake) -> Bool {
    switch handshake {
    case .extensions: true
    case .omitting(let name): FieldSyntax.isSameName(name, "Sec-WebSocket-Extensions")
    default: false
    }
  }
}

extension [MockResponse.Field] {
  /// The bytes of a head with this first line (RFC 9112 §2.1).
  func head(line: String) -> Data {
    Data((line + "\r\n" + map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n").utf8)
  }

  fileprivate mutating func replace(_ name: String, _ value: String) {
    removeAll { FieldSyntax.isSameName($0.name, name) }
    append(Element(name, value))
  }
}

extension RecordedRequest {
  fileprivate func contains(_ token: String, in name: String) -> Bool {
    headers(named: name).flatMap { FieldSyntax.listMembers(of: $0) }.contains { FieldSyntax.isSameName($0, token) }
  }
}

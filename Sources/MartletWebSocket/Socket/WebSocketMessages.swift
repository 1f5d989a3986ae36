import Martlet
import MartletBase

/// Translates between a client's frames and the messages of a transport (RFC 6455 §5).
///
/// The fragments of a message are collected.
struct WebSocketMessages: MessageCodec {
  private var reader: MessageReader
  private var writer = MessageWriter(.server)

  init(maximumMessageBytes: Int = .max) {
    reader = MessageReader(.server, limits: .init(maximumMessageBytes: maximumMessageBytes))
  }

  mutating func messages(in bytes: Data) throws -> [MessageUpgrade.Message] {
    reader.append(bytes)
    var messages: [MessageUpgrade.Message] = []
    while let event = try reader.next() {
      switch event {
      case .text(let text): messages.append(.text(text))
      case .binary(let data): messages.append(.binary(data))
      case .ping(let payload): messages.append(.ping(payload))
      case .pong(let payload): messages.append(.pong(payload))
      case .close(let code, let reason):
        messages.append(.close(.init(code: code?.rawValue, reason: Data(reason.utf8))))
      case .part: break
      }
    }
    return messages
  }

  mutating func bytes(of message: MessageUpgrade.Message) throws -> Data {
    switch message {
    case .text(let text): try writer.text(text)
    case .binary(let data): try writer.binary(data)
    case .ping(let payload): writer.ping(payload)
    case .pong(let payload): writer.pong(payload)
    case .close(let closure):
      writer.close(
        closure.code.map { WebSocketCloseCode(rawValue: $0) }, reason: String(decoding: closure.reason, as: UTF8.self))
    }
  }

  /// The fields of a 101 response to a request.
  static func responseFields(_ request: HTTPRequest, _ subprotocol: String?) -> HTTPHeaders {
    let accept = WebSocketHandshake.acceptValue(for: request.headers["Sec-WebSocket-Key"] ?? "")
    var fields: HTTPHeaders = ["Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept]
    if let subprotocol { fields["Sec-WebSocket-Protocol"] = subprotocol }
    return fields
  }
}

extension WebSocketOptions {
  /// The messages of a WebSocket with these options.
  var messages: MessageUpgrade {
    MessageUpgrade(
      maximumMessageBytes: maximumMessageBytes,
      bytesOption: compression.level > 0 ? "compression" : maximumFrameBytes == nil ? nil : "maximumFrameBytes",
      makeCodec: { [maximumMessageBytes] in WebSocketMessages(maximumMessageBytes: maximumMessageBytes) },
      responseFields: WebSocketMessages.responseFields)
  }
}

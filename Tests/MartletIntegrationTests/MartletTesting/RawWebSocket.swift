import Foundation
import MartletWebSocket

/// A blocking WebSocket client that consists of a socket and the protocol's core.
///
/// Its functions block, so a test calls it from ``onThread(_:)``.
final class RawWebSocket {
  let client: RawClient
  let agreement: WebSocketHandshake.Agreement
  var writer: MessageWriter
  private var reader: MessageReader

  init(
    port: Int, _ target: String = "/", subprotocols: [String] = [], deflate: PermessageDeflate.Offer? = nil,
    timeout: Double = 55, sendingFirst bytes: (inout MessageWriter) throws -> Data = { _ in Data() }
  ) throws {
    client = try RawClient(port: port, timeout: timeout)
    let handshake = try WebSocketHandshake(subprotocols: subprotocols, deflate: deflate)
    var early = MessageWriter(.client)
    let fields = handshake.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    try client.send([UInt8](Data(rawGet(target, fields).utf8) + bytes(&early)))
    var received = Data()
    var end: Range<Data.Index>?
    while end == nil {
      let bytes = try client.receiveBytes()
      guard !bytes.isEmpty else { throw RawClient.Failure(call: "end before the head", code: 0) }
      received += bytes
      end = received.range(of: Data("\r\n\r\n".utf8))
    }
    let bodyStart = end?.upperBound ?? received.endIndex
    let lines = String(decoding: received[..<bodyStart], as: UTF8.self).components(separatedBy: "\r\n")
    let responseFields = lines.dropFirst().compactMap { line in
      line.firstRange(of: ": ").map { (name: String(line[..<$0.lowerBound]), value: String(line[$0.upperBound...])) }
    }
    let status = lines.first.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
    agreement = try handshake.check(status: status, responseFields)
    writer = MessageWriter(.client, deflate: agreement.deflate)
    reader = MessageReader(.client, deflate: agreement.deflate)
    reader.append(Data(received[bodyStart...]))
  }

  func send(_ bytes: Data) throws { try client.send([UInt8](bytes)) }

  /// Returns the next event, or `nil` at the end of the connection.
  func next() throws -> WebSocketEvent? {
    while true {
      if let event = try reader.next() { return event }
      let bytes = try client.receiveBytes()
      if bytes.isEmpty { return nil }
      reader.append(Data(bytes))
    }
  }

  /// Returns the events until the end of the connection.
  func rest() throws -> [WebSocketEvent] {
    var events: [WebSocketEvent] = []
    while let event = try next() { events.append(event) }
    return events
  }
}

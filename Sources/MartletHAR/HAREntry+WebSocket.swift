public import Martlet
public import MartletBase

extension HAREntry {
  /// A message or a close frame of a WebSocket.
  ///
  /// The file contains it in `_webSocketMessages`, as Chrome does.
  public struct WebSocketMessage: Sendable, Hashable {
    /// Whether the client sent the message.
    public var isSent: Bool
    /// The time at which the message was sent or received.
    public var time: Date
    /// The opcode: 1 for text, 2 for bytes, and 8 for a close frame (RFC 6455 §5.2).
    public var opcode: Int
    /// The content; of a close frame, its code in two bytes and its reason, or nothing.
    public var body: Body
  }
}

extension HAREntry.WebSocketMessage {
  private static let (text, binary, close) = (1, 2, 8)

  /// Creates a message with its secrets masked.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - time: The time at which it was sent or received.
  ///   - redaction: The secrets to mask.
  public init(_ message: InstrumentEvent.Message, at time: Date, redaction: Redaction) {
    self.init(message, at: time, redaction: redaction, limit: .max)
  }

  /// Creates a message whose content has a maximum number of bytes.
  init(_ message: InstrumentEvent.Message, at time: Date, redaction: Redaction, limit: Int) {
    var body: HAREntry.Body
    // Another instrument may have requested more.
    let (data, opcode) = (message.body.data.prefix(limit), Self.opcode(of: message.kind))
    let isWhole = message.body.isWhole && data.count == message.body.data.count
    if opcode == Self.close {
      let masked = Self.masked(Data(data), redaction)
      body = HAREntry.Body(mimeType: "", content: .bytes(masked), size: Int64(masked.count), isWhole: isWhole)
    } else {
      body = HAREntry.Body(
        Data(data), of: message.body.count, isWhole: isWhole, type: nil, coding: nil, redaction)
      // The masked bytes of a binary message may be text.
      if opcode == Self.binary, case .text(let text) = body.content { body.content = .bytes(Data(text.utf8)) }
    }
    self.init(isSent: message.direction == .sent, time: time, opcode: opcode, body: body)
  }

  private static func opcode(of kind: InstrumentEvent.Message.Kind) -> Int {
    switch kind {
    case .text: text
    case .close: close
    case .binary: binary
    @unknown default: binary
    }
  }

  /// The content of a close frame with its reason masked.
  private static func masked(_ payload: Data, _ redaction: Redaction) -> Data {
    let (code, reason) = (payload.prefix(2), payload.dropFirst(2))
    if reason.isEmpty || redaction.hidesBodies { return Data(code) }
    return Data(code) + Data(redaction.recorded(String(decoding: reason, as: UTF8.self)).utf8)
  }

  /// Reads a message written by this or another program.
  init?(_ value: JSONValue) {
    guard let type = value["type"].string, let data = value["data"].string else { return nil }
    let (opcode, isWhole) = (value["opcode"].int ?? Self.text, value["_truncated"].bool != true)
    let bytes = opcode == Self.text ? nil : Data(base64Encoded: data, options: .ignoreUnknownCharacters)
    var body = HAREntry.Body(
      mimeType: "", content: bytes.map { .bytes($0) } ?? .text(data), size: Int64(bytes?.count ?? data.utf8.count),
      isWhole: isWhole, comment: value["comment"].string)
    if let size = value["_size"].int {
      body.size = Int64(size)
      if data.isEmpty { body.content = .none }
    }
    self.init(
      isSent: type == "send", time: Date(timeIntervalSince1970: value["time"].double ?? 0), opcode: opcode, body: body)
  }

  var json: HARNode {
    let data =
      switch body.content {
      case .text(let text) where opcode == Self.text: text
      case .text(let text): Data(text.utf8).base64EncodedString()
      case .bytes(let bytes) where opcode == Self.text: String(decoding: bytes, as: UTF8.self)
      case .bytes(let bytes): bytes.base64EncodedString()
      case .none, .file: ""
      }
    let isMissing = body.content == .none && body.size > 0
    return .members([
      ("type", .text(isSent ? "send" : "receive")),
      ("time", .seconds(time)),
      ("opcode", .number(opcode)),
      ("data", .text(data)),
      ("_size", isMissing || !body.isWhole ? .number(body.size) : nil),
      ("_truncated", body.isWhole ? nil : .literal("true")),
      ("comment", .text(body.comment)),
    ])
  }
}

extension HARNode {
  /// The seconds since 1970 with six decimals.
  fileprivate static func seconds(_ date: Date) -> HARNode {
    let seconds = date.timeIntervalSince1970
    guard seconds.isFinite, abs(seconds) < 1e12 else { return .number(0) }
    let microseconds = Int64((seconds * 1e6).rounded())
    let part = "\(abs(microseconds % 1_000_000))"
    let sign = microseconds < 0 ? "-" : ""
    let zeros = String(repeating: "0", count: 6 - part.count)
    return .literal("\(sign)\(abs(microseconds / 1_000_000)).\(zeros)\(part)")
  }
}

/// The messages of one WebSocket, up to a limit.
struct RecordedMessages {
  /// The maximum number of messages, and of their bytes in total.
  private static let (maximumCount, maximumBytes) = (10_000, 16 << 20)

  private(set) var messages: [HAREntry.WebSocketMessage] = []
  private(set) var omittedCount = 0
  private var byteCount = 0

  /// Adds a message; after the first one beyond the limit, none is added.
  mutating func add(
    _ message: InstrumentEvent.Message, at time: Date, _ redaction: Redaction, maximumBodyBytes limit: Int
  ) {
    let body = message.body
    byteCount += min(body.data.count, limit)
    guard omittedCount == 0, messages.count < Self.maximumCount, byteCount <= Self.maximumBytes else {
      omittedCount += 1
      return
    }
    messages.append(HAREntry.WebSocketMessage(message, at: time, redaction: redaction, limit: limit))
  }
}

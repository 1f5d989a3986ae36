package import MartletBase

/// Encodes messages and control frames (RFC 6455 §5), and compresses messages if that was negotiated.
package struct MessageWriter {
  private var frames: FrameWriter<SystemRandomNumberGenerator>
  private let deflater: DeflateContext?
  /// The minimum number of bytes in a message that is compressed.
  private let minimumCompressedBytes: Int
  /// Whether the message that is being sent in parts is compressed.
  private var isCompressed = false
  /// The kind of the message that is being sent in parts.
  private var kind: MessageKind?

  /// Creates a writer; `deflate` contains the negotiated parameters of compression.
  ///
  /// Messages remain uncompressed if zlib is missing, or if the peer allows only a window of 8 bits.
  package init(
    _ role: WebSocketRole, deflate: PermessageDeflate? = nil, level: Int = 6, memoryLevel: Int = 8,
    minimumCompressedBytes: Int = 0
  ) {
    frames = FrameWriter(role)
    deflater = deflate.flatMap {
      DeflateContext(
        windowBits: $0.windowBits(of: role), keepsContext: $0.keepsContext(of: role), level: level,
        memoryLevel: memoryLevel)
    }
    self.minimumCompressedBytes = minimumCompressedBytes
  }

  /// Whether a message that is sent in parts has not ended.
  package var isInsideMessage: Bool { kind != nil }

  /// A whole text message; requires that no message is being sent in parts.
  package mutating func text(_ text: String) throws(WebSocketViolation) -> Data {
    guard let deflater, text.utf8.count >= minimumCompressedBytes else { return frames.encode(.text, text) }
    return frames.encode(.text, try deflater.compress(text), rsv1: true)
  }

  /// A whole binary message; requires that no message is being sent in parts.
  package mutating func binary(_ bytes: Data) throws(WebSocketViolation) -> Data {
    guard let deflater, bytes.count >= minimumCompressedBytes else { return frames.encode(.binary, bytes) }
    return frames.encode(.binary, try deflater.compress(bytes), rsv1: true)
  }

  /// The next part of a message, as a frame.
  ///
  /// The first part after a whole message begins a message of `kind`; later parts ignore `kind`. Text can be split
  /// inside a character. Messages in parts are compressed, whatever their size, unless the first part is the last.
  package mutating func part(_ kind: MessageKind, _ bytes: Data, isLast: Bool) throws(WebSocketViolation) -> Data {
    let isFirst = self.kind == nil
    if isFirst { isCompressed = deflater != nil && (!isLast || bytes.count >= minimumCompressedBytes) }
    self.kind = isLast ? nil : kind
    let opcode: WebSocketFrame.Opcode = isFirst ? (kind == .text ? .text : .binary) : .continuation
    guard isCompressed, let deflater else { return frames.encode(opcode, bytes, isFinal: isLast) }
    let payload = try deflater.compress(bytes, isLast: isLast)
    return frames.encode(opcode, payload, isFinal: isLast, rsv1: isFirst)
  }

  /// A ping with at most 125 bytes; the rest is omitted.
  package mutating func ping(_ payload: Data = Data()) -> Data { control(.ping, payload) }

  /// A pong with at most 125 bytes; the rest is omitted.
  package mutating func pong(_ payload: Data = Data()) -> Data { control(.pong, payload) }

  /// A close frame; a reason of more than 123 bytes is truncated after a character.
  package mutating func close(_ code: WebSocketCloseCode?, reason: String = "") -> Data {
    control(.close, FrameCoding.closePayload(code, reason: reason))
  }

  private mutating func control(_ opcode: WebSocketFrame.Opcode, _ payload: Data) -> Data {
    frames.encode(opcode, payload.prefix(WebSocketFrame.maximumControlPayload))
  }
}

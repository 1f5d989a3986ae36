import MartletBase

/// The header of a frame (RFC 6455 §5.2).
struct FrameHeader {
  let opcode: WebSocketFrame.Opcode
  let isFinal: Bool
  let rsv1: Bool
  /// The number of payload bytes.
  let length: Int
  let mask: FrameMask?
  /// The number of header bytes.
  let size: Int
}

/// The rules that the next header must follow (RFC 6455 §5).
struct FrameRules {
  /// The end that reads.
  let role: WebSocketRole
  let allowsCompression: Bool
  /// Whether the last data frame was not final.
  let isInsideMessage: Bool
  let maximumFrameBytes: Int

  /// The header at the start of the bytes, or `nil` if it is not complete.
  func parse(_ bytes: Data) throws(WebSocketViolation) -> FrameHeader? {
    let result: Result<FrameHeader?, WebSocketViolation> = bytes.withUnsafeBytes { bytes in
      do throws(WebSocketViolation) {
        return .success(try header(bytes))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private func header(_ bytes: UnsafeRawBufferPointer) throws(WebSocketViolation) -> FrameHeader? {
    guard bytes.count >= 2 else { return nil }
    let opcode = try opcode(bytes[0])
    let isMasked = bytes[1] & 0x80 != 0
    guard isMasked == (role == .server) else {
      throw WebSocketViolation(
        isMasked
          ? "the server sent a masked frame; only clients mask frames"
          : "the client sent an unmasked frame; clients must mask all frames")
    }
    let short = bytes[1] & 0x7F
    if opcode.isControl {
      guard short <= WebSocketFrame.maximumControlPayload else {
        throw WebSocketViolation("a \(opcode) frame has more than 125 payload bytes, the maximum of control frames")
      }
    }
    let lengthBytes = short < 126 ? 0 : short == 126 ? 2 : 8
    let size = 2 + lengthBytes + (isMasked ? 4 : 0)
    guard bytes.count >= 2 + lengthBytes else { return nil }
    let length = try length(bytes, short)
    guard length <= UInt64(clamping: maximumFrameBytes) else {
      throw WebSocketViolation(
        .messageTooBig, "a \(opcode) frame has \(length) payload bytes; the limit is \(maximumFrameBytes)")
    }
    guard bytes.count >= size else { return nil }
    let key = isMasked ? bytes.loadUnaligned(fromByteOffset: size - 4, as: UInt32.self) : nil
    return FrameHeader(
      opcode: opcode, isFinal: bytes[0] & 0x80 != 0, rsv1: bytes[0] & 0x40 != 0, length: Int(clamping: length),
      mask: key.map { FrameMask(key: UInt32(bigEndian: $0)) }, size: size)
  }

  private func opcode(_ first: UInt8) throws(WebSocketViolation) -> WebSocketFrame.Opcode {
    let number = first & 0x0F
    guard let opcode = WebSocketFrame.Opcode(rawValue: number) else {
      throw WebSocketViolation("a frame has opcode \(number), which is reserved")
    }
    guard first & 0x30 == 0 else {
      let bit = first & 0x20 != 0 ? "RSV2" : "RSV3"
      throw WebSocketViolation("a \(opcode) frame has \(bit) set; no negotiated extension uses \(bit)")
    }
    if first & 0x40 != 0 {
      guard allowsCompression else {
        throw WebSocketViolation("a \(opcode) frame has RSV1 set; compression was not negotiated")
      }
      guard opcode == .text || opcode == .binary else {
        throw WebSocketViolation("a \(opcode) frame has RSV1 set; only the first frame of a message may set it")
      }
    }
    let isFinal = first & 0x80 != 0
    switch opcode {
    case .close, .ping, .pong:
      guard isFinal else {
        throw WebSocketViolation("a \(opcode) frame is fragmented; control frames must be whole")
      }
    case .continuation:
      guard isInsideMessage else {
        throw WebSocketViolation("a continuation frame has no message to continue")
      }
    case .text, .binary:
      guard !isInsideMessage else {
        throw WebSocketViolation("a \(opcode) frame begins inside a fragmented message; a continuation must follow")
      }
    }
    return opcode
  }

  private func length(_ bytes: UnsafeRawBufferPointer, _ short: UInt8) throws(WebSocketViolation) -> UInt64 {
    switch short {
    case 126:
      let length = UInt64(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
      guard length > 125 else {
        throw WebSocketViolation("a frame encodes its length \(length) in 16 bits; it must use 7 bits")
      }
      return length
    case 127:
      let length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
      guard length >> 63 == 0 else {
        throw WebSocketViolation("a frame's 64-bit length has its top bit set; lengths are less than 2^63")
      }
      guard length > 0xFFFF else {
        throw WebSocketViolation("a frame encodes its length \(length) in 64 bits; it must use fewer bits")
      }
      return length
    default: return UInt64(short)
    }
  }
}

package import MartletBase

/// Encodes frames (RFC 6455 §5.2).
///
/// A client masks its payloads with unpredictable keys (RFC 6455 §10.3).
package struct FrameWriter<Keys: RandomNumberGenerator> {
  package let role: WebSocketRole
  private var keys: Keys
  /// The second half of a random number, for the next frame.
  private var spareKey: UInt32?

  package init(_ role: WebSocketRole, keys: Keys) {
    self.role = role
    self.keys = keys
  }

  package mutating func encode(_ frame: WebSocketFrame) -> Data {
    let key = nextKey()
    return frame.payload.withUnsafeBytes {
      FrameCoding.encode(
        frame.opcode, $0, isFinal: frame.isFinal, rsv1: frame.rsv1, rsv2: frame.rsv2, rsv3: frame.rsv3, key: key)
    }
  }

  package mutating func encode(
    _ opcode: WebSocketFrame.Opcode, _ payload: UnsafeRawBufferPointer, isFinal: Bool = true, rsv1: Bool = false
  ) -> Data {
    FrameCoding.encode(opcode, payload, isFinal: isFinal, rsv1: rsv1, key: nextKey())
  }

  package mutating func encode(
    _ opcode: WebSocketFrame.Opcode, _ payload: Data, isFinal: Bool = true, rsv1: Bool = false
  ) -> Data {
    let key = nextKey()
    return payload.withUnsafeBytes { FrameCoding.encode(opcode, $0, isFinal: isFinal, rsv1: rsv1, key: key) }
  }

  /// Encodes a text frame, or the continuation of a text message.
  package mutating func encode(
    _ opcode: WebSocketFrame.Opcode = .text, _ text: String, isFinal: Bool = true, rsv1: Bool = false
  ) -> Data {
    let key = nextKey()
    return FrameCoding.withUTF8(of: text) { FrameCoding.encode(opcode, $0, isFinal: isFinal, rsv1: rsv1, key: key) }
  }

  private mutating func nextKey() -> UInt32? {
    guard role == .client else { return nil }
    if let key = spareKey.take() { return key }
    let number = keys.next()
    spareKey = UInt32(truncatingIfNeeded: number >> 32)
    return UInt32(truncatingIfNeeded: number)
  }
}

extension FrameWriter where Keys == SystemRandomNumberGenerator {
  package init(_ role: WebSocketRole) { self.init(role, keys: SystemRandomNumberGenerator()) }
}

/// The layout of frames (RFC 6455 §5.2).
package enum FrameCoding {
  /// The maximum number of header bytes.
  static let maximumHeader = 14

  /// Encodes a frame with the shortest length; `key` masks the payload.
  package static func encode(
    _ opcode: WebSocketFrame.Opcode, _ payload: UnsafeRawBufferPointer, isFinal: Bool = true, rsv1: Bool = false,
    rsv2: Bool = false, rsv3: Bool = false, key: UInt32? = nil
  ) -> Data {
    let lengthBytes = payload.count < 126 ? 0 : payload.count <= 0xFFFF ? 2 : 8
    let header = 2 + lengthBytes + (key == nil ? 0 : 4)
    var frame = Data(count: header + payload.count)
    frame.withUnsafeMutableBytes { bytes in
      bytes[0] =
        opcode.rawValue | (isFinal ? 0x80 : 0) | (rsv1 ? 0x40 : 0) | (rsv2 ? 0x20 : 0) | (rsv3 ? 0x10 : 0)
      let maskBit: UInt8 = key == nil ? 0 : 0x80
      switch lengthBytes {
      case 0: bytes[1] = maskBit | UInt8(truncatingIfNeeded: payload.count)
      case 2:
        bytes[1] = maskBit | 126
        bytes.storeBytes(of: UInt16(truncatingIfNeeded: payload.count).bigEndian, toByteOffset: 2, as: UInt16.self)
      default:
        bytes[1] = maskBit | 127
        bytes.storeBytes(of: UInt64(payload.count).bigEndian, toByteOffset: 2, as: UInt64.self)
      }
      let target = UnsafeMutableRawBufferPointer(rebasing: bytes[header...])
      guard let key else { return target.copyMemory(from: payload) }
      bytes.storeBytes(of: key.bigEndian, toByteOffset: header - 4, as: UInt32.self)
      FrameMask(key: key).apply(to: payload, into: target)
    }
    return frame
  }

  /// The payload of a close frame (RFC 6455 §5.5.1).
  ///
  /// A reason of more than 123 bytes is truncated after a character. Without a code, the payload is empty.
  package static func closePayload(_ code: WebSocketCloseCode?, reason: String = "") -> Data {
    guard let code else { return Data() }
    var payload = Data([UInt8(truncatingIfNeeded: code.rawValue >> 8), UInt8(truncatingIfNeeded: code.rawValue)])
    let octets = reason.utf8.prefix(WebSocketFrame.maximumControlPayload - 2)
    if octets.endIndex == reason.utf8.endIndex {
      payload.append(contentsOf: octets)
    } else {
      payload.append(contentsOf: Array(octets).withoutPartialCharacter)
    }
    return payload
  }

  /// Calls `body` with the text's UTF-8, which is copied only if the text is not contiguous.
  static func withUTF8<Result>(of text: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    var text = text
    return text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
  }
}

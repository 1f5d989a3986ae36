import Foundation

/// Finds the headers of frames in received bytes, without checking them.
///
/// The records of a ``MockServer`` need the headers of invalid frames as well.
struct FrameScanner {
  /// The bytes of a header that is not complete.
  private var header: [UInt8] = []
  /// The number of payload bytes before the next header.
  private var payload = 0

  /// The headers that the bytes complete.
  mutating func scan(_ bytes: UnsafeRawBufferPointer) -> [RecordedWebSocket.Frame] {
    var frames: [RecordedWebSocket.Frame] = []
    var position = 0
    while position < bytes.count {
      let skipped = min(payload, bytes.count - position)
      position += skipped
      payload -= skipped
      while position < bytes.count, payload == 0 {
        header.append(bytes[position])
        position += 1
        guard let frame = Self.frame(header) else { continue }
        header.removeAll(keepingCapacity: true)
        payload = frame.payloadLength
        frames.append(frame)
      }
    }
    return frames
  }

  /// The frame of a complete header (RFC 6455 §5.2).
  private static func frame(_ header: [UInt8]) -> RecordedWebSocket.Frame? {
    guard header.count >= 2 else { return nil }
    let isMasked = header[1] & 0x80 != 0
    let short = Int(header[1] & 0x7F)
    let lengthBytes = short < 126 ? 0 : short == 126 ? 2 : 8
    guard header.count == 2 + lengthBytes + (isMasked ? 4 : 0) else { return nil }
    let length = lengthBytes == 0 ? UInt64(short) : number(header[2..<(2 + lengthBytes)])
    return RecordedWebSocket.Frame(
      opcode: header[0] & 0x0F, isFinal: header[0] & 0x80 != 0, rsv1: header[0] & 0x40 != 0,
      rsv2: header[0] & 0x20 != 0, rsv3: header[0] & 0x10 != 0,
      maskingKey: isMasked ? UInt32(truncatingIfNeeded: number(header.suffix(4))) : nil,
      payloadLength: Int(clamping: length))
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}

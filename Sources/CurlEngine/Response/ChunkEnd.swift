import MartletBase

/// Finds the end of a chunked body in its raw bytes (RFC 9112 §7.1).
///
/// ```
///   size ──line end──▶ data ──all of it──▶ dataEnd ──line end──▶ size
///    └──── 0 ────▶ trailer ──empty line──▶ ended ──more──▶ leftovers
/// ```
///
/// Rejects malformed sizes, which libcurl accepts in part: `5g` and `5_0` as 5. Malformed chunks have no end.
struct ChunkEnd {
  private enum Part {
    /// The size so far; `nil` before its first digit.
    case size(Int64?)
    /// After the size, blanks may follow, or an extension.
    case sizeEnd(Int64)
    case chunkExtension(Int64)
    /// After the carriage return.
    case lineEnd(Int64)
    /// The number of missing bytes.
    case data(Int64)
    case dataEnd
    case trailer(isEmpty: Bool)
    case ended
    case leftovers
    case broken
  }

  private static let lineFeed: UInt8 = 0x0A
  private static let carriageReturn: UInt8 = 0x0D

  private var part = Part.size(nil)

  var hasEnded: Bool {
    switch part {
    case .ended, .leftovers: true
    default: false
    }
  }

  /// Whether bytes followed the end.
  var hasLeftovers: Bool { if case .leftovers = part { true } else { false } }
  /// Whether a chunk is malformed.
  var isMalformed: Bool { if case .broken = part { true } else { false } }

  enum Kind {
    case data
    case trailers
    case coding
  }

  /// Reads the next bytes; they may be split anywhere.
  mutating func read(_ bytes: UnsafeRawBufferPointer) {
    var start = 0
    while start < bytes.count { start += readNext(UnsafeRawBufferPointer(rebasing: bytes[start...])).count }
  }

  /// Reads the next bytes of one kind; `bytes` must not be empty.
  mutating func readNext(_ bytes: UnsafeRawBufferPointer) -> (count: Int, kind: Kind) {
    switch part {
    case .data(let rest):
      let count = Int(clamping: min(rest, Int64(bytes.count)))
      part = rest == Int64(count) ? .dataEnd : .data(rest - Int64(count))
      return (count, .data)
    case .ended, .leftovers:
      part = .leftovers
      return (bytes.count, .coding)
    case .broken: return (bytes.count, .coding)
    // Most of these bytes change nothing, and a peer can send any number of them.
    case .chunkExtension: return (skip(bytes) { Self.lineEnd(in: $0) }, .coding)
    case .sizeEnd: return (skip(bytes) { $0.firstIndex { $0 != 0x20 && $0 != 0x09 } }, .coding)
    case .trailer(isEmpty: false): return (skip(bytes) { Self.index(of: Self.lineFeed, in: $0) }, .trailers)
    case .trailer:
      part = Self.next(part, bytes[0])
      return (1, .trailers)
    case .size, .lineEnd, .dataEnd:
      part = Self.next(part, bytes[0])
      return (1, .coding)
    }
  }

  /// Skips bytes that change nothing, and reads the first other one; returns their number.
  private mutating func skip(_ bytes: UnsafeRawBufferPointer, to find: (UnsafeRawBufferPointer) -> Int?) -> Int {
    guard let index = find(bytes) else { return bytes.count }
    part = Self.next(part, bytes[index])
    return index + 1
  }

  private static func index(of byte: UInt8, in bytes: UnsafeRawBufferPointer) -> Int? {
    guard let base = bytes.baseAddress, let place = memchr(base, CInt(byte), bytes.count) else { return nil }
    return UnsafeRawPointer(place) - base
  }

  /// The index of the first line feed or carriage return.
  private static func lineEnd(in bytes: UnsafeRawBufferPointer) -> Int? {
    let feed = index(of: lineFeed, in: bytes)
    return index(of: carriageReturn, in: UnsafeRawBufferPointer(rebasing: bytes[..<(feed ?? bytes.count)])) ?? feed
  }

  private static func next(_ part: Part, _ byte: UInt8) -> Part {
    switch part {
    case .size(let size):
      if let digit = hexDigit(byte) {
        size ?? 0 <= Int64.max >> 4 ? .size((size ?? 0) << 4 | digit) : .broken
      } else {
        size.map { afterSize($0, byte) } ?? .broken
      }
    case .sizeEnd(let size): afterSize(size, byte)
    case .chunkExtension(let size): byte == lineFeed || byte == carriageReturn ? afterSize(size, byte) : part
    case .lineEnd(let size): byte == lineFeed ? afterSize(size, byte) : .broken
    case .dataEnd: byte == lineFeed ? .size(nil) : byte == carriageReturn ? .dataEnd : .broken
    case .trailer(let isEmpty) where byte == lineFeed: isEmpty ? .ended : .trailer(isEmpty: true)
    case .trailer(let isEmpty): .trailer(isEmpty: isEmpty && byte == carriageReturn)
    case .data, .ended, .leftovers, .broken: part
    }
  }

  private static func hexDigit(_ byte: UInt8) -> Int64? {
    switch byte {
    case 0x30...0x39: Int64(byte & 0x0F)
    case 0x41...0x46, 0x61...0x66: Int64(byte & 0x0F) + 9
    default: nil
    }
  }

  /// The part after a byte that follows the digits of a size.
  ///
  /// libcurl before 7.88 reads `0x1` as 0.
  private static func afterSize(_ size: Int64, _ byte: UInt8) -> Part {
    switch byte {
    case lineFeed: size == 0 ? .trailer(isEmpty: true) : .data(size)
    case carriageReturn: .lineEnd(size)
    case 0x20, 0x09: .sizeEnd(size)
    case 0x3B: .chunkExtension(size)
    default: .broken
    }
  }
}

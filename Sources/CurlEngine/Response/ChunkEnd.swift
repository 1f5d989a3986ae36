/// Finds the end of a chunked body in its raw bytes (RFC 9112 §7.1).
///
/// ```
///   size ──line end──▶ data ──all of it──▶ dataEnd ──line end──▶ size
///    └──── 0 ────▶ trailer ──empty line──▶ ended
/// ```
///
/// Reports no errors: libcurl decodes the same bytes and fails on malformed ones. A malformed size has no end.
struct ChunkEnd {
  private enum Part {
    /// The size so far, and whether its last digit has come.
    case size(Int64, isRead: Bool)
    /// The number of missing bytes.
    case data(Int64)
    case dataEnd
    case trailer(isEmpty: Bool)
    case ended
    case broken
  }

  private static let lineFeed: UInt8 = 0x0A
  private static let carriageReturn: UInt8 = 0x0D

  private var part = Part.size(0, isRead: false)

  var hasEnded: Bool { if case .ended = part { true } else { false } }

  enum Kind {
    case data
    case trailers
    case coding
  }

  /// Reads the next bytes; they may be split anywhere.
  mutating func read(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    while !rest.isEmpty { rest = rest.dropFirst(readNext(UnsafeRawBufferPointer(rebasing: rest)).count) }
  }

  /// Reads the next bytes of one kind; `bytes` must not be empty.
  mutating func readNext(_ bytes: UnsafeRawBufferPointer) -> (count: Int, kind: Kind) {
    if case .data(let rest) = part {
      let count = Int(clamping: min(rest, Int64(bytes.count)))
      part = rest == Int64(count) ? .dataEnd : .data(rest - Int64(count))
      return (count, .data)
    }
    let kind: Kind = if case .trailer = part { .trailers } else { .coding }
    part = Self.next(part, bytes[0])
    return (1, kind)
  }

  private static func next(_ part: Part, _ byte: UInt8) -> Part {
    switch part {
    case .size(let size, _) where byte == lineFeed: size == 0 ? .trailer(isEmpty: true) : .data(size)
    case .size(let size, isRead: false):
      if let digit = Character(Unicode.Scalar(byte)).hexDigitValue {
        size <= Int64.max >> 4 ? .size(size << 4 | Int64(digit), isRead: false) : .broken
      } else {
        // libcurl before 7.88 takes `0x1` for 0.
        [0x0D, 0x20, 0x09, 0x3B].contains(byte) ? .size(size, isRead: true) : .broken
      }
    case .dataEnd: byte == lineFeed ? .size(0, isRead: false) : .dataEnd
    case .trailer(let isEmpty) where byte == lineFeed: isEmpty ? .ended : .trailer(isEmpty: true)
    case .trailer(let isEmpty): .trailer(isEmpty: isEmpty && byte == carriageReturn)
    case .size, .data, .ended, .broken: part
    }
  }
}

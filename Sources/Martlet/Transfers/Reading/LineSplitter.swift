import MartletBase

/// Splits the bytes of a body into lines, independently of chunk boundaries.
///
/// ```
///   push(piece) ─▶ next, next, … nil ─▶ push(piece) ─▶ … ─▶ finish
/// ```
///
/// A line is returned as soon as its end has arrived: after a CR it does not wait for an LF, which is skipped if it
/// arrives.
struct LineSplitter {
  enum Ends {
    /// LF, CR LF, or a lone CR.
    case any
    /// LF; a CR before it belongs to the end.
    case lineFeed
  }

  private static let lineFeed: UInt8 = 0x0A
  private static let carriageReturn: UInt8 = 0x0D
  /// The byte order mark of UTF-8.
  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
  /// The maximum capacity that is kept after a long line.
  private static let keptCapacity = 64 << 10

  private let ends: Ends
  private let limit: Int
  private var piece = Data()
  private var position = 0
  /// The beginning of a line, from earlier chunks.
  private var partial: [UInt8] = []
  private var skipsLineFeed = false
  private var isFirst = true

  /// Creates a splitter without bytes; `limit` is the maximum number of bytes of a line.
  init(_ ends: Ends, upTo limit: Int) {
    self.ends = ends
    self.limit = limit
  }

  /// Adds bytes, after ``next(_:)`` has returned `nil`.
  mutating func push(_ piece: Data) {
    self.piece = piece
    position = 0
  }

  /// Passes the next line to a closure; returns `nil` if more bytes are needed.
  ///
  /// The line has no line ending, and the first one has no byte order mark.
  mutating func next<R>(_ use: (UnsafeRawBufferPointer) throws -> R) throws -> R? {
    let piece = piece
    return try piece.withUnsafeBytes { bytes in
      guard position < bytes.count else { return nil }
      if skipsLineFeed {
        skipsLineFeed = false
        if bytes[position] == Self.lineFeed { position += 1 }
      }
      let end = lineEnd(in: bytes)
      let part = UnsafeRawBufferPointer(rebasing: bytes[position..<end])
      guard part.count <= limit - partial.count else { throw tooLong }
      guard end < bytes.count else {
        partial.append(contentsOf: part)
        push(Data())
        return nil
      }
      position = end + 1
      skipsLineFeed = bytes[end] == Self.carriageReturn
      if partial.isEmpty { return try use(stripped(part)) }
      partial.append(contentsOf: part)
      return try takePartial(use)
    }
  }

  /// Passes a last line without a line ending to a closure, if there is one.
  mutating func finish<R>(_ use: (UnsafeRawBufferPointer) throws -> R) throws -> R? {
    // A byte order mark alone is not a line.
    if partial.isEmpty || isFirst && partial == Self.mark { return nil }
    return try takePartial(use)
  }

  private mutating func takePartial<R>(_ use: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    let line = partial
    if partial.capacity > Self.keptCapacity { partial = [] }
    partial.removeAll(keepingCapacity: true)
    return try line.withUnsafeBytes { try use(stripped($0)) }
  }

  private func lineEnd(in bytes: UnsafeRawBufferPointer) -> Int {
    var end = position
    switch ends {
    case .any:
      while end < bytes.count, bytes[end] != Self.lineFeed, bytes[end] != Self.carriageReturn { end += 1 }
    case .lineFeed:
      while end < bytes.count, bytes[end] != Self.lineFeed { end += 1 }
    }
    return end
  }

  private mutating func stripped(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var line = line[...]
    if isFirst, line.starts(with: Self.mark) { line = line.dropFirst(3) }
    isFirst = false
    if ends == .lineFeed, line.last == Self.carriageReturn { line = line.dropLast() }
    return UnsafeRawBufferPointer(rebasing: line)
  }

  private var tooLong: HTTPError {
    HTTPError(.bodyTooLarge, "a line is longer than \(limit) bytes", phase: .receiving)
  }
}

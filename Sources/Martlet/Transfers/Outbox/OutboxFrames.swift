import Foundation

/// The format of a journal: each record is in a frame that shows whether it is complete.
///
/// Numbers are little-endian:
///
///      0   8  the magic of a journal
///      8   4  the version, 1
///     12   8  the mark of this journal, made at random
///     20   8  the checksum of the 20 bytes before
///     28      frames:
///                0   8  the mark
///                8   4  the length of the record
///               12   8  the checksum of the mark, the length and the record
///               20      the record
///
/// After damage the next frame is found by its mark. The contents of a record cannot imitate a frame, because their
/// author does not know the mark.
struct OutboxFrames {
  static let headLength: Int64 = 28
  static let frameHead = 20
  /// Larger than any request with its fields and a small body.
  static let maximumRecord = 16 << 20
  private static let magic: UInt64 = 0x0A0D_786F_6274_754F
  private static let version: UInt32 = 1

  let mark: UInt64

  /// The head of a journal.
  var head: [UInt8] {
    var writer = RecordWriter()
    writer.number(Self.magic)
    writer.number(Self.version)
    writer.number(mark)
    writer.number(writer.bytes.withUnsafeBytes { RecordChecksum.of($0) })
    return writer.bytes
  }

  enum Beginning {
    case journal(OutboxFrames)
    /// Written by a newer version.
    case newer(UInt32)
    /// Only the name of the file has reached the disk.
    case empty
    case none
  }

  /// Reads the head of a journal; if it is damaged, finds the mark in the first frame.
  static func beginning(_ file: OpenFile) throws(HTTPError) -> Beginning {
    let bytes = try read(file, at: 0, count: Int(headLength) + 8)
    if bytes.count <= headLength, bytes.allSatisfy({ $0 == 0 }) { return .empty }
    guard bytes.count >= headLength else { return .none }
    let mark: UInt64 = number(bytes, at: 12)
    let checksum = bytes[..<20].withUnsafeBytes { RecordChecksum.of($0) }
    if number(bytes, at: 0) == magic, number(bytes, at: 20) == checksum {
      let version: UInt32 = number(bytes, at: 8)
      return version == Self.version ? .journal(OutboxFrames(mark: mark)) : .newer(version)
    }
    guard bytes.count == Int(headLength) + 8 else { return .none }
    let frames = OutboxFrames(mark: number(bytes, at: Int(headLength)))
    return try frames.frame(file, at: headLength) == nil ? .none : .journal(frames)
  }

  func frame(_ record: [UInt8]) -> [UInt8] {
    var writer = RecordWriter()
    writer.reserve(Self.frameHead + record.count)
    writer.number(mark)
    writer.length(record.count)
    writer.number(checksum(record))
    writer.append(record)
    return writer.bytes
  }

  private func checksum(_ record: [UInt8]) -> UInt64 {
    var sum = RecordChecksum()
    withUnsafeBytes(of: mark.littleEndian) { sum.update($0) }
    withUnsafeBytes(of: UInt32(clamping: record.count).littleEndian) { sum.update($0) }
    record.withUnsafeBytes { sum.update($0) }
    return sum.value
  }

  /// Reads the record at an offset, if it is complete.
  ///
  /// `nil` means a torn or damaged record, which may be cut off. An error only means that it cannot be read now.
  func frame(_ file: OpenFile, at offset: Int64) throws(HTTPError) -> [UInt8]? {
    let head = try Self.read(file, at: offset, count: Self.frameHead)
    guard head.count == Self.frameHead else { return nil }
    let length = Self.length(head)
    guard Self.number(head, at: 0) == mark, length <= Self.maximumRecord else { return nil }
    let record = try Self.read(file, at: offset + Int64(Self.frameHead), count: length)
    return record.count == length && checksum(record) == Self.number(head, at: 12) ? record : nil
  }

  /// Whether the rest of the file is an incomplete frame, which a process did not finish writing.
  func isTorn(_ file: OpenFile, at offset: Int64) throws(HTTPError) -> Bool {
    let head = try Self.read(file, at: offset, count: Self.frameHead)
    let isMarked = withUnsafeBytes(of: mark.littleEndian) { mark in zip(head, mark).allSatisfy { $0 == $1 } }
    guard isMarked, head.count == Self.frameHead else { return isMarked }
    let length = Self.length(head)
    guard length <= Self.maximumRecord else { return false }
    return try Self.read(file, at: offset + Int64(Self.frameHead), count: length).count < length
  }

  /// The offset of the next complete frame after damage, or `nil`.
  func next(_ file: OpenFile, after offset: Int64) throws(HTTPError) -> Int64? {
    let pattern = withUnsafeBytes(of: mark.littleEndian) { Data($0) }
    var place = offset + 1
    while true {
      let block = try Self.read(file, at: place, count: 1 << 20)
      guard block.count >= pattern.count else { return nil }
      let data = Data(block)
      var rest = data[...]
      while let found = rest.range(of: pattern) {
        let candidate = place + Int64(found.lowerBound)
        if try frame(file, at: candidate) != nil { return candidate }
        rest = data[(found.lowerBound + 1)...]
      }
      // A mark may span two blocks.
      place += Int64(block.count - pattern.count + 1)
    }
  }

  /// The length of the record, from the head of its frame.
  private static func length(_ head: [UInt8]) -> Int { Int(number(head, at: 8) as UInt32) }

  /// A number in bytes that are known to contain it.
  private static func number<Number: FixedWidthInteger>(_ bytes: [UInt8], at offset: Int) -> Number {
    Number(littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Number.self) })
  }

  private static func read(_ file: OpenFile, at offset: Int64, count: Int) throws(HTTPError) -> [UInt8] {
    [UInt8](try file.read(at: offset, count: count))
  }
}

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

  init(mark: UInt64) { self.mark = mark }

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
    let found: (Beginning, UInt64?) = bytes.withUnsafeBytes { bytes in
      var reader = RecordReader(bytes)
      guard bytes.count >= headLength, let magic = try? reader.number() as UInt64,
        let version = try? reader.number() as UInt32, let mark = try? reader.number() as UInt64,
        let checksum = try? reader.number() as UInt64
      else { return (.none, nil) }
      let covered = UnsafeRawBufferPointer(rebasing: bytes[..<20])
      guard magic == Self.magic, checksum == RecordChecksum.of(covered) else {
        return (.none, try? reader.number() as UInt64)
      }
      return (version == Self.version ? .journal(OutboxFrames(mark: mark)) : .newer(version), nil)
    }
    guard let mark = found.1 else { return found.0 }
    let frames = OutboxFrames(mark: mark)
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
    let (mark, length, expected): (UInt64, Int, UInt64) = head.withUnsafeBytes {
      (
        UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)),
        Int(UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt32.self))),
        UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: 12, as: UInt64.self))
      )
    }
    guard mark == self.mark, length <= Self.maximumRecord else { return nil }
    let record = try Self.read(file, at: offset + Int64(Self.frameHead), count: length)
    return record.count == length && checksum(record) == expected ? record : nil
  }

  /// Whether the rest of the file is an incomplete frame, which a process did not finish writing.
  func isTorn(_ file: OpenFile, at offset: Int64) throws(HTTPError) -> Bool {
    let head = try Self.read(file, at: offset, count: Self.frameHead)
    let isMarked = head.withUnsafeBytes { head in
      withUnsafeBytes(of: mark.littleEndian) { mark in zip(head, mark).allSatisfy { $0 == $1 } }
    }
    guard isMarked, head.count == Self.frameHead else { return isMarked }
    let length = head.withUnsafeBytes { UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt32.self)) }
    guard length <= Self.maximumRecord else { return false }
    return try Self.read(file, at: offset + Int64(Self.frameHead), count: Int(length)).count < length
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

  private static func read(_ file: OpenFile, at offset: Int64, count: Int) throws(HTTPError) -> [UInt8] {
    [UInt8](try file.read(at: offset, count: count))
  }
}

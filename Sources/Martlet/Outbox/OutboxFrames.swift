import Foundation

/// How records stand in a journal: each in a frame that tells whether it is whole.
///
/// Numbers have their lowest byte first:
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
/// After damage the next frame is found by its mark. What is in a record cannot pass for one: whoever made it does not
/// know the mark.
struct OutboxFrames {
  static let headLength: Int64 = 28
  static let frameHead = 20
  /// More than a request with its fields and a small body can have.
  static let maximumRecord = 16 << 20
  private static let magic: UInt64 = 0x0A0D_786F_6274_754F
  private static let version: UInt32 = 1

  let mark: UInt64

  /// The first bytes of a journal.
  var head: [UInt8] {
    var writer = RecordWriter()
    writer.number(Self.magic)
    writer.number(Self.version)
    writer.number(mark)
    writer.number(writer.bytes.withUnsafeBytes { RecordChecksum.of($0) })
    return writer.bytes
  }

  init(mark: UInt64) { self.mark = mark }

  /// Finds the mark of a journal; in its first frame, if its head is damaged.
  init?(_ descriptor: Int32) {
    guard let bytes = Self.read(descriptor, at: 0, count: Int(Self.headLength) + 8) else { return nil }
    let found: UInt64? = bytes.withUnsafeBytes { bytes in
      var reader = RecordReader(bytes)
      guard bytes.count >= Self.headLength, let magic = try? reader.number() as UInt64,
        let version = try? reader.number() as UInt32, let mark = try? reader.number() as UInt64,
        let checksum = try? reader.number() as UInt64
      else { return nil }
      let covered = UnsafeRawBufferPointer(rebasing: bytes[..<20])
      if magic == Self.magic, version == Self.version, checksum == RecordChecksum.of(covered) { return mark }
      guard let first = try? reader.number() as UInt64 else { return nil }
      return OutboxFrames(mark: first).frame(descriptor, at: Self.headLength) == nil ? nil : first
    }
    guard let found else { return nil }
    mark = found
  }

  /// A record in its frame.
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

  /// The record at a place of a file, if there is a whole one.
  func frame(_ descriptor: Int32, at offset: Int64) -> [UInt8]? {
    guard let head = Self.read(descriptor, at: offset, count: Self.frameHead), head.count == Self.frameHead else {
      return nil
    }
    let (mark, length, expected): (UInt64, Int, UInt64) = head.withUnsafeBytes {
      (
        UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)),
        Int(UInt32(littleEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt32.self))),
        UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: 12, as: UInt64.self))
      )
    }
    guard mark == self.mark, length <= Self.maximumRecord,
      let record = Self.read(descriptor, at: offset + Int64(Self.frameHead), count: length), record.count == length,
      checksum(record) == expected
    else { return nil }
    return record
  }

  /// The place of the next whole frame after damage, if there is one.
  func next(_ descriptor: Int32, after offset: Int64) -> Int64? {
    let pattern = withUnsafeBytes(of: mark.littleEndian) { Data($0) }
    var place = offset + 1
    while let block = Self.read(descriptor, at: place, count: 1 << 20), block.count >= pattern.count {
      let data = Data(block)
      var rest = data[...]
      while let found = rest.range(of: pattern) {
        let candidate = place + Int64(found.lowerBound)
        if frame(descriptor, at: candidate) != nil { return candidate }
        rest = data[(found.lowerBound + 1)...]
      }
      // A mark may stand across two blocks.
      place += Int64(block.count - pattern.count + 1)
    }
    return nil
  }

  private static func read(_ descriptor: Int32, at offset: Int64, count: Int) -> [UInt8]? {
    var isRead = true
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      let done = DiskCalls.fill(UnsafeMutableRawBufferPointer(buffer), from: descriptor, at: offset)
      isRead = done >= 0
      filled = max(0, done)
    }
    return isRead ? bytes : nil
  }
}

import MartletBase

/// The header of a stored record, with lengths and checksums of the rest.
///
/// Numbers are little-endian:
///
///      0   8  the magic
///      8   4  the version, 4
///     12   4  the length of the head
///     16   8  the length of the body
///     24   8  the checksum of the head
///     32   8  the checksum of the body
///     40   8  the number of the file with the body; 0 if the body follows the head
///     48   8  the checksum of the 48 bytes before
///     56      the head, then the body unless it has its own file; nothing after them
struct CacheRecordHeader: Equatable {
  static let length = 56
  /// The maximum length of a head, beyond that of any response; it limits what a damaged length can request.
  static let maximumHeadLength = 16 << 20
  /// The first byte is neither ASCII nor valid UTF-8; the last bytes change if line ends are converted.
  private static let magic: UInt64 = 0x0A0D_6568_6361_4D8A
  /// Records of earlier versions have another head.
  private static let version: UInt32 = 4

  var headLength: Int
  var bodyLength: Int64
  var headChecksum: UInt64
  var bodyChecksum: UInt64
  var bodyFile: UInt64 = 0

  init(head: [UInt8], bodyLength: Int64, bodyChecksum: UInt64, bodyFile: UInt64 = 0) {
    headLength = head.count
    headChecksum = head.withUnsafeBytes { RecordChecksum.of($0) }
    self.bodyLength = bodyLength
    self.bodyChecksum = bodyChecksum
    self.bodyFile = bodyFile
  }

  /// Parses a header from a record's first bytes; `nil` if it is damaged or foreign.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.length else { return nil }
    var reader = RecordReader(UnsafeRawBufferPointer(rebasing: bytes[..<Self.length]))
    do throws(RecordReader.Malformed) {
      guard try reader.number() == Self.magic, try reader.number() == Self.version else { return nil }
      headLength = Int(try reader.number() as UInt32)
      bodyLength = try reader.number()
      headChecksum = try reader.number()
      bodyChecksum = try reader.number()
      bodyFile = try reader.number()
      let checksum: UInt64 = try reader.number()
      let covered = UnsafeRawBufferPointer(rebasing: bytes[..<(Self.length - 8)])
      // The lengths are bounded, so their sum cannot overflow.
      guard checksum == RecordChecksum.of(covered), headLength <= Self.maximumHeadLength,
        (0...Int64.max / 4).contains(bodyLength)
      else { return nil }
    } catch {
      return nil
    }
  }

  /// The length of the header, the head and the body unless that has its own file.
  var recordLength: Int64 { Int64(Self.length + headLength) + (bodyFile == 0 ? bodyLength : 0) }

  /// The encoded header.
  var bytes: [UInt8] {
    var writer = RecordWriter()
    writer.reserve(Self.length + headLength)
    writer.number(Self.magic)
    writer.number(Self.version)
    writer.length(headLength)
    writer.number(bodyLength)
    writer.number(headChecksum)
    writer.number(bodyChecksum)
    writer.number(bodyFile)
    writer.number(writer.bytes.withUnsafeBytes { RecordChecksum.of($0) })
    return writer.bytes
  }
}

import MartletBase

/// A record as it was found on disk.
struct DiskRecord {
  let header: CacheRecordHeader
  let key: CacheKey
  var record: CacheRecord

  /// The size of the first read, which suffices for most complete records.
  private static let firstRead = 16 << 10

  /// Reads a record from an open file, with its body if requested and in the same file; `nil` if it is damaged.
  static func read(
    _ file: DiskDescriptor, size: Int64, needsBody: Bool = true
  ) throws(DiskCalls.Failure) -> DiskRecord? {
    let start = try DiskCalls.read(file.number, at: 0, count: Int(min(size, Int64(firstRead))))
    return try CacheRecordCoding.decode(
      start: start, size: size, maximumBodyLength: DiskStorage.maximumInlineBytes, needsBody: needsBody
    ) { offset, count throws(DiskCalls.Failure) in
      if offset + count <= start.count { return Data(start[offset..<(offset + count)]) }
      return try DiskCalls.read(file.number, at: Int64(offset), count: count)
    }
  }

  /// Reads only the header; `nil` if that fails.
  static func header(_ name: DiskName, in folder: DiskFolder) -> CacheRecordHeader? {
    (try? folder.open(name)).flatMap { header($0) }
  }

  static func header(_ file: DiskDescriptor) -> CacheRecordHeader? {
    let start = try? DiskCalls.read(file.number, at: 0, count: CacheRecordHeader.length)
    return start?.withUnsafeBytes { CacheRecordHeader($0) }
  }
}

import Foundation

enum DiskRecord {
  typealias Found = (header: CacheRecordHeader, key: CacheKey, record: CacheRecord)

  /// The size of the first read, which suffices for most complete records.
  private static let firstRead = 16 << 10

  /// Reads a record from an open file, with its body if requested and in the same file; `nil` if it is damaged.
  static func read(_ descriptor: Int32, size: Int64, needsBody: Bool = true) throws(DiskCalls.Failure) -> Found? {
    try withUnsafeTemporaryAllocation(byteCount: firstRead, alignment: 16) { buffer throws(DiskCalls.Failure) in
      let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(min(size, Int64(firstRead)))])
      let count = DiskCalls.fill(wanted, from: descriptor, at: 0)
      guard count >= 0 else { throw DiskCalls.Failure(code: Int32(-count)) }
      let first = UnsafeRawBufferPointer(rebasing: wanted[..<count])
      return try read(descriptor, size: size, needsBody: needsBody, first: first)
    }
  }

  private static func read(
    _ descriptor: Int32, size: Int64, needsBody: Bool, first: UnsafeRawBufferPointer
  ) throws(DiskCalls.Failure) -> Found? {
    guard let header = CacheRecordHeader(first), header.recordLength == size,
      header.bodyFile != 0 || header.bodyLength <= DiskShelf.maximumInlineBytes
    else { return nil }
    let split = CacheRecordHeader.length + header.headLength
    var decoded: (key: CacheKey, record: CacheRecord)?
    if split <= first.count {
      decoded = CacheRecordCoding.decodeHead(
        UnsafeRawBufferPointer(rebasing: first[CacheRecordHeader.length..<split]), header)
    } else {
      let head = try piece(descriptor, CacheRecordHeader.length, header.headLength, first)
      decoded = head?.withUnsafeBytes { CacheRecordCoding.decodeHead($0, header) }
    }
    guard var decoded else { return nil }
    if needsBody && header.bodyFile == 0 {
      guard let body = try piece(descriptor, split, Int(header.bodyLength), first),
        body.withUnsafeBytes({ RecordChecksum.of($0) }) == header.bodyChecksum
      else { return nil }
      decoded.record.body = .data(body)
    }
    return (header, decoded.key, decoded.record)
  }

  /// Reads bytes of the file, reusing those of the first read; `nil` if the file is too short.
  private static func piece(
    _ descriptor: Int32, _ offset: Int, _ count: Int, _ first: UnsafeRawBufferPointer
  ) throws(DiskCalls.Failure) -> Data? {
    if offset + count <= first.count { return Data(first[offset..<(offset + count)]) }
    guard count > 0 else { return Data() }
    guard let memory = malloc(count) else { throw DiskCalls.Failure(code: ENOMEM) }
    let known = max(0, first.count - offset)
    let buffer = UnsafeMutableRawBufferPointer(start: memory, count: count)
    if known > 0 { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: first[offset...])) }
    let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[known...])
    let got = DiskCalls.fill(rest, from: descriptor, at: Int64(offset + known))
    guard got == rest.count else {
      free(memory)
      if got < 0 { throw DiskCalls.Failure(code: Int32(-got)) }
      return nil
    }
    // `Data` copies small contents and frees the memory at once, so create it after reading.
    return Data(bytesNoCopy: memory, count: count, deallocator: .free)
  }

  /// Reads only the header; `nil` if that fails.
  static func header(_ name: DiskName, in folder: DiskFolder) -> CacheRecordHeader? {
    let number = folder.openFile(name)
    return number >= 0 ? header(DiskDescriptor(number)) : nil
  }

  static func header(_ descriptor: DiskDescriptor) -> CacheRecordHeader? {
    withUnsafeTemporaryAllocation(byteCount: CacheRecordHeader.length, alignment: 16) { buffer in
      guard DiskCalls.fill(buffer, from: descriptor.number, at: 0) == buffer.count else { return nil }
      return CacheRecordHeader(UnsafeRawBufferPointer(buffer))
    }
  }

  /// The checksum of a file; if the file is truncated meanwhile, that of the remaining bytes.
  static func checksum(_ descriptor: Int32, size: Int64) throws(DiskCalls.Failure) -> UInt64 {
    var sum = RecordChecksum()
    var offset: Int64 = 0
    let pieces = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { pieces.deallocate() }
    while offset < size {
      let count = DiskCalls.fill(pieces, from: descriptor, at: offset)
      guard count >= 0 else { throw DiskCalls.Failure(code: Int32(-count)) }
      guard count > 0 else { break }
      sum.update(UnsafeRawBufferPointer(rebasing: pieces[..<count]))
      offset += Int64(count)
    }
    return sum.value
  }
}

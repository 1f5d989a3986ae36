import MartletBase
import Foundation

extension DiskShelf {
  /// A body that is stored.
  private struct Placed {
    /// The bytes that follow the head in the record's file.
    var data = Data()
    var length: Int64
    var checksum: UInt64
    /// The number of the body's file; 0 if it has none.
    var number: UInt64 = 0
  }

  func store(_ record: CacheRecord, _ key: CacheKey) throws {
    let head = CacheRecordCoding.head(record, key)
    guard head.count <= CacheRecordHeader.maximumHeadLength else {
      throw HTTPError(.file, "the head of the response is larger than the store takes")
    }
    let size = Int64(CacheRecordHeader.length + head.count) + record.body.count
    guard size <= limit else { return try remove(key) }
    let name = DiskName(key)
    let folder = try folderMade()
    let old = DiskRecord.header(name, in: folder)?.bodyFile
    let body = try place(record.body, name, in: folder)
    let time = time
    let replaced: UInt64?
    do throws(HTTPError) {
      let header = CacheRecordHeader(
        head: head, bodyLength: body.length, bodyChecksum: body.checksum, bodyFile: body.number)
      replaced = try write(header.bytes + head, body.data, to: name, in: folder, time)
    } catch {
      // Keep a body that the existing record refers to.
      if body.number != 0 && body.number != old { folder.remove(name, body: body.number) }
      throw error
    }
    for number in [old, replaced] {
      if let number, number != 0, number != body.number { folder.remove(name, body: number) }
    }
    state.withLock { $0.index.put(name, DiskIndex.Slot(bytes: size, body: body.number, lastUse: time)) }
    tidy(folder, afterWriting: size)
  }

  private func write(
    _ head: [UInt8], _ body: Data, to name: DiskName, in folder: DiskFolder, _ time: Int64
  ) throws(HTTPError) -> UInt64? {
    let file = try DiskTemporary(in: folder)
    try file.append(head)
    try file.append(body)
    DiskCalls.setTime(time, of: file.descriptor.number)
    return try file.settle(name, isReplacing: true)
  }

  /// Stores a body, so that a record with this name can refer to it.
  private func place(_ body: CachedBody, _ name: DiskName, in folder: DiskFolder) throws(HTTPError) -> Placed {
    switch body {
    case .data(let data) where Int64(data.count) <= Self.maximumInlineBytes:
      return Placed(
        data: data, length: Int64(data.count), checksum: data.withUnsafeBytes { RecordChecksum.of($0) })
    case .data(let data):
      let sink = DiskSink(try DiskTemporary(in: folder))
      try sink.write(data)
      return try place(try sink.finish(), name, in: folder)
    case .file(let own):
      if let number = own.number(for: name, in: folder) {
        return Placed(length: own.count, checksum: own.checksum, number: number)
      }
      // Update the time, so that no scan removes the body before its record exists.
      DiskCalls.setTime(time, of: own.descriptor.number)
      guard let number = try own.settle(name) else { return try place(try copy(own, in: folder), name, in: folder) }
      if let facts = DiskCalls.facts(own.descriptor.number) { remember(number, facts) }
      return Placed(length: own.count, checksum: own.checksum, number: number)
    }
  }

  /// Copies a body that is stored elsewhere, or was removed meanwhile.
  private func copy(_ file: DiskFile, in folder: DiskFolder) throws(HTTPError) -> CachedBody {
    let sink = DiskSink(try DiskTemporary(in: folder))
    var offset: Int64 = 0
    while offset < file.count {
      let piece = try file.read(from: offset, count: 256 << 10)
      try sink.write(piece)
      offset += Int64(piece.count)
    }
    return try sink.finish()
  }

  func makeSink() throws -> DiskSink? { DiskSink(try DiskTemporary(in: folderMade())) }

  // MARK: Removing

  func remove(_ key: CacheKey) throws {
    guard let folder = folderIfThere() else { return }
    let name = DiskName(key)
    let body = DiskRecord.header(name, in: folder)?.bodyFile ?? 0
    let code = folder.remove(name)
    if body != 0 { folder.remove(name, body: body) }
    state.withLock { $0.index.remove(name) }
    guard code == 0 || code == ENOTDIR else { throw folder.error("has a file that cannot be removed", code) }
  }

  func removeAll() throws {
    guard let folder = folderIfThere() else { return }
    var failure: Int32 = 0
    for part in 0..<DiskIndex.partCount {
      guard let inner = folder.openFolder(part) else { continue }
      DiskCalls.eachName(in: inner.number) { name in
        guard DiskName.read(name) != nil else { return }
        let code = DiskCalls.remove(name, in: inner.number)
        if code != 0 { failure = code }
      }
    }
    removeOldTemporaries(folder)
    state.withLock { state in (state.index, state.scan, state.verified) = (DiskIndex(), .none, [:]) }
    guard failure == 0 else { throw folder.error("has files that cannot be removed", failure) }
  }
}

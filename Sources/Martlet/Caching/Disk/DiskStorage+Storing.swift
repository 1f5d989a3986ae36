import MartletBase

extension DiskStorage {
  func store(_ record: CacheRecord, _ key: CacheKey) throws {
    let head = CacheRecordCoding.head(record, key)
    guard head.count <= CacheRecordHeader.maximumHeadLength else {
      throw HTTPError(.fileFailed, "the response head exceeds the cache's limit")
    }
    let size = Int64(CacheRecordHeader.length + head.count) + record.body.count
    guard size <= limit else { return try remove(key) }
    let name = DiskName(key)
    let folder = try folderMade()
    let old = DiskRecord.header(name, in: folder)?.bodyFile
    let header = try place(record.body, head, name, in: folder)
    let time = time
    let replaced: UInt64?
    do throws(HTTPError) {
      let file = try DiskTemporary(in: folder)
      try file.append(header.bytes + head)
      if header.bodyFile == 0, case .data(let data) = record.body { try file.append(data) }
      DiskCalls.setTime(time, of: file.descriptor.number)
      replaced = try file.settle(name, isReplacing: true)
    } catch {
      // Keep a body that the existing record refers to.
      if header.bodyFile != 0 && header.bodyFile != old { folder.remove(name, body: header.bodyFile) }
      throw error
    }
    for number in [old, replaced] {
      if let number, number != 0, number != header.bodyFile { folder.remove(name, body: number) }
    }
    state.withLock { $0.index.put(name, DiskIndex.Slot(bytes: size, body: header.bodyFile, lastUse: time)) }
    tidy(folder, afterWriting: size)
  }

  /// Stores a large body in its own file, and returns the header of the record that will refer to it.
  private func place(
    _ body: CachedBody, _ head: [UInt8], _ name: DiskName, in folder: DiskFolder
  ) throws(HTTPError) -> CacheRecordHeader {
    switch body {
    case .data(let data) where body.count <= Self.maximumInlineBytes:
      return CacheRecordHeader(
        head: head, bodyLength: body.count, bodyChecksum: data.withUnsafeBytes { RecordChecksum.of($0) })
    case .data: break
    case .file(let file):
      let isNew = !file.isStored
      guard let number = try file.settle(name, in: folder, at: time) else { break }
      if isNew, let facts = DiskCalls.facts(file.descriptor.number) { state.withLock { $0.verified[number] = facts } }
      return CacheRecordHeader(head: head, bodyLength: file.count, bodyChecksum: file.checksum, bodyFile: number)
    }
    // Copy a body that is in memory, belongs to another record, or was removed in the meantime.
    var sink = DiskSink(try DiskTemporary(in: folder))
    var offset: Int64 = 0
    while offset < body.count {
      let piece = try body.piece(from: offset, upTo: body.count)
      try sink.write(piece)
      offset += Int64(piece.count)
    }
    return try place(sink.finish(), head, name, in: folder)
  }

  func makeSink() throws -> DiskSink? { DiskSink(try DiskTemporary(in: folderMade())) }

  // MARK: Removing

  func remove(_ key: CacheKey) throws {
    guard let folder = folderIfThere() else { return }
    let name = DiskName(key)
    let code = drop(name, DiskRecord.header(name, in: folder)?.bodyFile ?? 0, in: folder)
    guard code == 0 || code == ENOTDIR else { throw folder.error("has a file that cannot be removed", code) }
  }

  func removeAll() throws {
    guard let folder = folderIfThere() else { return }
    var failure: Int32 = 0
    for part in 0..<DiskIndex.partCount {
      folder.eachFile(in: part) { file, inner, _, _ in
        let code = DiskCalls.remove(file, in: inner)
        if code != 0 { failure = code }
      }
    }
    removeOldTemporaries(folder)
    state.withLock { state in (state.index, state.isScanned) = (DiskIndex(), false) }
    guard failure == 0 else { throw folder.error("has files that cannot be removed", failure) }
  }
}

import MartletBase

extension DiskStorage {
  /// The microseconds since its last write after which an unfinished file counts as abandoned by a killed process.
  static let temporaryLifetime: Int64 = 3600 * 1_000_000
  /// The microseconds since its last write after which a body without a record is removed.
  ///
  /// A body's record is written immediately after it.
  static let orphanLifetime: Int64 = 60 * 1_000_000

  /// Rescans subfolders and evicts records, after a record was stored.
  func tidy(_ folder: DiskFolder, afterWriting bytes: Int64) {
    let due: [Int]? = state.withLock { state in
      state.index.recordWrite(bytes)
      guard !state.isTidying else { return nil }
      state.isTidying = true
      return state.isScanned ? state.index.partsDue(limit: limit) : Array(0..<DiskIndex.partCount)
    }
    guard let due else { return }
    scan(due, of: folder)
    evict(folder)
    state.withLock { state in
      state.isTidying = false
      // The folder may have been replaced in the meantime.
      if due.count == DiskIndex.partCount, state.folder === folder { state.isScanned = true }
    }
  }

  /// Evicts the least recently used records until the limit is met.
  private func evict(_ folder: DiskFolder) {
    // Records that another process has used are skipped, so one pass may not suffice.
    for _ in 0..<4 {
      let time = time
      // The copy of the index is released before the removals, which would otherwise copy its storage.
      let victims = state.withLock { $0.index }.victims(limit: limit)
      if victims.isEmpty { return }
      for (name, slot) in victims {
        if let facts = folder.facts(name), facts.time > slot.lastUse, facts.time <= time + Self.orphanLifetime {
          state.withLock { $0.index.touch(name, at: facts.time) }
          continue
        }
        // Another process may have replaced the body.
        let body = DiskRecord.header(name, in: folder)?.bodyFile ?? 0
        drop(name, body, in: folder)
        if slot.body != 0, slot.body != body { folder.remove(name, body: slot.body) }
      }
    }
  }

  func scan(_ parts: [Int], of folder: DiskFolder) {
    for part in parts {
      if part == 0 { removeOldTemporaries(folder) }
      let start = state.withLock { $0.index.changes }
      let found = slots(part, of: folder)
      state.withLock { $0.index.replace(part: part, with: found, since: start) }
    }
  }

  /// Scans a subfolder, and removes invalid files.
  private func slots(_ part: Int, of folder: DiskFolder) -> [DiskName: DiskIndex.Slot] {
    let time = time
    var slots: [DiskName: DiskIndex.Slot] = [:]
    var bodies: [(name: DiskName, number: UInt64, facts: DiskFacts)] = []
    folder.eachFile(in: part) { file, inner, name, body in
      guard let facts = DiskCalls.facts(file, in: inner) else { return }
      if !facts.isFile || !facts.isOwn || name.folder != part || body == nil && facts.size < CacheRecordHeader.length {
        DiskCalls.remove(file, in: inner)
      } else if let body {
        bodies.append((name, body, facts))
      } else {
        slots[name] = DiskIndex.Slot(bytes: bounded(facts), lastUse: min(facts.time, time))
      }
    }
    for body in bodies {
      if slots[body.name] != nil, DiskRecord.header(body.name, in: folder)?.bodyFile == body.number {
        slots[body.name]?.bytes += bounded(body.facts)
        slots[body.name]?.body = body.number
      } else if abs(time - body.facts.time) > Self.orphanLifetime {
        folder.remove(body.name, body: body.number)
      }
    }
    return slots
  }

  /// The size of a file, limited because sums must not overflow.
  private func bounded(_ facts: DiskFacts) -> Int64 { min(facts.size, 1 << 40) }

  /// Removes unfinished files of killed processes.
  func removeOldTemporaries(_ folder: DiskFolder) {
    let time = time
    DiskCalls.eachName(in: folder.number) { name in
      guard DiskName.isTemporary(name), let facts = DiskCalls.facts(name, in: folder.number),
        !facts.isFile || abs(time - facts.time) > Self.temporaryLifetime
      else { return }
      DiskCalls.remove(name, in: folder.number)
    }
  }

  // MARK: Contents

  func usage() -> (bytes: Int64, records: Int) {
    guard let folder = folderIfThere(), folder.isInPlace else { return (0, 0) }
    scan(Array(0..<DiskIndex.partCount), of: folder)
    return state.withLock { ($0.index.bytes, $0.index.count) }
  }

  func contents() -> [(key: CacheKey, record: CacheRecord)] {
    guard let folder = folderIfThere() else { return [] }
    var all: [(key: CacheKey, record: CacheRecord)] = []
    for part in 0..<DiskIndex.partCount {
      folder.eachFile(in: part) { _, _, name, body in
        guard body == nil, let (file, facts) = try? open(name, in: folder),
          let found = try? DiskRecord.read(file, size: facts.size, needsBody: false), DiskName(found.key) == name
        else { return }
        all.append((found.key, found.record))
      }
    }
    return all
  }
}

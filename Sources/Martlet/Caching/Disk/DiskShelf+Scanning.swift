import MartletBase
import Foundation

extension DiskShelf {
  /// The microseconds since its last write after which an unfinished file counts as abandoned by a killed process.
  static let temporaryLifetime: Int64 = 3600 * 1_000_000
  /// The microseconds since its last write after which a body without a record is removed.
  ///
  /// A body's record is written immediately after it.
  static let orphanLifetime: Int64 = 60 * 1_000_000

  /// Rescans subfolders and evicts records, after a record was stored.
  func tidy(_ folder: DiskFolder, afterWriting bytes: Int64) {
    let (isFirst, due) = state.withLock { state -> (Bool, [Int]) in
      switch state.scan {
      case .running: return (false, [])
      case .none:
        state.scan = .running
        return (true, Array(0..<DiskIndex.partCount))
      case .done: return (false, state.index.partsDue(afterWriting: bytes, limit: limit))
      }
    }
    scan(due, of: folder)
    let mayEvict = state.withLock { state in
      if isFirst { state.scan = .done }
      guard state.scan == .done, !state.isEvicting, state.index.bytes > limit else { return false }
      state.isEvicting = true
      return true
    }
    guard mayEvict else { return }
    evict(folder)
    state.withLock { $0.isEvicting = false }
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
        let facts = folder.facts(name)
        if let facts, facts.time > slot.lastUse, facts.time <= time + Self.orphanLifetime {
          state.withLock { $0.index.touch(name, at: facts.time) }
          continue
        }
        // Another process may have replaced the body.
        let body = facts == nil ? nil : DiskRecord.header(name, in: folder)?.bodyFile
        if facts != nil { folder.remove(name) }
        if let body, body != 0, body != slot.body { folder.remove(name, body: body) }
        if slot.body != 0 { folder.remove(name, body: slot.body) }
        state.withLock { $0.index.remove(name) }
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
    guard let inner = folder.openFolder(part) else { return [:] }
    let time = time
    var slots: [DiskName: DiskIndex.Slot] = [:]
    var bodies: [(name: DiskName, number: UInt64, facts: DiskFacts)] = []
    DiskCalls.eachName(in: inner.number) { text in
      // Leave files with foreign names alone.
      guard let (name, body) = DiskName.read(text), let facts = DiskCalls.facts(text, in: inner.number) else { return }
      guard facts.isFile, facts.isOwn, name.folder == part, body != nil || facts.size >= CacheRecordHeader.length else {
        DiskCalls.remove(text, in: inner.number)
        return
      }
      if let body {
        bodies.append((name, body, facts))
      } else {
        slots[name] = DiskIndex.Slot(bytes: facts.size, lastUse: min(facts.time, time))
      }
    }
    for body in bodies {
      if slots[body.name] != nil, DiskRecord.header(body.name, in: folder)?.bodyFile == body.number {
        slots[body.name]?.bytes += body.facts.size
        slots[body.name]?.body = body.number
      } else if abs(time - body.facts.time) > Self.orphanLifetime {
        folder.remove(body.name, body: body.number)
      }
    }
    return slots
  }

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

  // MARK: What is there

  func usage() -> (bytes: Int64, records: Int) {
    guard let folder = folderIfThere(), folder.isInPlace else { return (0, 0) }
    scan(Array(0..<DiskIndex.partCount), of: folder)
    return state.withLock { ($0.index.bytes, $0.index.count) }
  }

  func contents() -> [(key: CacheKey, record: CacheRecord)] {
    guard let folder = folderIfThere() else { return [] }
    var all: [(key: CacheKey, record: CacheRecord)] = []
    for part in 0..<DiskIndex.partCount {
      guard let inner = folder.openFolder(part) else { continue }
      DiskCalls.eachName(in: inner.number) { text in
        guard let (name, body) = DiskName.read(text), body == nil else { return }
        let number = folder.openFile(name)
        guard number >= 0 else { return }
        let descriptor = DiskDescriptor(number)
        guard let facts = DiskCalls.facts(number), facts.isFile, facts.isOwn,
          let found = try? DiskRecord.read(descriptor.number, size: facts.size, needsBody: false),
          DiskName(found.key) == name
        else { return }
        all.append((found.key, found.record))
      }
    }
    return all
  }
}

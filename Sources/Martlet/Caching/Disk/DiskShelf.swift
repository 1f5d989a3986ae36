import MartletBase
import Foundation

/// Records on disk, one file each, with eviction of the least recently used.
///
/// ``DiskName`` describes the folder and ``CacheRecordHeader`` a file. A file is written under a temporary name and
/// renamed, so that it is replaced atomically, even if the process ends. Files are not synced: after a crash of the
/// machine, the checksums detect damage, and the response is requested again. An invalid file counts as absent and is
/// removed.
///
/// Several processes may share the folder without a lock. The name of a file derives from the key, so a lookup goes to
/// the disk. The index in memory has only sizes and times of use, for eviction; ``DiskIndex`` describes how it follows
/// the changes of other processes. The time of last use is the file's modification time, updated only every few
/// minutes.
final class DiskShelf: CacheShelf {
  struct State {
    var folder: DiskFolder?
    var index = DiskIndex()
    var scan = Scan.none
    var isEvicting = false
    /// The bodies whose checksums were verified, with their files' facts at that time.
    var verified: [UInt64: DiskFacts] = [:]
  }

  /// The state of the first full scan.
  enum Scan { case none, running, done }

  /// The maximum size of a body in the record's file; larger bodies have their own file.
  static let maximumInlineBytes: Int64 = 1 << 20
  /// The microseconds after which another use is recorded on disk.
  private static let touchInterval: Int64 = 600 * 1_000_000

  let path: String
  let limit: Int64
  let now: @Sendable () -> Date
  let state = Locked(State())

  /// Creates a shelf without accessing the disk.
  ///
  /// A relative path is resolved against the current working directory.
  init(path: String, limit: Int64, now: @escaping @Sendable () -> Date = { Date() }) {
    self.path = DiskFolder.path(URL(filePath: path))
    self.limit = min(max(0, limit), 1 << 50)
    self.now = now
  }

  /// A quarter of the limit, so that one large body does not evict everything else.
  var maximumBodyBytes: Int64 { limit / 4 }

  /// Whether the folder does not exist; in an existing one, other processes may store records at any time.
  var isSurelyEmpty: Bool { state.withLock { $0.folder == nil } && DiskFolder.isAbsent(path) }

  var time: Int64 { DiskCalls.microseconds(now()) }

  // MARK: Lookup

  func record(_ key: CacheKey) throws -> CacheRecord? {
    guard let folder = folderIfThere() else { return nil }
    let name = DiskName(key)
    var missing: UInt64 = 0
    while let (header, record) = try read(name, key, in: folder) {
      guard header.bodyFile != 0 else { return record }
      switch try body(name, header, in: folder) {
      case .whole(let file):
        var record = record
        record.body = .file(file)
        return record
      case .damaged:
        drop(name, header, in: folder)
        return nil
      case .absent:
        // Another process may have replaced the record in the meantime.
        if missing == header.bodyFile {
          drop(name, header, in: folder)
          return nil
        }
        missing = header.bodyFile
      }
    }
    return nil
  }

  private func read(
    _ name: DiskName, _ key: CacheKey, in folder: DiskFolder
  ) throws(HTTPError) -> (CacheRecordHeader, CacheRecord)? {
    guard let descriptor = try open(name, in: folder) else { return nil }
    let time = time
    guard let facts = DiskCalls.facts(descriptor.number), facts.isFile, facts.isOwn else {
      drop(name, nil, in: folder)
      return nil
    }
    do throws(DiskCalls.Failure) {
      guard let found = try DiskRecord.read(descriptor.number, size: facts.size),
        found.key.url.utf8.elementsEqual(key.url.utf8), found.key.detail.utf8.elementsEqual(key.detail.utf8)
      else {
        drop(name, nil, in: folder)
        return nil
      }
      // A time in the future comes from a wrong clock, and is updated, too.
      if abs(time - facts.time) > Self.touchInterval { DiskCalls.setTime(time, of: descriptor.number) }
      state.withLock { $0.index.touch(name, at: time) }
      return (found.header, found.record)
    } catch {
      throw folder.error("has a file that cannot be read", error.code)
    }
  }

  private func open(_ name: DiskName, body: UInt64? = nil, in folder: DiskFolder) throws(HTTPError) -> DiskDescriptor? {
    let number = folder.openFile(name, body: body)
    if number >= 0 { return DiskDescriptor(number) }
    switch -number {
    case ENOENT, ENOTDIR: return nil
    case ELOOP, EACCES, EPERM, ENXIO, EISDIR, EMLINK:
      drop(name, nil, in: folder)
      if let body { folder.remove(name, body: body) }
      return nil
    case let code: throw folder.error("has a file that cannot be opened", code)
    }
  }

  private enum Body {
    case whole(DiskFile)
    case absent
    case damaged
  }

  private func body(_ name: DiskName, _ header: CacheRecordHeader, in folder: DiskFolder) throws(HTTPError) -> Body {
    guard let descriptor = try open(name, body: header.bodyFile, in: folder) else { return .absent }
    guard let facts = DiskCalls.facts(descriptor.number), facts.isFile, facts.isOwn, facts.size == header.bodyLength
    else { return .damaged }
    if state.withLock({ $0.verified[header.bodyFile] }) != facts {
      do throws(DiskCalls.Failure) {
        guard try DiskRecord.checksum(descriptor.number, size: facts.size) == header.bodyChecksum else {
          return .damaged
        }
      } catch {
        throw folder.error("has a file that cannot be read", error.code)
      }
      remember(header.bodyFile, facts)
    }
    return .whole(
      DiskFile(
        descriptor, count: header.bodyLength, checksum: header.bodyChecksum,
        home: DiskFile.Home(name: name, number: header.bodyFile, folder: folder.path)))
  }

  /// Records that a body is valid while the facts of its file stay the same.
  func remember(_ body: UInt64, _ facts: DiskFacts) {
    state.withLock { state in
      // Verifying some bodies again is better than an unbounded table.
      if state.verified.count >= 4096 { state.verified = [:] }
      state.verified[body] = facts
    }
  }

  /// Removes an invalid record.
  private func drop(_ name: DiskName, _ header: CacheRecordHeader?, in folder: DiskFolder) {
    folder.remove(name)
    if let body = header?.bodyFile, body != 0 { folder.remove(name, body: body) }
    state.withLock { $0.index.remove(name) }
  }

  // MARK: The folder

  /// The folder, if it exists and is usable; for a lookup, an unusable folder is a miss.
  func folderIfThere() -> DiskFolder? {
    if let folder = state.withLock({ $0.folder }) { return folder }
    guard let opened = try? DiskFolder.open(path) else { return nil }
    return state.withLock { state in
      if let folder = state.folder { return folder }
      state.folder = opened
      return opened
    }
  }

  /// The folder, created if it is missing or was moved away.
  func folderMade() throws(HTTPError) -> DiskFolder {
    let known = state.withLock { $0.folder }
    if let known, known.isInPlace { return known }
    var opened = try DiskFolder.open(path)
    if opened == nil {
      try DiskFolder.make(path)
      opened = try DiskFolder.open(path)
    }
    guard let opened else { throw PrivateFile.error("cannot be made", path, ENOENT) }
    state.withLock { state in
      state.folder = opened
      if known != nil { (state.index, state.scan) = (DiskIndex(), .none) }
    }
    return opened
  }
}

import MartletBase

/// Records on disk, one file each, with eviction of the least recently used.
///
/// ``DiskName`` describes the folder and ``CacheRecordHeader`` a file. A file is written under a temporary name and
/// renamed, so it is replaced atomically, even if the process ends. Files are not synced: after a crash of the
/// machine, the checksums detect damage, and the response is requested again. An invalid file counts as absent and is
/// removed.
///
/// Several processes may share the folder without a lock. The name of a file derives from the key, so a lookup goes to
/// the disk. The index in memory has only sizes and times of use, for eviction; ``DiskIndex`` describes how it follows
/// the changes of other processes. The time of last use is the file's modification time, updated only every few
/// minutes.
final class DiskStorage: CacheStorage {
  struct State: ~Copyable {
    var folder: DiskFolder?
    var index = DiskIndex()
    /// Whether the index has the result of a full scan.
    var isScanned = false
    var isTidying = false
    /// The bodies whose checksums were verified, with their files' facts at that time.
    ///
    /// Verifying some bodies again is better than an unbounded table.
    var verified = RecentTable<UInt64, DiskFacts>(limit: 4096)
  }

  /// The maximum size of a body in the record's file; larger bodies have their own file.
  static let maximumInlineBytes: Int64 = 1 << 20
  /// The microseconds after which another use is recorded on disk.
  private static let touchInterval: Int64 = 600 * 1_000_000

  let path: String
  let limit: Int64
  let now: @Sendable () -> Date
  let state = Locked(State())

  /// Creates a storage without accessing the disk.
  ///
  /// A relative path is resolved against the current working directory.
  init(path: String, limit: Int64, now: @escaping @Sendable () -> Date = { Date() }) {
    self.path = DiskFolder.path(URL(filePath: path))
    self.limit = min(max(0, limit), 1 << 50)
    self.now = now
  }

  /// A quarter of the limit, so one large body does not evict everything else.
  var maximumBodyBytes: Int64 { limit / 4 }

  /// Whether the folder does not exist; in an existing one, other processes may store records at any time.
  var isSurelyEmpty: Bool { state.withLock { $0.folder == nil } && DiskFolder.isAbsent(path) }

  var time: Int64 { DiskCalls.microseconds(now()) }

  // MARK: Lookup

  func record(_ key: CacheKey) throws -> CacheRecord? {
    guard let folder = folderIfThere() else { return nil }
    let name = DiskName(key)
    var missing: UInt64 = 0
    while var found = try read(name, key, in: folder) {
      let number = found.header.bodyFile
      guard number != 0 else { return found.record }
      if let file = try body(name, found.header, in: folder) {
        found.record.body = .file(file)
        return found.record
      }
      // Another process may have replaced the record in the meantime.
      if missing == number {
        drop(name, number, in: folder)
        return nil
      }
      missing = number
    }
    return nil
  }

  private func read(_ name: DiskName, _ key: CacheKey, in folder: DiskFolder) throws(HTTPError) -> DiskRecord? {
    guard let (file, facts) = try open(name, in: folder) else { return nil }
    let time = time
    do throws(DiskCalls.Failure) {
      guard let found = try DiskRecord.read(file, size: facts.size),
        found.key.url.utf8.elementsEqual(key.url.utf8), found.key.detail.utf8.elementsEqual(key.detail.utf8)
      else {
        drop(name, in: folder)
        return nil
      }
      // A time in the future comes from a wrong clock, and is also updated.
      if abs(time - facts.time) > Self.touchInterval { DiskCalls.setTime(time, of: file.number) }
      state.withLock { $0.index.touch(name, at: time) }
      return found
    } catch {
      throw folder.error("has a file that cannot be read", error.code)
    }
  }

  /// The body in its own file; `nil` if it is absent or damaged.
  private func body(
    _ name: DiskName, _ header: CacheRecordHeader, in folder: DiskFolder
  ) throws(HTTPError) -> DiskFile? {
    guard let (descriptor, facts) = try open(name, body: header.bodyFile, in: folder), facts.size == header.bodyLength
    else { return nil }
    let file = DiskFile(
      descriptor, count: header.bodyLength, checksum: header.bodyChecksum,
      home: (name, header.bodyFile, folder.path))
    if state.withLock({ $0.verified[header.bodyFile] }) != facts {
      guard try file.isIntact() else { return nil }
      state.withLock { $0.verified[header.bodyFile] = facts }
    }
    return file
  }

  /// Opens one of a record's files; `nil` if it is absent, or if its name belongs to something else, which is removed.
  func open(
    _ name: DiskName, body: UInt64? = nil, in folder: DiskFolder
  ) throws(HTTPError) -> (DiskDescriptor, DiskFacts)? {
    do throws(DiskCalls.Failure) {
      let file = try folder.open(name, body: body)
      if let facts = DiskCalls.facts(file.number), facts.isFile, facts.isOwn { return (file, facts) }
    } catch {
      switch error.code {
      case ENOENT, ENOTDIR: return nil
      case ELOOP, EACCES, EPERM, ENXIO, EISDIR, EMLINK: break
      case let code: throw folder.error("has a file that cannot be opened", code)
      }
    }
    drop(name, body ?? 0, in: folder)
    return nil
  }

  /// Removes a record, and its body if it has its own file; returns 0 or the error number.
  @discardableResult
  func drop(_ name: DiskName, _ body: UInt64 = 0, in folder: DiskFolder) -> Int32 {
    let code = folder.remove(name)
    if body != 0 { folder.remove(name, body: body) }
    state.withLock { $0.index.remove(name) }
    return code
  }

  // MARK: The folder

  /// The folder, if it exists and is usable; for a lookup, an unusable folder is a miss.
  func folderIfThere() -> DiskFolder? {
    if let folder = state.withLock({ $0.folder }) { return folder }
    guard let opened = try? DiskFolder.open(path) else { return nil }
    return state.withLock { state in
      state.folder = state.folder ?? opened
      return state.folder
    }
  }

  /// The folder, created if it is missing or was moved away.
  func folderMade() throws(HTTPError) -> DiskFolder {
    let known = state.withLock { $0.folder }
    if let known, known.isInPlace { return known }
    try DiskFolder.make(path)
    guard let opened = try DiskFolder.open(path) else { throw PrivateFile.error("cannot be created", path, ENOENT) }
    state.withLock { state in
      state.folder = opened
      if known != nil { (state.index, state.isScanned) = (DiskIndex(), false) }
    }
    return opened
  }
}

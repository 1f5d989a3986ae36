import MartletBase

/// The bytes of an unfinished download, with their record in a second file.
///
/// ```
///   open ─▶ locked, with the bytes that are reliable
///   start ─▶ emptied, then the record of a new version is written, then its bytes
///   write, save, sync ─▶ the record never lists bytes that do not exist
///   finish ─▶ synced, renamed to the destination, the record removed
/// ```
///
/// The lock is a system lock on the open file: the end of its process releases it, however the process ends.
final class PartFile: Sendable {
  private struct State: ~Copyable {
    var record: PartRecord
    var unsaved: Int64 = 0
    var unsynced: Int64 = 0
    var lastSave = ContinuousClock.now
    /// Whether the bytes are those of a cache file, of which there is a hard link.
    var isLinked = false

    /// Whether more bytes are unsaved than may be lost, unless the file size shows them.
    var isSaveDue: Bool {
      guard !record.isSequential, unsaved >= 1 << 20 else { return false }
      return unsaved >= 16 << 20 || ContinuousClock.now - lastSave >= .milliseconds(20)
    }
  }

  let path: String
  let recordPath: String
  /// Locked while bytes are written; `nil` after closing, which does not wait for other users of the open file.
  private let file: Locked<OpenFile?>
  private let state: Locked<State>

  private init(_ path: String, _ file: OpenFile, _ record: PartRecord) {
    self.path = path
    recordPath = Self.recordPath(of: path)
    self.file = Locked(file)
    state = Locked(State(record: record))
  }

  /// A second name of a cache file, until it gets its final name.
  private var linkPath: String { path + ".link" }

  deinit { close() }

  static func recordPath(of path: String) -> String { path + ".json" }

  /// Opens or creates a part file, and locks it.
  ///
  /// Existing bytes are reused if `resume` allows that and they belong to the same partition. Throws if the file is in
  /// use, or is not the beginning of this download.
  static func open(
    _ path: String, url: String, partition: String = "", resume: DownloadOptions.Resume
  ) async throws -> PartFile {
    // In a folder that all users may write to, files of others could be neither trusted nor replaced.
    for name in [recordPath(of: path), recordPath(of: path) + ".new"] {
      if let refusal = PrivateFile.refusal(name) { throw refusal }
    }
    // A cancelled download releases its file shortly after its caller is notified.
    let end = ContinuousClock.now + patience
    var locked = try lock(path)
    while locked == nil, ContinuousClock.now < end {
      try await Task.sleep(for: .milliseconds(5))
      locked = try lock(path)
    }
    guard let locked else {
      throw HTTPError(.downloadInProgress, "\(DiskCalls.shown(path)) is already being downloaded")
    }
    let size = locked.facts?.size ?? 0
    var record = PartRecord(url: url, partition: partition)
    if let found = try kept(path, size, url, resume), found.partition == partition {
      record = found
      record.written = found.reliable(size: size, boot: BootID.current)
      record.synced = found.synced.cut(at: record.written.isEmpty ? 0 : size)
      if found.url != url { record.isFromOtherURL = true }
      record.url = url
    }
    locked.setMode(0o600)
    record.boot = BootID.current
    let file = PartFile(path, locked, record)
    if record.written.isEmpty {
      try locked.cut(at: 0)
    } else {
      // The file size shows how many bytes there are.
      if record.isSequential { try locked.cut(at: record.written.prefix) }
      try file.save()
    }
    return file
  }

  /// The record of a part file, or `nil` if its bytes must not be used.
  private static func kept(
    _ path: String, _ size: Int64, _ url: String, _ resume: DownloadOptions.Resume
  ) throws(HTTPError) -> PartRecord? {
    guard resume != .never, size > 0 else { return nil }
    let name = DiskCalls.shown(path)
    switch try PartRecord.read(recordPath(of: path)) {
    case .missing:
      throw HTTPError(
        .fileFailed, "\(name) exists, but is not a partial download: remove it, or use resume: .never")
    // The bytes are useless, and they belong to a download, so drop them.
    case .damaged: return nil
    case .found(let record):
      guard record.url == url || resume == .fromAnyURL else {
        throw HTTPError(
          .fileFailed, "\(name) is a partial download of another URL: remove it, or use resume: .never or .fromAnyURL")
      }
      return record
    }
  }

  /// The maximum wait for a lock that is held elsewhere.
  private static let patience = Duration.seconds(1)

  /// Opens and locks the file; `nil` if the lock is held elsewhere.
  private static func lock(_ path: String) throws(HTTPError) -> OpenFile? {
    // The previous holder may have finished and renamed the file, which is then no longer a part file.
    for _ in 0..<16 {
      let (opened, isNew) = DiskCalls.openPart(path)
      guard let file = opened else {
        let code = errno
        if code == EEXIST { continue }
        throw PrivateFile.refusal(path) ?? PrivateFile.error("cannot be opened", path, code)
      }
      let facts = try file.check(isNew: isNew)
      let code = file.lock()
      if code == EWOULDBLOCK { return nil }
      guard code == 0 else { throw PrivateFile.error("cannot be locked", path, code) }
      if file.isInPlace {
        guard !isNew, facts.isOpenToAll || facts.hasOtherNames else { return file }
        // The file may contain bytes of any user, or have another link, or be a finished one whose download was killed
        // before this name was removed. Removed only under the lock: without it, the file may be another download's.
        withExtendedLifetime(file) { _ = unlink(path) }
      }
    }
    throw HTTPError(.fileFailed, "\(DiskCalls.shown(path)) keeps being replaced; another process may be writing it")
  }

  // MARK: Contents

  var record: PartRecord { state.withLock { $0.record } }

  func change(_ change: (inout PartRecord) -> Void) { state.withLock { change(&$0.record) } }

  /// Starts a new version: the old bytes are gone before the record describes it.
  func start(_ change: (inout PartRecord) -> Void) throws(HTTPError) {
    try opened().cut(at: 0)
    state.withLock {
      $0.record.written = ByteSpans()
      $0.record.synced = ByteSpans()
      $0.record.isSequential = true
      $0.record.isRejected = false
      $0.unsaved = 0
      $0.unsynced = 0
      change(&$0.record)
    }
    try save()
  }

  private func opened() throws(HTTPError) -> OpenFile {
    guard let file = file.withLock({ $0 }) else { throw PrivateFile.error("cannot be used", path, ECANCELED) }
    return file
  }

  /// Writes bytes at an offset; returns how many bytes exist now, and how many are expected.
  func write(_ piece: Data, at offset: Int64) throws(HTTPError) -> (received: Int64, expected: Int64?) {
    // One write at a time: a write that leaves a gap records that before another one follows.
    try file.withLock { file throws(HTTPError) in
      guard let file else { throw PrivateFile.error("cannot be written", path, ECANCELED) }
      let leavesGap = state.withLock { state in
        guard state.record.isSequential, offset != state.record.written.prefix else { return false }
        state.record.isSequential = false
        return true
      }
      if leavesGap { try putRecord() }
      // A partial write counts as not written.
      try file.put(piece, at: offset)
      let (isSaveDue, progress) = state.withLock { state in
        state.record.written.insert(offset..<(offset + Int64(piece.count)))
        state.unsaved += Int64(piece.count)
        state.unsynced += Int64(piece.count)
        return (state.isSaveDue, (received: state.record.written.count, expected: state.record.length))
      }
      if isSaveDue { try putRecord() }
      return progress
    }
  }

  /// The maximum number of bytes that a sudden stop of the machine may lose.
  private static let syncBytes: Int64 = 64 << 20

  func save() throws(HTTPError) {
    try file.withLock { file throws(HTTPError) in
      if file != nil { try putRecord() }
    }
  }

  /// Writes the record, under one name for all new records; callers must hold the lock of `file`, but not of `state`.
  private func putRecord() throws(HTTPError) {
    let record = state.withLock { state in
      state.unsaved = 0
      state.lastSave = .now
      return state.record
    }
    try record.save(to: recordPath)
  }

  /// Whether enough bytes were written to sync them.
  var isSyncDue: Bool { state.withLock { $0.unsynced >= Self.syncBytes } }

  /// Syncs all bytes to disk and records that; may take a long time.
  func sync() throws(HTTPError) {
    let written = state.withLock {
      $0.unsynced = 0
      return $0.record.written
    }
    try opened().sync()
    state.withLock { $0.record.synced = written }
    try save()
  }

  /// Throws if the file system reports too little room for more bytes.
  func checkRoom(for bytes: Int64) throws(HTTPError) {
    guard bytes > 0, let free = try opened().freeBytes, free < bytes else { return }
    throw HTTPError(.fileFailed, "\(DiskCalls.shown(path)) needs \(bytes) more bytes, but only \(free) are free")
  }

  /// Reads bytes; returns fewer than requested only at the end.
  func read(at offset: Int64, count: Int) throws(HTTPError) -> Data {
    try opened().read(at: offset, count: count)
  }

  /// Verifies the file by the SHA-256 digests of caller and server, if there are any; may take a long time.
  func verify(checksum: String?, length: Int64) throws(HTTPError) {
    // The server's digest comes from `Repr-Digest` or `Content-Digest` (RFC 9530).
    let expected = [("the checksum", checksum), ("the server's digest field", record.digest)].filter { $0.1 != nil }
    guard !expected.isEmpty else { return }
    let hash = SHA256Stream()
    var offset: Int64 = 0
    while offset < length {
      let piece = try read(at: offset, count: 1 << 20)
      guard !piece.isEmpty else { throw HTTPError(.fileFailed, "the part file shrank while it was being read") }
      hash.update(piece)
      offset += Int64(piece.count)
    }
    let found = hash.digits()
    for (source, digits) in expected where digits != found {
      change { $0.isRejected = true }
      throw HTTPError(
        .checksumMismatch, "the file's SHA-256 is \(found), but according to \(source) it should be \(digits ?? "")",
        phase: .receiving)
    }
  }

  /// Links a cache file instead of copying it; returns `false` if it cannot be linked, as across file systems.
  func adopt(_ file: URL) -> Bool {
    // Left by a killed process.
    unlink(linkPath)
    let isLinked = link(file.path(percentEncoded: false), linkPath) == 0
    state.withLock { $0.isLinked = isLinked }
    return isLinked
  }

  // MARK: The end

  /// Completes the file and syncs it to disk; a cache file is left unchanged.
  ///
  /// Unless the file is private, it gets the usual permissions of new files.
  func seal(_ modified: HTTPDate?, isPrivate: Bool) throws(HTTPError) {
    if state.withLock({ $0.isLinked }) { return }
    let file = try opened()
    if let length = record.length { try file.cut(at: length) }
    unlink(linkPath)
    if let modified { DiskCalls.setTime(DiskCalls.microseconds(modified.date), of: file.number) }
    try file.sync()
    // Last, so a crash before this line leaves the file private.
    if !isPrivate, let mode = DiskCalls.usualMode(linkPath) { file.setMode(mode) }
  }

  /// Moves the file to its destination, after ``seal(_:isPrivate:)``.
  ///
  /// Returns `false` if the destination exists and must not be replaced. A replacement is atomic. After an error, the
  /// file is at its destination if only syncing has failed.
  func finish(
    as destination: String, isReplacing: Bool, calls: ParentFolder.Calls = .system
  ) throws(HTTPError) -> Bool {
    let isLinked = state.withLock { $0.isLinked }
    let path = isLinked ? linkPath : path
    if isReplacing {
      try PrivateFile.rename(path, to: destination, calls: calls)
    } else {
      let parent = try ParentFolder(of: destination, by: calls)
      let code = DiskCalls.move(path, to: destination)
      if code == EEXIST { return false }
      guard code == 0 else { throw PrivateFile.error("cannot be created", destination, code) }
      try parent.sync()
    }
    // `rename` keeps the link if the destination is another link to the same file; the empty part file remains as well.
    if isLinked { discard() } else { releaseLock() }
    return true
  }

  /// Releases an unfinished file and saves its record; the file is private, even if it was sealed.
  func leave() throws(HTTPError) {
    try file.withLock { file throws(HTTPError) in
      guard let file else { return }
      // The file may be at its destination already, if only syncing has failed.
      guard DiskCalls.facts(path) != nil else { throw PrivateFile.error("cannot be found", path, ENOENT) }
      file.setMode(0o600)
      try putRecord()
    }
    close()
  }

  func close() {
    file.withLock { file in
      // A child process that has not executed its program yet may also have the descriptor.
      file?.unlock()
      file = nil
    }
  }

  func discard() {
    unlink(linkPath)
    unlink(path)
    releaseLock()
  }

  private func releaseLock() {
    unlink(recordPath)
    close()
  }
}

/// Identifies the current boot of the machine.
enum BootID {
  /// The identifier of the boot, or `nil` if the system has none.
  static let current: String? = {
    #if canImport(Darwin)
      var size = 0
      guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 1 else { return nil }
      var bytes = [UInt8](repeating: 0, count: size)
      guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return nil }
      return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    #else
      let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
      return text.map { String($0.prefix { !$0.isWhitespace }) }
    #endif
  }()
}

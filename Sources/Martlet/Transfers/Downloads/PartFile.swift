import MartletBase
import Foundation

/// The bytes of an unfinished download, and its record beside them.
///
/// ```
///   open ─▶ locked, with what of it can be relied on
///   start ─▶ emptied, then the record of a new version is written, then its bytes
///   write, save, sync ─▶ at every instant the record says no more than there is
///   finish ─▶ synced, renamed to the destination, the record removed
/// ```
///
/// The lock is the system's, on the open file: whoever ends, however it ends, gives it back.
final class PartFile: Sendable {
  private struct State {
    var record: PartRecord
    var unsaved: Int64 = 0
    var unsynced: Int64 = 0
    var lastSave = ContinuousClock.now
    /// Whether the bytes are those of a file of the cache, of which there is a link.
    var isLinked = false

    /// Whether more was written than may be lost, where the size of the file does not say it.
    var isSaveDue: Bool {
      guard !record.isSequential, unsaved >= 1 << 20 else { return false }
      return unsaved >= 16 << 20 || ContinuousClock.now - lastSave >= .milliseconds(20)
    }
  }

  let path: String
  let recordPath: String
  /// Held while bytes are written; `nil` once it is closed, which does not wait for its last holder to leave.
  private let file: Locked<OpenFile?>
  private let state: Locked<State>

  private init(_ path: String, _ file: OpenFile, _ record: PartRecord) {
    self.path = path
    recordPath = Self.recordPath(of: path)
    self.file = Locked(file)
    state = Locked(State(record: record))
  }

  /// A second name of a file of the cache, until it gets its own.
  private var linkPath: String { path + ".link" }

  deinit { close() }

  static func recordPath(of path: String) -> String { path + ".json" }

  /// Opens a part file, or makes one, and locks it.
  ///
  /// What is there is gone on with if that is wanted, and the same partition has vouched for it. It is an error if it
  /// is in use, or something else than the beginning of this download.
  static func open(
    _ path: String, url: String, partition: String = "", resume: DownloadOptions.Resume
  ) async throws -> PartFile {
    // In a folder that everybody may write in, they could neither be believed nor replaced.
    for name in [recordPath(of: path), recordPath(of: path) + ".new"] {
      if let refusal = PrivateFile.refusal(name) { throw refusal }
    }
    // A download that was cancelled lets go of it a moment after its caller knows.
    let end = ContinuousClock.now + patience
    var locked = try lock(path)
    while locked == nil, ContinuousClock.now < end {
      try await Task.sleep(for: .milliseconds(5))
      locked = try lock(path)
    }
    guard let locked else {
      throw HTTPError(.downloadInProgress, "\(PrivateFile.shown(path)) is being downloaded already")
    }
    let size = locked.facts?.size ?? 0
    var record = PartRecord(url: url, partition: partition)
    switch try kept(path, size, url, resume) {
    case let found? where found.partition == partition:
      record = found
      record.written = found.reliable(size: size, boot: MachineRun.current)
      record.synced = found.synced.cut(at: record.written.isEmpty ? 0 : size)
      record.url = url
    case .some, nil: break
    }
    locked.setMode(0o600)
    record.boot = MachineRun.current
    let file = PartFile(path, locked, record)
    if record.written.isEmpty {
      try locked.cut(at: 0)
    } else {
      // Its size says how much of it there is.
      if record.isSequential { try locked.cut(at: record.written.prefix) }
      try file.save()
    }
    return file
  }

  /// The record that says what is in a part file, if that is to be used.
  private static func kept(
    _ path: String, _ size: Int64, _ url: String, _ resume: DownloadOptions.Resume
  ) throws(HTTPError) -> PartRecord? {
    guard resume != .never, size > 0 else { return nil }
    let name = PrivateFile.shown(path)
    let record: PartRecord
    switch try PartRecord.read(recordPath(of: path)) {
    case .missing:
      throw HTTPError(
        .file, "\(name) is there, but not what a download has left: remove it, or ask for resume: .never")
    // Its bytes are of no use, but ours to drop.
    case .damaged: return nil
    case .found(let found): record = found
    }
    guard record.url == url || resume == .fromAnyURL else {
      throw HTTPError(
        .file, "\(name) is the beginning of another URL: remove it, or ask for resume: .never or .fromAnyURL")
    }
    return record
  }

  /// How long somebody else's lock is waited for.
  private static let patience = Duration.seconds(1)

  /// Opens the file and takes its lock; `nil` if somebody else has that.
  private static func lock(_ path: String) throws(HTTPError) -> OpenFile? {
    // Whoever had it may have finished and renamed it meanwhile: then this is no part file any more.
    for _ in 0..<16 {
      let (opened, isNew) = DiskCalls.openPart(path)
      guard let file = opened else {
        let code = errno
        if code == EEXIST { continue }
        throw PrivateFile.refusal(path) ?? PrivateFile.error("cannot be opened", path, code)
      }
      let facts = try file.check(isNew: isNew)
      guard flock(file.number, LOCK_EX | LOCK_NB) == 0 else {
        let code = errno
        guard code == EWOULDBLOCK else { throw PrivateFile.error("cannot be locked", path, code) }
        return nil
      }
      if DiskCalls.facts(path)?.inode == facts.inode {
        guard !isNew, facts.isOpenToAll || facts.hasOtherNames else { return file }
        // Anybody's bytes may be in it; or it is a file that somebody has made a link to, or one that is finished, and its
        // download was killed before this name was removed. Not before the lock: it may be another download's.
        withExtendedLifetime(file) { _ = unlink(path) }
      }
    }
    throw HTTPError(.file, "\(PrivateFile.shown(path)) keeps being replaced; another process may be writing it")
  }

  // MARK: What is there

  var record: PartRecord { state.withLock { $0.record } }

  func change(_ change: (inout PartRecord) -> Void) { state.withLock { change(&$0.record) } }

  /// Begins a version anew: nothing of another one is left when the record speaks of this one.
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

  /// Writes bytes at their place, and tells how many there are now, and how many there will be.
  func write(_ piece: Data, at offset: Int64) throws(HTTPError) -> (received: Int64, expected: Int64?) {
    // One after the other: whoever leaves a gap has said so before another one writes behind it.
    try file.withLock { file throws(HTTPError) in
      guard let file else { throw PrivateFile.error("cannot be written", path, ECANCELED) }
      let leavesGap = state.withLock { state in
        guard state.record.isSequential, offset != state.record.written.prefix else { return false }
        state.record.isSequential = false
        return true
      }
      if leavesGap { try putRecord() }
      // What was not written whole is as good as not written.
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

  /// So much may be lost when the machine stops suddenly.
  private static let syncBytes: Int64 = 64 << 20

  func save() throws(HTTPError) {
    try file.withLock { file throws(HTTPError) in
      if file != nil { try putRecord() }
    }
  }

  /// Writes the record; by who has the lock, because there is one name for the new one.
  private func putRecord() throws(HTTPError) {
    let record = state.withLock { state in
      state.unsaved = 0
      state.lastSave = .now
      return state.record
    }
    try record.save(to: recordPath)
  }

  /// Whether so much was written that it should go to the disk.
  var isSyncDue: Bool { state.withLock { $0.unsynced >= Self.syncBytes } }

  /// Has the system write everything to the disk, and notes that it is there; it may take its time.
  func sync() throws(HTTPError) {
    let written = state.withLock {
      $0.unsynced = 0
      return $0.record.written
    }
    try opened().sync()
    state.withLock { $0.record.synced = written }
    try save()
  }

  /// Sees that there is room for more bytes, if the file system tells.
  func checkRoom(for bytes: Int64) throws(HTTPError) {
    guard bytes > 0, let free = try opened().freeBytes, free < bytes else { return }
    throw HTTPError(.file, "\(PrivateFile.shown(path)) needs \(bytes) more bytes, and \(free) are free")
  }

  /// Reads bytes; fewer than asked for only at the end.
  func read(at offset: Int64, count: Int) throws(HTTPError) -> Data {
    try opened().read(at: offset, count: count)
  }

  /// Takes a file of the cache for the whole, without a copy; that cannot be done across file systems.
  func adopt(_ file: URL) -> Bool {
    // Of a process that was killed.
    unlink(linkPath)
    let isLinked = link(file.path(percentEncoded: false), linkPath) == 0
    state.withLock { $0.isLinked = isLinked }
    return isLinked
  }

  // MARK: The end

  /// Makes sure that all of it is on the disk, as it will be; a file of the cache stays as it is.
  ///
  /// Unless it is private, others get the rights to it that they have to other new files.
  func seal(_ modified: HTTPDate?, isPrivate: Bool) throws(HTTPError) {
    if state.withLock({ $0.isLinked }) { return }
    let file = try opened()
    if let length = record.length { try file.cut(at: length) }
    unlink(linkPath)
    if let modified { DiskCalls.setTime(DiskCalls.microseconds(modified.date), of: file.number) }
    try file.sync()
    // Last, so that what a crash leaves before it is private.
    if !isPrivate, let mode = DiskCalls.usualMode(linkPath) { file.setMode(mode) }
  }

  /// Gives the file its name, after ``seal(_:isPrivate:)``; `false` if something else has it and is not to be replaced.
  ///
  /// What is replaced is so in one instant. After an error it has the name if only syncing it has failed.
  func finish(
    as destination: String, isReplacing: Bool, calls: ParentFolder.Calls = .system
  ) throws(HTTPError) -> Bool {
    let isLinked = state.withLock { $0.isLinked }
    guard try place(isLinked ? linkPath : path, destination, isReplacing, calls) else { return false }
    // A link stays where its place is another one of the same file; beside it is an empty part file.
    if isLinked { removeParts() }
    letGo()
    return true
  }

  private func place(
    _ path: String, _ destination: String, _ isReplacing: Bool, _ calls: ParentFolder.Calls
  ) throws(HTTPError) -> Bool {
    if isReplacing {
      try PrivateFile.rename(path, to: destination, calls: calls)
      return true
    }
    let parent = try ParentFolder(of: destination, by: calls)
    let code = DiskCalls.move(path, to: destination)
    if code == EEXIST { return false }
    guard code == 0 else { throw PrivateFile.error("cannot be made", destination, code) }
    try parent.sync()
    return true
  }

  /// Lets go of the file before its end, with its record; it is its owner's only, also if it was sealed.
  func leave() throws(HTTPError) {
    try file.withLock { file throws(HTTPError) in
      guard let file else { return }
      // It may have the name of the finished file, and only the disk has failed to note that.
      guard DiskCalls.facts(path) != nil else { throw PrivateFile.error("cannot be found", path, ENOENT) }
      file.setMode(0o600)
      try putRecord()
    }
    close()
  }

  /// Closes the file, which gives its lock back.
  func close() {
    file.withLock { file in
      // A child that has not begun its program yet may have the descriptor too.
      if let file { flock(file.number, LOCK_UN) }
      file = nil
    }
  }

  func discard() {
    removeParts()
    letGo()
  }

  private func removeParts() {
    unlink(linkPath)
    unlink(path)
  }

  private func letGo() {
    unlink(recordPath)
    close()
  }
}

/// What tells one run of the machine from another.
enum MachineRun {
  /// Its name, or `nil` where the system does not tell.
  static let current: String? = {
    #if canImport(Darwin)
      var size = 0
      guard sysctlbyname("kern.bootsessionuuid", nil, &size, nil, 0) == 0, size > 1 else { return nil }
      var bytes = [UInt8](repeating: 0, count: size)
      guard sysctlbyname("kern.bootsessionuuid", &bytes, &size, nil, 0) == 0 else { return nil }
      return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    #else
      let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
      return text?.trimmingCharacters(in: .whitespacesAndNewlines)
    #endif
  }()
}

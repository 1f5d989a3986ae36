import MartletBase
import Foundation

/// The journal of an outbox: records that any process appends and none changes.
///
/// ```
///   catch up ─▶ reads what others have added; cuts off a torn end, left by a killed process
///   append ─▶ catch up, write, sync: confirmed records are on the disk
///   compact ─▶ unless others have added records: write needed records to a new file, sync, rename
/// ```
///
/// Each of them holds the lock of the folder. They block, so they are called where that is allowed, one at a time.
final class OutboxJournal: Sendable {
  /// The changes since the last report.
  struct News: Sendable {
    /// Whether all earlier changes are void, because another process has rewritten the journal.
    var isAnew = false
    var changes: [OutboxChange] = []
    /// The number of places that could not be read.
    var damaged = 0

    var isEmpty: Bool { !isAnew && changes.isEmpty && damaged == 0 }
  }

  private struct State {
    var file: OpenFile?
    var inode: UInt64 = 0
    var frames = OutboxFrames(mark: 0)
    /// The end of the part that has been read.
    var end: Int64 = 0
    /// The changes that were read but not reported yet; a later failure must not lose them.
    var news = News()
    /// Whether bytes after ``end`` were rejected and could not be cut off yet.
    var hasRefused = false

    mutating func takeNews() -> News {
      defer { news = News() }
      return news
    }
  }

  let folder: String
  private let path: String
  private let calls: ParentFolder.Calls
  private let state = Locked(State())

  /// Opens the folder, creates it if it is missing, and syncs its parent, so that its name survives a crash.
  init(_ folder: URL, calls: ParentFolder.Calls = .system) throws(HTTPError) {
    self.folder = DiskFolder.path(folder)
    path = self.folder + "/journal"
    self.calls = calls
    try DiskFolder.make(self.folder, syncingBy: calls)
    // A folder of another user, or one that others may write to, must not contain secrets.
    guard try DiskFolder.open(self.folder) != nil else {
      throw HTTPError(.file, "\(DiskCalls.shown(self.folder)) is gone")
    }
    // Also if another process has created it a moment ago.
    try ParentFolder(of: self.folder, isThere: true, by: calls).sync()
  }

  var length: Int64 { state.withLock { $0.end } }

  /// The maximum wait for the lock of another process, in milliseconds.
  private static let patience = 10_000

  private func locked<R>(_ work: (inout sending State) throws(HTTPError) -> sending R) throws(HTTPError) -> R {
    let lock = try FileLock(folder + "/lock", patience: Self.patience)
    defer { lock.release() }
    return try state.withLock { state throws(HTTPError) in try work(&state) }
  }

  /// Takes the lock of the sending process; `nil` if another process holds it, or its file cannot be opened.
  func lease() -> DiskDescriptor? {
    guard let lease = OpenFile.at(folder + "/lease", O_RDWR | O_CREAT)?.descriptor else { return nil }
    return flock(lease.number, LOCK_EX | LOCK_NB) == 0 ? lease : nil
  }

  // MARK: Reading

  /// Reads what other processes have added.
  func catchUp() throws(HTTPError) -> News {
    // Usually nothing has changed.
    if state.withLock({ $0.file != nil && Self.isUnchanged(path, $0) }) { return News() }
    return try locked { state throws(HTTPError) in
      _ = try catchUp(&state)
      return state.takeNews()
    }
  }

  private static func isUnchanged(_ path: String, _ state: State) -> Bool {
    guard let facts = DiskCalls.facts(path) else { return false }
    return facts.inode == state.inode && facts.size == state.end && state.news.isEmpty
  }

  /// Reads the file to its end, and returns it.
  private func catchUp(_ state: inout State) throws(HTTPError) -> OpenFile {
    let file = try current(&state)
    if state.hasRefused { try cut(file, &state) }
    guard let size = file.facts?.size else { throw PrivateFile.error("cannot be examined", path, errno) }
    while state.end < size {
      if let record = try state.frames.frame(file, at: state.end) {
        let span = state.end..<(state.end + Int64(OutboxFrames.frameHead + record.count))
        if let record = OutboxRecord(record) {
          state.news.changes.append(OutboxChange(record, span))
        } else {
          state.news.damaged += 1
        }
        state.end = span.upperBound
      } else if let next = try state.frames.next(file, after: state.end) {
        state.news.damaged += 1
        state.end = next
      } else {
        // No process writes now. A killed process left an unfinished record, which it never confirmed; or the end is
        // damaged, and nothing comes after it.
        if try !state.frames.isTorn(file, at: state.end) { state.news.damaged += 1 }
        state.hasRefused = true
        break
      }
    }
    if state.hasRefused { try cut(file, &state) }
    return file
  }

  /// Cuts off bytes that were never confirmed.
  private func cut(_ file: OpenFile, _ state: inout State) throws(HTTPError) {
    try file.cut(at: state.end)
    state.hasRefused = false
  }

  /// The file that has the journal's name now, opened if necessary.
  private func current(_ state: inout State) throws(HTTPError) -> OpenFile {
    if let file = state.file, DiskCalls.facts(path)?.inode == state.inode { return file }
    let parent = try ParentFolder(of: path, by: calls)
    guard let file = OpenFile.at(path, O_RDWR | O_CREAT) else {
      throw PrivateFile.error("cannot be opened", path, errno)
    }
    let facts = try file.check()
    state.frames = try frames(of: file, size: facts.size, in: parent)
    if state.file != nil { state.news = News(isAnew: true) }
    (state.file, state.inode, state.end) = (file, facts.inode, OutboxFrames.headLength)
    state.hasRefused = false
    return file
  }

  /// Reads the head of the file, or writes it if the file is new.
  private func frames(of file: OpenFile, size: Int64, in parent: ParentFolder) throws(HTTPError) -> OutboxFrames {
    switch size < OutboxFrames.headLength ? .empty : try OutboxFrames.beginning(file) {
    case .journal(let frames): return frames
    case .empty:
      let frames = OutboxFrames(mark: UInt64.random(in: .min ... .max))
      try begin(file, frames)
      try parent.sync()
      return frames
    case .newer(let version):
      throw HTTPError(.file, "\(DiskCalls.shown(path)) is of version \(version), which is not known here")
    case .none:
      throw HTTPError(
        .file, "\(DiskCalls.shown(path)) is not the journal of an outbox, or damaged at its beginning")
    }
  }

  private func begin(_ file: OpenFile, _ frames: OutboxFrames) throws(HTTPError) {
    try file.put(frames.head, at: 0)
    try file.sync()
  }

  /// Reads a request from the journal; `nil` if it no longer exists.
  ///
  /// After an error, reading it again may succeed.
  func request(of entry: OutboxEntry) throws(HTTPError) -> OutboxRequest? {
    try state.withLock { state throws(HTTPError) in
      guard let file = state.file, let bytes = try state.frames.frame(file, at: entry.span.lowerBound),
        case .submitted(let request)? = OutboxRecord(bytes), request.id == entry.id
      else { return nil }
      return request
    }
  }

  // MARK: Writing

  /// Appends all records or none; returns all new changes, including these.
  ///
  /// The records are synced if they must survive a sudden stop of the machine.
  func append(_ records: [[UInt8]], isSynced: Bool) throws(HTTPError) -> News {
    try locked { state throws(HTTPError) in
      let file = try catchUp(&state)
      let start = state.end
      var changes: [OutboxChange] = []
      var bytes: [UInt8] = []
      for record in records {
        let frame = state.frames.frame(record)
        let place = start + Int64(bytes.count)
        if let read = OutboxRecord(record) {
          changes.append(OutboxChange(read, place..<(place + Int64(frame.count))))
        }
        bytes += frame
      }
      do throws(HTTPError) {
        try file.put(bytes, at: start)
        if isSynced { try file.sync() }
      } catch {
        // Unconfirmed records must not remain: they are cut off now, or before the next operation.
        state.hasRefused = true
        try? cut(file, &state)
        throw error
      }
      state.end = start + Int64(bytes.count)
      state.news.changes += changes
      return state.takeNews()
    }
  }

  /// Rewrites the journal with the records that are still needed, in order.
  ///
  /// All records in the file must be known. Returns the new places of the requests, or `nil` if another process has
  /// added records. After an error the journal is unchanged.
  func compact(_ entries: [OutboxEntry]) throws(HTTPError) -> [UUID: Range<Int64>]? {
    try locked { state throws(HTTPError) in
      guard Self.isUnchanged(path, state), let old = state.file else { return nil }
      let new = path + ".new"
      unlink(new)
      guard let file = OpenFile.at(new, O_RDWR | O_CREAT | O_EXCL) else {
        throw PrivateFile.error("cannot be made", new, errno)
      }
      do throws(HTTPError) {
        var spans: [UUID: Range<Int64>] = [:]
        var end = OutboxFrames.headLength
        try begin(file, state.frames)
        for entry in entries {
          // Damaged records are lost already; records that cannot be read now are not.
          guard let record = try state.frames.frame(old, at: entry.span.lowerBound) else { continue }
          var bytes = state.frames.frame(record)
          spans[entry.id] = end..<(end + Int64(bytes.count))
          for note in entry.notes { bytes += state.frames.frame(note.bytes) }
          try file.put(bytes, at: end)
          end += Int64(bytes.count)
        }
        try file.sync()
        guard let inode = file.facts?.inode else { throw PrivateFile.error("cannot be examined", new, errno) }
        try PrivateFile.rename(new, to: path, calls: calls)
        (state.file, state.inode, state.end) = (OpenFile(descriptor: file.descriptor, path: path), inode, end)
        return spans
      } catch {
        unlink(new)
        throw error
      }
    }
  }
}

extension OutboxEntry {
  /// The records that restore its state after its submission.
  var notes: [OutboxRecord] {
    var notes: [OutboxRecord] = []
    if let revivedAt { notes.append(.revived(id, at: revivedAt)) }
    if attempts > 0 { notes.append(.attempted(id, attempts)) }
    if let death { notes.append(.died(id, at: death.date, death.failure)) }
    return notes
  }
}

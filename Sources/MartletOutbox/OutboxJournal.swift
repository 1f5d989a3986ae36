import Martlet
import MartletBase

/// The journal of an outbox: lines that any process appends and none changes.
///
/// ```
///   catch up ─▶ reads what others have added; cuts off a torn end, left by a killed process
///   append ─▶ catch up, write, sync: confirmed lines are on the disk
///   compact ─▶ unless others have added lines: write needed lines to a new file, sync, rename
/// ```
///
/// Each operation holds the folder's lock. Operations block, so they run one at a time on a thread that may block.
final class OutboxJournal: Sendable {
  /// The changes since the last report.
  struct JournalChanges: Sendable {
    /// Whether all earlier changes are void, because another process has rewritten the journal.
    var isAnew = false
    var changes: [OutboxChange] = []
    /// The number of places that could not be read.
    var damaged = 0

    var isEmpty: Bool { !isAnew && changes.isEmpty && damaged == 0 }
  }

  private struct State {
    var file: OpenFile?
    /// The end of the part that has been read.
    var end: Int64 = 0
    /// The changes that were read but not reported yet; a later failure must not lose them.
    var news = JournalChanges()
    /// Whether bytes after ``end`` were rejected and could not be truncated yet.
    var hasRefused = false

    mutating func takeNews() -> JournalChanges {
      defer { news = JournalChanges() }
      return news
    }
  }

  let folder: String
  private let path: String
  private let calls: ParentFolderCalls
  private let state = Locked(State())

  /// Opens the folder, creates it if necessary, and syncs its parent, so its name survives a crash.
  init(_ folder: URL, calls: ParentFolderCalls = .system) throws(HTTPError) {
    self.folder = DiskFolder.path(folder)
    path = self.folder + "/journal"
    self.calls = calls
    try DiskFolder.make(self.folder, syncingBy: calls)
    // A folder of another user, or one that others may write to, must not contain secrets.
    guard try DiskFolder.open(self.folder) != nil else {
      throw HTTPError(.fileFailed, "\(DiskCalls.shown(self.folder)) is gone")
    }
    // Sync the parent even if another process has just created the folder.
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

  /// Acquires the sending process's lock; `nil` if another process holds it, or its file cannot be opened.
  func lease() -> OpenFile? {
    guard let lease = OpenFile.at(folder + "/lease", O_RDWR | O_CREAT) else { return nil }
    return lease.lock() == 0 ? lease : nil
  }

  // MARK: Reading

  /// Reads what other processes have added.
  func catchUp() throws(HTTPError) -> JournalChanges {
    // Usually nothing has changed.
    if state.withLock({ Self.unchanged($0) }) != nil { return JournalChanges() }
    return try locked { state throws(HTTPError) in
      _ = try catchUp(&state)
      return state.takeNews()
    }
  }

  /// The file; `nil` if it contains unreported changes or is no longer the journal.
  private static func unchanged(_ state: State) -> OpenFile? {
    guard let file = state.file, file.isInPlace, file.facts?.size == state.end, state.news.isEmpty else { return nil }
    return file
  }

  /// Reads the file to its end, and returns it.
  private func catchUp(_ state: inout State) throws(HTTPError) -> OpenFile {
    let file = try current(&state)
    if state.hasRefused { try cut(file, &state) }
    var lines = OutboxLines(file, from: state.end)
    var isDamaged = false
    while let (bytes, span) = try lines.next() {
      guard let line = OutboxLine(bytes) else {
        isDamaged = true
        continue
      }
      if isDamaged { state.news.damaged += 1 }
      isDamaged = false
      if let change = line.change?.placed(at: span) {
        state.news.changes.append(change)
      } else {
        state.news.damaged += 1
      }
      state.end = span.upperBound
    }
    // No process writes now. A killed process left an unfinished line, which it never confirmed; or the end is damaged,
    // and nothing comes after it.
    if isDamaged { state.news.damaged += 1 }
    guard let size = file.facts?.size else { throw PrivateFile.error("cannot be examined", path, errno) }
    state.hasRefused = size > state.end
    if state.hasRefused { try cut(file, &state) }
    return file
  }

  /// Truncates the file after the last confirmed byte.
  private func cut(_ file: OpenFile, _ state: inout State) throws(HTTPError) {
    try file.cut(at: state.end)
    state.hasRefused = false
  }

  /// The file that has the journal's name now, opened if necessary.
  private func current(_ state: inout State) throws(HTTPError) -> OpenFile {
    if let file = state.file, file.isInPlace { return file }
    let parent = try ParentFolder(of: path, by: calls)
    guard let file = OpenFile.at(path, O_RDWR | O_CREAT) else {
      throw PrivateFile.error("cannot be opened", path, errno)
    }
    let facts = try file.check()
    let head = try head()
    if try isNew(file, facts.size, head) {
      try file.put(head, at: 0)
      try file.sync()
      try parent.sync()
    }
    if state.file != nil { state.news = JournalChanges(isAnew: true) }
    (state.file, state.end, state.hasRefused) = (file, Int64(head.count), false)
    return file
  }

  private static let version = 1

  private func head() throws(HTTPError) -> Data { try OutboxLine(.began(version: Self.version)).bytes }

  /// Whether nothing was written to the file; throws if it is not a journal that this version can read.
  private func isNew(_ file: OpenFile, _ size: Int64, _ head: Data) throws(HTTPError) -> Bool {
    let bytes = try file.read(at: 0, count: head.count)
    // If the file contains zeros, only its name has reached the disk.
    if bytes.count < head.count || size == head.count && bytes.allSatisfy({ $0 == 0 }) { return true }
    // Heads of other versions may have other lengths.
    var lines = OutboxLines(file, from: 0)
    if let (line, _) = try lines.next(), case .began(let version)? = OutboxLine(line)?.change {
      guard version != Self.version else { return false }
      throw HTTPError(.fileFailed, "\(DiskCalls.shown(path)) has version \(version), which cannot be read")
    }
    // The head may be damaged.
    lines = OutboxLines(file, from: Int64(head.count))
    if let (line, _) = try lines.next(), OutboxLine(line) != nil { return false }
    throw HTTPError(
      .fileFailed, "\(DiskCalls.shown(path)) is not the journal of an outbox, or damaged at its beginning")
  }

  /// Reads a request from the journal; `nil` if it no longer exists.
  ///
  /// After an error, reading it again may succeed.
  func contents(of entry: OutboxEntry) throws(HTTPError) -> OutboxContents? {
    try state.withLock { state throws(HTTPError) in
      guard let file = state.file else { return nil }
      return try Self.line(of: entry, in: file)?.request
    }
  }

  private static func line(of entry: OutboxEntry, in file: OpenFile) throws(HTTPError) -> OutboxLine? {
    let bytes = try file.read(at: entry.span.lowerBound, count: Int(entry.lineBytes))
    guard let line = OutboxLine(bytes.dropFirst().dropLast()), line.change?.id == entry.id else { return nil }
    return line
  }

  // MARK: Writing

  /// Appends all lines or none; returns all new changes, including these.
  ///
  /// The lines are synced if they must survive a sudden stop of the machine.
  func append(_ lines: [OutboxLine], isSynced: Bool) throws(HTTPError) -> JournalChanges {
    try locked { state throws(HTTPError) in
      let file = try catchUp(&state)
      let start = state.end
      var bytes = Data()
      let changes = lines.compactMap { line in
        let place = start + Int64(bytes.count)
        bytes += line.bytes
        return line.change?.placed(at: place..<(start + Int64(bytes.count)))
      }
      do throws(HTTPError) {
        try file.put(bytes, at: start)
        if isSynced { try file.sync() }
      } catch {
        // Unconfirmed records must not remain, so the file is truncated now or before the next operation.
        state.hasRefused = true
        try? cut(file, &state)
        throw error
      }
      state.end = start + Int64(bytes.count)
      state.news.changes += changes
      return state.takeNews()
    }
  }

  /// Rewrites the journal with the lines that are still needed, in order.
  ///
  /// All lines in the file must be known. Returns the new places of the requests, or `nil` if another process has
  /// added lines. After an error the journal is unchanged.
  func compact(_ entries: [OutboxEntry]) throws(HTTPError) -> [UUID: Range<Int64>]? {
    try locked { state throws(HTTPError) in
      guard let old = Self.unchanged(state) else { return nil }
      var spans: [UUID: Range<Int64>] = [:]
      let head = try head()
      var end = Int64(head.count)
      state.file = try PrivateFile.replace(path, calls: calls) { file throws(HTTPError) in
        try file.put(head, at: 0)
        for entry in entries {
          // Damaged lines are lost already; lines that cannot be read now are not.
          guard let line = try Self.line(of: entry, in: old) else { continue }
          let bytes = try line.replacing(.submitted(entry)).bytes
          try file.put(bytes, at: end)
          spans[entry.id] = end..<(end + Int64(bytes.count))
          end += Int64(bytes.count)
        }
      }
      state.end = end
      return spans
    }
  }
}

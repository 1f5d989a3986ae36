import MartletBase
import Foundation

/// The file that an outbox is: records, one after the other, added by any process and never changed.
///
/// ```
///   catch up ─▶ what others have added; what is torn at the end, by a process that was killed, is cut off
///   append ─▶ catch up, write, sync: what was promised is on the disk
///   compact ─▶ catch up, write what is needed yet to a new file, sync, rename
/// ```
///
/// Each of them has the lock of the folder. They block: they are called where that may be, by one after the other.
final class OutboxJournal: Sendable {
  /// What has become known.
  struct News: Sendable {
    /// Whether all before is void: somebody has written the journal anew.
    var isAnew = false
    var changes: [OutboxChange] = []
    /// The places that could not be read.
    var damaged = 0

    var isEmpty: Bool { !isAnew && changes.isEmpty && damaged == 0 }
  }

  private struct State {
    var file: OpenFile?
    var inode: UInt64 = 0
    var frames = OutboxFrames(mark: 0)
    /// Up to where it is known.
    var end: Int64 = 0
    /// What is known and was not told yet: what fails later must not lose it.
    var news = News()
    /// Whether something behind ``end`` was refused and could not be cut off yet.
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

  /// Opens the folder; makes it if it is not there, and its name survive a crash.
  init(_ folder: URL, calls: ParentFolder.Calls = .system) throws(HTTPError) {
    self.folder = DiskFolder.path(folder)
    path = self.folder + "/journal"
    self.calls = calls
    try DiskFolder.make(self.folder, syncingBy: calls)
    // A folder of somebody else, or that others may write in, is none for secrets.
    guard try DiskFolder.open(self.folder) != nil else {
      throw HTTPError(.file, "\(PrivateFile.shown(self.folder)) is gone")
    }
    // Also where another process has made it a moment ago.
    try ParentFolder(of: self.folder, isThere: true, by: calls).sync()
  }

  var length: Int64 { state.withLock { $0.end } }

  /// How long another process may have the lock.
  private static let patience = 10_000

  private func locked<R>(_ work: (inout sending State) throws(HTTPError) -> sending R) throws(HTTPError) -> R {
    let lock = try FileLock(folder + "/lock", patience: Self.patience)
    defer { lock.release() }
    return try state.withLock { state throws(HTTPError) in try work(&state) }
  }

  /// Takes the lock of the one process that sends, if nobody has it.
  func lease() -> DiskDescriptor? {
    guard let lease = OpenFile.at(folder + "/lease", O_RDWR | O_CREAT)?.descriptor else { return nil }
    return flock(lease.number, LOCK_EX | LOCK_NB) == 0 ? lease : nil
  }

  // MARK: Reading

  /// Learns what others have added.
  func catchUp() throws(HTTPError) -> News {
    // Nothing has happened, mostly.
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

  /// The file, known to its end.
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
        // Nobody writes now: a process that was killed has left it of a record that it has promised nobody; or it is
        // damaged, and nothing comes after it.
        if try !state.frames.isTorn(file, at: state.end) { state.news.damaged += 1 }
        state.hasRefused = true
        break
      }
    }
    if state.hasRefused { try cut(file, &state) }
    return file
  }

  /// Cuts off what nobody was promised.
  private func cut(_ file: OpenFile, _ state: inout State) throws(HTTPError) {
    try file.cut(at: state.end)
    state.hasRefused = false
  }

  /// The file that has the name now, opened if need be.
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

  /// Looks how the file begins, and begins it if it is new.
  private func frames(of file: OpenFile, size: Int64, in parent: ParentFolder) throws(HTTPError) -> OutboxFrames {
    switch size < OutboxFrames.headLength ? .empty : try OutboxFrames.beginning(file) {
    case .journal(let frames): return frames
    case .empty:
      let frames = OutboxFrames(mark: UInt64.random(in: .min ... .max))
      try begin(file, frames)
      try parent.sync()
      return frames
    case .newer(let version):
      throw HTTPError(.file, "\(PrivateFile.shown(path)) is of version \(version), which is not known here")
    case .none:
      throw HTTPError(
        .file, "\(PrivateFile.shown(path)) is not the journal of an outbox, or damaged at its beginning")
    }
  }

  private func begin(_ file: OpenFile, _ frames: OutboxFrames) throws(HTTPError) {
    try file.put(frames.head, at: 0)
    try file.sync()
  }

  /// Reads a request that the journal has told of; `nil` if there is none any more.
  ///
  /// After an error it may be read another time.
  func request(of entry: OutboxEntry) throws(HTTPError) -> OutboxRequest? {
    try state.withLock { state throws(HTTPError) in
      guard let file = state.file, let bytes = try state.frames.frame(file, at: entry.span.lowerBound),
        case .submitted(let request)? = OutboxRecord(bytes), request.id == entry.id
      else { return nil }
      return request
    }
  }

  // MARK: Writing

  /// Adds records, all or none, and tells what has become known, these included.
  ///
  /// They are synced if they must survive a machine that stops suddenly.
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
        // What nobody was promised must not be there: now, or before anything else.
        state.hasRefused = true
        try? cut(file, &state)
        throw error
      }
      state.end = start + Int64(bytes.count)
      state.news.changes += changes
      return state.takeNews()
    }
  }

  /// Writes the journal anew, with what is needed yet, in its order; everything added before must be known.
  ///
  /// Tells where the requests stand now; `nil` if somebody has added something meanwhile. After an error it is what it
  /// was.
  func compact(_ entries: [OutboxEntry]) throws(HTTPError) -> [UUID: Range<Int64>]? {
    try locked { state throws(HTTPError) in
      guard Self.isUnchanged(path, state) else { return nil }
      guard let old = state.file else { return nil }
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
          // What is damaged is lost already; what cannot be read now is not.
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
  /// What has to be noted of it beside itself.
  var notes: [OutboxRecord] {
    var notes: [OutboxRecord] = []
    if let revivedAt { notes.append(.revived(id, at: revivedAt)) }
    if attempts > 0 { notes.append(.attempted(id, attempts)) }
    if let death { notes.append(.died(id, at: death.date, death.failure)) }
    return notes
  }
}

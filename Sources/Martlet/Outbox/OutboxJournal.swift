import MartletBase
import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

private let closeFile: @Sendable (Int32) -> Void = { close($0) }

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
    var descriptor: Int32 = -1
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

  /// Opens the folder; makes it if it is not there.
  ///
  /// - Parameters:
  ///   - folder: The folder.
  ///   - calls: The calls that make names survive a crash.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/file``.
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

  deinit { state.withLock { if $0.descriptor >= 0 { closeFile($0.descriptor) } } }

  /// How many bytes there are.
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
    let descriptor = openFile(folder + "/lease", O_RDWR | O_CREAT)
    guard descriptor >= 0 else { return nil }
    let lease = DiskDescriptor(descriptor)
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? lease : nil
  }

  // MARK: Reading

  /// Learns what others have added.
  func catchUp() throws(HTTPError) -> News {
    // Nothing has happened, mostly.
    if state.withLock({ $0.descriptor >= 0 && Self.isUnchanged(path, $0) }) { return News() }
    return try locked { state throws(HTTPError) in
      try catchUp(&state)
      return state.takeNews()
    }
  }

  private static func isUnchanged(_ path: String, _ state: State) -> Bool {
    guard let facts = DiskCalls.facts(path) else { return false }
    return facts.inode == state.inode && facts.size == state.end && state.news.isEmpty
  }

  private func catchUp(_ state: inout State) throws(HTTPError) {
    if state.descriptor < 0 || DiskCalls.facts(path)?.inode != state.inode {
      let isAnew = state.descriptor >= 0
      try open(&state)
      if isAnew { state.news = News(isAnew: true) }
    }
    if state.hasRefused { try cut(&state) }
    guard let size = DiskCalls.facts(state.descriptor)?.size else {
      throw PrivateFile.error("cannot be examined", path, errno)
    }
    do throws(OutboxFrames.Unreadable) {
      while state.end < size {
        if let record = try state.frames.frame(state.descriptor, at: state.end) {
          let span = state.end..<(state.end + Int64(OutboxFrames.frameHead + record.count))
          if let record = OutboxRecord(record) {
            state.news.changes.append(OutboxChange(record, span))
          } else {
            state.news.damaged += 1
          }
          state.end = span.upperBound
        } else if let next = try state.frames.next(state.descriptor, after: state.end) {
          state.news.damaged += 1
          state.end = next
        } else {
          // Nobody writes now: a process that was killed has left it of a record that it has promised nobody; or it is
          // damaged, and nothing comes after it.
          if try !state.frames.isTorn(state.descriptor, at: state.end) { state.news.damaged += 1 }
          state.hasRefused = true
          break
        }
      }
    } catch {
      throw PrivateFile.error("cannot be read", path, error.code)
    }
    if state.hasRefused { try cut(&state) }
  }

  /// Cuts off what nobody was promised.
  private func cut(_ state: inout State) throws(HTTPError) {
    guard ftruncate(state.descriptor, off_t(state.end)) == 0 else {
      throw PrivateFile.error("cannot be cut", path, errno)
    }
    state.hasRefused = false
  }

  private func open(_ state: inout State) throws(HTTPError) {
    let parent = try ParentFolder(of: path, by: calls)
    let descriptor = openFile(path, O_RDWR | O_CREAT)
    guard descriptor >= 0 else { throw PrivateFile.error("cannot be opened", path, errno) }
    do throws(HTTPError) {
      guard let facts = DiskCalls.facts(descriptor), facts.isFile else {
        throw HTTPError(.file, "\(PrivateFile.shown(path)) is not a plain file")
      }
      guard facts.isOwn else { throw PrivateFile.foreign(path) }
      state.frames = try frames(of: descriptor, size: facts.size, in: parent)
      if state.descriptor >= 0 { closeFile(state.descriptor) }
      (state.descriptor, state.inode, state.end) = (descriptor, facts.inode, OutboxFrames.headLength)
      state.hasRefused = false
    } catch {
      closeFile(descriptor)
      throw error
    }
  }

  /// Looks how the file begins, and begins it if it is new.
  private func frames(
    of descriptor: Int32, size: Int64, in parent: ParentFolder
  ) throws(HTTPError) -> OutboxFrames {
    let beginning = try readable { () throws(OutboxFrames.Unreadable) in
      size < OutboxFrames.headLength ? .empty : try OutboxFrames.beginning(descriptor)
    }
    switch beginning {
    case .journal(let frames): return frames
    case .empty:
      let frames = OutboxFrames(mark: UInt64.random(in: .min ... .max))
      try begin(descriptor, frames)
      try parent.sync()
      return frames
    case .newer(let version):
      throw HTTPError(.file, "\(PrivateFile.shown(path)) is of version \(version), which is not known here")
    case .none:
      throw HTTPError(
        .file, "\(PrivateFile.shown(path)) is not the journal of an outbox, or damaged at its beginning")
    }
  }

  private func openFile(_ path: String, _ flags: Int32) -> Int32 {
    #if canImport(Darwin)
      Darwin.open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
    #elseif canImport(Glibc)
      Glibc.open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
    #elseif canImport(Musl)
      Musl.open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
    #endif
  }

  private func begin(_ descriptor: Int32, _ frames: OutboxFrames) throws(HTTPError) {
    let code = frames.head.withUnsafeBytes { DiskCalls.put($0, into: descriptor, at: 0) }
    let failure = code == 0 ? DiskCalls.sync(descriptor) : code
    guard failure == 0 else { throw PrivateFile.error("cannot be written", path, failure) }
  }

  /// Reads a request that the journal has told of.
  ///
  /// - Returns: The request, and `nil` if there is none any more.
  /// - Throws: ``OutboxFrames/Unreadable`` if it may be read another time.
  func request(of entry: OutboxEntry) throws(OutboxFrames.Unreadable) -> OutboxRequest? {
    try state.withLock { state throws(OutboxFrames.Unreadable) in
      guard let bytes = try state.frames.frame(state.descriptor, at: entry.span.lowerBound),
        case .submitted(let request)? = OutboxRecord(bytes), request.id == entry.id
      else { return nil }
      return request
    }
  }

  private func readable<R>(_ work: () throws(OutboxFrames.Unreadable) -> R) throws(HTTPError) -> R {
    do throws(OutboxFrames.Unreadable) {
      return try work()
    } catch {
      throw PrivateFile.error("cannot be read", path, error.code)
    }
  }

  // MARK: Writing

  /// Adds records, all or none.
  ///
  /// - Parameters:
  ///   - records: The records, as bytes.
  ///   - isSynced: Whether they must survive a machine that stops suddenly.
  /// - Returns: What has become known, these included.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/file``; nothing is added.
  func append(_ records: [[UInt8]], isSynced: Bool) throws(HTTPError) -> News {
    try locked { state throws(HTTPError) in
      try catchUp(&state)
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
      let code = bytes.withUnsafeBytes { DiskCalls.put($0, into: state.descriptor, at: start) }
      let failure = code != 0 || !isSynced ? code : DiskCalls.sync(state.descriptor)
      guard failure == 0 else {
        // What nobody was promised must not be there: now, or before anything else.
        state.hasRefused = true
        try? cut(&state)
        throw PrivateFile.error("cannot be written", path, failure)
      }
      state.end = start + Int64(bytes.count)
      state.news.changes += changes
      return state.takeNews()
    }
  }

  /// Writes the journal anew, with what is needed yet; everything added before must be known.
  ///
  /// - Parameter entries: What is needed, in its order.
  /// - Returns: Where the requests stand now; `nil` if somebody has added something meanwhile.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/file``; the journal is what it was.
  func compact(_ entries: [OutboxEntry]) throws(HTTPError) -> [UUID: Range<Int64>]? {
    try locked { state throws(HTTPError) in
      guard Self.isUnchanged(path, state) else { return nil }
      let new = path + ".new"
      unlink(new)
      let descriptor = openFile(new, O_RDWR | O_CREAT | O_EXCL)
      guard descriptor >= 0 else { throw PrivateFile.error("cannot be made", new, errno) }
      do throws(HTTPError) {
        var spans: [UUID: Range<Int64>] = [:]
        var end = OutboxFrames.headLength
        try begin(descriptor, state.frames)
        for entry in entries {
          // What is damaged is lost already; what cannot be read now is not.
          guard
            let record = try readable({ () throws(OutboxFrames.Unreadable) in
              try state.frames.frame(state.descriptor, at: entry.span.lowerBound)
            })
          else { continue }
          var bytes = state.frames.frame(record)
          spans[entry.id] = end..<(end + Int64(bytes.count))
          for note in entry.notes { bytes += state.frames.frame(note.bytes) }
          let code = bytes.withUnsafeBytes { DiskCalls.put($0, into: descriptor, at: end) }
          guard code == 0 else { throw PrivateFile.error("cannot be written", new, code) }
          end += Int64(bytes.count)
        }
        let failure = DiskCalls.sync(descriptor)
        guard failure == 0 else { throw PrivateFile.error("cannot be written", new, failure) }
        guard let inode = DiskCalls.facts(descriptor)?.inode else {
          throw PrivateFile.error("cannot be examined", new, errno)
        }
        try PrivateFile.rename(new, to: path, calls: calls)
        closeFile(state.descriptor)
        (state.descriptor, state.inode, state.end) = (descriptor, inode, end)
        return spans
      } catch {
        unlink(new)
        closeFile(descriptor)
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

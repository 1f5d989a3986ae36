import MartletBase
import Foundation

/// The body of a request on its way into an outbox: a small one in memory, a larger one in a file of its own.
///
/// The file is locked until the journal speaks of it: so whoever cleans up knows what nobody will ever speak of. A
/// file of which the journal does not speak is removed only by who has locked it, and has seen then that it still has
/// its name: that could be another file's by then.
final class OutboxBody: Sendable {
  /// Up to so many bytes stand in the journal itself.
  static let smallBytes = 64 << 10
  private static let suffix = ".body"
  /// How many milliseconds who cleans up may have a file: more than it may wait for the journal.
  private static let patience = 15_000

  let body: OutboxRequest.Body
  private let path: String
  private let file: OpenFile?

  private init(_ body: OutboxRequest.Body, _ path: String, _ file: OpenFile? = nil) {
    (self.body, self.path, self.file) = (body, path, file)
  }

  static func path(_ id: UUID, in folder: String) -> String { "\(folder)/\(id.uuidString)\(suffix)" }

  /// Reads a body to its end, and sees that it is safe on the disk.
  static func store(_ body: HTTPBody?, of id: UUID, in folder: String, limit: Int64) async throws -> OutboxBody {
    let path = path(id, in: folder)
    guard let content = body?.content else { return OutboxBody(.none, path) }
    guard body?.trailers == nil else {
      throw HTTPError(.unsupported, "an outbox does not store trailers: send them as header fields")
    }
    let plan: BodyPlan
    do { plan = try BodyPlan(content) } catch { throw HTTPRequest.error(error, of: nil) }
    let sink = Sink(path)
    do {
      if let length = plan.length, length > limit { throw tooLarge(limit) }
      try await plan.send { piece in
        try Task.checkCancellation()
        if try sink.take(piece, limit: limit) { try await onFileQueue { () throws(HTTPError) in try sink.flush() } }
      }
      // A sequence may end early because its task was cancelled: what it gave is not the body.
      try Task.checkCancellation()
      return try await onFileQueue { () throws(HTTPError) in try sink.finish() }
    } catch {
      sink.discard()
      guard var error = error as? HTTPError else { throw error }
      (error.phase, error.mayHaveReachedServer) = (.queued, false)
      throw error
    }
  }

  /// Removes it again: the journal will not speak of it.
  func discard() { if file != nil { unlink(path) } }

  static func remove(_ id: UUID, in folder: String) { unlink(path(id, in: folder)) }

  private static func tooLarge(_ limit: Int64) -> HTTPError {
    HTTPError(.bodyTooLarge, "the body has more than the \(limit) bytes that the outbox takes")
  }

  /// Whether the file of a body is there, as long as it was; `nil` if nobody can tell now.
  static func isWhole(_ id: UUID, in folder: String, length: Int64) -> Bool? {
    guard let facts = DiskCalls.facts(path(id, in: folder)) else { return errno == ENOENT ? false : nil }
    return facts.isFile && facts.size == length
  }

  /// The locked files that nobody writes any more, a few at a time, with their requests.
  static func abandoned(in folder: String, except known: Set<UUID>) -> [(UUID, OutboxBody)] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let unknown = names.lazy.compactMap { name -> (String, UUID)? in
      guard name.hasSuffix(suffix), let id = UUID(uuidString: String(name.dropLast(suffix.count))),
        !known.contains(id)
      else { return nil }
      return (name, id)
    }
    return unknown.prefix(64).compactMap { name, id in
      let path = "\(folder)/\(name)"
      guard let file = OpenFile.at(path, O_RDWR), flock(file.number, LOCK_EX | LOCK_NB) == 0, isNamed(file) else {
        return nil
      }
      return (id, OutboxBody(.none, path, file))
    }
  }

  /// Whether its path still names the file that is open.
  private static func isNamed(_ file: OpenFile) -> Bool {
    guard let open = file.facts, let named = DiskCalls.facts(file.path) else { return false }
    return open.inode == named.inode
  }

  /// Bytes on their way to the disk; used by one after the other.
  private final class Sink: Sendable {
    private struct State {
      var held = Data()
      var written: Int64 = 0
      var file: OpenFile?
    }

    private let path: String
    private let state = Locked(State())

    init(_ path: String) { self.path = path }

    /// Whether it is time to write.
    func take(_ piece: Data, limit: Int64) throws(HTTPError) -> Bool {
      try state.withLock { state throws(HTTPError) in
        guard state.written + Int64(state.held.count) + Int64(piece.count) <= limit else { throw tooLarge(limit) }
        state.held.append(piece)
        return state.held.count > smallBytes
      }
    }

    func flush() throws(HTTPError) {
      let (held, known) = state.withLock { state in
        defer { state.held = Data() }
        return (state.held, state.file)
      }
      let file = if let known { known } else { try make() }
      state.withLock { $0.file = file }
      try file.append(held)
      state.withLock { $0.written += Int64(held.count) }
    }

    /// Makes the file, and locks it.
    private func make() throws(HTTPError) -> OpenFile {
      // Far more often than somebody cleans up: on a busy machine each time may be lost by chance.
      for _ in 0..<200 {
        guard let file = OpenFile.at(path, O_RDWR | O_CREAT | O_EXCL) else {
          throw PrivateFile.error("cannot be made", path, errno)
        }
        // Who cleans up may be faster, and then removes it, or lets it be.
        try FileLock.lock(file, patience: patience)
        if isNamed(file) { return file }
      }
      throw HTTPError(.file, "\(PrivateFile.shown(path)) keeps being removed; another process may be removing it")
    }

    func finish() throws(HTTPError) -> OutboxBody {
      let (held, file) = state.withLock { ($0.held, $0.file) }
      guard let file else { return OutboxBody(.bytes(held), path) }
      let parent = try ParentFolder(of: path)
      try flush()
      try file.sync()
      try parent.sync()
      let written = state.withLock { state in
        state.file = nil
        return state.written
      }
      return OutboxBody(.file(written), path, file)
    }

    func discard() {
      guard let file = state.withLock({ $0.file.take() }) else { return }
      // Before the lock is given back: after that it could be another file's name by then.
      withExtendedLifetime(file) { _ = unlink(path) }
    }
  }
}

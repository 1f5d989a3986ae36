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
  private let descriptor: Int32

  private init(_ body: OutboxRequest.Body, _ path: String, _ descriptor: Int32) {
    (self.body, self.path, self.descriptor) = (body, path, descriptor)
  }

  deinit { if descriptor >= 0 { closeFile(descriptor) } }

  static func path(_ id: UUID, in folder: String) -> String { "\(folder)/\(id.uuidString)\(suffix)" }

  /// Reads a body to its end, and sees that it is safe on the disk.
  ///
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/bodyTooLarge`` or ``HTTPError/Kind/file``, or what a stream
  ///   throws.
  static func store(_ body: HTTPBody?, of id: UUID, in folder: String, limit: Int64) async throws -> OutboxBody {
    let path = path(id, in: folder)
    guard let content = body?.content else { return OutboxBody(.none, path, -1) }
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
  func discard() { if descriptor >= 0 { unlink(path) } }

  static func remove(_ id: UUID, in folder: String) { unlink(path(id, in: folder)) }

  private static func tooLarge(_ limit: Int64) -> HTTPError {
    HTTPError(.bodyTooLarge, "the body has more than the \(limit) bytes that the outbox takes")
  }

  /// Whether the file of a body is there, as long as it was; `nil` if nobody can tell now.
  static func isWhole(_ id: UUID, in folder: String, length: Int64) -> Bool? {
    guard let facts = DiskCalls.facts(path(id, in: folder)) else { return errno == ENOENT ? false : nil }
    return facts.isFile && facts.size == length
  }

  /// Holds files that nobody writes any more, a few at a time.
  ///
  /// - Returns: Their requests, with the locked files.
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
      let descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
      guard descriptor >= 0 else { return nil }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, isNamed(descriptor, path) else {
        closeFile(descriptor)
        return nil
      }
      return (id, OutboxBody(.none, path, descriptor))
    }
  }

  /// Whether a path names the file that is open.
  private static func isNamed(_ descriptor: Int32, _ path: String) -> Bool {
    guard let open = DiskCalls.facts(descriptor), let named = DiskCalls.facts(path) else { return false }
    return open.inode == named.inode
  }

  /// Bytes on their way to the disk; used by one after the other.
  private final class Sink: Sendable {
    private struct State {
      var held = Data()
      var written: Int64 = 0
      var descriptor: Int32 = -1
    }

    private let path: String
    private let state = Locked(State())

    init(_ path: String) { self.path = path }

    /// - Returns: Whether it is time to write.
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
        return (state.held, state.descriptor)
      }
      let descriptor = known < 0 ? try make() : known
      if known < 0 { state.withLock { $0.descriptor = descriptor } }
      let code = held.withUnsafeBytes { DiskCalls.append($0, to: descriptor) }
      guard code == 0 else { throw PrivateFile.error("cannot be written", path, code) }
      state.withLock { $0.written += Int64(held.count) }
    }

    /// Makes the file, and locks it.
    private func make() throws(HTTPError) -> Int32 {
      // Far more often than somebody cleans up: on a busy machine each time may be lost by chance.
      for _ in 0..<200 {
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw PrivateFile.error("cannot be made", path, errno) }
        do throws(HTTPError) {
          // Who cleans up may be faster, and then removes it, or lets it be.
          try FileLock.lock(descriptor, path, patience: patience)
          if isNamed(descriptor, path) { return descriptor }
        } catch {
          closeFile(descriptor)
          throw error
        }
        closeFile(descriptor)
      }
      throw HTTPError(.file, "\(PrivateFile.shown(path)) keeps being removed; another process may be removing it")
    }

    func finish() throws(HTTPError) -> OutboxBody {
      let (held, isInFile) = state.withLock { ($0.held, $0.descriptor >= 0) }
      guard isInFile else { return OutboxBody(.bytes(held), path, -1) }
      let parent = try ParentFolder(of: path)
      try flush()
      let (descriptor, written) = state.withLock { ($0.descriptor, $0.written) }
      let failure = DiskCalls.sync(descriptor)
      guard failure == 0 else { throw PrivateFile.error("cannot be written", path, failure) }
      try parent.sync()
      state.withLock { $0.descriptor = -1 }
      return OutboxBody(.file(written), path, descriptor)
    }

    func discard() {
      let descriptor = state.withLock { state in
        defer { state.descriptor = -1 }
        return state.descriptor
      }
      guard descriptor >= 0 else { return }
      unlink(path)
      closeFile(descriptor)
    }
  }
}

import Martlet
import MartletBase

/// The body of a submission: a small one in memory, a larger one in its own file.
///
/// The file is locked until the journal mentions it, so the cleanup can recognize abandoned files. A file that the
/// journal does not mention is removed only by the holder of its lock. The holder first checks that the name has not
/// been reused for another file.
final class OutboxBody: Sendable {
  /// The maximum size of a body that is stored in the journal itself.
  static let smallBytes = 64 << 10
  private static let suffix = ".body"
  /// How long the cleanup may lock a file, in milliseconds: longer than it may wait for the journal.
  private static let patience = 15_000

  /// The bytes of a small body.
  let bytes: Data?
  /// The length of the file of a larger one.
  let length: Int64?
  private let path: String
  private let file: OpenFile?

  private init(_ path: String, _ file: OpenFile? = nil, bytes: Data? = nil, length: Int64? = nil) {
    (self.path, self.file, self.bytes, self.length) = (path, file, bytes, length)
  }

  static func path(_ id: UUID, in folder: String) -> String { "\(folder)/\(id.uuidString)\(suffix)" }

  /// Reads a body to its end, and syncs it to disk.
  static func store(_ body: HTTPBody?, of id: UUID, in folder: String, limit: Int64) async throws -> OutboxBody {
    let path = path(id, in: folder)
    guard let body else { return OutboxBody(path) }
    guard !body.hasTrailers else {
      throw HTTPError(.unsupported, "an outbox does not store trailers: send them as header fields")
    }
    var small = Data()
    var file: OpenFile?
    do {
      let size = try await body.write(upTo: limit) { chunk in
        // Only the last chunk can be this small.
        if file == nil, chunk.count <= smallBytes { return small = chunk }
        if file == nil { file = try await onFileQueue { () throws(HTTPError) in try make(path) } }
        try await onFileQueue { [file] () throws(HTTPError) in try file?.append(chunk) }
      }
      guard let file else { return OutboxBody(path, bytes: small) }
      try await onFileQueue { () throws(HTTPError) in
        let parent = try ParentFolder(of: path)
        try file.sync()
        try parent.sync()
      }
      return OutboxBody(path, file, length: size)
    } catch {
      // Remove the file before releasing its lock, because the name could belong to another file afterwards.
      if let file { withExtendedLifetime(file) { _ = unlink(path) } }
      guard var error = error as? HTTPError else { throw error }
      error.phase = .queued
      throw error
    }
  }

  /// Removes the file, which the journal will not mention.
  func discard() { if file != nil { unlink(path) } }

  static func remove(_ id: UUID, in folder: String) { unlink(path(id, in: folder)) }

  /// Whether the file of a body exists with its full length; `nil` if that is unknown now.
  static func isWhole(_ id: UUID, in folder: String, length: Int64) -> Bool? {
    guard let facts = DiskCalls.facts(path(id, in: folder)) else { return errno == ENOENT ? false : nil }
    return facts.isFile && facts.size == length
  }

  /// Abandoned files, locked, with the identifiers of their requests; a few at a time.
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
      guard let file = OpenFile.at(path, O_RDWR), file.lock() == 0, file.isInPlace else {
        return nil
      }
      return (id, OutboxBody(path, file))
    }
  }

  /// Creates and locks a file.
  private static func make(_ path: String) throws(HTTPError) -> OpenFile {
    // Many more attempts than there are cleanups: on a busy machine each one may fail by chance.
    for _ in 0..<200 {
      guard let file = OpenFile.at(path, O_RDWR | O_CREAT | O_EXCL) else {
        throw PrivateFile.error("cannot be created", path, errno)
      }
      // The cleanup may lock the file first, and then removes or keeps it.
      try FileLock.lock(file, patience: patience)
      if file.isInPlace { return file }
    }
    throw HTTPError(.fileFailed, "\(DiskCalls.shown(path)) keeps being removed; another process may be removing it")
  }
}

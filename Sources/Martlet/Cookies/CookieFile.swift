import MartletBase
import Dispatch
import Foundation

/// The file of a jar: JSON, readable only by its owner, replaced atomically.
///
/// ```
///   lock "name.lock" ─▶ read "name" ─▶ apply own changes ─▶ write and sync "name.new" ─▶ rename to "name" ─▶ unlock
/// ```
///
/// "name" always has one complete state, the old or the new one. The operating system releases the lock when the process
/// ends. Several processes can share a file, because each applies its own changes to the file's current state before it
/// writes.
final class CookieFile: Sendable {
  /// The longest wait for the lock, in milliseconds.
  private static let patience = 2_000

  let path: String
  /// The kind of changes to save in the file.
  let journal: CookieTable.Journal
  /// File access blocks, so it must not use the threads of tasks.
  private let queue = DispatchQueue(label: "Martlet.CookieFile")
  private let failures = Locked(Failures())

  private struct Failures {
    var count = 0
    var last: HTTPError?
  }

  init(_ url: URL, keepsSessionCookies: Bool) {
    path = url.path(percentEncoded: false)
    journal = keepsSessionCookies ? .everything : .persistent
  }

  /// Reads the cookies that a server could have set; none without a file.
  ///
  /// Throws an error for a file that this class cannot have written.
  func read() throws(HTTPError) -> [Cookie] {
    guard let data = try PrivateFile.read(path) else { return [] }
    guard let archive = try? JSONDecoder().decode(Archive.self, from: data), archive.version == Archive.current else {
      throw HTTPError(.file, "\(DiskCalls.shown(path)) is not a file of cookies that this version can read")
    }
    return archive.cookies.compactMap { $0.checked() }
  }

  /// Merges the changes of a shelf with the file, in both directions.
  ///
  /// If a merge fails, waiting calls fail with the same error, because each new attempt could take as long. With
  /// `isAsked`, a call always makes its own attempt.
  func synchronise(_ shelf: CookieShelf, isAsked: Bool) async throws {
    let seen = failures.withLock { $0.count }
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      queue.async { [self] in
        let failed = failures.withLock { $0.count == seen ? nil : $0.last }
        if let failed, !isAsked { return continuation.resume(throwing: failed) }
        let changes = shelf.withTable { $0.takeChanges() }
        // An earlier call has already saved the changes.
        guard isAsked || !changes.isEmpty else { return continuation.resume() }
        do throws(HTTPError) {
          try merge(changes, with: shelf)
          continuation.resume()
        } catch {
          shelf.withTable { $0.restore(changes) }
          failures.withLock { $0 = Failures(count: $0.count + 1, last: error) }
          continuation.resume(throwing: error)
        }
      }
    }
  }

  private func merge(_ changes: [CookieTable.Change], with shelf: CookieShelf) throws(HTTPError) {
    let lock = try FileLock(path + ".lock", patience: Self.patience)
    defer { lock.release() }
    let now = shelf.now()
    let stored = try readOrSetAside(isWriting: !changes.isEmpty)
    var table = CookieTable()
    table.put(stored, now: now)
    for change in changes { table.apply(change, now: now) }
    let merged = table.inOrder(now)
    if !changes.isEmpty && Set(merged) != Set(stored) { try write(merged) }
    shelf.withTable { $0.adopt(merged, now: now) }
  }

  /// Reads the file; before a write, a file with other contents is renamed, so that it is not lost.
  ///
  /// A file that cannot be read at all is not renamed; its error is thrown.
  private func readOrSetAside(isWriting: Bool) throws(HTTPError) -> [Cookie] {
    do {
      return try read()
    } catch {
      guard isWriting, try PrivateFile.read(path) != nil else { throw error }
      try PrivateFile.rename(path, to: path + ".broken")
      return []
    }
  }

  private func write(_ cookies: [Cookie]) throws(HTTPError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let archive = Archive(version: Archive.current, cookies: cookies)
    guard let data = try? encoder.encode(archive) else {
      throw HTTPError(.file, "the cookies cannot be written to \(DiskCalls.shown(path))")
    }
    try PrivateFile.replace(path, with: data)
  }
}

private struct Archive: Codable {
  static let current = 1

  var version: Int
  var cookies: [Cookie]
}

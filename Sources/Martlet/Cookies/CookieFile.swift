import MartletBase

/// The file of a jar: JSON, readable only by its owner, replaced atomically.
///
/// ```
///   lock "name.lock" ─▶ read "name" ─▶ apply own changes ─▶ write and sync "name.new" ─▶ rename to "name" ─▶ unlock
/// ```
///
/// "name" always has one complete state, the old or the new one. The operating system releases the lock when the
/// process ends. Several processes can share a file, because each applies its own changes to the file's current state
/// before it writes.
final class CookieFile: Sendable {

  let path: String
  /// The kind of changes to save in the file.
  let journal: CookieTable.Journal
  /// File access blocks, so it must not run on the cooperative thread pool.
  private let saves = SaveQueue(label: "Martlet.CookieFile")

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
      throw HTTPError(.fileFailed, "\(DiskCalls.shown(path)) is not a file of cookies that this version can read")
    }
    return archive.cookies.compactMap { $0.checked() }
  }

  /// Merges the changes of a storage with the file, in both directions.
  ///
  /// If a merge fails, waiting calls fail with the same error, because each new attempt could take as long. With
  /// `isAsked`, a call always makes its own attempt.
  func synchronise(_ shelf: CookieStorage, isAsked: Bool) async throws {
    try await saves.save(isAsked: isAsked) { [self] () throws(HTTPError) in
      let changes = shelf.withTable { $0.takeChanges() }
      // An earlier call has already saved the changes.
      guard isAsked || !changes.isEmpty else { return }
      do throws(HTTPError) {
        try merge(changes, with: shelf)
      } catch {
        shelf.withTable { $0.restore(changes) }
        throw error
      }
    }
  }

  private func merge(_ changes: [CookieTable.Change], with shelf: CookieStorage) throws(HTTPError) {
    let lock = try FileLock(path + ".lock")
    defer { lock.release() }
    let now = shelf.now()
    let stored = try readOrSetAside(isWriting: !changes.isEmpty)
    var table = CookieTable()
    table.put(stored, now: now)
    for change in changes { table.apply(change, now: now) }
    let merged = table.inOrder(now)
    if !changes.isEmpty && Set(merged) != Set(stored) {
      try PrivateFile.replace(path, withJSON: Archive(version: Archive.current, cookies: merged))
    }
    shelf.withTable { $0.adopt(merged, now: now) }
  }

  /// Reads the file; before a write, a file with other contents is renamed, so it is not lost.
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
}

private struct Archive: Codable {
  static let current = 1

  var version: Int
  var cookies: [Cookie]
}

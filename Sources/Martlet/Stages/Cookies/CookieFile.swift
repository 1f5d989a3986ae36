import MartletBase
import Dispatch
import Foundation

/// The file of a jar: JSON, readable by its owner only, replaced as a whole.
///
/// ```
///   lock "name.lock" ─▶ read "name" ─▶ add own changes ─▶ write and sync "name.new" ─▶ rename to "name" ─▶ unlock
/// ```
///
/// At every instant "name" is one whole state, the old or the new one. The lock is the system's, so that it ends with
/// its process. Because what is written is what others have written with own changes on top, several processes can share
/// a file.
final class CookieFile: Sendable {
  /// How long another process may hold the lock, in milliseconds.
  private static let patience = 2_000

  let path: String
  /// Which changes belong into the file.
  let journal: CookieTable.Journal
  /// Files block the thread that asks for them, and so must not be read and written on those of tasks.
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

  /// Reads the cookies, as far as a server could have set them; none if there is no file.
  ///
  /// One that is not what this class writes is an error.
  func read() throws(HTTPError) -> [Cookie] {
    guard let data = try PrivateFile.read(path) else { return [] }
    guard let archive = try? JSONDecoder().decode(Archive.self, from: data), archive.version == Archive.current else {
      throw HTTPError(.file, "\(PrivateFile.shown(path)) is not a file of cookies that this version can read")
    }
    return archive.cookies.compactMap { $0.checked() }
  }

  /// Merges the changes of a shelf with the file, in both directions.
  ///
  /// Who waits while a merge fails has failed with it, and does not wait for another one that takes as long.
  func synchronise(_ shelf: CookieShelf, isAsked: Bool) async throws {
    let seen = failures.withLock { $0.count }
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      queue.async { [self] in
        let failed = failures.withLock { $0.count == seen ? nil : $0.last }
        if let failed, !isAsked { return continuation.resume(throwing: failed) }
        let changes = shelf.takeChanges()
        // Somebody before has saved it already.
        guard isAsked || !changes.isEmpty else { return continuation.resume() }
        do throws(HTTPError) {
          try merge(changes, with: shelf)
          continuation.resume()
        } catch {
          shelf.restore(changes)
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
    for cookie in stored { table.put(cookie, now: now) }
    for change in changes { table.apply(change, now: now) }
    let merged = table.inOrder(now)
    if !changes.isEmpty && Set(merged) != Set(stored) { try write(merged) }
    shelf.adopt(merged)
  }

  /// Reads the file; one that cannot be understood is renamed before another takes its place, so that it is not lost.
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
      throw HTTPError(.file, "the cookies cannot be written to \(PrivateFile.shown(path))")
    }
    try PrivateFile.replace(path, with: data)
  }
}

private struct Archive: Codable {
  static let current = 1

  var version: Int
  var cookies: [Cookie]
}

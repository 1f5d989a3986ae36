import Foundation

// The system's call, of which the type has a namesake.
private let renameFile: @Sendable (String, String) -> Int32 = { rename($0, $1) }

/// Files with secrets in them: for their owner only from the first instant, never through a symbolic link, whole or not
/// there.
enum PrivateFile {
  /// A path fit for a log.
  static func shown(_ path: String) -> String { InvalidInput.printable(path, limit: 300) }

  static func error(_ what: String, _ path: String, _ code: Int32) -> HTTPError {
    .file("\(shown(path)) \(what)", code: code)
  }

  /// The error for a file of another user.
  static func foreign(_ path: String) -> HTTPError { HTTPError(.file, "\(shown(path)) belongs to another user") }

  /// The error for a file that cannot be opened because it is another user's; `nil` if it is not.
  static func refusal(_ path: String) -> HTTPError? { DiskCalls.facts(path)?.isOwn == false ? foreign(path) : nil }

  /// Reads a file; `nil` if there is none.
  ///
  /// One that is no plain file, a symbolic link, another user's or larger than the limit is an error; one with a secret
  /// also if others have any right to it (mode 0600).
  static func read(_ path: String, limit: Int = 64 << 20, isSecret: Bool = false) throws(HTTPError) -> Data? {
    guard let file = OpenFile.at(path, O_RDONLY) else {
      if errno == ENOENT { return nil }
      throw error("cannot be opened", path, errno)
    }
    let facts = try file.check()
    guard !isSecret || facts.isPrivate else {
      throw HTTPError(.file, "\(shown(path)) is not a file that only its owner has rights to (mode 0600)")
    }
    var data = Data()
    while true {
      let piece = try file.read(at: Int64(data.count), count: 64 << 10)
      if piece.isEmpty { return data }
      data += piece
      guard data.count <= limit else { throw HTTPError(.file, "\(shown(path)) is larger than \(limit) bytes") }
    }
  }

  /// Replaces a file: at every instant it is what it was or what it will be, also after a crash.
  ///
  /// Until then the new file has another name; the usual one is only for who holds the lock of the file. It is synced
  /// if it is to survive a machine that stops suddenly, and not only the end of this process.
  static func replace(
    _ path: String, with data: Data, by name: String? = nil, isSynced: Bool = true, calls: ParentFolder.Calls = .system
  ) throws(HTTPError) {
    let folder: ParentFolder? = if isSynced { try ParentFolder(of: path, by: calls) } else { nil }
    let new = name ?? path + ".new"
    // Of a process that was killed; or somebody's trap, which is then not followed.
    unlink(new)
    guard let file = OpenFile.at(new, O_WRONLY | O_CREAT | O_EXCL) else { throw error("cannot be made", new, errno) }
    do throws(HTTPError) {
      try file.append(data)
      if isSynced { try file.sync() }
      try rename(new, to: path, in: folder)
    } catch {
      unlink(new)
      throw error
    }
  }

  /// Removes a file, if it is there.
  static func remove(_ path: String) throws(HTTPError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw error("cannot be removed", path, errno) }
  }

  /// Renames a file, and makes sure that the new name survives a crash.
  static func rename(_ path: String, to name: String, calls: ParentFolder.Calls = .system) throws(HTTPError) {
    try rename(path, to: name, in: ParentFolder(of: name, by: calls))
  }

  private static func rename(_ path: String, to name: String, in folder: ParentFolder?) throws(HTTPError) {
    guard renameFile(path, name) == 0 else { throw error("cannot be replaced", name, errno) }
    try folder?.sync()
  }
}

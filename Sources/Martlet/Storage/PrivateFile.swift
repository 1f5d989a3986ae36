import Foundation

// The system call, which a method of the type hides.
private let renameFile: @Sendable (String, String) -> Int32 = { rename($0, $1) }

/// Files with secrets.
///
/// Only the owner has access, from the first instant. They are written atomically, and never through a symbolic link.
enum PrivateFile {
  static func error(_ what: String, _ path: String, _ code: Int32) -> HTTPError {
    .file("\(DiskCalls.shown(path)) \(what)", code: code)
  }

  /// The error for a file of another user.
  static func foreign(_ path: String) -> HTTPError {
    HTTPError(.file, "\(DiskCalls.shown(path)) belongs to another user")
  }

  /// The error for a file of another user; `nil` for other files.
  static func refusal(_ path: String) -> HTTPError? { DiskCalls.facts(path)?.isOwn == false ? foreign(path) : nil }

  /// Reads a file; `nil` if it does not exist.
  ///
  /// Throws an error if the file is not regular, is a symbolic link, belongs to another user or exceeds the limit. With
  /// `isSecret`, it also throws one if others have any permission (mode 0600 is required).
  static func read(_ path: String, limit: Int = 64 << 20, isSecret: Bool = false) throws(HTTPError) -> Data? {
    guard let file = OpenFile.at(path, O_RDONLY) else {
      if errno == ENOENT { return nil }
      throw error("cannot be opened", path, errno)
    }
    let facts = try file.check()
    guard !isSecret || facts.isPrivate else {
      throw HTTPError(.file, "\(DiskCalls.shown(path)) is not a file that only its owner has rights to (mode 0600)")
    }
    var data = Data()
    while true {
      let piece = try file.read(at: Int64(data.count), count: 64 << 10)
      if piece.isEmpty { return data }
      data += piece
      guard data.count <= limit else {
        throw HTTPError(.file, "\(DiskCalls.shown(path)) is larger than \(limit) bytes")
      }
    }
  }

  /// Replaces a file atomically, even if the process is killed.
  ///
  /// The new file has a temporary name at first, so the caller must hold the lock of the file.
  /// With `isSynced`, the replacement is also atomic, and survives, if the machine crashes.
  static func replace(
    _ path: String, with data: Data, isSynced: Bool = true, calls: ParentFolder.Calls = .system
  ) throws(HTTPError) {
    try replace(path, isSynced: isSynced, calls: calls) { file throws(HTTPError) in try file.append(data) }
  }

  /// Replaces a file atomically with one that `write` fills; returns the new file.
  @discardableResult
  static func replace(
    _ path: String, isSynced: Bool = true, calls: ParentFolder.Calls = .system,
    _ write: (OpenFile) throws(HTTPError) -> Void
  ) throws(HTTPError) -> OpenFile {
    let folder: ParentFolder? = if isSynced { try ParentFolder(of: path, by: calls) } else { nil }
    let new = path + ".new"
    // Remove the file of a killed process, or an attacker's link, which is not followed.
    unlink(new)
    guard let file = OpenFile.at(new, O_RDWR | O_CREAT | O_EXCL) else { throw error("cannot be made", new, errno) }
    do throws(HTTPError) {
      try write(file)
      if isSynced { try file.sync() }
      try rename(new, to: path, in: folder)
    } catch {
      unlink(new)
      throw error
    }
    return OpenFile(descriptor: file.descriptor, path: path)
  }

  /// Replaces a file with a value as JSON.
  static func replace(
    _ path: String, withJSON value: some Encodable, isPretty: Bool = true, isSynced: Bool = true
  ) throws(HTTPError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
    let data: Data
    do { data = try encoder.encode(value) } catch {
      throw HTTPError(.file, "\(DiskCalls.shown(path)) cannot be encoded", underlying: error)
    }
    try replace(path, with: data, isSynced: isSynced)
  }

  /// Removes a file, if it exists.
  static func remove(_ path: String) throws(HTTPError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw error("cannot be removed", path, errno) }
  }

  /// Renames a file, and syncs the new name, so that it survives a crash.
  static func rename(_ path: String, to name: String, calls: ParentFolder.Calls = .system) throws(HTTPError) {
    try rename(path, to: name, in: ParentFolder(of: name, by: calls))
  }

  private static func rename(_ path: String, to name: String, in folder: ParentFolder?) throws(HTTPError) {
    guard renameFile(path, name) == 0 else { throw error("cannot be replaced", name, errno) }
    try folder?.sync()
  }
}

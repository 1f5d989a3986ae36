// The system call, which a method of the type hides.
private let renameFile: @Sendable (String, String) -> Int32 = { rename($0, $1) }

/// Files with secrets.
///
/// Only the owner has access, from the first instant. They are written atomically, and never through a symbolic link.
public enum PrivateFile<Errors: FileErrors> {
  public static func error(_ what: String, _ path: String, _ code: Int32) -> Errors.Failure {
    Errors.error("\(DiskCalls.shown(path)) \(what)", code: code)
  }

  /// The error for a file of another user.
  public static func foreign(_ path: String) -> Errors.Failure {
    Errors.error("\(DiskCalls.shown(path)) belongs to another user")
  }

  /// The error for a file of another user; `nil` for other files.
  public static func refusal(_ path: String) -> Errors.Failure? {
    DiskCalls.facts(path)?.isOwn == false ? foreign(path) : nil
  }

  /// Replaces a file atomically with one that `write` fills, even if the process is killed; returns the new file.
  ///
  /// The new file has a temporary name at first, so the caller must hold the lock of the file.
  /// With `isSynced`, the replacement is also atomic, and survives, if the machine crashes.
  @discardableResult
  public static func replace(
    _ path: String, isSynced: Bool = true, calls: ParentFolderCalls = .system,
    _ write: (OpenFile<Errors>) throws(Errors.Failure) -> Void
  ) throws(Errors.Failure) -> OpenFile<Errors> {
    let folder: ParentFolder<Errors>? = if isSynced { try ParentFolder(of: path, by: calls) } else { nil }
    let new = path + ".new"
    // Remove the file of a killed process, or an attacker's link, which is not followed.
    unlink(new)
    guard let file = OpenFile<Errors>.at(new, O_RDWR | O_CREAT | O_EXCL) else {
      throw error("cannot be created", new, errno)
    }
    do throws(Errors.Failure) {
      try write(file)
      if isSynced { try file.sync() }
      try rename(new, to: path, in: folder)
    } catch {
      unlink(new)
      throw error
    }
    return OpenFile(descriptor: file.descriptor, path: path)
  }

  /// Renames a file, and syncs the new name to survive a crash.
  public static func rename(_ path: String, to name: String, calls: ParentFolderCalls = .system) throws(Errors.Failure)
  {
    try rename(path, to: name, in: ParentFolder(of: name, by: calls))
  }

  private static func rename(
    _ path: String, to name: String, in folder: ParentFolder<Errors>?
  ) throws(Errors.Failure) {
    guard renameFile(path, name) == 0 else { throw error("cannot be replaced", name, errno) }
    try folder?.sync()
  }
}

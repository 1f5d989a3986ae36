import Foundation

/// The file of `-o`: written under a temporary name in the same folder, and renamed once it is complete.
///
/// A file that is not regular, such as `/dev/null`, is written directly.
struct OutputFile: Sendable {
  /// The file as the user named it.
  let name: String
  /// The path of the temporary file; `nil` if the file is written directly.
  let temporaryPath: String?
  private let path: String
  private let descriptor: Int32

  /// Checks the path and opens the file, before a request is sent.
  ///
  /// - Parameters:
  ///   - name: The file as the user named it.
  ///   - mode: The permissions of a new file, before the umask; an existing file keeps its permissions.
  /// - Throws: ``UsageError`` if the file cannot be written.
  init(_ name: String, mode: mode_t = 0o666) throws(UsageError) {
    self.name = name
    var status = stat()
    // A device, such as the target of `/dev/stdout`, may have no path.
    path = stat(name, &status) == 0 && status.st_mode & S_IFMT != S_IFREG ? name : try Self.resolved(name)
    let exists = stat(path, &status) == 0
    let kind = status.st_mode & S_IFMT
    if name.hasSuffix("/") || (exists && kind == S_IFDIR) {
      throw UsageError("cannot write to '\(name)': it is a folder")
    }
    if exists && access(path, W_OK) != 0 { throw Self.problem(name) }
    guard !exists || kind == S_IFREG else {
      temporaryPath = nil
      descriptor = open(path, O_WRONLY | O_CLOEXEC)
      if descriptor < 0 { throw Self.problem(name) }
      return
    }
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    let temporary = "\(folder)/.martlet-\(UUID().uuidString).part"
    temporaryPath = temporary
    descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    if descriptor < 0 { throw Self.problem(name) }
    if exists { fchmod(descriptor, status.st_mode & 0o777) }
  }

  func write(_ data: Data) throws(WriteError) { try Descriptor.writeAll(data, to: descriptor) }

  /// Renames the complete file to its final name.
  func finish() throws(WriteError) {
    // Some file systems report a full disk only when the file is closed.
    guard close(descriptor) == 0 else { throw WriteError(code: errno) }
    guard let temporaryPath else { return }
    guard rename(temporaryPath, path) == 0 else { throw WriteError(code: errno) }
  }

  /// Removes the temporary file; does nothing after ``finish()``.
  func discard() {
    if let temporaryPath { unlink(temporaryPath) }
  }

  /// The path without symbolic links at its end.
  ///
  /// As with downloads, a link is kept and its target is replaced; another user's link is refused.
  private static func resolved(_ name: String) throws(UsageError) -> String {
    var path = name
    for _ in 0..<40 {
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
      guard status.st_uid == geteuid() || status.st_uid == 0 else {
        throw UsageError("cannot write to '\(name)': it is a symbolic link of another user")
      }
      guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { throw problem(name) }
      let slash = UInt8(ascii: "/")
      let folder = path.utf8.lastIndex(of: slash).map { path[...$0] } ?? ""
      path = next.utf8.first == slash ? next : folder + next
    }
    errno = ELOOP
    throw problem(name)
  }

  private static func problem(_ name: String) -> UsageError {
    UsageError("cannot write to '\(name)': \(String(cString: strerror(errno)))")
  }
}

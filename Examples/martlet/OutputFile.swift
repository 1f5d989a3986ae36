import Foundation

/// The file of `-o`: written under a temporary name beside it, and renamed once it is whole.
///
/// What is no regular file, such as `/dev/null`, is written to as it is.
struct OutputFile: Sendable {
  /// The file as the user named it.
  let name: String
  /// Where the bytes go until they are complete; `nil` if they go to their place at once.
  let temporaryPath: String?
  private let path: String
  private let descriptor: Int32

  /// Checks the place and opens the file, before anything is sent.
  ///
  /// - Parameters:
  ///   - name: The file as the user named it.
  ///   - mode: The permissions of a new one, of which the umask takes some; one that was there keeps its own.
  /// - Throws: ``UsageError`` if the place cannot be written to.
  init(_ name: String, mode: mode_t = 0o666) throws(UsageError) {
    self.name = name
    var status = stat()
    // A device, such as that behind `/dev/stdout`, may have no path.
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

  /// Puts the complete file in its place.
  func finish() throws(WriteError) {
    // Some file systems tell only now that the disk is full.
    guard close(descriptor) == 0 else { throw WriteError(code: errno) }
    guard let temporaryPath else { return }
    guard rename(temporaryPath, path) == 0 else { throw WriteError(code: errno) }
  }

  /// Removes what was written; does nothing after ``finish()``.
  func discard() {
    if let temporaryPath { unlink(temporaryPath) }
  }

  /// The path without symbolic links at its end.
  ///
  /// The rule is that of downloads: a link stays, its file is replaced, and a link of another user is refused.
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

import Foundation

/// The system's calls as downloads and outboxes need them.
extension DiskCalls {
  /// Has the disk itself write what was written to a file; 0, or the number of the error.
  static func sync(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
      // There `fsync` leaves it in the drive's own memory; not every file system can do better.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
    #endif
    return fsync(descriptor) == 0 ? 0 : errno
  }

  /// Gives a file another name, but only where nothing is; 0, or the number of the error.
  static func move(_ path: String, to name: String) -> Int32 {
    #if canImport(Darwin)
      // The sandbox of iOS may refuse a link.
      if renamex_np(path, name, UInt32(RENAME_EXCL)) == 0 { return 0 }
      if errno != ENOTSUP { return errno }
    #endif
    // A link is made only where nothing is.
    guard link(path, name) == 0 else { return errno }
    unlink(path)
    return 0
  }

  /// Opens a file for reading and writing, or makes one for its owner only; follows no link.
  ///
  /// `nil` with `errno`, ``EEXIST`` if it was made or removed meanwhile.
  static func openPart(_ path: String) -> (file: OpenFile?, isNew: Bool) {
    // Without `O_CREAT`, which some systems refuse for files of others in folders that everybody may write in.
    let file = OpenFile.at(path, O_RDWR)
    if file != nil || errno != ENOENT { return (file, false) }
    return (OpenFile.at(path, O_RDWR | O_CREAT | O_EXCL), true)
  }

  /// The mode that a new file gets without a wish, by the process's mask and the rules of the folder.
  ///
  /// The path is free, for a moment; `nil` if no file can be made there.
  static func usualMode(_ path: String) -> mode_t? {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var facts = stat()
    let code = fstat(descriptor, &facts)
    unlink(path)
    return code == 0 ? facts.st_mode & 0o777 : nil
  }

  /// Writes all bytes at a place; 0, or the number of the error.
  static func put(_ bytes: UnsafeRawBufferPointer, into descriptor: Int32, at offset: Int64) -> Int32 {
    repeated(bytes) { rest, done in pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done)) }
  }

  /// What the system knows of a path, whose last link is not followed.
  static func facts(_ path: String) -> DiskFacts? {
    var facts = stat()
    return lstat(path, &facts) == 0 ? DiskFacts(facts) : nil
  }

  /// How many bytes a file system has left for the user of this process; `nil` if it does not tell.
  static func freeBytes(_ descriptor: Int32) -> Int64? {
    var facts = statvfs()
    guard fstatvfs(descriptor, &facts) == 0 else { return nil }
    // Some file systems say 0 of everything.
    guard facts.f_blocks > 0 else { return nil }
    let (bytes, overflow) = Int64(clamping: facts.f_bavail).multipliedReportingOverflow(
      by: Int64(clamping: facts.f_frsize))
    return overflow ? .max : bytes
  }
}

extension DiskCalls {
  /// What the system knows of what a path leads to.
  static func targetFacts(_ path: String) -> DiskFacts? {
    var facts = stat()
    return stat(path, &facts) == 0 ? DiskFacts(facts) : nil
  }

  /// The file system of a path.
  static func device(_ path: String) -> UInt64? {
    var facts = stat()
    return stat(path, &facts) == 0 ? UInt64(truncatingIfNeeded: facts.st_dev) : nil
  }
}

extension DiskCalls {
  /// The error of a call, by its number.
  struct Failure: Error {
    let code: Int32

    var isAbsence: Bool { code == ENOENT || code == ENOTDIR }
    /// Whether the process or the system has no descriptor or no memory left, which passes.
    var isExhaustion: Bool { code == EMFILE || code == ENFILE || code == ENOMEM }
    var text: String { String(cString: strerror(code)) }
  }

  /// Reads a regular file, up to a limit, or `nil` if it is something else; follows links.
  static func contents(_ path: String, upTo limit: Int) throws(Failure) -> Data? {
    guard !path.utf8.contains(0) else { throw Failure(code: ENOENT) }
    // A pipe would otherwise hold up whoever opens it.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw Failure(code: errno) }
    defer { close(descriptor) }
    guard facts(descriptor)?.isFile == true else { return nil }
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while data.count < limit {
      let wanted = min(buffer.count, limit - data.count)
      let count = buffer.withUnsafeMutableBytes {
        fill(UnsafeMutableRawBufferPointer(rebasing: $0[..<wanted]), from: descriptor, at: Int64(data.count))
      }
      guard count >= 0 else { throw Failure(code: Int32(clamping: -count)) }
      if count == 0 { break }
      data += buffer[..<count]
    }
    return data
  }
}

import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The system's calls as downloads and outboxes need them.
extension DiskCalls {
  /// Has the disk itself write what was written to a file.
  ///
  /// - Returns: 0, or the number of the error.
  static func sync(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
      // There `fsync` leaves it in the drive's own memory; not every file system can do better.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
    #endif
    return fsync(descriptor) == 0 ? 0 : errno
  }

  /// Opens a file for reading and writing, or makes one that the process's mask allows; follows no link.
  static func openPart(_ path: String) -> Int32 {
    open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o666)
  }

  /// Writes all bytes at a place.
  ///
  /// - Returns: 0, or the number of the error.
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

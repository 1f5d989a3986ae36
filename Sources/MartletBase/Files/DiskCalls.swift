import CMartletShim

/// System calls for the library's own files: repeated after a signal, and until complete.
public enum DiskCalls {
  /// Reads bytes into a buffer; fewer than requested only at the end of the file.
  ///
  /// Returns the number of bytes, or the negative error number.
  public static func fill(_ buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32, at offset: Int64) -> Int {
    var done = 0
    while done < buffer.count {
      let count = pread(
        descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, off_t(offset) + off_t(done))
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { return -Int(errno) }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Writes all bytes; returns 0 or the error number.
  public static func append(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    repeated(bytes) { rest, _ in write(descriptor, rest.baseAddress, rest.count) }
  }

  /// Syncs an open file or folder; returns 0 or the error number.
  public static func sync(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
      // On Darwin, `fsync` leaves the data in the drive's cache. Some file systems support nothing better.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
    #endif
    return fsync(descriptor) == 0 ? 0 : errno
  }

  /// Calls `write` until all bytes are written; returns 0 or the error number.
  ///
  /// `write` receives the remaining bytes, and the number of bytes written so far. It returns the number of bytes that
  /// it wrote, or sets `errno`.
  public static func repeated(
    _ bytes: UnsafeRawBufferPointer, _ write: (_ rest: UnsafeRawBufferPointer, _ done: Int) -> Int
  ) -> Int32 {
    var done = 0
    while done < bytes.count {
      let count = write(UnsafeRawBufferPointer(rebasing: bytes[done...]), done)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return count < 0 ? errno : EIO }
      done += count
    }
    return 0
  }

  /// The facts of an open file.
  public static func facts(_ descriptor: Int32) -> DiskFacts? { DiskFacts { fstat(descriptor, $0) } }

  /// The facts about a file in a folder; a symbolic link is not followed.
  public static func facts(_ name: UnsafePointer<CChar>, in folder: Int32) -> DiskFacts? {
    DiskFacts { fstatat(folder, name, $0, AT_SYMLINK_NOFOLLOW) }
  }

  /// Sets the times of the last access and modification; errors are ignored.
  public static func setTime(_ microseconds: Int64, of descriptor: Int32) {
    martlet_set_times(descriptor, microseconds)
  }

  /// Exchanges two names atomically; returns `false` on failure or if the system does not support it.
  public static func exchange(
    _ one: UnsafePointer<CChar>, in folder: Int32, with other: UnsafePointer<CChar>, in otherFolder: Int32
  ) -> Bool {
    #if canImport(Darwin)
      return renameatx_np(folder, one, otherFolder, other, UInt32(RENAME_SWAP)) == 0
    #else
      return renameat2?(folder, one, otherFolder, other, 2) == 0
    #endif
  }

  #if !canImport(Darwin)
    private typealias Rename =
      @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32

    /// Some C libraries lack the function, or its declaration; 2 is its `RENAME_EXCHANGE`.
    private static let renameat2: Rename? = dlsym(nil, "renameat2").map { unsafeBitCast($0, to: Rename.self) }
  #endif

  /// Removes a file, or a folder with its contents; follows no symbolic links.
  ///
  /// Returns 0, even if nothing existed, or the error number.
  @discardableResult
  public static func remove(_ name: UnsafePointer<CChar>, in folder: Int32, depth: Int = 0) -> Int32 {
    if unlinkat(folder, name, 0) == 0 || errno == ENOENT { return 0 }
    let code = errno
    guard let facts = facts(name, in: folder), facts.isFolder, depth < 16 else { return code }
    // The folder has a name that is reserved for the storage's own files.
    let inner = martlet_above_streams(openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))
    if inner >= 0 {
      eachName(in: inner) { remove($0, in: inner, depth: depth + 1) }
      close(inner)
    }
    return unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : errno
  }

  /// Calls a closure with each name in an open folder, except `.` and `..`.
  public static func eachName(in descriptor: Int32, _ body: (UnsafePointer<CChar>) -> Void) {
    // A new descriptor, because reading names moves its position, and `closedir` closes it.
    let copy = martlet_above_streams(openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    guard copy >= 0 else { return }
    guard let names = fdopendir(copy) else {
      close(copy)
      return
    }
    defer { closedir(names) }
    while let entry = readdir(names) {
      // The name may be longer than its declared type.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return }
      let name = UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
      if name[0] == 0x2E && (name[1] == 0 || (name[1] == 0x2E && name[2] == 0)) { continue }
      body(name)
    }
  }

  /// The microseconds from 1970 to a date, which is clamped.
  public static func microseconds(_ date: Date) -> Int64 {
    Int64((min(max(date.timeIntervalSince1970, 0), 1e11) * 1e6).rounded(.down))
  }
}

/// The facts about a file that the library uses.
public struct DiskFacts: Equatable, Sendable {
  public var isFile: Bool
  public var isFolder: Bool
  public var isSocket: Bool
  public var isLink: Bool
  public var isOwn: Bool
  /// Whether the owner is root.
  public var isOfRoot: Bool
  /// Whether the group or other users may write.
  public var isOpenToOthers: Bool
  /// Whether only the owner has any permission.
  public var isPrivate: Bool
  /// Whether all users may write, not only the group.
  public var isOpenToAll: Bool
  /// Whether the file has several hard links.
  public var hasOtherNames: Bool
  public var inode: UInt64
  /// The number of the file system's device.
  public var device: UInt64
  public var size: Int64
  /// The modification time, or that of the last use, in microseconds since 1970; clamped.
  public var time: Int64

  /// The facts that a system call returns; `nil` with `errno` if it fails.
  public init?(_ call: (UnsafeMutablePointer<stat>) -> Int32) {
    var facts = stat()
    guard call(&facts) == 0 else { return nil }
    isFile = facts.st_mode & S_IFMT == S_IFREG
    isFolder = facts.st_mode & S_IFMT == S_IFDIR
    isSocket = facts.st_mode & S_IFMT == S_IFSOCK
    isLink = facts.st_mode & S_IFMT == S_IFLNK
    isOwn = facts.st_uid == geteuid()
    isOfRoot = facts.st_uid == 0
    isOpenToOthers = facts.st_mode & 0o022 != 0
    isPrivate = facts.st_mode & 0o077 == 0
    isOpenToAll = facts.st_mode & 0o002 != 0
    hasOtherNames = facts.st_nlink > 1
    inode = UInt64(truncatingIfNeeded: facts.st_ino)
    device = UInt64(truncatingIfNeeded: facts.st_dev)
    size = max(Int64(facts.st_size), 0)
    time = withUnsafePointer(to: facts) { martlet_modification_time($0) }
  }
}

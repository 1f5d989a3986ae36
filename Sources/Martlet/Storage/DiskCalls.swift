import CMartletShim
import Foundation

/// The system's calls as files of our own need them: repeated after a signal, and to the end.
enum DiskCalls {
  /// Reads bytes of a file into a buffer; fewer than asked for at the end of the file only.
  ///
  /// Tells how many; if it fails, the negative number of the error.
  static func fill(_ buffer: UnsafeMutableRawBufferPointer, from descriptor: Int32, at offset: Int64) -> Int {
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

  /// Writes all bytes; 0, or the number of the error.
  static func append(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    repeated(bytes) { rest, _ in write(descriptor, rest.baseAddress, rest.count) }
  }

  /// Has bytes written until all are; 0, or the number of the error.
  ///
  /// `write` gets what is left, and how many were written before; it tells how many it wrote, or sets `errno`.
  static func repeated(
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

  /// What the system knows of an open file.
  static func facts(_ descriptor: Int32) -> DiskFacts? {
    var facts = stat()
    return fstat(descriptor, &facts) == 0 ? DiskFacts(facts) : nil
  }

  /// What the system knows of a name, which is not followed.
  static func facts(_ name: UnsafePointer<CChar>, in folder: Int32) -> DiskFacts? {
    var facts = stat()
    return fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 ? DiskFacts(facts) : nil
  }

  /// Says when a file was used last; what cannot be said is not worth a failure.
  static func setTime(_ microseconds: Int64, of descriptor: Int32) {
    martlet_set_times(descriptor, microseconds)
  }

  /// Lets two files change names in one instant, where the system can.
  static func exchange(
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

    /// Not in every C library, nor in the headers of those that have it; the 2 above is its RENAME_EXCHANGE.
    private static let renameat2: Rename? = dlsym(nil, "renameat2").map { unsafeBitCast($0, to: Rename.self) }
  #endif

  /// Removes a file or, with all that is in it, a folder; follows no link.
  ///
  /// 0, also if there was nothing, or the number of the error.
  @discardableResult
  static func remove(_ name: UnsafePointer<CChar>, in folder: Int32, depth: Int = 0) -> Int32 {
    if unlinkat(folder, name, 0) == 0 || errno == ENOENT { return 0 }
    let code = errno
    guard let facts = facts(name, in: folder), facts.isFolder, depth < 16 else { return code }
    // It stands where only files of ours do.
    let inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    if inner >= 0 {
      eachName(in: inner) { remove($0, in: inner, depth: depth + 1) }
      close(inner)
    }
    return unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : errno
  }

  /// Shows the names in an open folder, but for the two that all have.
  static func eachName(in descriptor: Int32, _ body: (UnsafePointer<CChar>) -> Void) {
    // A new descriptor, since reading names moves the one that does it, and closes it.
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { return }
    guard let names = fdopendir(copy) else {
      close(copy)
      return
    }
    defer { closedir(names) }
    while let entry = readdir(names) {
      // The name may reach beyond the type's idea of its length.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return }
      let name = UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
      if name[0] == 0x2E && (name[1] == 0 || (name[1] == 0x2E && name[2] == 0)) { continue }
      body(name)
    }
  }

  /// Microseconds since 1970 of a date; any date has some.
  static func microseconds(_ date: Date) -> Int64 {
    Int64((min(max(date.timeIntervalSince1970, 0), 1e11) * 1e6).rounded(.down))
  }
}

struct DiskFacts: Equatable {
  var isFile: Bool
  var isFolder: Bool
  var isOwn: Bool
  /// Whether somebody else may write.
  var isOpenToOthers: Bool
  /// Whether nobody else has any right to it.
  var isPrivate: Bool
  /// Whether everybody may write, and not only the group.
  var isOpenToAll: Bool
  /// Whether it has more than one name (a hard link).
  var hasOtherNames: Bool
  var inode: UInt64
  /// At most 2⁴⁰, so that sizes can be added up.
  var size: Int64
  /// When it was written, or used, in microseconds since 1970; bounded, too.
  var time: Int64

  init(_ facts: stat) {
    isFile = facts.st_mode & S_IFMT == S_IFREG
    isFolder = facts.st_mode & S_IFMT == S_IFDIR
    isOwn = facts.st_uid == geteuid()
    isOpenToOthers = facts.st_mode & 0o022 != 0
    isPrivate = facts.st_mode & 0o077 == 0
    isOpenToAll = facts.st_mode & 0o002 != 0
    hasOtherNames = facts.st_nlink > 1
    inode = UInt64(truncatingIfNeeded: facts.st_ino)
    size = min(max(Int64(facts.st_size), 0), 1 << 40)
    time = withUnsafePointer(to: facts) { martlet_modification_time($0) }
  }
}

import CMartletShim

/// An open file, closed with its last reference; its errors contain the path.
public struct OpenFile<Errors: FileErrors>: Sendable {
  public let descriptor: DiskDescriptor
  public let path: String

  public init(descriptor: DiskDescriptor, path: String) { (self.descriptor, self.path) = (descriptor, path) }

  public var number: Int32 { descriptor.number }
  public var facts: DiskFacts? { DiskCalls.facts(number) }

  /// Opens a file, or creates it for its owner only; `nil` with `errno`.
  ///
  /// Symbolic links are rejected, and opening a pipe does not block.
  public static func at(_ path: String, _ flags: Int32) -> OpenFile? {
    DiskDescriptor.at(path, flags).map { OpenFile(descriptor: $0, path: path) }
  }

  /// Checks that the file is a regular file of this user.
  ///
  /// The owner of a new file is not checked, because the file system determines it.
  public func check(isNew: Bool = false) throws(Errors.Failure) -> DiskFacts {
    guard let facts, facts.isFile else { throw Errors.error("\(DiskCalls.shown(path)) is not a plain file") }
    guard isNew || facts.isOwn else { throw PrivateFile<Errors>.foreign(path) }
    return facts
  }

  /// Whether the path still names the file.
  public var isInPlace: Bool {
    guard let facts, let named = DiskCalls.facts(path) else { return false }
    return named.inode == facts.inode
  }

  /// Acquires the system's lock on the file, which its process holds until it releases the lock or ends.
  ///
  /// Waits at most `patience` milliseconds. Returns 0, `EWOULDBLOCK` if another process still has the lock, or another
  /// error number.
  public func lock(patience: Int = 0) -> Int32 {
    // Use the clock: on a busy machine, each pause takes longer than requested.
    let end = ContinuousClock.now + .milliseconds(patience)
    while flock(number, LOCK_EX | LOCK_NB) != 0 {
      let code = errno
      guard code == EWOULDBLOCK || code == EINTR else { return code }
      guard ContinuousClock.now < end else { return EWOULDBLOCK }
      usleep(1_000)
    }
    return 0
  }

  /// Releases the lock, which a forked child that has not started its program yet may still share.
  public func unlock() { flock(number, LOCK_UN) }

  /// Reads bytes; fewer than requested only at the end of the file.
  public func read(at offset: Int64, count: Int) throws(Errors.Failure) -> Data {
    var data = Data(count: count)
    let done = data.withUnsafeMutableBytes { DiskCalls.fill($0, from: number, at: offset) }
    if done < 0 { try succeed(Int32(-done), "cannot be read") }
    return data.prefix(done)
  }

  public func put(_ bytes: some ContiguousBytes, at offset: Int64) throws(Errors.Failure) {
    let code = bytes.withUnsafeBytes { bytes in
      DiskCalls.repeated(bytes) { pwrite(number, $0.baseAddress, $0.count, off_t(offset) + off_t($1)) }
    }
    try succeed(code, "cannot be written")
  }

  /// Writes all bytes after those written before.
  public func append(_ bytes: some ContiguousBytes) throws(Errors.Failure) {
    try succeed(bytes.withUnsafeBytes { DiskCalls.append($0, to: number) }, "cannot be written")
  }

  public func sync() throws(Errors.Failure) {
    try succeed(DiskCalls.sync(number), "cannot be written")
  }

  public func cut(at size: Int64) throws(Errors.Failure) {
    try succeed(ftruncate(number, off_t(size)) == 0 ? 0 : errno, "cannot be truncated")
  }

  /// The number of bytes available to the user of this process; `nil` if unknown.
  public var freeBytes: Int64? {
    var facts = statvfs()
    // Some file systems report 0 for all values.
    guard fstatvfs(number, &facts) == 0, facts.f_blocks > 0 else { return nil }
    let (bytes, overflow) = Int64(clamping: facts.f_bavail).multipliedReportingOverflow(
      by: Int64(clamping: facts.f_frsize))
    return overflow ? .max : bytes
  }

  /// Sets the mode; errors are ignored, because some file systems have no modes.
  public func setMode(_ mode: mode_t) { fchmod(number, mode) }

  private func succeed(_ code: Int32, _ what: String) throws(Errors.Failure) {
    guard code == 0 else { throw PrivateFile<Errors>.error(what, path, code) }
  }
}

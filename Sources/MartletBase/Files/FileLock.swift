/// The lock for a file that several processes write.
///
/// The lock is a separate file, which is not removed. The system releases the lock when its process ends, however it
/// ends.
public struct FileLock<Errors: FileErrors>: ~Copyable {
  private let file: OpenFile<Errors>

  /// Waits for the lock, for at most `patience` milliseconds.
  public init(_ path: String, patience: Int = 2_000) throws(Errors.Failure) {
    guard let file = OpenFile<Errors>.at(path, O_RDWR | O_CREAT) else {
      let code = errno
      throw PrivateFile<Errors>.refusal(path) ?? PrivateFile<Errors>.error("cannot be created", path, code)
    }
    // Another user could hold the lock of their own file forever.
    guard file.facts?.isOwn == true else { throw PrivateFile<Errors>.foreign(path) }
    try Self.lock(file, patience: patience)
    self.file = file
  }

  /// Waits for an open file's lock, for at most `patience` milliseconds.
  public static func lock(_ file: OpenFile<Errors>, patience: Int) throws(Errors.Failure) {
    switch file.lock(patience: patience) {
    case 0: return
    case EWOULDBLOCK:
      throw Errors.error("another process has held \(DiskCalls.shown(file.path)) for \(patience) ms")
    case let code: throw PrivateFile<Errors>.error("cannot be locked", file.path, code)
    }
  }

  public borrowing func release() { file.unlock() }
}

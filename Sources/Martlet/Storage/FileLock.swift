import Foundation

/// The lock for a file that several processes write.
///
/// The lock is a separate file, which is not removed. The system releases the lock when its process ends, in any way.
struct FileLock: ~Copyable {
  private let file: OpenFile

  /// Waits for the lock, at most `patience` milliseconds.
  init(_ path: String, patience: Int = 2_000) throws(HTTPError) {
    guard let file = OpenFile.at(path, O_RDWR | O_CREAT) else {
      let code = errno
      throw PrivateFile.refusal(path) ?? PrivateFile.error("cannot be made", path, code)
    }
    // Another user could hold the lock of their own file forever.
    guard file.facts?.isOwn == true else { throw PrivateFile.foreign(path) }
    try Self.lock(file, patience: patience)
    self.file = file
  }

  /// Waits for the lock of an open file, at most `patience` milliseconds.
  static func lock(_ file: OpenFile, patience: Int) throws(HTTPError) {
    switch file.lock(patience: patience) {
    case 0: return
    case EWOULDBLOCK:
      throw HTTPError(.file, "another process has held \(DiskCalls.shown(file.path)) for \(patience) ms")
    case let code: throw PrivateFile.error("cannot be locked", file.path, code)
    }
  }

  borrowing func release() { file.unlock() }
}

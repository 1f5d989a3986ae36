import Foundation

/// The lock for a file that several processes write.
///
/// The lock is a separate file, which is not removed. The system releases the lock when its process ends, in any way.
struct FileLock: ~Copyable {
  private let file: OpenFile

  /// Waits for the lock, at most `patience` milliseconds.
  init(_ path: String, patience: Int) throws(HTTPError) {
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
    // Use the clock: on a busy machine, each pause takes longer than requested.
    let end = ContinuousClock.now + .milliseconds(patience)
    repeat {
      if flock(file.number, LOCK_EX | LOCK_NB) == 0 { return }
      let code = errno
      guard code == EWOULDBLOCK || code == EINTR else { throw PrivateFile.error("cannot be locked", file.path, code) }
      usleep(1_000)
    } while ContinuousClock.now < end
    throw HTTPError(.file, "another process has held \(DiskCalls.shown(file.path)) for \(patience) ms")
  }

  borrowing func release() {
    // A forked child that has not started its program yet may still have the descriptor.
    flock(file.number, LOCK_UN)
  }
}

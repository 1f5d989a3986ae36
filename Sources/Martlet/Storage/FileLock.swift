import Foundation

/// The lock of a file that several processes write: a file of its own, which stays.
///
/// The system takes the lock away from a process that ends, however it ends.
struct FileLock: ~Copyable {
  private let file: OpenFile

  /// Waits for the lock, for a time in milliseconds.
  init(_ path: String, patience: Int) throws(HTTPError) {
    guard let file = OpenFile.at(path, O_RDWR | O_CREAT) else {
      let code = errno
      throw PrivateFile.refusal(path) ?? PrivateFile.error("cannot be made", path, code)
    }
    // Its owner could hold it for ever.
    guard file.facts?.isOwn == true else { throw PrivateFile.foreign(path) }
    try Self.lock(file, patience: patience)
    self.file = file
  }

  /// Waits for the lock of an open file, for a time in milliseconds.
  static func lock(_ file: OpenFile, patience: Int) throws(HTTPError) {
    // By the clock: on a busy machine each pause takes longer than it says.
    let end = ContinuousClock.now + .milliseconds(patience)
    repeat {
      if flock(file.number, LOCK_EX | LOCK_NB) == 0 { return }
      let code = errno
      guard code == EWOULDBLOCK || code == EINTR else { throw PrivateFile.error("cannot be locked", file.path, code) }
      usleep(1_000)
    } while ContinuousClock.now < end
    throw HTTPError(.file, "another process has held \(PrivateFile.shown(file.path)) for \(patience) ms")
  }

  borrowing func release() {
    // A child that has not begun its program yet may have the descriptor too.
    flock(file.number, LOCK_UN)
  }
}

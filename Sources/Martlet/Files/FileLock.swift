import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The lock of a file that several processes write: a file of its own, which stays.
///
/// The system takes the lock away from a process that ends, however it ends.
struct FileLock: ~Copyable {
  private let descriptor: Int32

  /// Waits for the lock, for a time.
  ///
  /// - Parameters:
  ///   - path: The file of the lock.
  ///   - patience: How many milliseconds to wait for another process.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/file``.
  init(_ path: String, patience: Int) throws(HTTPError) {
    descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      let code = errno
      throw PrivateFile.refusal(path) ?? PrivateFile.error("cannot be made", path, code)
    }
    // Its owner could hold it for ever.
    guard DiskCalls.facts(descriptor)?.isOwn == true else {
      close(descriptor)
      throw PrivateFile.foreign(path)
    }
    do throws(HTTPError) {
      try Self.lock(descriptor, path, patience: patience)
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// Waits for the lock of an open file, for a time.
  ///
  /// - Parameters:
  ///   - descriptor: The file.
  ///   - path: Its path, for the error.
  ///   - patience: How many milliseconds to wait for another process.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/file``.
  static func lock(_ descriptor: Int32, _ path: String, patience: Int) throws(HTTPError) {
    // By the clock: on a busy machine each pause takes longer than it says.
    let end = ContinuousClock.now + .milliseconds(patience)
    repeat {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
      let code = errno
      guard code == EWOULDBLOCK || code == EINTR else { throw PrivateFile.error("cannot be locked", path, code) }
      usleep(1_000)
    } while ContinuousClock.now < end
    throw HTTPError(.file, "another process has held \(PrivateFile.shown(path)) for \(patience) ms")
  }

  /// Gives the lock back.
  borrowing func release() {
    // A child that has not begun its program yet may have the descriptor too.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}

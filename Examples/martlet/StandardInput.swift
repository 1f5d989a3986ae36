import Foundation

/// Standard input, as the source of a request's body.
struct StandardInput: Sendable {
  /// The most that is read into memory.
  static let maximumBytes = 256 << 20
  /// How long it may be silent before the user is told what is waited for, in milliseconds.
  private static let silence: Int32 = 10_000

  var descriptor = STDIN_FILENO

  /// Whether it is a regular file, a pipe or a socket: a terminal, `/dev/null` and a closed descriptor are none.
  var isRedirected: Bool {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return false }
    return [S_IFREG, S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
  }

  /// Reads it to its end.
  func read(_ errors: Terminal) throws(UsageError) -> Data {
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    if isatty(descriptor) == 0, poll(&ready, 1, Self.silence) == 0 {
      errors.complain("waiting for the body on standard input; --ignore-stdin sends none")
    }
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Foundation.read(descriptor, &buffer, buffer.count)
      if count == 0 { return data }
      if count > 0 {
        data.append(contentsOf: buffer[..<count])
        guard data.count <= Self.maximumBytes else {
          throw UsageError("standard input has more than \(Self.maximumBytes >> 20) MiB: use --body @FILE")
        }
      } else if errno == EAGAIN {
        _ = poll(&ready, 1, -1)
      } else if errno != EINTR {
        throw UsageError("cannot read standard input: \(String(cString: strerror(errno)))")
      }
    }
  }
}

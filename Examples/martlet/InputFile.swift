import Foundation

/// Reads a file that the command line names: a regular file, a pipe such as `<(command)`, or a device.
struct InputFile: ~Copyable {
  private static let chunkBytes = 1 << 16

  private let descriptor: Int32

  /// Opens a file.
  ///
  /// Opening and reading a pipe wait for its writer. Until then, a signal ends the tool.
  ///
  /// - Throws: ``UsageError`` with the system's reason.
  init(_ path: String) throws(UsageError) {
    var descriptor = open(path, O_RDONLY | O_CLOEXEC)
    while descriptor < 0, errno == EINTR { descriptor = open(path, O_RDONLY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw Self.reason }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Reads the next bytes; `nil` at the end.
  func next() throws(UsageError) -> Data? {
    var buffer = [UInt8](repeating: 0, count: Self.chunkBytes)
    while true {
      let count = read(descriptor, &buffer, buffer.count)
      if count >= 0 { return count == 0 ? nil : Data(buffer[..<count]) }
      if errno == EAGAIN {
        // On macOS, `/dev/fd` shares the mode of a non-blocking descriptor.
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&ready, 1, -1)
      } else if errno != EINTR {
        throw Self.reason
      }
    }
  }

  /// Reads a whole file.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - option: The option or item for errors.
  ///   - hint: The end of the error message.
  ///   - limit: The maximum number of bytes.
  /// - Returns: The contents.
  /// - Throws: ``UsageError`` with the reason if the file cannot be read or is too long.
  static func contents(
    of path: String, for option: String, hint: String = "", limit: Int = StandardInput.maximumBytes
  ) throws(UsageError) -> Data {
    do {
      let file = try InputFile(path)
      var data = Data()
      while let chunk = try file.next() {
        data.append(chunk)
        // A device may never end.
        if data.count > limit { throw UsageError("it has more than \(limit >> 20) MiB") }
      }
      return data
    } catch {
      throw UsageError("\(option) cannot read the file '\(path)': \(error)\(hint)")
    }
  }

  /// Whether a path names a pipe, a device or a socket, which can be read only once and has no known size.
  static func isStream(_ path: String) -> Bool {
    var facts = stat()
    return stat(path, &facts) == 0 && ![S_IFREG, S_IFDIR].contains(facts.st_mode & S_IFMT)
  }

  private static var reason: UsageError { UsageError(String(cString: strerror(errno))) }
}

import Foundation

/// A standard stream, written without a buffer.
///
/// Output is neither delayed nor lost when the program ends.
struct Terminal: Sendable {
  let descriptor: Int32
  /// Whether the stream is a terminal.
  let isTerminal: Bool
  /// Whether a line can be overwritten.
  let isErasable: Bool
  /// The colors that the terminal supports.
  let palette: Palette

  init(_ descriptor: Int32, environment: [String: String] = ProcessInfo.processInfo.environment) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    isErasable = isTerminal && Self.isCapable(environment)
    palette = isTerminal && Self.allowsColor(environment) ? .colored : .plain
  }

  /// Whether the user wants colors: `NO_COLOR` is not set, and the terminal is not dumb.
  static func allowsColor(_ environment: [String: String]) -> Bool {
    if let value = environment["NO_COLOR"], !value.isEmpty { return false }
    return isCapable(environment)
  }

  /// Whether the terminal supports escape sequences.
  private static func isCapable(_ environment: [String: String]) -> Bool {
    guard let kind = environment["TERM"] else { return false }
    return !kind.isEmpty && kind != "dumb"
  }

  /// Writes text unchanged.
  func write(_ text: String) throws(WriteError) { try write(Data(text.utf8)) }

  /// Writes bytes unchanged.
  func write(_ data: Data) throws(WriteError) { try Descriptor.writeAll(data, to: descriptor) }

  /// Writes an error message as one line, if the stream is still writable.
  func complain(_ message: String) {
    try? write("martlet: \(Visible.line(message))\n")
  }
}

/// The error of a failed write.
struct WriteError: Error {
  let code: Int32

  /// Whether the reader has closed the pipe, as `head` does.
  var isBrokenPipe: Bool { code == EPIPE }

  var reason: String { String(cString: strerror(code)) }
}

/// Writes to file descriptors; unlike `FileHandle`, reports the cause of an error.
enum Descriptor {
  /// Writes all bytes, and waits for a slow reader.
  static func writeAll(_ data: Data, to descriptor: Int32) throws(WriteError) {
    var rest = data[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if written >= 0 {
        rest = rest.dropFirst(written)
      } else if errno == EAGAIN {
        // Another process has made the shared terminal non-blocking.
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&ready, 1, -1)
      } else if errno != EINTR {
        throw WriteError(code: errno)
      }
    }
  }
}

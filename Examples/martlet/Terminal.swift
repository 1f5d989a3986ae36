import Foundation

/// One of the standard streams: written without a buffer, so that nothing is late or lost at the end.
struct Terminal: Sendable {
  let descriptor: Int32
  /// Whether a person reads it.
  let isTerminal: Bool
  /// Whether a line of it can be written again.
  let isErasable: Bool
  /// The colours it takes.
  let palette: Palette

  init(_ descriptor: Int32, environment: [String: String] = ProcessInfo.processInfo.environment) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
    isErasable = isTerminal && Self.isCapable(environment)
    palette = isTerminal && Self.allowsColor(environment) ? .colored : .plain
  }

  /// Whether the user wants colours: `NO_COLOR` is not set, and the terminal is not a dumb one.
  static func allowsColor(_ environment: [String: String]) -> Bool {
    if let value = environment["NO_COLOR"], !value.isEmpty { return false }
    return isCapable(environment)
  }

  /// Whether the terminal obeys escape sequences.
  private static func isCapable(_ environment: [String: String]) -> Bool {
    guard let kind = environment["TERM"] else { return false }
    return !kind.isEmpty && kind != "dumb"
  }

  /// Writes text as it is.
  func write(_ text: String) throws(WriteError) { try write(Data(text.utf8)) }

  /// Writes bytes as they are.
  func write(_ data: Data) throws(WriteError) { try Descriptor.writeAll(data, to: descriptor) }

  /// Writes one line about something that went wrong, if that is still possible.
  func complain(_ message: String) {
    try? write("martlet: \(Visible.line(message))\n")
  }
}

/// Why bytes could not be written.
struct WriteError: Error {
  let code: Int32

  /// Whether the reader went away, as `head` does.
  var isBrokenPipe: Bool { code == EPIPE }

  var reason: String { String(cString: strerror(code)) }
}

/// Writing to file descriptors, which unlike `FileHandle` tells why it failed.
enum Descriptor {
  /// Writes all bytes, waiting as long as the reader takes.
  static func writeAll(_ data: Data, to descriptor: Int32) throws(WriteError) {
    var rest = data[...]
    while !rest.isEmpty {
      let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if written >= 0 {
        rest = rest.dropFirst(written)
      } else if errno == EAGAIN {
        // Somebody made the terminal, which is shared, non-blocking.
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&ready, 1, -1)
      } else if errno != EINTR {
        throw WriteError(code: errno)
      }
    }
  }
}

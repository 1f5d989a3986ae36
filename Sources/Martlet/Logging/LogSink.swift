import MartletBase

/// A destination for log lines.
///
/// Lines are written one at a time on the sink's own queue, so no request ever waits for it. A sink that is slower than
/// its requests buffers at most 10,000 lines and 8 MiB. Further lines are dropped, and one line reports their number.
public struct LogSink: Sendable {
  private let lines: DeliveryQueue<String>

  /// Creates a sink from a closure.
  ///
  /// - Parameter write: Receives each line, without a line ending and safe to display: no character in it ends a line
  ///   or controls a terminal. It may block, and is never called concurrently.
  public init(_ write: @escaping @Sendable (String) -> Void) {
    lines = DeliveryQueue("Martlet.LogSink", maximumBytes: 8 << 20, reportsLast: true) { line, dropped in
      if dropped > 0 { write("(\(dropped) more lines were dropped: the log is too slow)") }
      if let line { write(line) }
    }
  }

  /// Standard error; a line that cannot be written is lost.
  ///
  /// If standard error may be a closed pipe, the program must ignore `SIGPIPE`, as for its own writes.
  public static let standardError = LogSink { line in
    _ = Array("\(line)\n".utf8).withUnsafeBytes { DiskCalls.append($0, to: STDERR_FILENO) }
  }

  /// Writes a line.
  ///
  /// - Parameter line: The line; characters that would end it or control a terminal are escaped.
  public func write(_ line: String) {
    let line = InvalidInput.printable(line, limit: .max)
    lines.add(line, bytes: line.utf8.count)
  }

  /// Waits until all lines added so far are written, such as before an exit.
  public func flush() async { await lines.flush() }
}

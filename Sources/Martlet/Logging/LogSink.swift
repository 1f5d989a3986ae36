import MartletBase
import Dispatch
import Foundation

/// A destination for log lines.
///
/// Lines are written one at a time on the sink's own queue, so no request ever waits for it. A sink that is slower than
/// its requests buffers at most 10,000 lines and 8 MiB. Further lines are dropped, and one line reports their number.
public struct LogSink: Sendable {
  private let queue: LogQueue

  /// Creates a sink from a closure.
  ///
  /// - Parameter write: Receives each line, without a line ending and safe to display: no character in it ends a line
  ///   or controls a terminal. It may block, and is never called concurrently.
  public init(_ write: @escaping @Sendable (String) -> Void) { queue = LogQueue(write) }

  /// Standard error; a line that cannot be written is lost.
  ///
  /// If standard error may be a closed pipe, the program must ignore `SIGPIPE`, as for its own writes.
  public static let standardError = LogSink { line in
    try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8))
  }

  /// Writes a line.
  ///
  /// - Parameter line: The line; characters that would end it or control a terminal are escaped.
  public func write(_ line: String) { queue.add(InvalidInput.printable(line, limit: .max)) }

  /// Waits until all lines added so far are written, such as before an exit.
  public func flush() async { await queue.flush() }
}

/// Lines that wait for a sink.
private final class LogQueue: Sendable {
  private struct State {
    var lines: [String] = []
    /// The size of the lines in bytes.
    var size = 0
    var leftOut = 0
    var isWriting = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private static let maximumLines = 10_000
  private static let maximumBytes = 8 << 20

  private let state = Locked(State())
  /// A queue instead of a task, because writing may block, and a task's thread must not.
  private let queue = DispatchQueue(label: "Martlet.LogSink")
  private let output: @Sendable (String) -> Void

  init(_ output: @escaping @Sendable (String) -> Void) { self.output = output }

  func add(_ line: String) {
    let isFirst = state.withLock { state in
      if state.lines.count < Self.maximumLines && state.size < Self.maximumBytes {
        state.lines.append(line)
        state.size += line.utf8.count
      } else {
        state.leftOut += 1
      }
      defer { state.isWriting = true }
      return !state.isWriting
    }
    if isFirst { queue.async { self.writeAll() } }
  }

  func flush() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if state.isWriting { state.waiters.append(continuation) }
        return !state.isWriting
      }
      if isIdle { continuation.resume() }
    }
  }

  private func writeAll() {
    while true {
      let (lines, leftOut, waiters) = state.withLock { state in
        defer {
          state.isWriting = !state.lines.isEmpty
          (state.lines, state.size, state.leftOut, state.waiters) = ([], 0, 0, [])
        }
        return (state.lines, state.leftOut, state.waiters)
      }
      for line in lines { output(line) }
      if leftOut > 0 { output("(\(leftOut) more lines were left out: the log is too slow)") }
      // Waiters that were added in the meantime wait for the lines that were added in the meantime.
      for waiter in waiters { waiter.resume() }
      if lines.isEmpty { return }
    }
  }
}

import Foundation
import Martlet
import MartletBase

/// One line for all current transfers: size, speed and remaining time.
final class ProgressBar: Sendable {
  private struct State {
    var files: [TransferProgress?]
    var finished: Set<Int> = []
    /// The start of the transfers; bytes that already existed do not count for the speed.
    var start: (time: ContinuousClock.Instant, bytes: Int64)?
    var isOver = false
  }

  private let line: LiveLine
  private let state: Locked<State>

  init(line: LiveLine, count: Int) {
    self.line = line
    state = Locked(State(files: Array(repeating: nil, count: count)))
  }

  /// Shows the progress of one file.
  func show(_ progress: TransferProgress, of index: Int) {
    guard line.output.isErasable else { return }
    let text: String? = state.withLock { state in
      guard !state.isOver else { return nil }
      state.files[index] = progress
      if progress.isFinished { state.finished.insert(index) }
      let received = state.files.reduce(0) { $0 + ($1?.received ?? 0) }
      let start = state.start ?? (.now, received)
      state.start = start
      let expected = state.files.reduce(Int64?(0)) { sum, file in
        file?.expectedToReceive.flatMap { one in sum.map { $0 + one } }
      }
      return Self.text(
        received, of: expected, received - start.bytes, in: ContinuousClock.now - start.time,
        files: state.files.count > 1 ? (state.finished.count, state.files.count) : nil)
    }
    if let text { line.show(text) }
  }

  /// Shows the progress of an upload.
  func show(sent progress: TransferProgress) {
    var shown = TransferProgress()
    (shown.received, shown.expectedToReceive) = (progress.sent, progress.expectedToSend)
    show(shown, of: 0)
  }

  /// Marks a file as finished.
  func finish(_ index: Int) {
    state.withLock { _ = $0.finished.insert(index) }
    line.clear()
  }

  /// Ends the output.
  func end() {
    let wasOver = state.withLock { state in
      defer { state.isOver = true }
      return state.isOver
    }
    if !wasOver { line.clear() }
  }

  /// Formats a line such as `42 % [########            ]  12.3 MB of 29.1 MB  3.2 MB/s  0:05`.
  static func text(
    _ received: Int64, of expected: Int64?, _ moved: Int64, in time: Duration, files: (Int, Int)? = nil
  ) -> String {
    let rate = time > .milliseconds(200) ? Double(moved) / (time / .seconds(1)) : 0
    var text = ""
    if let files { text += "\(files.0) of \(files.1)  " }
    if let expected, expected > 0 {
      let fraction = min(1, Double(received) / Double(expected))
      let marks = Int(fraction * 20)
      text += "\(Int(fraction * 100)) % [\(String(repeating: "#", count: marks))"
      text += "\(String(repeating: " ", count: 20 - marks))]  \(size(Double(received))) of \(size(Double(expected)))"
    } else {
      text += size(Double(received))
    }
    guard rate > 0 else { return text }
    text += "  \(size(rate))/s"
    if let expected, expected > received {
      let seconds = Int(min(Double(expected - received) / rate, 359_999).rounded(.up))
      text += "  \(clock(seconds))"
    }
    return text
  }

  private static func clock(_ seconds: Int) -> String {
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60)
    let tail = "\(rest < 10 ? "0" : "")\(rest)"
    guard seconds >= 3600 else { return "\(minutes):\(tail)" }
    return "\(seconds / 3600):\(minutes < 10 ? "0" : "")\(minutes):\(tail)"
  }

  private static func size(_ bytes: Double) -> String {
    var (value, unit) = (bytes, "B")
    for next in ["kB", "MB", "GB", "TB"] where value >= 1000 { (value, unit) = (value / 1000, next) }
    let tenths = (value * 10).rounded() / 10
    return unit == "B" ? "\(Int(value)) B" : "\(tenths) \(unit)"
  }
}

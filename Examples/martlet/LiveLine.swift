/// A line of a terminal that is overwritten repeatedly; without a terminal, it prints nothing.
struct LiveLine {
  let output: Terminal

  /// Replaces the text of the line.
  func show(_ text: String) {
    if output.isErasable { try? output.write("\r\u{1B}[K  … \(text)") }
  }

  /// Empties the line.
  func clear() {
    if output.isErasable { try? output.write("\r\u{1B}[K") }
  }
}

/// A line of a terminal that is written again and again; nothing at all elsewhere.
struct LiveLine {
  let output: Terminal

  /// Replaces what the line shows.
  func show(_ text: String) {
    if output.isErasable { try? output.write("\r\u{1B}[K  … \(text)") }
  }

  /// Empties the line.
  func clear() {
    if output.isErasable { try? output.write("\r\u{1B}[K") }
  }
}

/// What was wrong with a value that cannot become part of a request.
///
/// The message is one line, safe to log: what it quotes is escaped, cut, and never a password or a query value.
package struct InvalidInput: Error, Hashable, Sendable, CustomStringConvertible {
  package let message: String

  package init(_ message: String) {
    self.message = message
  }

  package var description: String { message }

  /// Makes text fit for one line of a log.
  ///
  /// Control characters, line separators and invisible or bidirectional format characters are escaped, so that a
  /// value cannot forge a second line or hide what it is.
  ///
  /// - Parameters:
  ///   - text: The text, from anywhere.
  ///   - limit: The most Unicode scalars kept; a longer text ends in an ellipsis.
  /// - Returns: The text on one line.
  static func printable(_ text: some StringProtocol, limit: Int = 100) -> String {
    var result = ""
    var count = 0
    for scalar in text.unicodeScalars {
      guard count < limit else { return result + "…" }
      count += 1
      switch scalar.properties.generalCategory {
      case .control where scalar == "\r": result += "\\r"
      case .control where scalar == "\n": result += "\\n"
      case .control where scalar == "\t": result += "\\t"
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse:
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default:
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

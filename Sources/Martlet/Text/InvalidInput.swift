/// A description of a value that cannot become part of a request.
///
/// The message is one line and safe to log: quoted text is escaped, truncated, and never a password or a query value.
package struct InvalidInput: Error, Hashable, Sendable, CustomStringConvertible {
  package let message: String

  package init(_ message: String) {
    self.message = message
  }

  package var description: String { message }

  /// Escapes and truncates external text for one line of a log.
  ///
  /// Control characters, line separators and invisible or bidirectional format characters are escaped, so that a value
  /// cannot forge a second line or disguise itself. A text of more than `limit` Unicode scalars is truncated and ends
  /// in an ellipsis.
  static func printable(_ text: some StringProtocol, limit: Int = 100) -> String {
    // Most texts need no change.
    if text.utf8.count <= limit, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return String(text) }
    var result = ""
    for scalar in text.unicodeScalars.prefix(limit) { append(scalar, to: &result) }
    return text.unicodeScalars.dropFirst(limit).isEmpty ? result : result + "…"
  }

  /// Describes white space at an edge of a text that is otherwise legal.
  ///
  /// For error messages, such as `begins with a blank (0x20): trim it`. `nil` if the text is illegal without the white
  /// space, too.
  static func edge(of text: String, isLegal: (Substring.UTF8View) -> Bool) -> String? {
    let octets = text.utf8
    guard let start = octets.firstIndex(where: { whiteSpace($0) == nil }),
      let last = octets.lastIndex(where: { whiteSpace($0) == nil }), isLegal(octets[start...last])
    else { return nil }
    if let name = octets.first.flatMap(whiteSpace) { return "begins with \(name): trim it" }
    return octets.last.flatMap(whiteSpace).map { "ends with \($0): trim it" }
  }

  private static func whiteSpace(_ octet: UInt8) -> String? {
    switch octet {
    case 0x20: "a blank (0x20)"
    case 0x09: "a tab (0x09)"
    case 0x0A: "a line feed (0x0A)"
    case 0x0D: "a carriage return (0x0D)"
    default: nil
    }
  }

  /// Appends a scalar, escaped if it must not appear in a log line.
  static func append(_ scalar: Unicode.Scalar, to result: inout String) {
    switch scalar {
    case "\r": result += "\\r"
    case "\n": result += "\\n"
    case "\t": result += "\\t"
    case _ where isPrintable(scalar): result.unicodeScalars.append(scalar)
    default: result += "\\u{\(String(scalar.value, radix: 16))}"
    }
  }

  /// Whether a scalar is visible and does not affect its surroundings.
  ///
  /// Control and format characters, line separators, and unassigned or private-use scalars are not printable.
  static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value >= 0x20 && scalar.value != 0x7F }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
    default: true
    }
  }
}

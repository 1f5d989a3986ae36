/// What was wrong with a value that cannot become part of a request.
///
/// The message is one line, safe to log: what it quotes is escaped, cut, and never a password or a query value.
package struct InvalidInput: Error, Hashable, Sendable, CustomStringConvertible {
  package let message: String

  package init(_ message: String) {
    self.message = message
  }

  package var description: String { message }

  /// Makes text from anywhere fit for one line of a log.
  ///
  /// Control characters, line separators and invisible or bidirectional format characters are escaped, so that a value
  /// cannot forge a second line or hide what it is. A text of more than `limit` Unicode scalars is cut, and ends in an
  /// ellipsis.
  static func printable(_ text: some StringProtocol, limit: Int = 100) -> String {
    // Most texts are shown as they are.
    if text.utf8.count <= limit, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return String(text) }
    var result = ""
    var count = 0
    for scalar in text.unicodeScalars {
      guard count < limit else { return result + "…" }
      count += 1
      append(scalar, to: &result)
    }
    return result
  }

  /// The white space at an edge of a text that is wrong by nothing else, for an error's message.
  ///
  /// Such as `begins with a blank (0x20): trim it`; `nil` if the octets that are left without it would not do either.
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

  /// Adds one scalar, escaped if a line of a log should not have it as it is.
  static func append(_ scalar: Unicode.Scalar, to result: inout String) {
    switch scalar {
    case "\r": result += "\\r"
    case "\n": result += "\\n"
    case "\t": result += "\\t"
    case _ where isPrintable(scalar): result.unicodeScalars.append(scalar)
    default: result += "\\u{\(String(scalar.value, radix: 16))}"
    }
  }

  /// Whether a scalar is shown as itself and changes nothing around it: no control, no format character, no separator
  /// of lines, nothing that is assigned to nobody.
  static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value >= 0x20 && scalar.value != 0x7F }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
    default: true
    }
  }
}

import MartletBase

/// A description of a value that cannot become part of a request.
///
/// The message is one line and safe to log: quoted text is escaped, truncated, and never a password or a query value.
package struct InvalidInput: Error, Hashable, Sendable, CustomStringConvertible {
  package let message: String

  package init(_ message: String) {
    self.message = message
  }

  package var description: String { message }

  /// Escapes and truncates external text for one line of a log, as ``Printable`` does.
  static func printable(_ text: some StringProtocol, limit: Int = 100) -> String {
    Printable.text(text, limit: limit)
  }

  /// Describes whitespace at an edge of a text that is otherwise legal.
  ///
  /// For error messages, such as `begins with a blank (0x20): trim it`. `nil` if the text is also illegal without the
  /// whitespace.
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
}

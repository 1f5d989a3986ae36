/// External text on one line of a message or a log.
///
/// Control characters, line separators and invisible or bidirectional format characters are escaped. A value can
/// therefore neither forge a second line nor disguise itself.
public enum Printable {
  /// The escaped text; if it has more than `limit` Unicode scalars, it is truncated and ends in an ellipsis.
  @inlinable public static func text(_ text: some StringProtocol, limit: Int = 100) -> String {
    // Most texts need no change.
    if text.utf8.count <= limit, text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) { return String(text) }
    var result = ""
    for scalar in text.unicodeScalars.prefix(limit) { append(scalar, to: &result) }
    return text.unicodeScalars.dropFirst(limit).isEmpty ? result : result + "…"
  }

  /// Appends a scalar, escaped if it must not appear in a log line.
  public static func append(_ scalar: Unicode.Scalar, to result: inout String) {
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
  public static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value >= 0x20 && scalar.value != 0x7F }
    return switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
    default: true
    }
  }
}

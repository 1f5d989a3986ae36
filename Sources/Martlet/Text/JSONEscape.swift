/// An escape in a string of JSON (RFC 8259 §7).
package struct JSONEscape {
  /// The character; `nil` for a lone surrogate.
  let scalar: Unicode.Scalar?
  /// The number of octets.
  let length: Int

  private static let letters = Array("\"\\/bfnrt".utf8)
  private static let scalars: [Unicode.Scalar] = ["\"", "\\", "/", "\u{8}", "\u{C}", "\n", "\r", "\t"]

  /// Reads the escape at a backslash; `nil` if it is invalid.
  init?(_ text: [UInt8], at index: Int) {
    if let unit = Self.unit(text, index) {
      if 0xD800..<0xDC00 ~= unit, let low = Self.unit(text, index + 6), 0xDC00..<0xE000 ~= low {
        (scalar, length) = (Unicode.Scalar(0x10000 + (unit & 0x3FF) << 10 + (low & 0x3FF)), 12)
      } else {
        (scalar, length) = (Unicode.Scalar(unit), 6)
      }
      return
    }
    guard index + 1 < text.count, let letter = Self.letters.firstIndex(of: text[index + 1]) else { return nil }
    (scalar, length) = (Self.scalars[letter], 2)
  }

  /// Whether an invalid escape at an index could become valid if the text continued.
  static func isTruncated(_ text: [UInt8], at index: Int) -> Bool {
    index + 1 == text.count || text.count - index < 6 && text[index + 1] == UInt8(ascii: "u")
  }

  /// The number that hexadecimal digits stand for.
  static func number(_ text: [UInt8], _ digits: Range<Int>) -> UInt32? {
    guard digits.upperBound <= text.count else { return nil }
    return text[digits].reduce(0 as UInt32?) { number, octet in
      guard let number, let digit = PercentEncoding.hexValue(octet) else { return nil }
      return number << 4 | UInt32(digit)
    }
  }

  /// The unit of UTF-16 that a `\u` at an index stands for.
  private static func unit(_ text: [UInt8], _ index: Int) -> UInt32? {
    guard index + 6 <= text.count, text[index] == UInt8(ascii: "\\"), text[index + 1] == UInt8(ascii: "u") else {
      return nil
    }
    return number(text, (index + 2)..<(index + 6))
  }

  /// Appends the content of a string, escaped.
  package static func append(_ content: some Collection<UInt8>, to text: inout [UInt8]) {
    var rest = content[...]
    while let index = rest.firstIndex(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) {
      text += rest[..<index]
      let octet = rest[index]
      if let letter = scalars.firstIndex(of: Unicode.Scalar(octet)) {
        text += [UInt8(ascii: "\\"), letters[letter]]
      } else {
        text += "\\u00\([octet].hexadecimal)".utf8
      }
      rest = rest[index...].dropFirst()
    }
    text += rest
  }
}

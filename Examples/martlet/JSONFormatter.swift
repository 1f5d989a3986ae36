/// Indents JSON for reading.
///
/// It works on the text: keys keep their order, and numbers and strings their spelling, except for escaped letters
/// (`\u00fc`).
struct JSONFormatter {
  /// The colors of the text.
  var palette = Palette.plain

  /// The maximum nesting that is indented, because the number of spaces grows with its square.
  var maximumDepth = 100

  /// Returns the text indented by two spaces a level, or `nil` if it is not JSON or nested too deeply.
  ///
  /// Control characters in strings stay escaped, and escaped letters become readable.
  func format(_ text: String) -> String? {
    var scanner = JSONScanner(text)
    var result = ""
    var previous: JSONScanner.Token?
    do {
      while let token = try scanner.next() {
        guard scanner.depth <= maximumDepth else { return nil }
        if Self.breaksLine(between: previous, and: token) {
          result += "\n" + String(repeating: "  ", count: scanner.depth - (token.isOpening ? 1 : 0))
        }
        result += spelled(token, scanner.bytes)
        previous = token
      }
    } catch {
      return nil
    }
    return result
  }

  private static func breaksLine(between previous: JSONScanner.Token?, and token: JSONScanner.Token) -> Bool {
    switch (previous, token) {
    case (.beginObject, .endObject), (.beginArray, .endArray): false
    case (_, .endObject), (_, .endArray): true
    case (.beginObject, _), (.beginArray, _), (.comma, _): true
    default: false
    }
  }

  private func spelled(_ token: JSONScanner.Token, _ bytes: [UInt8]) -> String {
    func text(_ range: Range<Int>) -> String { Visible.line(String(decoding: bytes[range], as: UTF8.self)) }
    return switch token {
    case .beginObject: "{"
    case .endObject: "}"
    case .beginArray: "["
    case .endArray: "]"
    case .colon: ": "
    case .comma: ","
    case .key(let range): palette.paint(Self.readable(text(range)), .key)
    case .string(let range): palette.paint(Self.readable(text(range)), .string)
    case .number(let range): palette.paint(text(range), .number)
    case .word(let range): palette.paint(text(range), .word)
    }
  }
}

extension JSONFormatter {
  /// Replaces `\uXXXX` by its character, unless it would be invisible or end the string.
  private static func readable(_ string: String) -> String {
    guard string.contains("\\u") else { return string }
    var result = ""
    var rest = Substring(string)
    while let start = rest.firstIndex(of: "\\") {
      result += rest[..<start]
      rest = rest[start...]
      let (scalar, count) = escaped(rest)
      if let scalar { result.unicodeScalars.append(scalar) } else { result += rest.prefix(count) }
      rest = rest.dropFirst(count)
    }
    return result + rest
  }

  /// The character for an escape at the beginning of a text, if it is shown, and the length of the escape.
  private static func escaped(_ text: Substring) -> (Unicode.Scalar?, count: Int) {
    guard let first = unit(text) else { return (nil, 2) }
    var units = [first]
    if UTF16.isLeadSurrogate(first) {
      guard let second = unit(text.dropFirst(6)), UTF16.isTrailSurrogate(second) else { return (nil, 6) }
      units.append(second)
    }
    let count = 6 * units.count
    guard let scalar = String(validating: units, as: UTF16.self)?.unicodeScalars.first, isShown(scalar) else {
      return (nil, count)
    }
    return (scalar, count)
  }

  private static func unit(_ text: Substring) -> UInt16? {
    text.hasPrefix("\\u") ? UInt16(text.dropFirst(2).prefix(4), radix: 16) : nil
  }

  private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
    case .spaceSeparator: scalar == " "
    default: scalar != "\"" && scalar != "\\"
    }
  }
}

extension JSONScanner.Token {
  /// Whether the scanner already counts the token's own bracket as open when it returns the token.
  fileprivate var isOpening: Bool { self == .beginObject || self == .beginArray }
}

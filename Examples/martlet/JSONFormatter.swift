/// Indents JSON for reading.
///
/// It works on the text: keys keep their order, numbers and strings their spelling, and nothing is decoded.
struct JSONFormatter {
  /// How text is coloured.
  var palette = Palette.plain

  /// The deepest nesting that is indented: the spaces grow with its square.
  var maximumDepth = 100

  /// The text indented by two spaces a level, or `nil` if it is not JSON or nested too deeply.
  ///
  /// Control characters in strings are made visible.
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
    case .key(let range): palette.paint(text(range), .key)
    case .string(let range): palette.paint(text(range), .string)
    case .number(let range): palette.paint(text(range), .number)
    case .word(let range): palette.paint(text(range), .word)
    }
  }
}

extension JSONScanner.Token {
  /// Whether the scanner counts its own bracket as open when it is returned.
  fileprivate var isOpening: Bool { self == .beginObject || self == .beginArray }
}

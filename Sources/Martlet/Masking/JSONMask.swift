import MartletBase

/// Masks secrets in JSON (RFC 8259).
///
/// ```
///   {"password":"***"}                      the name of a member is telling
///   [{"name":"password","value":"***"}]     another member names the secret
///   [["Authorization","***"]]               the element before is a telling name
///   {"url":"/?token=***"}                   a string contains text with a secret
/// ```
///
/// Also masks the beginning of a text. In a truncated object, values that a missing member might name are masked.
struct JSONMask {
  /// How the parsing of a value ended.
  enum End {
    case whole, cut, invalid
  }

  private static let maximumDepth = 64

  private let bytes: [UInt8]
  private let redaction: Redaction
  /// The number of texts around this one.
  private let level: Int
  /// Whether masked values keep their types and structure, so the result can be decoded.
  private let keepsTypes: Bool
  private(set) var index: Int
  private(set) var edits = MaskEdits()
  /// Whether a telling name occurs, even without a value.
  private(set) var hasName = false
  /// The number of examined octets.
  private(set) var steps = 0

  init(_ bytes: [UInt8], at start: Int = 0, _ redaction: Redaction, keepsTypes: Bool = false, level: Int = 0) {
    (self.bytes, index, self.redaction, self.level) = (bytes, start, redaction, level)
    self.keepsTypes = keepsTypes
  }

  /// Masks the value that begins at ``index``, which is then its end.
  mutating func parse() -> End {
    let start = index
    defer { steps += index - start }
    return value(0)
  }

  /// A text of values masked, such as a document or JSON Lines; `nil` if it is not JSON.
  mutating func document() -> [UInt8]? {
    // A byte order mark, and the record separators of RFC 7464.
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    while true {
      while index < bytes.count, Self.blanks.contains(bytes[index]) || bytes[index] == 0x1E { index += 1 }
      guard index < bytes.count else { break }
      if parse() == .invalid { return nil }
    }
    return edits.applied(to: bytes)
  }

  // MARK: Values

  private mutating func value(_ depth: Int) -> End {
    skipBlanks()
    guard index < bytes.count else { return .cut }
    switch bytes[index] {
    case UInt8(ascii: "{"): return depth < Self.maximumDepth ? object(depth + 1) : .invalid
    case UInt8(ascii: "["): return depth < Self.maximumDepth ? array(depth + 1) : .invalid
    case UInt8(ascii: "\""):
      let (content, end) = string()
      if end != .invalid { maskText(content, isCut: end == .cut) }
      recordString(content)
      return end
    default: return word()
    }
  }

  private struct Member {
    var value: Range<Int>
    var name: [UInt8]
  }

  private mutating func object(_ depth: Int) -> End {
    var members: [Member] = []
    var isNamed = false
    index += 1
    let end = parts(UInt8(ascii: "}")) { mask in
      guard mask.bytes[mask.index] == UInt8(ascii: "\"") else { return .invalid }
      let (content, end) = mask.string()
      mask.skipBlanks()
      guard end == .whole, mask.index < mask.bytes.count else {
        // The text is truncated, so the name may be a value.
        mask.recordString(content)
        return end == .invalid ? end : .cut
      }
      guard mask.bytes[mask.index] == UInt8(ascii: ":") else { return .invalid }
      mask.index += 1
      mask.skipBlanks()
      let plainName = mask.decoded(content)
      let name = SecretNames.folded(plainName)
      let (start, count) = (mask.index, mask.edits.count)
      let valueEnd = mask.value(depth)
      guard valueEnd != .invalid, start < mask.index else { return valueEnd }
      let value = start..<mask.index
      if !mask.redaction.hidesBodies, SecretNames.naming.contains(name), valueEnd == .whole, mask.isSecretName(value) {
        isNamed = true
      } else if mask.redaction.hides(name: plainName[...]) {
        mask.hasName = true
        mask.edits.keep(count)
        mask.hide(value, named: name)
      } else {
        members.append(Member(value: value, name: name))
      }
      return valueEnd
    }
    guard end != .invalid else { return end }
    for member in members where isNamed || end == .cut && SecretNames.named.contains(member.name) {
      let isNaming = SecretNames.naming.contains(member.name)
      if !isNaming, isNamed || !Self.containers.contains(bytes[member.value.lowerBound]) {
        hide(member.value, named: member.name)
      }
    }
    return end
  }

  private mutating func array(_ depth: Int) -> End {
    var isNamed = false
    index += 1
    return parts(UInt8(ascii: "]")) { mask in
      let (start, count) = (mask.index, mask.edits.count)
      let end = mask.value(depth)
      guard end != .invalid, start < mask.index else { return end }
      if isNamed {
        mask.edits.keep(count)
        mask.hide(start..<mask.index, named: [])
        isNamed = false
      } else {
        isNamed = end == .whole && mask.isSecretName(start..<mask.index)
      }
      return end
    }
  }

  /// Parses what commas separate, up to a bracket.
  private mutating func parts(_ close: UInt8, _ part: (inout JSONMask) -> End) -> End {
    while true {
      skipBlanks()
      guard index < bytes.count else { return .cut }
      if bytes[index] == close { break }
      let end = part(&self)
      guard end == .whole else { return end }
      skipBlanks()
      guard index < bytes.count else { return .cut }
      if bytes[index] == close { break }
      guard bytes[index] == UInt8(ascii: ",") else { return .invalid }
      index += 1
    }
    index += 1
    return .whole
  }

  /// Parses a string; returns the range of its content.
  private mutating func string() -> (Range<Int>, End) {
    let start = index + 1
    index = start
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        index += 1
        return (start..<(index - 1), .whole)
      case UInt8(ascii: "\\"): index += 2
      case 0x0A, 0x0D: return (start..<index, .invalid)
      default: index += 1
      }
    }
    index = bytes.count
    return (start..<index, .cut)
  }

  private mutating func word() -> End {
    let start = index
    while index < bytes.count, Self.wordOctets.contains(bytes[index]) { index += 1 }
    let word = bytes[start..<index]
    if Self.isNumber(word) {
      if keepsTypes { edits.scalar(start..<index, Self.zero) }
      return .whole
    }
    if index == bytes.count, Self.literals.contains(where: { $0.starts(with: word) }) { return .cut }
    return Self.literals.contains { word.elementsEqual($0) } ? .whole : .invalid
  }

  private mutating func skipBlanks() {
    while index < bytes.count, Self.blanks.contains(bytes[index]) { index += 1 }
  }

  // MARK: Masks

  private mutating func hide(_ value: Range<Int>, named name: [UInt8]) {
    // The end of a text may be the beginning of another value.
    if value.upperBound < bytes.count, Self.isHarmless(bytes[value], named: name) { return }
    if keepsTypes { edits.maskScalars(in: value) } else { edits.mask(value, by: Self.mask) }
  }

  private mutating func recordString(_ content: Range<Int>) {
    let end = min(content.upperBound + 1, bytes.count)
    if keepsTypes { edits.scalar((content.lowerBound - 1)..<end, Self.mask) }
  }

  /// Masks the text in a string.
  private mutating func maskText(_ content: Range<Int>, isCut: Bool) {
    guard TextMask.hasMarks(bytes[content]) else { return }
    steps += content.count
    let text = decoded(content)
    // The end of the string might name what it contains.
    let isUnclear = isCut && text.contains(UInt8(ascii: "<"))
    let masked =
      isUnclear && !redaction.revealsSecrets ? MaskEdits.mask : TextMask.masked(text, redaction, level: level + 1)
    guard masked != text else { return }
    var escaped: [UInt8] = []
    JSONEscape.append(masked, to: &escaped)
    edits.mask(content, by: escaped)
  }

  private mutating func isSecretName(_ value: Range<Int>) -> Bool {
    guard bytes[value.lowerBound] == UInt8(ascii: "\""), value.count <= SecretNames.maximumLength,
      redaction.isTelling(decoded(value.dropFirst().dropLast())[...])
    else { return false }
    hasName = true
    return true
  }

  private func decoded(_ content: Range<Int>) -> [UInt8] { Self.decoded(bytes[content]) }

  /// The content of a string, decoded.
  ///
  /// A truncated escape is nothing; a backslash before another character stands for that character.
  static func decoded(_ content: ArraySlice<UInt8>) -> [UInt8] {
    DecodedText.replacing(UInt8(ascii: "\\"), in: content) { text, index in
      DecodedText.backslash(text, index)
        ?? ([], JSONEscape.isTruncated(text, at: index) ? text.count - index : 1)
    } ?? []
  }

  /// Whether a value reveals nothing: a literal, or a number of tokens.
  static func isHarmless(_ value: ArraySlice<UInt8>, named name: [UInt8]) -> Bool {
    if literals.contains(where: { value.elementsEqual($0) }) { return true }
    return name.suffix(6).elementsEqual("tokens".utf8) && isNumber(value)
  }

  static func isNumber(_ value: ArraySlice<UInt8>) -> Bool {
    guard let first = value.first, 0x30...0x39 ~= first || first == UInt8(ascii: "-") else { return false }
    return value.allSatisfy(numberOctets.contains)
  }

  private static let mask = Array("\"***\"".utf8)
  static let zero = [UInt8(ascii: "0")]
  private static let literals = ["true", "false", "null"].map { Array($0.utf8) }
  private static let containers = ASCIISet("{[")
  private static let numberOctets = ASCIISet("0123456789.eE+-")
  private static let wordOctets = ASCIISet("0123456789.eE+-abcdfghijklmnopqrstuvwxyzABCDFGHIJKLMNOPQRSTUVWXYZ")
  /// JSON's whitespace characters (RFC 8259 §2).
  static let blanks = ASCIISet(" \t\n\r")
}

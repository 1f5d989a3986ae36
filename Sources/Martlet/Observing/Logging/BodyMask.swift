import MartletBase
import Foundation

/// Masks secrets in bodies with named values: forms and JSON.
///
/// Also works on the beginning of a body: a truncation cannot undo a mask. Whatever the input is, each octet is
/// examined only a few times.
struct BodyMask {
  private let redaction: Redaction
  private let bytes: [UInt8]
  private var index = 0
  private var result: [UInt8] = []
  /// The last examined name, folded.
  private var name: [UInt8] = []
  /// The number of examined octets.
  private(set) var steps = 0

  init(_ bytes: some Sequence<UInt8>, _ redaction: Redaction) {
    self.redaction = redaction
    self.bytes = Array(bytes)
  }

  /// The bytes with secrets masked.
  static func masked(_ data: Data, contentType: String?, _ redaction: Redaction) -> [UInt8] {
    var mask = BodyMask(data, redaction)
    // Text of another type may contain JSON too; if it does not, hardly any of it looks like a member.
    let isForm = contentType.flatMap { MediaType($0) }?.essence == "application/x-www-form-urlencoded"
    return isForm ? mask.maskForm() : mask.maskMembers()
  }

  /// Whether a body is text that can be displayed and searched for secrets.
  static func isText(_ data: Data, contentType: String?, coding: String?) -> Bool {
    if let coding, !FieldSyntax.trimmed(coding).isEmpty,
      !FieldSyntax.isSameName(FieldSyntax.trimmed(coding), "identity")
    {
      return false
    }
    guard let type = contentType.flatMap({ MediaType($0) }) else {
      // The last character may be truncated.
      let isUTF8 = (0...3).contains { String(validating: data.dropLast($0), as: UTF8.self) != nil }
      return isUTF8 && !data.contains(0)
    }
    // In other character sets, names and quotes are other bytes.
    if let charset = type.charset, !["utf-8", "utf8", "us-ascii", "iso-8859-1"].contains(charset) { return false }
    return type.isText || type.subtype.hasSuffix("ndjson")
  }

  mutating func maskForm() -> [UInt8] {
    while index < bytes.count {
      let end = place(of: UInt8(ascii: "&"), before: bytes.count)
      let equals = place(of: UInt8(ascii: "="), before: end)
      if equals < end, hides(bytes[index..<equals], .percent) {
        copy(to: equals + 1)
        result += Self.mask
        index = end
      }
      copy(to: min(end + 1, bytes.count))
    }
    return result
  }

  /// Masks the members of JSON objects.
  mutating func maskMembers() -> [UInt8] {
    while index < bytes.count {
      copy(to: place(of: UInt8(ascii: "\""), before: bytes.count))
      guard index < bytes.count else { break }
      let start = index
      copy(to: FieldSyntax.endOfQuotedString(in: bytes, from: index))
      let colon = skipBlanks(from: index)
      guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else { continue }
      // The slice may include the closing quote, which the comparison of names ignores.
      guard hides(bytes[(start + 1)..<index], .json) else { continue }
      let value = skipBlanks(from: colon + 1)
      let end = endOfValue(from: value)
      guard value < end else { continue }
      copy(to: value)
      if isHarmless(bytes[value..<end]) {
        copy(to: end)
      } else {
        result += Self.quotedMask
        index = end
      }
    }
    return result
  }

  private static let mask = Array("***".utf8)
  private static let quotedMask = Array("\"***\"".utf8)

  // MARK: Parts

  private mutating func hides(_ text: ArraySlice<UInt8>, _ coding: SecretNames.Coding) -> Bool {
    steps += text.count
    SecretNames.fold(text, coding, into: &name)
    return redaction.hides(foldedItem: name)
  }

  private mutating func copy(to end: Int) {
    steps += end - index
    result += bytes[index..<end]
    index = end
  }

  private mutating func place(of octet: UInt8, before end: Int) -> Int {
    let place = bytes[index..<end].firstIndex(of: octet) ?? end
    steps += place - index
    return place
  }

  /// Whether a value reveals nothing: a literal, or a number of tokens.
  private func isHarmless(_ value: ArraySlice<UInt8>) -> Bool {
    if Self.literals.contains(where: { value.elementsEqual($0) }) { return true }
    return name.suffix(6).elementsEqual("tokens".utf8) && value.first.map { 0x30...0x39 ~= $0 } == true
      && value.allSatisfy(Self.numberOctets.contains)
  }

  private static let literals = ["true", "false", "null"].map { Array($0.utf8) }
  private static let numberOctets = ASCIISet("0123456789.eE+-")

  private mutating func skipBlanks(from start: Int) -> Int {
    var index = start
    while index < bytes.count, Self.isBlank(bytes[index]) { index += 1 }
    steps += index - start
    return index
  }

  private static func isBlank(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x20, 0x09, 0x0A, 0x0D: true
    default: false
    }
  }

  /// The index after the value at `start`: a string, a whole object or array, or a word.
  private mutating func endOfValue(from start: Int) -> Int {
    var index = start
    var depth = 0
    defer { steps += index - start }
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        index = FieldSyntax.endOfQuotedString(in: bytes, from: index)
        if depth == 0 { return index }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard depth > 0 else { return index }
        depth -= 1
        if depth == 0 {
          index += 1
          return index
        }
      case UInt8(ascii: ","): if depth == 0 { return index }
      case let octet where depth == 0 && Self.isBlank(octet): return index
      default: break
      }
      index += 1
    }
    return index
  }
}

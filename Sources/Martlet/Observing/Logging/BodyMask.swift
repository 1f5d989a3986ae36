import MartletBase
import Foundation

/// Masks secrets in bodies with named values: forms and JSON, and what ``MarkupMask`` finds.
///
/// Also works on the beginning of a body: a truncation cannot undo a mask. Whatever the input is, each octet is
/// examined only a few times.
struct BodyMask {
  private let redaction: Redaction
  private let bytes: [UInt8]
  private var index = 0
  private var result: [UInt8] = []
  var keepsTypes = false
  /// The last examined name, folded.
  private var name: [UInt8] = []
  /// The number of examined octets.
  private(set) var steps = 0

  init(_ bytes: some Sequence<UInt8>, _ redaction: Redaction) {
    self.redaction = redaction
    self.bytes = Array(bytes)
  }

  /// The bytes with secrets masked.
  ///
  /// With `keepsTypes`, numbers become 0 and structures stay, so that the result can be decoded like the original.
  /// Markup is searched first, for it may contain JSON.
  static func masked(
    _ data: Data, contentType: String?, _ redaction: Redaction, keepsTypes: Bool = false
  ) -> [UInt8] {
    // Some programs call everything a form that they send.
    let isJSON = data.first { !blanks.contains($0) }.map { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") } ?? false
    let type = contentType.flatMap { MediaType($0) }
    let isHTML = type?.subtype == "html" || type?.subtype == "xhtml+xml"
    let isXML = type?.subtype.hasSuffix("xml") == true
    var bytes = Array(data)
    if isHTML || isXML || bytes.first(where: { !blanks.contains($0) }) == UInt8(ascii: "<") {
      var markup = MarkupMask(bytes, redaction, isHTML: isHTML, keepsTypes: keepsTypes)
      bytes = markup.masked()
    }
    var mask = BodyMask(bytes, redaction)
    mask.keepsTypes = keepsTypes
    if !isJSON, type?.essence == "application/x-www-form-urlencoded" { return mask.maskForm() }
    // Text of another type may contain JSON too; if it does not, hardly any of it looks like a member.
    let masked = mask.maskMembers()
    guard !isJSON, TextMasker.hasMarks(masked) else { return masked }
    return TextMasker.masked(masked, redaction, keepsQuotes: true)
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
    if let charset = type.charset, !["utf-8", "utf8", "us-ascii", "ascii"].contains(charset),
      !charset.hasPrefix("iso-8859-"), !charset.hasPrefix("windows-125"), charset != "latin1"
    {
      return false
    }
    // UTF-16 has zeros in between.
    return (type.isText || type.subtype.hasSuffix("ndjson")) && !data.contains(0)
  }

  mutating func maskForm() -> [UInt8] {
    while index < bytes.count {
      let end = bytes[index...].firstIndex { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: ";") } ?? bytes.count
      steps += end - index
      let equals = place(of: UInt8(ascii: "="), before: end)
      if equals < end, hides(bytes[index..<equals], .percent) || hasMembers(bytes[(equals + 1)..<end]) {
        copy(to: equals + 1)
        skip(to: end, writing: Self.mask)
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
      let close = endOfString(from: index)
      let colon = skipBlanks(from: close)
      guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else {
        if hidesPart(of: bytes[(start + 1)..<close]) {
          skip(to: close, writing: Self.quotedMask)
        } else {
          copyText(to: close)
        }
        continue
      }
      copy(to: close)
      // The slice may include the closing quote, which the comparison of names ignores.
      guard hides(bytes[(start + 1)..<index], .json) else { continue }
      let value = skipBlanks(from: colon + 1)
      let end = endOfValue(from: value)
      guard value < end else { continue }
      copy(to: value)
      if Self.isHarmless(bytes[value..<end], named: name) {
        copy(to: end)
      } else if keepsTypes {
        maskScalars(to: end)
      } else {
        skip(to: end, writing: Self.quotedMask)
      }
    }
    return result
  }

  /// Copies a string that is a value, with the URLs and pairs in it masked.
  private mutating func copyText(to end: Int) {
    let text = bytes[index..<end]
    guard TextMasker.hasMarks(text) else { return copy(to: end) }
    let hasEnd = text.count > 1 && text.last == UInt8(ascii: "\"")
    result.append(UInt8(ascii: "\""))
    result += TextMasker.masked(text.dropFirst().dropLast(hasEnd ? 1 : 0), redaction)
    if hasEnd { result.append(UInt8(ascii: "\"")) }
    steps += text.count
    index = end
  }

  /// Masks the strings and numbers of a value, and keeps its structure and the names in it.
  private mutating func maskScalars(to end: Int) {
    while index < end {
      let octet = bytes[index]
      if octet == UInt8(ascii: "\"") {
        let close = min(endOfString(from: index), end)
        let colon = skipBlanks(from: close)
        if colon < end, bytes[colon] == UInt8(ascii: ":") {
          copy(to: close)
        } else {
          skip(to: close, writing: Self.quotedMask)
        }
      } else if octet == UInt8(ascii: "-") || 0x30...0x39 ~= octet {
        let close = bytes[index..<end].firstIndex { !Self.numberOctets.contains($0) } ?? end
        result.append(UInt8(ascii: "0"))
        steps += close - index
        index = close
      } else {
        copy(to: index + 1)
      }
    }
  }

  /// Whether the value of a form field is JSON with a secret.
  private mutating func hasMembers(_ value: ArraySlice<UInt8>) -> Bool {
    guard value.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "?") })
    else {
      return false
    }
    let decoded = PercentEncoding.decode(value, plusAsSpace: true)
    steps += value.count
    if let first = decoded.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
      return hasSecrets(decoded)
    }
    // A URL with a query of its own.
    guard decoded.contains(UInt8(ascii: "?")) || decoded.contains(UInt8(ascii: "@")) else { return false }
    return TextMasker.masked(decoded, redaction) != decoded
  }

  /// Whether a string contains JSON with a secret.
  private mutating func hidesPart(of text: ArraySlice<UInt8>) -> Bool {
    guard text.contains(UInt8(ascii: "\\")) else { return false }
    var plain: [UInt8] = []
    var isEscaped = false
    var skipped = 0
    for (place, octet) in zip(text.indices, text) {
      if skipped > 0 {
        skipped -= 1
      } else if !isEscaped, octet == UInt8(ascii: "\\") {
        isEscaped = true
      } else {
        // Some programs write quotes as \u0022.
        let isQuote = isEscaped && text[place...].starts(with: Self.escapedQuote)
        if isQuote { skipped = Self.escapedQuote.count - 1 }
        plain.append(isQuote ? UInt8(ascii: "\"") : octet)
        isEscaped = false
      }
    }
    steps += text.count
    // The string's own quote is the last one.
    return plain.contains(UInt8(ascii: ":")) && hasSecrets(plain)
  }

  private mutating func hasSecrets(_ text: [UInt8]) -> Bool {
    var inner = BodyMask(text, redaction)
    let masked = inner.maskMembers()
    steps += inner.steps
    return masked != text
  }

  /// The index after a string, which has no line breaks (RFC 8259 §7): a quote without a second one ends with its line.
  private mutating func endOfString(from start: Int) -> Int {
    var index = start + 1
    defer { steps += index - start }
    while index < bytes.count {
      let octet = bytes[index]
      index += octet == UInt8(ascii: "\\") ? 2 : 1
      if octet == UInt8(ascii: "\"") || octet == 0x0A { return index }
    }
    return bytes.count
  }

  private static let escapedQuote = Array("u0022".utf8)
  private static let mask = Array("***".utf8)
  private static let quotedMask = Array("\"***\"".utf8)

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

  /// Leaves out the bytes to `end`, and writes others in their place.
  private mutating func skip(to end: Int, writing replacement: [UInt8]) {
    result += replacement
    index = end
  }

  private mutating func place(of octet: UInt8, before end: Int) -> Int {
    let place = bytes[index..<end].firstIndex(of: octet) ?? end
    steps += place - index
    return place
  }

  /// Whether a value reveals nothing: a literal, or a number of tokens.
  static func isHarmless(_ value: ArraySlice<UInt8>, named name: [UInt8]) -> Bool {
    if literals.contains(where: { value.elementsEqual($0) }) { return true }
    return name.suffix(6).elementsEqual("tokens".utf8) && isNumber(value)
  }

  static func isNumber(_ value: ArraySlice<UInt8>) -> Bool {
    value.first.map { 0x30...0x39 ~= $0 } == true && value.allSatisfy(numberOctets.contains)
  }

  private static let literals = ["true", "false", "null"].map { Array($0.utf8) }
  private static let numberOctets = ASCIISet("0123456789.eE+-")
  /// The white space of JSON (RFC 8259 §2).
  private static let blanks = ASCIISet(" \t\n\r")

  private mutating func skipBlanks(from start: Int) -> Int {
    var index = start
    while index < bytes.count, Self.blanks.contains(bytes[index]) { index += 1 }
    steps += index - start
    return index
  }

  /// The index after the value at `start`: a string, a whole object or array, or a word.
  private mutating func endOfValue(from start: Int) -> Int {
    var index = start
    var depth = 0
    defer { steps += index - start }
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        index = endOfString(from: index)
        if depth == 0 { return index }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard depth > 0 else { return index }
        depth -= 1
        if depth == 0 { return index + 1 }
      case UInt8(ascii: ","): if depth == 0 { return index }
      case let octet where depth == 0 && Self.blanks.contains(octet): return index
      default: break
      }
      index += 1
    }
    return index
  }
}

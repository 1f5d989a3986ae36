import Foundation

/// Hides the secrets of bodies that name them: forms and JSON.
///
/// Works on the beginning of a body as well: nothing that was cut off can undo a mask.
struct BodyMask {
  let redaction: Redaction
  private let bytes: [UInt8]
  private var index = 0
  private var result: [UInt8] = []

  /// The bytes with secrets masked.
  static func masked(_ data: Data, contentType: String?, _ redaction: Redaction) -> [UInt8] {
    let type = contentType.flatMap { MediaType($0) }
    if type?.essence == "application/x-www-form-urlencoded" {
      return maskedForm(data, redaction)
    }
    // Text of another type may hold JSON too; in what does not, there is hardly anything that looks like a member.
    var mask = BodyMask(redaction: redaction, bytes: Array(data))
    mask.maskMembers()
    return mask.result
  }

  /// Whether a body of this type is text that can be shown, and looked through for secrets.
  static func isText(_ data: Data, contentType: String?, coding: String?) -> Bool {
    if let coding, !FieldSyntax.trimmed(coding).isEmpty,
      !FieldSyntax.isSameName(FieldSyntax.trimmed(coding), "identity")
    {
      return false
    }
    guard let type = contentType.flatMap({ MediaType($0) }) else {
      // The last character may have been cut.
      let isUTF8 = (0...3).contains { String(validating: data.dropLast($0), as: UTF8.self) != nil }
      return isUTF8 && !data.contains(0)
    }
    // In other character sets names and quotes are other bytes.
    if let charset = type.charset, !["utf-8", "utf8", "us-ascii", "iso-8859-1"].contains(charset) { return false }
    return type.isText || type.subtype.hasSuffix("ndjson")
  }

  private static func maskedForm(_ data: Data, _ redaction: Redaction) -> [UInt8] {
    var result: [UInt8] = []
    let pieces = Array(data)[...].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    for (number, piece) in pieces.enumerated() {
      if number > 0 { result.append(UInt8(ascii: "&")) }
      if let equals = piece.firstIndex(of: UInt8(ascii: "=")), redaction.hides(encodedItem: piece[..<equals]) {
        result += piece[...equals]
        result += Array("***".utf8)
      } else {
        result += piece
      }
    }
    return result
  }

  private init(redaction: Redaction, bytes: [UInt8]) {
    self.redaction = redaction
    self.bytes = bytes
  }

  // MARK: JSON

  private mutating func maskMembers() {
    while index < bytes.count {
      guard bytes[index] == UInt8(ascii: "\"") else {
        result.append(bytes[index])
        index += 1
        continue
      }
      let name = takeString()
      let colon = skipBlanks(from: index)
      guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":"), redaction.hides(item: Self.unescaped(name)) else {
        continue
      }
      let value = skipBlanks(from: colon + 1)
      let end = endOfValue(from: value)
      guard value < end, !isHarmless(bytes[value..<end], of: name) else { continue }
      result += bytes[index..<value]
      result += Array("\"***\"".utf8)
      index = end
    }
  }

  /// Copies a string with its quotes.
  ///
  /// - Returns: What is between the quotes.
  private mutating func takeString() -> ArraySlice<UInt8> {
    let end = FieldSyntax.endOfQuotedString(in: bytes, from: index)
    let text = bytes[index..<end]
    result += text
    index = end
    let isClosed = text.count > 1 && text.last == UInt8(ascii: "\"")
    return isClosed ? text.dropFirst().dropLast() : text.dropFirst()
  }

  /// Whether a value says nothing: a literal, or how many tokens there are.
  private func isHarmless(_ value: ArraySlice<UInt8>, of name: ArraySlice<UInt8>) -> Bool {
    let isNumber = value.first.map { 0x30...0x39 ~= $0 } ?? false
    if isNumber { return SecretNames.folded(Self.unescaped(name)).hasSuffix("tokens") }
    return ["true", "false", "null"].contains { value.elementsEqual($0.utf8) }
  }

  private func skipBlanks(from start: Int) -> Int {
    var index = start
    while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
    return index
  }

  /// The index after the value that begins at `start`: a string, all of an object or an array, or a word.
  private func endOfValue(from start: Int) -> Int {
    var index = start
    var depth = 0
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
        if depth == 0 { return index + 1 }
      case UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D:
        if depth == 0 { return index }
      default: break
      }
      index += 1
    }
    return bytes.count
  }

  /// The text of a JSON string; escapes of ASCII characters are all that a name needs to be recognised.
  private static func unescaped(_ text: ArraySlice<UInt8>) -> String {
    guard text.contains(UInt8(ascii: "\\")) else { return String(decoding: text, as: UTF8.self) }
    var quoted = Data([UInt8(ascii: "\"")])
    quoted.append(contentsOf: text)
    quoted.append(UInt8(ascii: "\""))
    return (try? JSONDecoder().decode(String.self, from: quoted)) ?? String(decoding: text, as: UTF8.self)
  }
}

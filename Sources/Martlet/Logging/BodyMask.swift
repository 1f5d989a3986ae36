package import MartletBase

/// Masks secrets in bodies according to their syntax.
///
/// | Body | Masked by |
/// |---|---|
/// | JSON, JSON Lines | ``JSONMask`` |
/// | a form | ``Redaction/items(_:)`` |
/// | well-formed XML | ``XMLMask`` |
/// | plain text, events | ``TextMask`` |
/// | HTML, scripts and other text, and broken JSON | shown if it contains no telling name |
package enum BodyMask {
  /// The bytes with secrets masked, or `nil` if they could contain secrets that are not found.
  ///
  /// With `keepsTypes`, numbers become 0 and structures are kept, so the result can be decoded like the original.
  static func masked(
    _ data: Data, contentType: String?, _ redaction: Redaction, keepsTypes: Bool = false
  ) -> [UInt8]? {
    let bytes = Array(data)
    if redaction.hidesNothing { return bytes }
    let type = contentType.flatMap { MediaType($0) }
    let isForm = type?.essence == "application/x-www-form-urlencoded"
    let isJSON = type?.isJSON == true || type?.subtype.hasSuffix("ndjson") == true
    let isPlain = type == nil || type?.essence == "text/plain" || type?.essence == "text/event-stream"
    let first = bytes.first { !JSONMask.blanks.contains($0) }
    // Some programs declare everything that they send as a form.
    if isJSON || (isForm || isPlain) && (first == UInt8(ascii: "{") || first == UInt8(ascii: "[")) {
      var mask = JSONMask(bytes, redaction, keepsTypes: keepsTypes)
      if let masked = mask.document() { return masked }
    }
    if isForm { return redaction.items(bytes[...]) }
    if type?.subtype.hasSuffix("xml") == true && type?.subtype != "xhtml+xml" || isPlain && first == UInt8(ascii: "<") {
      if redaction.revealsSecrets, !redaction.hasAddedItems { return bytes }
      var mask = XMLMask(bytes, redaction, keepsTypes: keepsTypes)
      if let masked = mask.masked() { return masked }
      return redaction.revealsSecrets ? bytes : nil
    }
    return isPlain ? TextMask.masked(bytes, redaction) : TextMask.maskedIfUnsuspicious(bytes, redaction)
  }

  /// Whether a body is text that can be displayed and searched for secrets.
  package static func isText(_ data: Data, contentType: String?, coding: String?) -> Bool {
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

  /// The type and the size of a body that is not shown.
  static func summary(of count: Int, contentType: String?) -> String {
    let type = contentType.flatMap { MediaType($0) }.map { "\(InvalidInput.printable($0.essence)), " } ?? ""
    return "(\(type)\(LogText.bytes(count)))"
  }
}

extension Redaction {
  /// The items of a query or a form, masked.
  func items(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    let items = text.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    for (number, item) in items.enumerated() {
      if number > 0 { result.append(UInt8(ascii: "&")) }
      result += masked(item: item)
      // A quote that is not encoded may enclose ampersands.
      if item.count(where: { $0 == UInt8(ascii: "\"") }) % 2 == 1, !revealsSecrets, number + 1 < items.count {
        return result + Array("&***".utf8)
      }
    }
    return result
  }

  private func masked(item: ArraySlice<UInt8>) -> [UInt8] {
    let equals = item.firstIndex(of: UInt8(ascii: "="))
    if let equals, hides(encodedItem: item[..<equals]) { return item[...equals] + MaskEdits.mask }
    // Some servers treat a semicolon as an ampersand. A masked value includes its semicolons.
    for part in item.split(separator: UInt8(ascii: ";")) where part.startIndex > item.startIndex {
      guard let equals = part.firstIndex(of: UInt8(ascii: "=")), hides(encodedItem: part[..<equals]) else { continue }
      return masked(item: item[..<part.startIndex]) + part[...equals] + MaskEdits.mask
    }
    // Most values contain nothing that could be masked.
    guard hidesPart(item[(equals.map { $0 + 1 } ?? item.startIndex)...]) else { return Array(item) }
    return Array(equals.map { item[...$0] } ?? []) + MaskEdits.mask
  }

  /// Whether the decoded value of an item contains a secret.
  private func hidesPart(_ value: ArraySlice<UInt8>) -> Bool {
    guard TextMask.hasMarks(value) else { return false }
    let plain = TextMask.decoded(value)
    return TextMask.masked(plain, self, level: 1) != plain
  }
}

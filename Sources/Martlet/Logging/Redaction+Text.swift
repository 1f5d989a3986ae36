extension Redaction {
  /// The URL of a request, with what it hides masked, on one line.
  func url(of request: HTTPRequest) -> String {
    // What cannot be resolved is text of any kind.
    guard let url = try? request.target.resolve(against: nil, adding: request.query) else {
      return request.target.description
    }
    return text(of: url)
  }

  func text(of url: AbsoluteURL) -> String {
    InvalidInput.printable(URLRedaction.redact(url.requestString, hiding: hides(encodedItem:)), limit: .max)
  }

  /// The value of a header field, masked or with what is secret in it masked; not yet fit for a line.
  func value(of field: HTTPHeaders.Field) -> String {
    if hides(field: field.name) { return "***" }
    // These are URLs as a whole, so that their fragments can be told.
    let isURL = ["Location", "Content-Location", "Referer"].contains { FieldSyntax.isSameName($0, field.name) }
    guard isURL, !revealsSecrets else { return text(field.value) }
    return URLRedaction.redact(field.value, hiding: hides(encodedItem:))
  }

  /// Text with the URLs and `name=value` pairs in it masked.
  func text(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "@") }) else { return text }
    var masker = TextMasker(bytes: Array(text.utf8), redaction: self)
    return masker.masked()
  }
}

/// Walks over text that is no URL but may have some in it.
private struct TextMasker {
  let bytes: [UInt8]
  let redaction: Redaction
  private var index = 0
  private var result: [UInt8] = []

  private static let nameOctets = ASCIISet(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%[]+")

  init(bytes: [UInt8], redaction: Redaction) {
    self.bytes = bytes
    self.redaction = redaction
  }

  mutating func masked() -> String {
    while index < bytes.count {
      let octet = bytes[index]
      result.append(octet)
      index += 1
      if octet == UInt8(ascii: "=") {
        maskValue()
      } else if octet == UInt8(ascii: "/"), bytes[..<index].suffix(3).elementsEqual(Array("://".utf8)) {
        dropUserinfo()
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Masks what stands after a `=` whose name is a secret's.
  private mutating func maskValue() {
    // Blanks may stand around the sign (RFC 9110 §11.2).
    let end = bytes[..<(index - 1)].lastIndex { !FieldSyntax.isBlank($0) }.map { $0 + 1 } ?? 0
    let start = bytes[..<end].lastIndex { !Self.nameOctets.contains($0) }.map { $0 + 1 } ?? 0
    let isItem = start > 0 && [UInt8]("?&;".utf8).contains(bytes[start - 1])
    guard start < end, redaction.hidesBodies ? isItem : redaction.hides(encodedItem: bytes[start..<end]) else { return }
    while index < bytes.count, FieldSyntax.isBlank(bytes[index]) { index += 1 }
    if index < bytes.count, bytes[index] == UInt8(ascii: "\"") {
      index = FieldSyntax.endOfQuotedString(in: bytes, from: index)
    } else {
      index = bytes[index...].firstIndex { Self.endsValue($0) } ?? bytes.count
    }
    result += Array("***".utf8)
  }

  private static func endsValue(_ octet: UInt8) -> Bool {
    octet <= 0x20 || [UInt8]("&;#,\"'<>()".utf8).contains(octet)
  }

  /// Drops what stands before the `@` of an authority.
  private mutating func dropUserinfo() {
    guard !redaction.revealsSecrets else { return }
    let rest = bytes[index...]
    let end = rest.firstIndex { $0 <= 0x20 || [UInt8]("/?#\"'<>".utf8).contains($0) } ?? rest.endIndex
    guard let at = rest[..<end].lastIndex(of: UInt8(ascii: "@")) else { return }
    index = at + 1
  }
}

import MartletBase

extension Redaction {
  /// The URL of a request on one line, with hidden parts masked.
  func url(of request: HTTPRequest, _ base: RequestTarget? = nil) -> String {
    // A target that cannot be resolved may be any text.
    guard let url = try? request.target.resolve(against: base, adding: request.query) else {
      return request.target.description
    }
    return text(of: url)
  }

  func text(of url: AbsoluteURL) -> String {
    InvalidInput.printable(URLRedaction.redact(url.requestString, hiding: hides(encodedItem:)), limit: .max)
  }

  /// The value of a header field, masked as a whole or in part; not yet escaped.
  ///
  /// Only the first `limit` Unicode scalars are examined, unless a later `@` could make them part of a password. A
  /// truncated value ends in an ellipsis, unless it is masked up to its end.
  func value(of field: HTTPHeaders.Field, limit: Int = .max) -> String {
    if hides(field: field.name) { return "***" }
    let value = Self.beginning(of: field.value, limit: limit)
    guard Self.isURL(field), !revealsSecrets else { return text(value) }
    return URLRedaction.redact(value, hiding: hides(encodedItem:))
  }

  /// Whether the value of a field is a URL as a whole, so that its fragment can be recognised.
  static func isURL(_ field: HTTPHeaders.Field) -> Bool {
    ["Location", "Content-Location", "Referer"].contains { FieldSyntax.isSameName($0, field.name) }
  }

  /// The beginning of text, or the whole text if a later `@` could make the beginning part of a password.
  static func beginning(of text: String, limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    let beginning = text.unicodeScalars.prefix(limit)
    let rest = text.utf8[beginning.endIndex...]
    return rest.isEmpty || rest.contains(UInt8(ascii: "@")) ? text : "\(Substring(beginning))…"
  }

  /// Masks URLs and `name=value` pairs in text.
  func text(_ text: String) -> String {
    guard TextMasker.hasMarks(text.utf8) else { return text }
    return String(decoding: TextMasker.masked(text.utf8, self), as: UTF8.self)
  }
}

/// Masks secrets in text that may contain URLs; examines each octet only a few times.
struct TextMasker {
  private let bytes: [UInt8]
  private let redaction: Redaction
  private var index = 0
  private var result: [UInt8] = []
  /// The last octets that could be a name, followed only by blanks.
  private var name = 0..<0
  private var folded: [UInt8] = []
  /// The number of examined octets.
  private(set) var steps = 0

  private static let nameOctets = ASCIISet(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%[]+")
  private static let itemMarks = ASCIISet("?&;")
  private static let valueEnds = ASCIISet("&;#,\"'<>()")
  private static let authorityEnds = ASCIISet("/?#\"'<>")
  private static let mask = Array("***".utf8)

  /// Whether the quotes of a value stay, because they belong to the syntax of the text.
  private let keepsQuotes: Bool

  init(_ text: some Sequence<UInt8>, _ redaction: Redaction, keepsQuotes: Bool = false) {
    bytes = Array(text)
    self.redaction = redaction
    self.keepsQuotes = keepsQuotes
  }

  /// Whether text has marks of secrets, without which nothing in it is masked.
  static func hasMarks(_ text: some Sequence<UInt8>) -> Bool {
    text.contains { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "@") }
  }

  static func masked(_ text: some Sequence<UInt8>, _ redaction: Redaction, keepsQuotes: Bool = false) -> [UInt8] {
    var masker = TextMasker(text, redaction, keepsQuotes: keepsQuotes)
    return masker.masked()
  }

  mutating func masked() -> [UInt8] {
    while index < bytes.count {
      let octet = bytes[index]
      result.append(octet)
      index += 1
      steps += 1
      if Self.nameOctets.contains(octet) {
        name = (name.upperBound == index - 1 ? name.lowerBound : index - 1)..<index
      } else if octet == UInt8(ascii: "=") {
        maskValue()
      } else if !FieldSyntax.isBlank(octet) {
        if octet == UInt8(ascii: "/"), index > 2, bytes[index - 2] == octet, bytes[index - 3] == UInt8(ascii: ":") {
          dropUserinfo()
        }
        name = index..<index
      }
    }
    return result
  }

  /// Masks the value after a `=` if its name is secret.
  ///
  /// Blanks may surround the sign (RFC 9110 §11.2).
  private mutating func maskValue() {
    let isHidden = hidesName()
    name = index..<index
    guard isHidden else { return }
    while index < bytes.count, FieldSyntax.isBlank(bytes[index]) { index += 1 }
    let start = index
    var quote: UInt8?
    if index < bytes.count, bytes[index] == UInt8(ascii: "\"") {
      quote = bytes[index]
      index = FieldSyntax.endOfQuotedString(in: bytes, from: index)
    } else if index < bytes.count, bytes[index] == UInt8(ascii: "'") {
      quote = bytes[index]
      index = bytes[(index + 1)...].firstIndex { $0 == UInt8(ascii: "'") || $0 < 0x20 }.map { $0 + 1 } ?? bytes.count
    } else if hasEscapedQuote(at: index) {
      // Up to the next one.
      index += 2
      index = bytes[index...].indices.first { hasEscapedQuote(at: $0) }.map { $0 + 2 } ?? bytes.count
    } else {
      index = bytes[index...].indices.first { isValueEnd(at: $0) } ?? bytes.count
    }
    if keepsQuotes, let quote { result.append(quote) }
    result += Self.mask
    if keepsQuotes, let quote { result.append(quote) }
    // The end of the masked value may be a name.
    let mark = bytes[start..<index].lastIndex { !Self.nameOctets.contains($0) }
    steps += index - name.lowerBound + index - (mark ?? start)
    name = (mark.map { $0 + 1 } ?? start)..<index
  }

  private func isValueEnd(at index: Int) -> Bool {
    let octet = bytes[index]
    return hasEscapedQuote(at: index) || octet <= 0x20 || Self.valueEnds.contains(octet)
  }

  /// Whether a quote in a string of JSON begins here.
  private func hasEscapedQuote(at index: Int) -> Bool {
    index + 1 < bytes.count && bytes[index] == UInt8(ascii: "\\") && bytes[index + 1] == UInt8(ascii: "\"")
  }

  private mutating func hidesName() -> Bool {
    guard !name.isEmpty else { return false }
    if redaction.hidesBodies { return name.lowerBound > 0 && Self.itemMarks.contains(bytes[name.lowerBound - 1]) }
    steps += name.count
    SecretNames.fold(bytes[name], .percent, into: &folded)
    return redaction.hides(foldedItem: folded)
  }

  /// Drops the userinfo of an authority.
  private mutating func dropUserinfo() {
    guard !redaction.revealsSecrets else { return }
    let end = bytes[index...].firstIndex { $0 <= 0x20 || Self.authorityEnds.contains($0) } ?? bytes.count
    steps += 2 * (end - index)
    guard let at = bytes[index..<end].lastIndex(of: UInt8(ascii: "@")) else { return }
    index = at + 1
  }
}

import MartletBase

extension Redaction {
  /// The URL of a request on one line, with hidden parts masked.
  func url(of request: HTTPRequest) -> String {
    // A target that cannot be resolved may be any text.
    request.absoluteURL.map(text(of:)) ?? request.target.description
  }

  func text(of url: AbsoluteURL) -> String {
    InvalidInput.printable(URLRedaction.redact(url.requestString, self), limit: .max)
  }

  /// The value of a header field, masked as a whole or in part; not yet escaped.
  ///
  /// Only the first `limit` Unicode scalars are examined, unless a later `@` could make them part of a password. A
  /// truncated value ends in an ellipsis, unless it is masked up to its end.
  func value(of field: HTTPHeaders.Field, limit: Int = .max) -> String {
    if hides(field: field.name) { return "***" }
    let value = Self.beginning(of: field.value, limit: limit)
    guard Self.isURL(field), !revealsSecrets || hasPaths else { return text(value) }
    return URLRedaction.redact(value, self)
  }

  /// Whether the value of a field is a URL as a whole, so its fragment can be recognized.
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

  /// Masks URLs, `name=value` pairs, JSON and markup in text.
  func text(_ text: String) -> String {
    guard !hidesNothing, TextMask.hasMarks(text.utf8) else { return text }
    let source = Array(text.utf8)
    let masked = TextMask.masked(source, self)
    return masked == source ? text : String(decoding: masked, as: UTF8.self)
  }
}

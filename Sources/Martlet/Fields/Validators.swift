import MartletBase

/// The validators of a representation (RFC 9110 §8.8).
enum Validators {
  /// The entity tag as ``WireText``, strong or weak; `nil` if there are different ones.
  static func tag(_ headers: HTTPHeaders) -> String? { only(headers, "ETag") }

  /// The entity tag, if it is strong.
  static func strongTag(_ headers: HTTPHeaders) -> String? {
    tag(headers).flatMap { EntityTag.isStrong($0) ? $0 : nil }
  }

  /// `Last-Modified`, if it is a date.
  static func date(_ headers: HTTPHeaders) -> String? {
    only(headers, "Last-Modified").flatMap { HTTPDate($0) == nil ? nil : $0 }
  }

  /// `Last-Modified`, if `Date` is later: the file has not changed twice in that second.
  static func strongDate(_ headers: HTTPHeaders) -> String? {
    guard let text = date(headers), let modified = HTTPDate(text), let now = headers["Date"].flatMap({ HTTPDate($0) }),
      modified < now
    else { return nil }
    return text
  }

  private static func only(_ headers: HTTPHeaders, _ name: String) -> String? {
    let values = headers[wires: name].map { String(FieldSyntax.trimmed($0)) }
    return values.allSatisfy { EntityTag.isIdentical($0, values[0]) } ? values.first : nil
  }
}

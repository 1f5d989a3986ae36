import MartletBase

/// Entity tags, `"x"` and `W/"x"` (RFC 9110 §8.8.3).
enum EntityTag {
  /// Whether two tags match by weak comparison (RFC 9110 §8.8.3.2).
  static func isSame(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
    opaque(left).elementsEqual(opaque(right))
  }

  /// Whether two tags have the same octets; equal strings may differ in theirs.
  static func isIdentical(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

  /// Whether a tag identifies the representation with another tag, by strong comparison if it is strong.
  static func identifies(_ tag: String, _ other: String) -> Bool {
    isStrong(tag) ? isIdentical(tag, other) : isSame(tag, other)
  }

  /// Whether the tag is strong and well-formed: equal tags then mean equal bytes.
  static func isStrong(_ tag: String) -> Bool {
    let octets = tag.utf8
    guard octets.count >= 2, octets.first == UInt8(ascii: "\""), octets.last == UInt8(ascii: "\"") else { return false }
    return octets.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") }
  }

  private static func opaque(_ tag: some StringProtocol) -> Substring.UTF8View {
    let text = FieldSyntax.trimmed(tag).utf8
    return text.starts(with: "W/".utf8) ? text.dropFirst(2) : text
  }
}

extension HTTPHeaders {
  /// The value of `Content-Length`, if it is valid and unambiguous.
  var contentLength: Int64? {
    let values = Set(self[all: "Content-Length"].map { String(FieldSyntax.trimmed($0)) })
    guard values.count == 1, let value = values.first else { return nil }
    return FieldSyntax.parseDigits(value).flatMap { Int64(exactly: $0) }
  }
}

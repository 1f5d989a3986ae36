import MartletBase

/// The value of a `Content-Range` field (RFC 9110 §14.4).
///
/// Examples: `bytes 0-499/1234`, `bytes 0-499/*` and `bytes */1234`.
struct ContentRange: Sendable, Hashable {
  /// The first and the last byte of the part, or `nil` for `*`.
  let range: ClosedRange<Int64>?
  /// The size of the complete representation, or `nil` for `*`.
  let size: Int64?

  /// Parses a field value.
  ///
  /// The result is `nil` for other units, for numbers that do not fit, and for contradictions: a last byte before the
  /// first one, or beyond the size.
  init?(_ text: String) {
    let text = FieldSyntax.trimmed(text)
    guard let blank = text.utf8.firstIndex(of: 0x20), FieldSyntax.isSameName(text[..<blank], "bytes") else {
      return nil
    }
    let parts = FieldSyntax.trimmed(text[blank...]).utf8.split(separator: 0x2F, omittingEmptySubsequences: false)
    guard parts.count == 2, let size = Self.number(orStar: parts[1]) else { return nil }
    self.size = size.value
    if parts[0].elementsEqual("*".utf8) {
      // `bytes */*` carries no information.
      guard size.value != nil else { return nil }
      range = nil
      return
    }
    let ends = parts[0].split(separator: 0x2D, omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else {
      return nil
    }
    // `last` is less than `Int64.max`, so the number of bytes fits too.
    guard last < size.value ?? .max else { return nil }
    range = first...last
  }

  /// The number of bytes in the part.
  var length: Int64 { range.map { $0.upperBound - $0.lowerBound + 1 } ?? 0 }

  private static func number(_ digits: Substring.UTF8View) -> Int64? {
    FieldSyntax.parseDigits(digits).flatMap { Int64(exactly: $0) }
  }

  private static func number(orStar text: Substring.UTF8View) -> (value: Int64?, Void)? {
    if text.elementsEqual("*".utf8) { return (nil, ()) }
    return number(text).map { ($0, ()) }
  }
}

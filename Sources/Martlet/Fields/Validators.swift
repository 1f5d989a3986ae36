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

/// The single byte range of a request (RFC 9110 §14.1.2).
enum ByteRange: Sendable, Equatable {
  /// From a position to an inclusive end, or to the end of the body.
  case from(Int64, through: Int64?)
  /// The last bytes.
  case last(Int64)

  /// Parses `Range`; `nil` for anything but one range of bytes.
  init?(_ values: [String]) {
    guard values.count == 1, let ends = RangeText.parts(of: values[0], after: UInt8(ascii: "="), at: UInt8(ascii: "-"))
    else { return nil }
    switch (RangeText.number(ends.0), RangeText.number(ends.1)) {
    case (let start?, let end?) where start <= end: self = .from(start, through: end)
    case (let start?, nil) where ends.1.isEmpty: self = .from(start, through: nil)
    case (nil, let count?) where ends.0.isEmpty && count > 0: self = .last(count)
    default: return nil
    }
  }

  /// The bytes of a representation of a known size; `nil` if the range is not satisfiable.
  func bytes(of size: Int64) -> ClosedRange<Int64>? {
    switch self {
    case .from(let start, let end): start < size ? start...min(end ?? .max, size - 1) : nil
    case .last(let count): size > 0 ? max(0, size - count)...(size - 1) : nil
    }
  }
}

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
    guard let parts = RangeText.parts(of: text, after: 0x20, at: UInt8(ascii: "/")) else { return nil }
    size = RangeText.number(parts.1)
    guard size != nil || parts.1.elementsEqual("*".utf8) else { return nil }
    if parts.0.elementsEqual("*".utf8) {
      // `bytes */*` carries no information.
      guard size != nil else { return nil }
      range = nil
      return
    }
    guard let ends = RangeText.split(parts.0, at: UInt8(ascii: "-")), let first = RangeText.number(ends.0),
      let last = RangeText.number(ends.1), first <= last, last < size ?? .max
    else { return nil }
    // `last` is less than `Int64.max`, so the number of bytes fits too.
    range = first...last
  }

  /// The number of bytes in the part.
  var length: Int64 { range.map { $0.upperBound - $0.lowerBound + 1 } ?? 0 }
}

/// The grammar that `Range` and `Content-Range` share.
private enum RangeText {
  typealias Text = Substring.UTF8View

  /// The two parts of a value after the unit `bytes`.
  static func parts(of value: String, after unitEnd: UInt8, at separator: UInt8) -> (Text, Text)? {
    let value = FieldSyntax.trimmed(value)
    guard let end = value.utf8.firstIndex(of: unitEnd), FieldSyntax.isSameName(value[..<end], "bytes") else {
      return nil
    }
    let rest = value.utf8[value.utf8.index(after: end)...]
    return split(unitEnd == 0x20 ? FieldSyntax.trimmed(rest) : rest, at: separator)
  }

  /// The texts before and after the only separator.
  static func split(_ text: Text, at separator: UInt8) -> (Text, Text)? {
    let parts = text.split(separator: separator, omittingEmptySubsequences: false)
    return parts.count == 2 ? (parts[0], parts[1]) : nil
  }

  static func number(_ digits: Text) -> Int64? { FieldSyntax.parseDigits(digits).flatMap { Int64(exactly: $0) } }
}

extension HTTPHeaders {
  /// The value of `Content-Range`, if it is valid and unambiguous.
  var contentRange: ContentRange? {
    let values = self[all: "Content-Range"]
    return values.count == 1 ? ContentRange(values[0]) : nil
  }

  /// The value of `Content-Length`, if it is valid and unambiguous.
  var contentLength: Int64? {
    let values = Set(self[all: "Content-Length"].map { String(FieldSyntax.trimmed($0)) })
    guard values.count == 1, let value = values.first else { return nil }
    return FieldSyntax.parseDigits(value).flatMap { Int64(exactly: $0) }
  }
}

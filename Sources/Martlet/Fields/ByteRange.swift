import MartletBase

/// The single byte range of a request (RFC 9110 §14.1.2).
enum ByteRange: Sendable, Equatable {
  /// From a position to an inclusive end, or to the end of the body.
  case from(Int64, through: Int64?)
  /// The last bytes.
  case last(Int64)

  /// Parses `Range`; `nil` for anything but one range of bytes.
  init?(_ values: [String]) {
    guard values.count == 1 else { return nil }
    let value = FieldSyntax.trimmed(values[0])
    guard let sign = value.utf8.firstIndex(of: UInt8(ascii: "=")),
      FieldSyntax.isSameName(value[..<sign], "bytes")
    else { return nil }
    let spec = value[value.utf8.index(after: sign)...]
    guard let dash = spec.utf8.firstIndex(of: UInt8(ascii: "-")) else { return nil }
    let (first, last) = (spec[..<dash], spec[spec.utf8.index(after: dash)...])
    func number(_ text: Substring) -> Int64? { FieldSyntax.parseDigits(text).flatMap { Int64(exactly: $0) } }
    switch (first.isEmpty, last.isEmpty) {
    case (true, true): return nil
    case (true, false):
      guard let count = number(last), count > 0 else { return nil }
      self = .last(count)
    case (false, true):
      guard let start = number(first) else { return nil }
      self = .from(start, through: nil)
    case (false, false):
      guard let start = number(first), let end = number(last), start <= end else { return nil }
      self = .from(start, through: end)
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

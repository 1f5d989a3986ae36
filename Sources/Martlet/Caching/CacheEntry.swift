import MartletBase

/// A stored response without its body, in the terms of RFC 9111.
struct CacheEntry: Sendable, Equatable {
  var status: Int
  var reasonPhrase: String
  var headers: HTTPHeaders
  /// The normalized request fields that `Vary` names; absent fields have no value.
  var selectors: [String: String]
  var requestTime: Date
  var responseTime: Date
  var bodyLength: Int64
  /// The lifetime that the program set.
  var programLifetime: TimeInterval?

  var control: CacheControl { CacheControl(headers) }

  /// `Date`, if it is valid.
  var date: Date? { headers["Date"].flatMap { HTTPDate($0)?.date } }

  /// The first member of `Age`, in seconds; 0 if it is not a number (RFC 9111 §5.1).
  var ageValue: Int { headers.values(of: "Age").first.flatMap { FieldSyntax.deltaSeconds($0) } ?? 0 }

  /// The validators of a conditional request (RFC 9110 §8.8).
  var entityTag: String? { Validators.tag(headers) }
  var lastModified: String? { Validators.date(headers) }
  var hasValidator: Bool { entityTag != nil || lastModified != nil }

  /// The version of the representation to which the stored bytes belong.
  var version: RepresentationVersion { RepresentationVersion(headers, size: size) }
}

extension CacheEntry {
  /// Whether the response is partial (206).
  var isPartial: Bool { status == 206 }

  /// The stored part of a partial response; `nil` if that is unknown, and for complete responses.
  var part: ContentRange? {
    guard isPartial, let part = headers.contentRange, part.range != nil else { return nil }
    return part
  }

  /// The stored bytes, as positions in the representation; `nil` if there are none.
  var held: ClosedRange<Int64>? { isPartial ? part?.range : bodyLength > 0 ? 0...(bodyLength - 1) : nil }

  /// The size of the representation, if it is known.
  var size: Int64? { isPartial ? part?.size : bodyLength }

  /// Whether the rest of a partial response can be requested and appended (RFC 9111 §3.4).
  var isExtensible: Bool {
    guard let part, let held = part.range, held.lowerBound == 0, Validators.strongTag(headers) != nil else {
      return false
    }
    return part.size.map { held.upperBound < $0 - 1 } ?? true
  }

  /// The bytes of a range, if all of them are stored.
  func bytes(for range: ByteRange) -> ClosedRange<Int64>? {
    guard let held else { return nil }
    let wanted: ClosedRange<Int64>? =
      if let size { range.bytes(of: size) } else if case .from(let start, let end?) = range { start...end } else { nil }
    guard let wanted, held.contains(wanted.lowerBound), held.contains(wanted.upperBound) else { return nil }
    return wanted
  }
}

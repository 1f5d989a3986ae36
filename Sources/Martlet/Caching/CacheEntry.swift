import MartletBase
import Foundation

/// A stored response without its body, in the terms of RFC 9111.
struct CacheEntry: Sendable, Equatable {
  /// The stored part of a partial response.
  struct Part: Sendable, Equatable {
    var first: Int64
    var last: Int64
    /// The length of the whole representation, if it is known.
    var complete: Int64?

    var count: Int64 { last - first + 1 }
  }

  /// The URL of the request, for listings of a cache.
  var url: String
  var status: Int
  var reasonPhrase: String
  var headers: HTTPHeaders
  /// The normalized request fields that `Vary` names; absent fields have no value.
  var selectors: [String: String]
  /// The ``CacheQuery/owner`` of the response; `nil` if it has none.
  var identity: String?
  var requestTime: Date
  var responseTime: Date
  var bodyLength: Int64
  var part: Part?
  /// The lifetime that the program set.
  var programLifetime: TimeInterval?

  var control: CacheControl { CacheControl(headers) }

  /// `Date`, if it is valid.
  var date: Date? { headers["Date"].flatMap { HTTPDate($0)?.date } }

  /// The first member of `Age`, in seconds; 0 if it is not a number (RFC 9111 §5.1).
  var ageValue: Int {
    headers[all: "Age"].first.flatMap { FieldSyntax.listMembers(of: $0).first }.flatMap { FieldSyntax.deltaSeconds($0) }
      ?? 0
  }

  /// The validators of a conditional request (RFC 9110 §8.8).
  var entityTag: String? { Validators.tag(headers) }
  var lastModified: String? { Validators.date(headers) }
  var hasValidator: Bool { entityTag != nil || lastModified != nil }

  /// The version of the representation that the stored bytes belong to.
  var version: RepresentationVersion { RepresentationVersion(headers, size: size) }
}

extension CacheEntry {
  /// The stored bytes, as positions in the representation; `nil` if there are none.
  var held: ClosedRange<Int64>? {
    if let part { return 0 <= part.first && part.first <= part.last ? part.first...part.last : nil }
    return bodyLength > 0 ? 0...(bodyLength - 1) : nil
  }

  /// The size of the representation, if it is known.
  var size: Int64? { part == nil ? bodyLength : part?.complete }

  /// The bytes of a range, if all of them are stored.
  func bytes(for range: ByteRange) -> ClosedRange<Int64>? {
    guard let held else { return nil }
    let wanted: ClosedRange<Int64>?
    if let size {
      wanted = range.bytes(of: size)
    } else if case .from(let start, let end?) = range {
      wanted = start...end
    } else {
      wanted = nil
    }
    guard let wanted, held.contains(wanted.lowerBound), held.contains(wanted.upperBound) else { return nil }
    return wanted
  }
}

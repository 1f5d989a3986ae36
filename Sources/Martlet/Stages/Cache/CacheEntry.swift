import MartletBase
import Foundation

/// One stored response without its body: what is known of it, in the words of RFC 9111.
struct CacheEntry: Sendable, Equatable {
  /// The part of a representation that is stored, if it is not the whole.
  struct Part: Sendable, Equatable {
    var first: Int64
    var last: Int64
    /// The length of the whole, if it is known.
    var complete: Int64?
  }

  /// The URL that it was asked for, for those who look through a cache.
  var url: String
  var status: Int
  var reasonPhrase: String
  var headers: HTTPHeaders
  /// The request's fields that `Vary` names, as they are compared; those that were not there have no value.
  var selectors: [String: String]
  /// The ``CacheQuery/owner``: who asked, and what vouches for the response; `nil` for nothing in particular.
  var identity: String?
  var requestTime: Date
  var responseTime: Date
  var bodyLength: Int64
  var part: Part?
  /// The lifetime that the program said.
  var programLifetime: TimeInterval?

  var control: CacheControl { CacheControl(headers) }

  /// `Date`, if it is valid.
  var date: Date? { headers["Date"].flatMap { HTTPDate($0)?.date } }

  /// The first member of `Age`, in seconds; 0 if it is not a number (RFC 9111 §5.1).
  var ageValue: Int {
    headers[all: "Age"].first.flatMap { FieldSyntax.listMembers(of: $0).first }.flatMap { FieldSyntax.deltaSeconds($0) }
      ?? 0
  }

  /// What a request can ask with whether it still holds (RFC 9110 §8.8).
  var entityTag: String? { headers["ETag"] }
  var lastModified: String? { headers["Last-Modified"].flatMap { HTTPDate($0) == nil ? nil : $0 } }
  var hasValidator: Bool { entityTag != nil || lastModified != nil }
}

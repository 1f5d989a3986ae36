import MartletBase

/// The rules for storing and updating responses (RFC 9111), as pure functions.
enum CacheRules {
  /// Whether the lifetime of a status may be heuristic (RFC 9110 §15.1).
  static func isHeuristicallyCacheable(_ status: Int) -> Bool {
    [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
  }

  /// Whether this cache implements the caching rules of a status (RFC 9111 §3, `must-understand`).
  static func isUnderstood(_ status: Int) -> Bool {
    isHeuristicallyCacheable(status)
      || [302, 303, 307, 400, 401, 403, 406, 409, 429, 500, 502, 503, 504].contains(status)
  }

  /// Why a response was not stored.
  enum Refusal: String, Error, ExplainedReason {
    case neverWrite, status, requestForbids, responseForbids, variesByEverything, notExplicitlyCacheable, notReusable,
      unknownPart
    case failure, lessThanStored

    var wording: Explanation.Wording {
      switch self {
      case .neverWrite: (rawValue, "the policy is neverWrite")
      case .status: (rawValue, "its status is not final, or has caching rules that this cache does not know")
      case .requestForbids: (rawValue, "the request has no-store")
      case .responseForbids: (rawValue, "it has no-store")
      case .variesByEverything: (rawValue, "it varies by everything (Vary: *)")
      case .notExplicitlyCacheable: (rawValue, "it is not marked as storable")
      case .notReusable: (rawValue, "it has neither a lifetime nor a validator")
      case .unknownPart: (rawValue, "it is partial, without a usable Content-Range")
      case .failure: (rawValue, "it was truncated, too large, or could not be written")
      case .lessThanStored: (rawValue, "a larger part of the same representation is already stored")
      }
    }

    var section: String? { self == .neverWrite || self == .failure ? nil : "RFC 9111 §3" }

    /// The decision not to store it.
    var decision: Explanation.Decision { .init("cache.notStored", "the response was not stored", because: self) }
  }

  /// The reason why a private cache must not store a response, or `nil` (RFC 9111 §3).
  static func refusal(
    toStore status: Int, _ headers: HTTPHeaders, of request: HTTPHeaders, ignoresServer: Bool
  ) -> Refusal? {
    guard status >= 200, status != 304 else { return .status }
    if CacheControl(request).has("no-store") { return .requestForbids }
    let control = CacheControl(headers)
    if !ignoresServer {
      if control.has("must-understand") {
        // With must-understand, no-store is for caches that do not implement it (RFC 9111 §5.2.2.3).
        guard isUnderstood(status) else { return .status }
      } else if control.has("no-store") {
        return .responseForbids
      }
    }
    if Selection.names(headers) == nil { return .variesByEverything }
    let isExplicit =
      control.has("public") || control.has("private") || control.has("max-age") || headers.contains("Expires")
    guard isExplicit || isHeuristicallyCacheable(status) || ignoresServer && status == 200 else {
      return .notExplicitlyCacheable
    }
    return nil
  }

  /// The fields that are stored: not connection-specific ones, and not those that `Connection` names (RFC 9111 §3.1).
  static func storable(_ headers: HTTPHeaders, ignoresServer: Bool = false) -> HTTPHeaders {
    var dropped: Set = [
      "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "proxy-authenticate",
      "proxy-authentication-info", "proxy-authorization",
    ]
    dropped.formUnion(headers.values(of: "Connection").map { FieldSyntax.lowercased($0) })
    // Fields that these directives name must not be reused without revalidation, or not be stored (RFC 9111 §5.2.2.4,
    // §5.2.2.7).
    if !ignoresServer { dropped.formUnion(CacheControl(headers).fields("no-cache")) }
    // The fields that control caching are kept in any case.
    dropped.subtract(["cache-control", "vary", "date", "age", "expires"])
    return HTTPHeaders(headers.filter { !dropped.contains(FieldSyntax.lowercased($0.name)) })
  }

  /// The stored fields, updated by those of a 304 or a HEAD response unless they describe the body (RFC 9111 §3.2).
  ///
  /// The `Content-Digest` of a 304 or HEAD response covers its own empty content, and the `Repr-Digest` covers encoded
  /// bytes (RFC 9530 §2, §3), while a decoded body may be stored.
  static func updated(_ stored: HTTPHeaders, by new: HTTPHeaders) -> HTTPHeaders {
    let fixed: Set = [
      "content-length", "content-encoding", "content-type", "content-range", "content-digest", "repr-digest",
    ]
    let fields = storable(new).filter { !fixed.contains(FieldSyntax.lowercased($0.name)) }
    let names = Set(fields.map { FieldSyntax.lowercased($0.name) })
    return HTTPHeaders(stored.filter { !names.contains(FieldSyntax.lowercased($0.name)) } + fields)
  }

  /// The entity tags for `If-None-Match`, if the revalidated entry has one.
  ///
  /// Otherwise other tags would hide its date (RFC 9110 §13.1.3).
  static func conditions(_ entries: [CacheEntry], asked: Int) -> [String] {
    guard entries[asked].entityTag != nil else { return [] }
    return Array(Set(entries.lazy.filter { !$0.isPartial }.compactMap(\.entityTag))).sorted()
  }

  /// The entries that a 304 confirms (RFC 9111 §4.3.4).
  ///
  /// With an entity tag, these are the entries with the same tag, by strong comparison if it is strong. Otherwise it is
  /// the entry that was revalidated, unless a field contradicts, or the request had several tags.
  static func confirmed(by headers: HTTPHeaders, _ entries: [CacheEntry], asked: Int) -> [Int] {
    let new = RepresentationVersion(headers, size: nil)
    if headers.contains("ETag") {
      return entries.indices.filter { index in
        guard let tag = new.entityTag, let own = entries[index].entityTag else { return false }
        return EntityTag.identifies(tag, own)
      }
    }
    // The server must send the tag that matched (RFC 9110 §15.4.5); without it, that could be any of them.
    guard conditions(entries, asked: asked).count <= 1 else { return [] }
    return RangeRules.contradicts(new, entries[asked].version) ? [] : [asked]
  }
}

import MartletBase
import Foundation

/// What may be stored, and what may be done with what is stored: pure functions of RFC 9111.
enum CacheRules {
  /// The statuses whose lifetime may be guessed (RFC 9110 §15.1).
  static func isHeuristicallyCacheable(_ status: Int) -> Bool {
    [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
  }

  /// The statuses whose rules for caches are known here (RFC 9111 §3, `must-understand`).
  static func isUnderstood(_ status: Int) -> Bool {
    isHeuristicallyCacheable(status)
      || [302, 303, 307, 400, 401, 403, 406, 409, 429, 500, 502, 503, 504].contains(status)
  }

  /// Why a response is not stored.
  enum Refusal: String, Sendable {
    case status = "its status is not final, or not understood"
    case requestForbids = "the request said no-store"
    case responseForbids = "the response said no-store"
    case variesByEverything = "it varies by everything (Vary: *)"
    case saysNothing = "nothing says that it may be stored"
  }

  /// Whether a response may be stored by a private cache (RFC 9111 §3); `nil` if it may.
  static func refusal(
    toStore status: Int, _ headers: HTTPHeaders, of request: HTTPHeaders, ignoresServer: Bool
  ) -> Refusal? {
    guard status >= 200, status != 304 else { return .status }
    if CacheControl(request).has("no-store") { return .requestForbids }
    let control = CacheControl(headers)
    if !ignoresServer {
      if control.has("must-understand") {
        // With it, no-store is for caches that do not know it (RFC 9111 §5.2.2.3).
        guard isUnderstood(status) else { return .status }
      } else if control.has("no-store") {
        return .responseForbids
      }
    }
    if Selection.names(headers) == nil { return .variesByEverything }
    let isExplicit =
      control.has("public") || control.has("private") || control.has("max-age") || headers.contains("Expires")
    guard isExplicit || isHeuristicallyCacheable(status) || ignoresServer && status == 200 else { return .saysNothing }
    return nil
  }

  /// The fields that are not stored: those of the connection, and what it names (RFC 9111 §3.1).
  static func storable(_ headers: HTTPHeaders, ignoresServer: Bool = false) -> HTTPHeaders {
    var dropped: Set = [
      "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "proxy-authenticate",
      "proxy-authentication-info", "proxy-authorization",
    ]
    for value in headers[all: "Connection"] {
      dropped.formUnion(FieldSyntax.listMembers(of: value).map { FieldSyntax.lowercased($0) })
    }
    // Named by these, a field is not to be used without asking, or not stored (RFC 9111 §5.2.2.4, §5.2.2.7).
    let control = CacheControl(headers)
    if !ignoresServer { dropped.formUnion(control.fields("no-cache")) }
    // What says how it may be used stays all the same.
    dropped.subtract(["cache-control", "vary", "date", "age", "expires"])
    return HTTPHeaders(headers.filter { !dropped.contains(FieldSyntax.lowercased($0.name)) })
  }

  /// The fields after a 304 or a HEAD: those of the new response in place of the stored ones of the same name
  /// (RFC 9111 §3.2), but for those that describe what the body is made of.
  static func updated(_ stored: HTTPHeaders, by new: HTTPHeaders) -> HTTPHeaders {
    let fixed: Set = ["content-length", "content-encoding", "content-type", "content-range"]
    let fields = storable(new).filter { !fixed.contains(FieldSyntax.lowercased($0.name)) }
    let names = Set(fields.map { FieldSyntax.lowercased($0.name) })
    return HTTPHeaders(stored.filter { !names.contains(FieldSyntax.lowercased($0.name)) } + fields)
  }

  /// Which entries a 304 is about (RFC 9111 §4.3.4): those with its strong validator, else with its weak one, else the
  /// one that was asked about.
  static func confirmed(by headers: HTTPHeaders, _ entries: [CacheEntry], asked: Int) -> [Int] {
    if let tag = headers["ETag"] {
      let isStrong = EntityTag.isStrong(tag)
      return entries.indices.filter { index in
        guard let own = entries[index].entityTag else { return false }
        return isStrong ? own == tag : EntityTag.isSame(own, tag)
      }
    }
    if let date = headers["Last-Modified"], entries[asked].lastModified != nil {
      return entries[asked].lastModified == date ? [asked] : []
    }
    return [asked]
  }
}

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
    case method = "the method is not GET"
    case status = "its status is not final, or not understood"
    case requestForbids = "the request said no-store"
    case responseForbids = "the response said no-store"
    case variesByEverything = "it varies by everything (Vary: *)"
    case saysNothing = "nothing says that it may be stored"
    case partial = "it is a part whose place is not told"
  }

  /// Whether a response may be stored by a private cache (RFC 9111 §3); `nil` if it may.
  static func refusal(
    toStore status: Int, _ headers: HTTPHeaders, of request: HTTPRequest, ignoresServer: Bool
  ) -> Refusal? {
    guard request.method == .get else { return .method }
    guard status >= 200, status != 304 else { return .status }
    if CacheControl(request.headers).has("no-store") { return .requestForbids }
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
  static func storable(_ headers: HTTPHeaders) -> HTTPHeaders {
    var dropped: Set = [
      "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "proxy-authenticate",
      "proxy-authentication-info", "proxy-authorization",
    ]
    for value in headers[all: "Connection"] {
      dropped.formUnion(FieldSyntax.listMembers(of: value).map { FieldSyntax.lowercased($0) })
    }
    // Named by these, a field is not to be used without asking, or not stored (RFC 9111 §5.2.2.4, §5.2.2.7).
    let control = CacheControl(headers)
    dropped.formUnion(control.fields("no-cache"))
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
}

/// The request's fields that a response was chosen by (RFC 9111 §4.1).
enum Selection {
  /// The most fields that a response may vary by.
  private static let maximumNames = 32

  /// The names in `Vary` in lower case and in order; `nil` for everything.
  static func names(_ headers: HTTPHeaders) -> [String]? {
    let members = headers[all: "Vary"].flatMap { FieldSyntax.listMembers(of: $0).map { FieldSyntax.lowercased($0) } }
    guard !members.contains("*"), members.allSatisfy({ FieldSyntax.isToken($0) }) else { return nil }
    let names = Set(members)
    return names.count <= maximumNames ? names.sorted() : nil
  }

  /// The values of the named fields in a request, as they are compared.
  static func selectors(_ names: [String], of request: HTTPHeaders) -> [String: String] {
    var values: [String: String] = [:]
    for name in names {
      let fields = request[all: name]
      if !fields.isEmpty { values[name] = normalized(fields, of: name) }
    }
    return values
  }

  /// Whether an entry answers a request.
  static func matches(_ entry: CacheEntry, _ request: HTTPHeaders) -> Bool {
    guard let names = names(entry.headers) else { return false }
    return selectors(names, of: request) == entry.selectors
  }

  /// What may be done with a list without changing its meaning: lines are one list, blanks at commas do not count
  /// (RFC 9110 §5.3, §5.6.1); of languages, codings and character sets neither case nor order does, other than by weight.
  private static func normalized(_ values: [String], of name: String) -> String {
    let members = values.flatMap { FieldSyntax.listMembers(of: $0) }
    guard ["accept-language", "accept-encoding", "accept-charset"].contains(name) else {
      return members.joined(separator: ",")
    }
    return members.map { member in
      FieldSyntax.lowercased(member.filter { $0 != " " && $0 != "\t" })
    }.sorted().joined(separator: ",")
  }
}

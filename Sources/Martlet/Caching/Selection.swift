import MartletBase

/// The request fields that select a stored response (RFC 9111 §4.1).
enum Selection {
  /// The maximum number of fields in `Vary`.
  private static let maximumNames = 32

  /// The sorted, lower-case names in `Vary`; `nil` if no other request can match.
  static func names(_ headers: HTTPHeaders) -> [String]? {
    let members = headers.values(of: "Vary").map { FieldSyntax.lowercased($0) }
    guard !members.contains("*"), members.allSatisfy({ FieldSyntax.isToken($0) }) else { return nil }
    let names = Set(members)
    return names.count <= maximumNames ? names.sorted() : nil
  }

  /// The normalized values of the named fields in a request.
  static func selectors(_ names: [String], of request: HTTPHeaders) -> [String: String] {
    var values: [String: String] = [:]
    for name in names {
      let fields = request[wires: name]
      if !fields.isEmpty { values[name] = normalized(fields, of: name) }
    }
    return values
  }

  /// Whether an entry's selecting fields match a request.
  static func matches(_ entry: CacheEntry, _ request: HTTPHeaders) -> Bool {
    guard let names = names(entry.headers) else { return false }
    return selectors(names, of: request) == entry.selectors
  }

  /// Normalizes a field without changing its meaning.
  ///
  /// Lines become one list, and blanks around commas are ignored (RFC 9110 §5.3, §5.6.1). For languages, codings and
  /// character sets, case and order are also ignored, because weights express the preference.
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

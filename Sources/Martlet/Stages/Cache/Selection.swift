import MartletBase

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

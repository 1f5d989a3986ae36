import MartletBase

/// The directives of the `Cache-Control` fields of one message (RFC 9111 §5.2).
///
/// Names are compared ignoring case. Unknown directives have no effect. A restricting directive, such as `no-store`,
/// applies even if its argument is malformed. A permitting directive applies only if it is well-formed.
struct CacheControl: Sendable, Equatable {
  /// The arguments by lower-case name: `nil` for none, `""` for a malformed one.
  private var arguments: [String: [String?]] = [:]

  /// The maximum size of all fields together.
  private static let maximumBytes = 8 << 10

  /// Parses all fields of a message, in order.
  init(_ values: [String]) {
    var rest = Self.maximumBytes
    for value in values {
      // The skipped fields could contain a restriction, so nothing may be stored, nor served to such a request.
      guard value.utf8.count <= rest else {
        arguments["no-store", default: []].append(nil)
        return
      }
      rest -= value.utf8.count
      for member in FieldSyntax.split(Substring(value).utf8, at: UInt8(ascii: ",")) { take(member) }
    }
  }

  init(_ headers: HTTPHeaders) { self.init(headers[all: "Cache-Control"]) }

  private mutating func take(_ member: Substring.UTF8View) {
    let end = member.firstIndex { !FieldSyntax.isTokenOctet($0) } ?? member.endIndex
    guard end > member.startIndex else { return }
    let name = FieldSyntax.lowercased(Substring(member[..<end]))
    arguments[name, default: []].append(Self.argument(member[end...]))
  }

  /// The argument after a name: `=` and a token or a quoted string, which are equivalent (RFC 9111 §5.2).
  private static func argument(_ rest: Substring.UTF8View) -> String? {
    guard !rest.isEmpty else { return nil }
    guard rest.first == UInt8(ascii: "=") else { return "" }
    return FieldSyntax.parameterValue(rest.dropFirst()) ?? ""
  }

  var isEmpty: Bool { arguments.isEmpty }

  /// Whether the directive is present, with or without an argument.
  func has(_ name: String) -> Bool { arguments[name] != nil }

  /// Whether the directive applies to the whole response: without an argument, or with a malformed one.
  func isUnqualified(_ name: String) -> Bool {
    arguments[name]?.contains { argument in
      guard let argument, !argument.isEmpty else { return true }
      return !FieldSyntax.listMembers(of: argument).allSatisfy { FieldSyntax.isToken($0) }
    } ?? false
  }

  /// The lower-case field names in the directive's argument.
  func fields(_ name: String) -> [String] {
    arguments[name]?.compactMap { $0 }.flatMap { FieldSyntax.listMembers(of: $0).map { FieldSyntax.lowercased($0) } }
      ?? []
  }

  /// The directive's number of seconds, at most 2³¹; `nil` if it is absent.
  ///
  /// A malformed or contradictory directive is 0, which makes the response stale (RFC 9111 §4.2.1).
  func seconds(_ name: String) -> Int? {
    guard let values = arguments[name] else { return nil }
    let numbers = Set(values.map { $0.flatMap { FieldSyntax.deltaSeconds($0) } ?? 0 })
    return numbers.count == 1 ? numbers.first : 0
  }

  /// The `max-stale` of a request; unlimited without an argument (RFC 9111 §5.2.1.2).
  var maximumStaleness: Int? {
    guard let values = arguments["max-stale"] else { return nil }
    return values == [nil] ? .max : seconds("max-stale")
  }
}

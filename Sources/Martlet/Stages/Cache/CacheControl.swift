import MartletBase

/// The directives of the `Cache-Control` fields of one message (RFC 9111 §5.2).
///
/// Names are compared without regard to case; what is unknown is kept and means nothing. A directive that limits, such
/// as `no-store`, counts however it is spelled behind its name; one that allows counts only if it is well-formed.
struct CacheControl: Sendable, Equatable {
  /// The arguments by the names in lower case: `nil` for none, `""` for one that is malformed.
  private var arguments: [String: [String?]] = [:]

  /// The most octets of all fields together that are looked at.
  private static let maximumBytes = 8 << 10

  /// Reads all fields of a message, in order.
  init(_ values: [String]) {
    var rest = Self.maximumBytes
    for value in values {
      // What is not looked at could be a limit, so then nothing is allowed.
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

  /// What stands behind a name: `=` and a token or a quoted string, both of which stand for the same (RFC 9111 §5.2).
  private static func argument(_ rest: Substring.UTF8View) -> String? {
    guard !rest.isEmpty else { return nil }
    guard rest.first == UInt8(ascii: "=") else { return "" }
    var value = rest.dropFirst()
    if value.first == 0x22 {
      guard let text = FieldSyntax.readQuotedString(from: &value), value.isEmpty else { return "" }
      return text
    }
    return FieldSyntax.isToken(Substring(value)) ? String(Substring(value)) : ""
  }

  var isEmpty: Bool { arguments.isEmpty }

  /// Whether a directive is there, with an argument or without.
  func has(_ name: String) -> Bool { arguments[name] != nil }

  /// Whether a directive is there without an argument, or with one that makes no sense: then it is for all of the
  /// response.
  func isUnqualified(_ name: String) -> Bool {
    arguments[name]?.contains { $0 == nil || $0?.isEmpty == true || !Self.areNames($0) } ?? false
  }

  /// The fields that a directive with a list is about, in lower case.
  func fields(_ name: String) -> [String] {
    arguments[name]?.compactMap { $0 }.flatMap { FieldSyntax.listMembers(of: $0).map { FieldSyntax.lowercased($0) } }
      ?? []
  }

  private static func areNames(_ list: String?) -> Bool {
    FieldSyntax.listMembers(of: list ?? "").allSatisfy { FieldSyntax.isToken($0) }
  }

  /// A number of seconds, at most 2³¹; `nil` if the directive is not there.
  ///
  /// Malformed, or said twice with different numbers, it is 0: such a response counts as stale (RFC 9111 §4.2.1).
  func seconds(_ name: String) -> Int? {
    guard let values = arguments[name] else { return nil }
    let numbers = Set(values.map { $0.flatMap { FieldSyntax.deltaSeconds($0) } ?? 0 })
    return numbers.count == 1 ? numbers.first : 0
  }

  /// `max-stale` of a request: without an argument any number of seconds (RFC 9111 §5.2.1.2).
  var maximumStaleness: Int? {
    guard let values = arguments["max-stale"] else { return nil }
    return values == [nil] ? .max : seconds("max-stale")
  }
}

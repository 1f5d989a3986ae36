import MartletBase

/// A member of `Sec-WebSocket-Extensions` (RFC 6455 §9.1).
struct WebSocketExtension: Equatable {
  struct Parameter: Equatable {
    var name: String
    /// The value, without the quotes of a quoted string.
    var value: String?
  }

  var name: String
  var parameters: [Parameter] = []

  /// The extensions of all fields, in their order.
  static func parse(_ fieldValues: [String]) throws(HandshakeProblem) -> [Self] {
    var extensions: [Self] = []
    for value in fieldValues {
      for member in FieldSyntax.listMembers(of: value) { extensions.append(try Self(member)) }
    }
    return extensions
  }

  private init(_ member: String) throws(HandshakeProblem) {
    var rest = Substring(member).utf8
    name = try Self.readToken(&rest, in: member)
    Self.skipBlanks(&rest)
    while !rest.isEmpty {
      guard rest.removeFirst() == UInt8(ascii: ";") else { throw Self.malformed(member) }
      Self.skipBlanks(&rest)
      var parameter = Parameter(name: try Self.readToken(&rest, in: member))
      Self.skipBlanks(&rest)
      if rest.first == UInt8(ascii: "=") {
        rest.removeFirst()
        Self.skipBlanks(&rest)
        parameter.value = try Self.readValue(&rest, in: member)
        Self.skipBlanks(&rest)
      }
      parameters.append(parameter)
    }
  }

  /// A token or a quoted string, whose content must be a token.
  private static func readValue(
    _ rest: inout Substring.UTF8View, in member: String
  ) throws(HandshakeProblem) -> String {
    guard rest.first == UInt8(ascii: "\"") else { return try readToken(&rest, in: member) }
    guard let value = FieldSyntax.readQuotedString(from: &rest), FieldSyntax.isToken(value) else {
      throw malformed(member)
    }
    return value
  }

  private static func readToken(
    _ rest: inout Substring.UTF8View, in member: String
  ) throws(HandshakeProblem) -> String {
    let token = rest.prefix(while: FieldSyntax.isTokenOctet)
    guard !token.isEmpty else { throw malformed(member) }
    rest = rest[token.endIndex...]
    return String(Substring(token))
  }

  private static func skipBlanks(_ rest: inout Substring.UTF8View) { rest = rest.drop(while: FieldSyntax.isBlank) }

  private static func malformed(_ member: String) -> HandshakeProblem {
    HandshakeProblem(
      "Sec-WebSocket-Extensions contains \(Printable.text(member)), which is not an extension (RFC 6455 §9.1)")
  }
}

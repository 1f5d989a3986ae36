import MartletBase

/// The fields `Repr-Digest` and `Content-Digest` (RFC 9530).
///
/// Both cover encoded bytes: the whole representation, or the content of one message.
enum DigestField {
  /// The SHA-256 in hexadecimal digits, from values such as `sha-256=:…:` (RFC 8941 §3.2, §3.3.5).
  ///
  /// `nil` if it is missing or malformed: an unreadable field is ignored. If there are several members, the last one
  /// counts (RFC 8941 §3.2).
  static func sha256(_ values: [String]) -> String? {
    let members = values.flatMap { FieldSyntax.listMembers(of: $0) }
    guard let member = members.last(where: { FieldSyntax.isSameName($0.prefix { $0 != "=" }, "sha-256") }) else {
      return nil
    }
    let value = member.drop { $0 != "=" }.dropFirst().prefix { $0 != ";" }
    guard value.utf8.count > 2, value.first == ":", value.last == ":",
      let bytes = Data(base64Encoded: String(value.dropFirst().dropLast())), bytes.count == 32
    else { return nil }
    return bytes.hexadecimal
  }
}

import MartletBase
import Foundation

/// The fields `Repr-Digest` and `Content-Digest` (RFC 9530).
///
/// Both cover encoded bytes: the whole representation, or the content of one message.
enum DigestField {
  /// The SHA-256 in hexadecimal digits, from values such as `sha-256=:…:` (RFC 8941 §3.2, §3.3.5).
  ///
  /// `nil` if it is missing or malformed: an unreadable field is ignored.
  static func sha256(_ values: [String]) -> String? {
    for member in values.lazy.flatMap({ $0.split(separator: ",") }) {
      let text = FieldSyntax.trimmed(member)
      guard let sign = text.firstIndex(of: "="), FieldSyntax.isSameName(text[..<sign], "sha-256") else { continue }
      let value = text[text.index(after: sign)...].prefix { $0 != ";" }
      guard value.utf8.count > 2, value.first == ":", value.last == ":",
        let bytes = Data(base64Encoded: String(value.dropFirst().dropLast())), bytes.count == 32
      else { continue }
      return SHA256Stream.text(bytes)
    }
    return nil
  }
}

import MartletBase

/// Parses the file names in `Content-Disposition` (RFC 6266), which are untrusted.
enum ContentDisposition {
  /// The name in `filename*`, if it can be decoded, then the name in `filename`.
  static func filenames(_ value: String) -> [String] {
    var plain: String?
    var extended: String?
    for part in FieldSyntax.split(value[...].utf8, at: 0x3B) {
      guard let equals = part.firstIndex(of: 0x3D) else { continue }
      let name = FieldSyntax.trimmed(part[..<equals])
      let text = FieldSyntax.trimmed(part[part.index(after: equals)...])
      if FieldSyntax.isSameName(Substring(name), "filename") {
        plain = plain ?? plainValue(text)
      } else if FieldSyntax.isSameName(Substring(name), "filename*") {
        extended = extended ?? extendedValue(text)
      }
    }
    return [extended, plain].compactMap { $0 }
  }

  /// Parses a token, a quoted string, or a common malformed value.
  ///
  /// Some servers send blanks without quotes, or a quote that is never closed.
  private static func plainValue(_ text: Substring.UTF8View) -> String {
    var rest = text
    if let quoted = FieldSyntax.readQuotedString(from: &rest) { return quoted }
    return String(Substring(text.first == 0x22 ? text.dropFirst() : text))
  }

  /// Decodes a value such as `UTF-8'en'%e2%82%ac%20rates` (RFC 8187 §3.2).
  ///
  /// Returns `nil` if the value is malformed or its character set is unknown.
  static func extendedValue(_ text: Substring.UTF8View) -> String? {
    let parts = text.split(separator: 0x27, maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let coded = Array(parts[2])[...]
    let isWellFormed = coded.indices.allSatisfy { index in
      coded[index] == UInt8(ascii: "%")
        ? PercentEncoding.triplet(at: index, in: coded) != nil : FieldSyntax.isTokenOctet(coded[index])
    }
    guard isWellFormed else { return nil }
    let octets = PercentEncoding.decode(coded)
    switch FieldSyntax.lowercased(Substring(parts[0])) {
    case "utf-8": return String(validating: octets, as: UTF8.self)
    case "iso-8859-1": return TextDecoding.decodeLatin1(octets)
    default: return nil
    }
  }
}

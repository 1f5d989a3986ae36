import MartletBase

/// Parses the file names in `Content-Disposition` (RFC 6266), which are untrusted.
enum ContentDisposition {
  /// The name in `filename*`, if it can be decoded, then the name in `filename`.
  static func filenames(_ value: String) -> [String] {
    var plain: String?
    var extended: String?
    for part in FieldSyntax.split(value[...].utf8, at: 0x3B) {
      switch FieldSyntax.parameterStart(part) {
      case ("filename", let text)?: plain = plain ?? plainValue(text)
      case ("filename*", let text)?: extended = extended ?? extendedValue(text)
      default: break
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
    guard parts.count == 3,
      let octets = PercentEncoding.decode(Array(parts[2])[...], allowing: FieldSyntax.isTokenOctet)
    else { return nil }
    switch FieldSyntax.lowercased(Substring(parts[0])) {
    case "utf-8": return String(validating: octets, as: UTF8.self)
    case "iso-8859-1": return TextDecoding.decodeLatin1(octets)
    default: return nil
    }
  }
}

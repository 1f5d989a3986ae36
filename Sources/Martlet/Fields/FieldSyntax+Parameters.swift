import MartletBase

extension FieldSyntax {
  /// The lower-case name and the unquoted value of `token BWS "=" BWS ( token / quoted-string )` and nothing else.
  ///
  /// See RFC 9110 §11.2 and RFC 6797 §6.1.
  static func parameter(_ text: Substring.UTF8View) -> (name: String, value: String)? {
    parameterStart(text).flatMap { name, rest in parameterValue(rest).map { (name, $0) } }
  }

  /// The content of `token / quoted-string` and nothing else (RFC 9110 §5.6.6).
  static func parameterValue(_ text: Substring.UTF8View) -> String? {
    var rest = text
    if let value = readQuotedString(from: &rest) { return rest.isEmpty ? value : nil }
    return isToken(Substring(text)) ? String(Substring(text)) : nil
  }

  /// Reads a parameter of a challenge as small devices write it, and moves `text` past it.
  ///
  /// An unquoted value may contain any octets that a field can, up to a semicolon or a blank that another parameter
  /// follows. The value is `nil` if it cannot be read; the result is `nil` if the text does not begin with a parameter.
  static func lenientParameter(_ text: inout Substring.UTF8View) -> (name: String, value: String?)? {
    text = text.drop(while: isSeparator)
    guard let (name, start) = parameterStart(text) else { return nil }
    var rest = start
    text = text[text.endIndex...]
    if rest.first == UInt8(ascii: "\"") {
      if let value = readQuotedString(from: &rest) {
        text = rest
        return (name, value)
      }
      // A quoted string that is never closed.
      rest = rest.dropFirst()
    } else {
      var end = rest.startIndex
      while end < rest.endIndex {
        let next = rest[end...].firstIndex(where: isSeparator) ?? rest.endIndex
        let following = rest[next...].drop(while: isSeparator)
        end = following.startIndex
        guard following.isEmpty || parameterStart(following) != nil else { continue }
        text = following
        rest = rest[..<next]
        break
      }
    }
    let value = String(Substring(trimmed(rest)))
    return (name, isFieldValue(value) ? value : nil)
  }

  /// The lower-case name of the parameter at the start of the text, and the text after its equals sign.
  static func parameterStart(_ text: Substring.UTF8View) -> (String, Substring.UTF8View)? {
    let end = text.firstIndex { !isTokenOctet($0) } ?? text.endIndex
    let after = text[end...].drop(while: isBlank)
    guard end > text.startIndex, after.first == UInt8(ascii: "=") else { return nil }
    return (lowercased(Substring(text[..<end])), after.dropFirst().drop(while: isBlank))
  }

  private static func isSeparator(_ octet: UInt8) -> Bool { isBlank(octet) || octet == UInt8(ascii: ";") }
}

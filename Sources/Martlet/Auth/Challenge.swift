import MartletBase

/// A challenge of a `WWW-Authenticate` field (RFC 9110 §11.6.1).
struct Challenge: Sendable, Hashable {
  var scheme: AuthenticationScheme
  /// The unquoted parameters as ``WireText``, by lower-case name.
  var parameters: [String: String] = [:]
  /// The token68 that follows the scheme in place of parameters.
  var token68: String?
  /// The names of the parameters whose values cannot be read.
  var unreadable: Set<String> = []

  var realm: String? { parameters["realm"] }

  /// The maximum size of all fields together; the rest is ignored.
  private static let maximumBytes = 16 << 10
  private static let maximumChallenges = 16
  private static let maximumParameters = 32

  /// Parses all challenges of a response, in order, from values as ``WireText``.
  ///
  /// One field may contain several challenges, separated by the same commas as their parameters (RFC 9110 §11.6.1). Small
  /// devices write them in many ways. Accepted are values without quotes, a quote that is never closed, semicolons or
  /// blanks instead of commas, and repeated parameters, of which the last one counts, as in curl and in browsers. Other
  /// text is skipped.
  static func parse(_ values: [String]) -> [Challenge] {
    var reader = Reader()
    var rest = maximumBytes
    for value in values {
      // A truncated value could mean something else.
      guard value.utf8.count <= rest else { break }
      rest -= value.utf8.count
      for member in FieldSyntax.split(Substring(value).utf8, at: UInt8(ascii: ",")) { reader.take(member) }
      reader.endChallenge()
    }
    return Array(reader.challenges.prefix(maximumChallenges))
  }

  /// Assembles list members into challenges.
  private struct Reader {
    var challenges: [Challenge] = []
    /// The challenge that receives the next parameters.
    var current: Challenge?

    mutating func endChallenge() {
      if let current { challenges.append(current) }
      current = nil
    }

    mutating func take(_ member: Substring.UTF8View) {
      let end = member.firstIndex { !FieldSyntax.isTokenOctet($0) } ?? member.endIndex
      let word = member[..<end]
      let after = FieldSyntax.trimmed(member[end...])
      guard !word.isEmpty, after.first != UInt8(ascii: "=") else {
        // `name=value` or malformed; both belong to the current challenge.
        takeParameter(member)
        return
      }
      endChallenge()
      guard end == member.endIndex || FieldSyntax.isBlank(member[end]) else { return }
      var challenge = Challenge(scheme: AuthenticationScheme(String(Substring(word))))
      if FieldSyntax.parameter(after) == nil, Self.isToken68(after) {
        challenge.token68 = String(Substring(after))
        current = challenge
      } else {
        current = challenge
        takeParameter(after)
      }
    }

    private mutating func takeParameter(_ text: Substring.UTF8View) {
      guard var challenge = current, challenge.token68 == nil else { return }
      var rest = text
      while let (name, value) = FieldSyntax.lenientParameter(&rest) {
        guard challenge.parameters.count < maximumParameters || challenge.parameters[name] != nil else {
          current = nil
          return
        }
        challenge.parameters[name] = value
        if value == nil { challenge.unreadable.insert(name) } else { challenge.unreadable.remove(name) }
      }
      current = challenge
    }

    private static func isToken68(_ text: Substring.UTF8View) -> Bool {
      let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
      return text.count > padding && text.dropLast(padding).allSatisfy(isToken68Octet)
    }

    /// The characters of base64 and base64url, without the padding.
    private static func isToken68Octet(_ octet: UInt8) -> Bool {
      switch octet {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      case UInt8(ascii: "-")...UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"): true
      default: false
      }
    }
  }
}

extension FieldSyntax {
  /// The lower-case name and the unquoted value of `token BWS "=" BWS ( token / quoted-string )` and nothing else.
  ///
  /// See RFC 9110 §11.2 and RFC 6797 §6.1.
  static func parameter(_ text: Substring.UTF8View) -> (name: String, value: String)? {
    guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { return nil }
    let name = Substring(trimmed(text[..<equals]))
    var rest = trimmed(text[text.index(after: equals)...])
    guard isToken(name) else { return nil }
    if rest.first == UInt8(ascii: "\"") {
      guard let value = readQuotedString(from: &rest), rest.isEmpty else { return nil }
      return (lowercased(name), value)
    }
    let value = Substring(rest)
    return isToken(value) ? (lowercased(name), String(value)) : nil
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
  private static func parameterStart(_ text: Substring.UTF8View) -> (String, Substring.UTF8View)? {
    let end = text.firstIndex { !isTokenOctet($0) } ?? text.endIndex
    let after = text[end...].drop(while: isBlank)
    guard end > text.startIndex, after.first == UInt8(ascii: "=") else { return nil }
    return (lowercased(Substring(text[..<end])), after.dropFirst().drop(while: isBlank))
  }

  private static func isSeparator(_ octet: UInt8) -> Bool { isBlank(octet) || octet == UInt8(ascii: ";") }
}

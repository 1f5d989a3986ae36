import MartletBase

/// A challenge of a `WWW-Authenticate` field (RFC 9110 §11.6.1).
struct Challenge: Sendable, Hashable {
  var scheme: AuthenticationChallenge.Scheme
  /// The unquoted parameters as ``WireText``, by lower-case name.
  var parameters: [String: String] = [:]
  /// The token68 that follows the scheme in place of parameters.
  var token68: String?

  var realm: String? { parameters["realm"] }

  /// The maximum size of all fields together; the rest is ignored.
  private static let maximumBytes = 16 << 10
  private static let maximumChallenges = 16
  private static let maximumParameters = 32

  /// Parses all challenges of a response, in order, from values as ``WireText``.
  ///
  /// One field may contain several challenges, separated by the same commas as their parameters (RFC 9110 §11.6.1). A
  /// challenge that is malformed, or repeats a parameter, is skipped, because a partial challenge must not be answered.
  /// The others are still parsed.
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
      var challenge = Challenge(scheme: AuthenticationChallenge.Scheme(String(Substring(word))))
      guard !after.isEmpty else {
        current = challenge
        return
      }
      if let (name, value) = FieldSyntax.parameter(after) {
        challenge.parameters[name] = value
        current = challenge
      } else if after.allSatisfy(Self.isToken68Octet) {
        challenge.token68 = String(Substring(after))
        current = challenge
      }
    }

    private mutating func takeParameter(_ member: Substring.UTF8View) {
      guard var challenge = current else { return }
      guard challenge.token68 == nil, challenge.parameters.count < maximumParameters,
        let (name, value) = FieldSyntax.parameter(member), challenge.parameters[name] == nil
      else {
        current = nil
        return
      }
      challenge.parameters[name] = value
      current = challenge
    }

    /// The characters of base64 and base64url, and the padding.
    private static func isToken68Octet(_ octet: UInt8) -> Bool {
      switch octet {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      case UInt8(ascii: "-")...UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"): true
      case UInt8(ascii: "="): true
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
}

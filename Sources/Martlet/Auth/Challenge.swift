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
      return text.count > padding && text.dropLast(padding).allSatisfy(ASCIISet.token68.contains)
    }
  }
}

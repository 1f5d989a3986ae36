import MartletBase

/// The hash of a Digest challenge (RFC 7616 §3.3), ordered by strength.
///
/// The raw value is the name without `-sess`.
enum DigestAlgorithm: String, Sendable, CaseIterable {
  case md5 = "MD5"
  case sha256 = "SHA-256"
  case sha512t256 = "SHA-512-256"

  /// The hash of ``WireText`` in lower-case hexadecimal digits.
  func hash(_ text: String) -> String {
    let octets = WireText.octets(text)
    let hash =
      switch self {
      case .md5: MD5.hash(octets)
      case .sha256: SHA2.sha256(octets)
      case .sha512t256: SHA2.sha512t256(octets)
      }
    return hash.hexadecimal
  }
}

/// A Digest challenge that can be answered (RFC 7616 §3.3), with its values as ``WireText``.
struct DigestChallenge: Sendable, Hashable {
  var realm: String
  var nonce: String
  var opaque: String?
  var algorithm = DigestAlgorithm.md5
  /// The name in the server's spelling, which is echoed; `nil` without one.
  var algorithmName: String?
  /// Whether the key includes the first nonces (`-sess`).
  var isSession = false
  /// Whether the server offers `qop=auth`; if not, it follows RFC 2069.
  var hasQuality = false
  /// Whether the server rejected only the nonce, as stale.
  var isStale = false
  /// Whether to hash the user name (§3.4.4).
  var hashesUser = false
  /// Whether the server accepts UTF-8.
  var isUTF8 = false

  /// `nil` if a required parameter is missing, or the algorithm or the quality of protection is unsupported.
  init?(_ challenge: Challenge) {
    guard challenge.scheme == .digest, let realm = challenge.realm, let nonce = challenge.parameters["nonce"],
      challenge.unreadable.isDisjoint(with: ["opaque", "algorithm", "qop", "userhash", "charset"])
    else { return nil }
    self.realm = realm
    self.nonce = nonce
    opaque = challenge.parameters["opaque"]
    if let name = challenge.parameters["algorithm"] {
      guard FieldSyntax.isToken(name) else { return nil }
      isSession = FieldSyntax.lowercased(name).hasSuffix("-sess")
      let hash = isSession ? name.dropLast(5) : name[...]
      guard let known = DigestAlgorithm.allCases.first(where: { FieldSyntax.isSameName($0.rawValue, hash) }) else {
        return nil
      }
      algorithm = known
      algorithmName = name
    }
    // An empty list counts as none, as in curl.
    if let qualities = challenge.parameters["qop"], !qualities.isEmpty {
      // `auth-int` is unsupported: it needs the hash of a body that may be a stream.
      guard FieldSyntax.listMembers(of: qualities).contains(where: { FieldSyntax.isSameName($0, "auth") }) else {
        return nil
      }
      hasQuality = true
    }
    // The key of a `-sess` algorithm needs a client nonce, which only `qop` provides.
    if isSession && !hasQuality { return nil }
    isStale = challenge.parameters["stale"].map { FieldSyntax.isSameName($0, "true") } ?? false
    hashesUser = challenge.parameters["userhash"].map { FieldSyntax.isSameName($0, "true") } ?? false
    isUTF8 = challenge.parameters["charset"].map { FieldSyntax.isSameName($0, "utf-8") } ?? false
  }

  /// The reason why no challenge can be answered, if one uses an unsupported variant of Digest.
  static func problem(of challenges: [Challenge], among schemes: [AuthenticationScheme]) -> String? {
    guard Offer.strongest(of: challenges, among: schemes) == nil else { return nil }
    let problems = challenges.lazy.compactMap { $0.scheme == .digest ? problem(of: $0) : nil }
    return problems.first.map { "offers Digest \($0)" }
  }

  /// The required or unreadable parameters that prevent a response, for explanations.
  static func gaps(in challenges: [Challenge], among schemes: [AuthenticationScheme]) -> [String] {
    challenges.filter { $0.scheme == .digest && schemes.contains(.digest) }.compactMap { challenge in
      let missing = ["realm", "nonce"].filter { challenge.parameters[$0] == nil } + challenge.unreadable.sorted()
      return missing.isEmpty ? nil : "Digest without a readable \(Set(missing).sorted().joined(separator: " and "))"
    }
  }

  /// The reason why a challenge is unsupported: its algorithm or its quality of protection.
  private static func problem(of challenge: Challenge) -> String? {
    guard DigestChallenge(challenge) == nil else { return nil }
    var other = challenge
    other.parameters["algorithm"] = nil
    if DigestChallenge(other) != nil {
      let name = challenge.parameters["algorithm"].map { InvalidInput.printable($0, limit: 40) } ?? ""
      return "with the algorithm \"\(name)\", which is not supported"
    }
    other.parameters["qop"] = nil
    guard DigestChallenge(other) != nil else { return nil }
    let quality = challenge.parameters["qop"].map { InvalidInput.printable($0, limit: 40) } ?? ""
    return "with the quality of protection \"\(quality)\"; only \"auth\" is supported"
  }
}

import MartletBase

/// The hash of a Digest challenge (RFC 7616 §3.3), the better ones higher.
enum DigestAlgorithm: Int, Sendable, Comparable {
  case md5, sha256, sha512t256

  /// The name without `-sess`.
  var name: String {
    switch self {
    case .md5: "MD5"
    case .sha256: "SHA-256"
    case .sha512t256: "SHA-512-256"
    }
  }

  static func < (left: DigestAlgorithm, right: DigestAlgorithm) -> Bool { left.rawValue < right.rawValue }

  /// The hash in lower-case hexadecimal digits.
  func hash(_ text: String) -> String {
    let octets =
      switch self {
      case .md5: MD5.hash(text.utf8)
      case .sha256: SHA2.sha256(text.utf8)
      case .sha512t256: SHA2.sha512t256(text.utf8)
      }
    return Self.hexadecimal(octets)
  }

  static func hexadecimal(_ octets: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: octets.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

/// What a Digest challenge asks for, if it can be answered (RFC 7616 §3.3).
struct DigestChallenge: Sendable, Hashable {
  var realm: String
  var nonce: String
  var opaque: String?
  var algorithm = DigestAlgorithm.md5
  /// The name as the server wrote it, which is sent back; `nil` if it named none.
  var algorithmName: String?
  /// Whether the first nonces go into the key (`-sess`).
  var isSession = false
  /// Whether `qop=auth` was offered; if not, the server is one of RFC 2069.
  var hasQuality = false
  /// Whether only the nonce was too old.
  var isStale = false
  /// Whether the name is to be hashed, too (§3.4.4).
  var hashesUser = false
  /// Whether the server said that it reads UTF-8.
  var isUTF8 = false

  /// Reads a challenge; `nil` if it lacks something, or asks for a hash or a quality that is not known here.
  init?(_ challenge: Challenge) {
    guard challenge.scheme == .digest, let realm = challenge.realm, let nonce = challenge.parameters["nonce"] else {
      return nil
    }
    self.realm = realm
    self.nonce = nonce
    opaque = challenge.parameters["opaque"]
    if let name = challenge.parameters["algorithm"] {
      guard FieldSyntax.isToken(name) else { return nil }
      var folded = FieldSyntax.lowercased(name)
      isSession = folded.hasSuffix("-sess")
      if isSession { folded.removeLast(5) }
      switch folded {
      case "md5": algorithm = .md5
      case "sha-256": algorithm = .sha256
      case "sha-512-256": algorithm = .sha512t256
      default: return nil
      }
      algorithmName = name
    }
    if let qualities = challenge.parameters["qop"] {
      // `auth-int` would need the hash of a body that may be a stream.
      guard FieldSyntax.listMembers(of: qualities).contains(where: { FieldSyntax.isSameName($0, "auth") }) else {
        return nil
      }
      hasQuality = true
    }
    // A key of the first nonces needs a nonce of ours.
    if isSession && !hasQuality { return nil }
    isStale = challenge.parameters["stale"].map { FieldSyntax.isSameName($0, "true") } ?? false
    hashesUser = challenge.parameters["userhash"].map { FieldSyntax.isSameName($0, "true") } ?? false
    isUTF8 = challenge.parameters["charset"].map { FieldSyntax.isSameName($0, "utf-8") } ?? false
  }

  /// Why none of the challenges can be answered, if one of them asks for a kind of Digest that is unsupported.
  static func problem(of challenges: [Challenge], among schemes: [AuthenticationChallenge.Scheme]) -> String? {
    guard Offer.strongest(of: challenges, among: schemes) == nil else { return nil }
    let problems = challenges.lazy.compactMap { $0.scheme == .digest ? problem(of: $0) : nil }
    return problems.first.map { "offers Digest \($0)" }
  }

  /// Why a challenge cannot be answered, if its hash or its quality of protection is unsupported.
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

import MartletBase

/// The strongest challenge that can be answered.
struct Offer: Sendable {
  let challenge: Challenge
  let digest: DigestChallenge?

  var scheme: AuthenticationScheme { challenge.scheme }
  var strength: Int { Answer.strength(scheme, digest) }
  var realm: String? { challenge.realm }

  /// The strongest challenge that one of the schemes can answer.
  ///
  /// If several challenges are equally strong, the first one is used.
  static func strongest(of challenges: [Challenge], among schemes: [AuthenticationScheme]) -> Offer? {
    var best: Offer?
    for challenge in challenges where schemes.contains(challenge.scheme) {
      let offer = Offer(challenge: challenge, digest: DigestChallenge(challenge))
      if offer.strength > best?.strength ?? 0 { best = offer }
    }
    return best
  }
}

/// A credential and the scheme to send it with.
final class Answer: Sendable {
  let credential: Credential
  let scheme: AuthenticationScheme
  /// The challenge's realm as ``WireText``; `nil` if the credential is sent preemptively.
  let realm: String?
  let digest: DigestSession?
  /// Whether the credential came from the store, from which the session removes it if it is rejected.
  let isStored: Bool

  var strength: Int { Self.strength(scheme, digest?.challenge) }
  var readableRealm: String? { realm.map(WireText.readable) }

  init(unasked credential: Credential, isStored: Bool = false) {
    self.credential = credential
    self.isStored = isStored
    scheme = credential.token == nil ? .basic : .bearer
    realm = nil
    digest = nil
  }

  /// Creates the response to a challenge; `nil` if the credential does not support its scheme.
  init?(
    _ credential: Credential, to offer: Offer, isStored: Bool = false, counts: NonceCounts,
    at place: AuthState.AuthorityScope
  ) {
    guard credential.schemes.contains(offer.scheme) else { return nil }
    self.credential = credential
    self.isStored = isStored
    scheme = offer.scheme
    realm = offer.realm
    digest = offer.digest.map {
      DigestSession(
        $0, user: credential.user ?? "", password: credential.password ?? "", counts: counts, at: place)
    }
  }

  /// The order of the schemes; 0 for a challenge that cannot be answered.
  static func strength(_ scheme: AuthenticationScheme, _ digest: DigestChallenge?) -> Int {
    switch scheme {
    case .basic: 1
    case .bearer: 2
    case .ntlm: 3
    case .digest: digest.flatMap { DigestAlgorithm.allCases.firstIndex(of: $0.algorithm) }.map { 4 + $0 } ?? 0
    case .negotiate: 10
    default: 0
    }
  }

  /// Whether both answers put the same field value into a request; two Digest sessions never do.
  func isSame(as other: Answer?) -> Bool {
    guard let other else { return false }
    return self === other || (digest == nil && scheme == other.scheme && credential == other.credential)
  }

  /// The value of `Authorization` for a URL, as ``WireText``.
  ///
  /// Throws `invalidRequest` if the scheme cannot send the credential.
  func field(method: HTTPMethod, url: AbsoluteURL) throws -> String {
    try field(method: method.rawValue, uri: url.pathAndQuery)
  }

  /// The value of `Authorization` or `Proxy-Authorization`, as ``WireText``, for a request line's method and target.
  func field(method: String, uri: String) throws -> String {
    if let token = credential.token {
      guard !token.isEmpty, token.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
        throw HTTPError(.invalidRequest, "the token is empty or contains characters other than visible ASCII")
      }
      return "Bearer \(token)"
    }
    let user = credential.user ?? ""
    let password = credential.password ?? ""
    guard !(user + password).utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw HTTPError(.invalidRequest, "the user name or password contains control characters")
    }
    if let digest { return digest.field(method: method, uri: uri) }
    guard !user.utf8.contains(UInt8(ascii: ":")) else {
      throw HTTPError(.invalidRequest, "a user name with a colon cannot be sent with Basic (RFC 7617 §2)")
    }
    let pair = "\(user):\(password)".composed
    return "Basic \(Data(pair.utf8).base64EncodedString())"
  }
}

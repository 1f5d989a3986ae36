import MartletBase

/// The number of requests sent with each nonce (RFC 7616 §3.4).
///
/// Challenges that repeat a nonce continue its count: otherwise a server treats the next request as a replay.
final class NonceCounts: Sendable {
  private struct Key: Hashable {
    let place: AuthState.AuthorityScope?
    let nonce: String
  }

  private let counts = Locked(RecentTable<Key, UInt32>(limit: 256))

  /// Counts a request, and returns its number.
  func next(_ nonce: String, at place: AuthState.AuthorityScope?) -> UInt32 {
    counts.withLock { counts in
      let key = Key(place: place, nonce: nonce)
      // Servers send `stale` long before the count overflows.
      let count = (counts[key] ?? 0) &+ 1
      counts[key] = count
      return count
    }
  }
}

/// The responses to one Digest challenge.
final class DigestSession: Sendable {
  let challenge: DigestChallenge
  /// The credentials as ``WireText``.
  private let user: String
  private let password: String

  private struct State: ~Copyable {
    var nonce: String
    /// Whether the first client nonce was sent.
    var isUsed = false
    /// The client nonce in the key of a `-sess` algorithm.
    let sessionNonce: String
  }

  private let state: Locked<State>
  private let counts: NonceCounts
  private let place: AuthState.AuthorityScope?

  /// Normalizes the credentials to NFC, with which the server compares (RFC 7616 §4).
  init(
    _ challenge: DigestChallenge, user: String, password: String, clientNonce: String = newClientNonce(),
    counts: NonceCounts = NonceCounts(), at place: AuthState.AuthorityScope? = nil
  ) {
    self.challenge = challenge
    (self.counts, self.place) = (counts, place)
    self.user = WireText.make(user.composed.utf8)
    self.password = WireText.make(password.composed.utf8)
    state = Locked(State(nonce: challenge.nonce, sessionNonce: clientNonce))
  }

  /// The server nonce for the next request.
  var nonce: String { state.withLock { $0.nonce } }

  /// 128 random bits.
  static func newClientNonce() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }.hexadecimal
  }

  /// Creates the `Authorization` value for one request, and increments the nonce count.
  ///
  /// `uri` is the path and query as sent.
  func field(method: String, uri: String) -> String {
    let (nonce, isFirst, sessionNonce) = state.withLock { state in
      defer { state.isUsed = true }
      return (state.nonce, !state.isUsed, state.sessionNonce)
    }
    let number = counts.next(nonce, at: place)
    let clientNonce = isFirst || challenge.isSession ? sessionNonce : Self.newClientNonce()
    let count = number.digits(8, radix: 16)
    let hash = challenge.algorithm.hash
    var key = hash("\(user):\(challenge.realm):\(password)")
    if challenge.isSession { key = hash("\(key):\(challenge.nonce):\(sessionNonce)") }
    let subject = hash("\(method):\(uri)")
    let middle = challenge.hasQuality ? "\(nonce):\(count):\(clientNonce):auth" : nonce
    var parts = [
      name, "realm=\(FieldSyntax.quoted(challenge.realm))", "nonce=\(FieldSyntax.quoted(nonce))",
      "uri=\(FieldSyntax.quoted(uri))", "response=\"\(hash("\(key):\(middle):\(subject)"))\"",
    ]
    if let algorithm = challenge.algorithmName { parts.append("algorithm=\(algorithm)") }
    if challenge.hasQuality { parts += ["qop=auth", "nc=\(count)", "cnonce=\"\(clientNonce)\""] }
    if let opaque = challenge.opaque { parts.append("opaque=\(FieldSyntax.quoted(opaque))") }
    if challenge.hashesUser { parts.append("userhash=true") }
    return "Digest " + parts.joined(separator: ", ")
  }

  /// The `username` or `username*` parameter.
  ///
  /// The name is hashed if the server requests that. Otherwise a name that is not ASCII is encoded as UTF-8 if the
  /// server accepts that (RFC 7616 §3.4, §3.4.4).
  private var name: String {
    if challenge.hashesUser { return "username=\"\(challenge.algorithm.hash("\(user):\(challenge.realm)"))\"" }
    guard challenge.isUTF8, !user.utf8.allSatisfy({ $0 < 0x80 }) else { return "username=\(FieldSyntax.quoted(user))" }
    return "username*=UTF-8''\(PercentEncoding.encode(WireText.octets(user), keeping: Self.extendedValue))"
  }

  /// The octets that stand for themselves (RFC 8187 §3.2.1).
  private static let extendedValue = ASCIISet(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$&+-.^_`|~")

  /// Uses the response's nonce for the next request, if there is one (RFC 7616 §3.5).
  func takeNext(from headers: HTTPHeaders, isProxy: Bool = false) {
    // The key of a `-sess` session keeps its first nonce. To change it, the server sends a challenge.
    guard !challenge.isSession, let value = headers[wire: isProxy ? "Proxy-Authentication-Info" : "Authentication-Info"]
    else { return }
    let next = Challenge.parse(["Digest \(value)"]).first?.parameters["nextnonce"]
    guard let next, !next.isEmpty else { return }
    state.withLock { $0.nonce = next }
  }
}

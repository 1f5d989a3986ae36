import MartletBase

/// The state of one ``AuthSession``, as a value that decides what to do.
///
/// ```
/// 401 ──▶ step ─┬─ an outcome newer than the request ─▶ send with its credential, or share its failure
///               ├─ a question is pending              ─▶ wait for it
///               └─ otherwise                          ─▶ ask the authenticator
///                                 finish ─▶ outcome, with the next stamp; all waiters continue
/// ```
///
/// The stamp counts outcomes. A request records the stamp when it is sent. Comparing stamps shows whether its 401
/// concerns the newest credential.
struct AuthState {
  /// An origin and the authority that vouches for it; `nil` means all origins.
  struct AuthorityScope: Hashable {
    let origin: Origin?
    /// See ``NetworkPartition/authority``.
    let authority: String
  }

  /// A protection space; `nil` means all origins or all realms.
  struct Key: Hashable {
    let place: AuthorityScope
    let realm: String?
  }

  /// An authorization, and the stamp when the request was sent.
  struct Sent: Sendable {
    var answer: Answer?
    var stamp: Int
  }

  /// A pending call of the authenticator, and the result that requests wait for.
  final class PendingAuthentication: Sendable {
    let result = Promise<Sent>()
    let abortSource = AbortSource()
  }

  enum Step {
    case deliver
    case fail(HTTPError)
    case send(Sent)
    case wait(PendingAuthentication)
    case ask(PendingAuthentication, failures: Int)
  }

  private struct Space {
    var outcome: (stamp: Int, result: Result<Answer?, HTTPError>)?
    var failures = 0
  }

  /// A nonce that replaced an older one.
  private struct Renewal: Hashable {
    let key: Key
    let nonce: String
  }

  /// The key of an authorization: a call and an origin.
  private struct Pending: Hashable {
    let call: RequestID
    let place: AuthorityScope
  }

  /// Whether one token serves all realms.
  let isToken: Bool

  private var stamp = 0
  /// The stamp of the last sign-out; answers from before it are discarded.
  private var signedOutAt = 0
  private var flights: [Key: PendingAuthentication] = [:]
  private var spaces = RecentTable<Key, Space>(limit: 64)
  /// The authorizations to send preemptively, by origin.
  private var current = RecentTable<AuthorityScope, (answer: Answer, stamp: Int)>(limit: 256)
  /// The strength of the strongest scheme that was accepted, by origin.
  private var strongest = RecentTable<AuthorityScope, Int>(limit: 256)
  /// The authorizations with renewed nonces.
  ///
  /// Several requests may receive the same new nonce, and then share the authorization.
  private var renewals = RecentTable<Renewal, Answer>(limit: 64)
  /// The authorizations that servers have neither accepted nor rejected, by call.
  private var pending = RecentTable<Pending, Answer>(limit: 256)
  /// The requests sent with each nonce, which a sign-out does not change.
  let counts: NonceCounts
  /// Whether a token was requested from the store.
  var hasAskedStore = false

  init(isToken: Bool, counts: NonceCounts = NonceCounts()) { (self.isToken, self.counts) = (isToken, counts) }

  /// The authorization to send with a request of a call, and the pending question about it, if any.
  func first(_ key: Key, of call: RequestID) -> (Sent, PendingAuthentication?) {
    let answer = current[key.place]?.answer ?? pending[Pending(call: call, place: key.place)]
    // A token with a pending question was rejected or has expired, so sending it is useless.
    return (Sent(answer: answer, stamp: stamp), isToken ? flights[key] : nil)
  }

  /// Keeps an authorization for the next attempt of its call, because the server has neither accepted nor rejected it.
  mutating func keep(_ answer: Answer?, _ key: Key, of call: RequestID, stamp: Int) {
    guard stamp >= signedOutAt else { return }
    pending[Pending(call: call, place: key.place)] = answer
  }

  /// Uses a token from the store, unless there is a newer one.
  mutating func found(_ answer: Answer?, _ key: Key) {
    guard !hasAskedStore else { return }
    hasAskedStore = true
    if let answer, current[key.place] == nil { current[key.place] = (answer, stamp) }
  }

  /// Records an accepted answer; returns `true` if it is new.
  mutating func accept(_ answer: Answer, _ key: Key, stamp: Int) -> Bool {
    guard stamp >= signedOutAt else { return false }
    if let known = current[key.place], known.answer === answer || known.stamp > stamp { return false }
    current[key.place] = (answer, stamp)
    strongest[key.place] = max(strongest[key.place] ?? 0, answer.strength)
    if spaces[key] != nil { spaces[key]?.failures = 0 }
    return true
  }

  /// Decides how to continue after a 401 with a challenge that can be answered.
  mutating func step(_ key: Key, toward offer: Offer, after request: Sent, isRefused: Bool) -> Step {
    let isCurrent = request.answer != nil && current[key.place]?.answer === request.answer
    if let best = strongest[key.place], best > offer.strength {
      let message = "only \(offer.scheme) is offered, but a stronger scheme or hash was accepted before"
      return .fail(HTTPError(.authenticationFailed, message))
    }
    if let (newer, result) = spaces[key]?.outcome, newer > request.stamp {
      switch result {
      case .failure(let error): return .fail(error)
      case .success(nil): return .deliver
      case .success(let answer?) where answer.scheme == offer.scheme:
        return .send(Sent(answer: answer, stamp: newer))
      case .success: break
      }
    }
    if let sent = request.answer, let renewed = renewed(sent, offer, key, isCurrent: isCurrent) {
      // The authorization becomes current again when it is accepted.
      if isCurrent { current[key.place] = nil }
      return .send(Sent(answer: renewed, stamp: stamp))
    }
    if isRefused, isCurrent, !isToken { current[key.place] = nil }
    if let flight = flights[key] { return .wait(flight) }
    let flight = PendingAuthentication()
    flights[key] = flight
    var space = spaces[key] ?? Space()
    if isRefused { space.failures += 1 }
    spaces[key] = space
    return .ask(flight, failures: space.failures)
  }

  /// An authorization with the same credential and a new nonce (RFC 7616 §3.3).
  ///
  /// The old nonce was stale, or was accepted before and may have expired since. All requests share one count of the
  /// new nonce's uses (RFC 7616 §3.4): otherwise the server treats the second use as a replay.
  private mutating func renewed(_ sent: Answer, _ offer: Offer, _ key: Key, isCurrent: Bool) -> Answer? {
    guard let old = sent.digest, let new = offer.digest, old.challenge.realm == new.realm, old.nonce != new.nonce,
      new.isStale || isCurrent
    else { return nil }
    let renewal = Renewal(key: key, nonce: new.nonce)
    if let known = renewals[renewal], known.credential == sent.credential, known.strength == offer.strength,
      known.digest?.nonce == new.nonce
    {
      return known
    }
    let answer = Answer(sent.credential, to: offer, isStored: sent.isStored, counts: counts, at: key.place)
    renewals[renewal] = answer
    return answer
  }

  /// Ends a question, and returns the stamp of its outcome.
  mutating func finish(_ flight: PendingAuthentication, _ key: Key, _ result: Result<Answer?, HTTPError>) -> Int {
    // A sign-out has removed the question.
    guard flights[key] === flight else { return stamp }
    flights[key] = nil
    stamp += 1
    var space = spaces[key] ?? Space()
    space.outcome = (stamp, result)
    spaces[key] = space
    if isToken, case .success(let answer?) = result { current[key.place] = (answer, stamp) }
    return stamp
  }

  /// Discards all state, and returns the pending questions.
  mutating func signOut() -> [PendingAuthentication] {
    let ended = Array(flights.values)
    let next = stamp + 1
    self = AuthState(isToken: isToken, counts: counts)
    stamp = next
    signedOutAt = next
    hasAskedStore = true
    return ended
  }
}

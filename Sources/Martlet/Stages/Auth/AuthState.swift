import MartletBase

/// What one ``AuthSession`` knows: a plain value, whose functions say what to do.
///
/// ```
/// 401 ──▶ step ─┬─ an outcome newer than the request ─▶ replay with it, or share its failure
///               ├─ a question is under way            ─▶ wait for it
///               └─ else                               ─▶ ask
///                                 finish ─▶ outcome, with the next stamp; all waiters go on
/// ```
///
/// The stamp counts outcomes. A request notes it when it is sent, so that its 401 can be told from one that says
/// something about the newest credential.
struct AuthState {
  /// An origin, as far as something vouches for what answers there; `nil` is all of them.
  struct Place: Hashable {
    let origin: Origin?
    /// What vouches for it (``NetworkPartition/authority``).
    let authority: String
  }

  /// A protection space; a part that is `nil` is all of them.
  struct Key: Hashable {
    let place: Place
    let realm: String?
  }

  /// An answer, and the stamp that tells whether something newer is known.
  struct Sent: Sendable {
    var answer: Answer?
    var stamp: Int
  }

  /// One question, and who waits for what comes of it.
  final class Flight: Sendable {
    let result = SharedResult<Sent>()
    let abortSource = AbortSource()
  }

  enum Step {
    /// It is the answer.
    case deliver
    case fail(HTTPError)
    /// The request goes out again with this.
    case send(Sent)
    /// Whoever is asked will say.
    case wait(Flight)
    /// The same, and this one has to ask.
    case ask(Flight, failures: Int)
  }

  private struct Space {
    var outcome: (stamp: Int, result: Result<Answer?, HTTPError>)?
    var failures = 0
  }

  /// A nonce that took the place of an older one.
  private struct Renewal: Hashable {
    let key: Key
    let nonce: String
  }

  /// Whether there is one token, whatever the realm.
  let isToken: Bool

  private var stamp = 0
  /// What was sent before is nobody's any more.
  private var signedOutAt = 0
  private var flights: [Key: Flight] = [:]
  private var spaces = RecentTable<Key, Space>(limit: 64)
  /// What is sent at once, by origin.
  private var current = RecentTable<Place, (answer: Answer, stamp: Int)>(limit: 256)
  /// The strength of the best scheme that was ever accepted, by origin.
  private var strongest = RecentTable<Place, Int>(limit: 256)
  /// The answers with newer nonces: many requests may be told of one at the same time.
  private var renewals = RecentTable<Renewal, Answer>(limit: 64)
  /// Whether the store was asked for a token.
  var hasAskedStore = false

  init(isToken: Bool) { self.isToken = isToken }

  /// What a request to a place is sent with, and the question about that, if there is one.
  func first(_ key: Key) -> (Sent, Flight?) {
    // A token that is being replaced was refused, or has expired: sending it would be in vain.
    (Sent(answer: current[key.place]?.answer, stamp: stamp), isToken ? flights[key] : nil)
  }

  /// Takes a token from the store, unless there is a newer one.
  mutating func found(_ answer: Answer?, _ key: Key) {
    guard !hasAskedStore else { return }
    hasAskedStore = true
    if let answer, current[key.place] == nil { current[key.place] = (answer, stamp) }
  }

  /// Takes note of an answer that was not refused; `true` if that is news.
  mutating func accept(_ answer: Answer, _ key: Key, stamp: Int) -> Bool {
    guard stamp >= signedOutAt else { return false }
    if let known = current[key.place], known.answer === answer || known.stamp > stamp { return false }
    current[key.place] = (answer, stamp)
    strongest[key.place] = max(strongest[key.place] ?? 0, answer.strength)
    if spaces[key] != nil { spaces[key]?.failures = 0 }
    return true
  }

  /// Decides what follows from a 401 that offers something.
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
      // It is current again when it is accepted.
      if isCurrent { current[key.place] = nil }
      return .send(Sent(answer: renewed, stamp: stamp))
    }
    if isRefused, isCurrent, !isToken { current[key.place] = nil }
    if let flight = flights[key] { return .wait(flight) }
    let flight = Flight()
    flights[key] = flight
    var space = spaces[key] ?? Space()
    if isRefused { space.failures += 1 }
    spaces[key] = space
    return .ask(flight, failures: space.failures)
  }

  /// The same password with a new nonce: the old one was too old, or was good before and may be by now (RFC 7616 §3.3).
  ///
  /// Its uses are counted for all requests together (RFC 7616 §3.4), or the server takes the second for a replay.
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
    let answer = Answer(sent.credential, to: offer, isStored: sent.isStored)
    renewals[renewal] = answer
    return answer
  }

  /// Ends a question; returns the stamp of its outcome.
  mutating func finish(_ flight: Flight, _ key: Key, _ result: Result<Answer?, HTTPError>) -> Int {
    // Not after a sign-out, which has forgotten it.
    guard flights[key] === flight else { return stamp }
    flights[key] = nil
    stamp += 1
    var space = spaces[key] ?? Space()
    space.outcome = (stamp, result)
    spaces[key] = space
    if isToken, case .success(let answer?) = result { current[key.place] = (answer, stamp) }
    return stamp
  }

  /// Forgets everything; returns the questions that were under way.
  mutating func signOut() -> [Flight] {
    let ended = Array(flights.values)
    let next = stamp + 1
    self = AuthState(isToken: isToken)
    stamp = next
    signedOutAt = next
    hasAskedStore = true
    return ended
  }
}

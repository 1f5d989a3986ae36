import Foundation

/// What is known of one authenticator's servers, and the one question to it that may be under way.
///
/// ```
/// 401 ──▶ step ─┬─ an outcome newer than the request ─▶ replay with it, or share its failure
///               ├─ a question is under way            ─▶ wait for it
///               └─ else                               ─▶ ask, in a task of its own
///                                       finish ─▶ outcome, with the next stamp; all waiters go on
/// ```
///
/// The stamp counts outcomes. A request notes it when it is sent, so that its 401 can be told from one that says
/// something about the newest credential.
final class AuthSession: Sendable {
  /// The sessions whose question runs in this task: what is sent there must not wait for itself.
  @TaskLocal static var answering: [ObjectIdentifier] = []

  /// What the stage knows of the request.
  struct Visit: Sendable {
    let origin: Origin
    let call: Call

    var store: (any CredentialStore)? { call.settings.configuration.credentialStore }
    var now: Date { call.settings.configuration.now() }
  }

  /// What follows from a 401.
  enum Step {
    /// It is the answer.
    case deliver
    case fail(HTTPError)
    /// The request goes out again with this.
    case send(Sent)
    /// Whoever is asked will say.
    case wait(Flight)
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

  /// A protection space; a part that is `nil` is all of them.
  private struct Key: Hashable {
    let origin: Origin?
    let realm: String?
  }

  private struct Space {
    var outcome: (stamp: Int, result: Result<Answer?, HTTPError>)?
    var failures = 0
  }

  private struct State {
    var stamp = 0
    var flights: [Key: Flight] = [:]
    var spaces = RecentTable<Key, Space>(limit: 64)
    /// What is sent at once.
    var current = RecentTable<Origin?, (answer: Answer, stamp: Int)>(limit: 256)
    /// The strength of the best scheme that was ever accepted.
    var strongest = RecentTable<Origin?, Int>(limit: 256)
    var hasAskedStore = false
    /// What was sent before is nobody's any more.
    var signedOutAt = 0
  }

  let authenticator: any Authenticator
  /// The name of a token that many hosts share.
  private let sharedName: String?
  private let state = Locked(State())

  /// - Parameters:
  ///   - authenticator: Who is asked.
  ///   - sharedName: The pattern of hosts, if one token serves all of them.
  init(_ authenticator: any Authenticator, sharedName: String? = nil) {
    self.authenticator = authenticator
    self.sharedName = authenticator is TokenAuthenticator ? sharedName : nil
  }

  private var isToken: Bool { authenticator is TokenAuthenticator }

  /// Whether it is asked by what it waits for.
  var isAnswering: Bool { Self.answering.contains(ObjectIdentifier(self)) }

  private func place(_ origin: Origin) -> Origin? { sharedName == nil ? origin : nil }

  private func key(_ origin: Origin, _ realm: String?) -> Key {
    Key(origin: place(origin), realm: isToken ? nil : realm)
  }

  /// What the store knows it by.
  private func storedSpace(_ origin: Origin, _ realm: String?) -> ProtectionSpace {
    var space = ProtectionSpace(origin, realm: isToken ? nil : realm)
    if let sharedName { (space.scheme, space.host, space.port) = ("https", sharedName, 443) }
    return space
  }

  // MARK: Before a request

  /// What a request is sent with at first.
  ///
  /// - Throws: ``HTTPError`` of kind `authenticationFailed` if an expired token could not be replaced.
  func first(_ visit: Visit) async throws -> Sent {
    try await askStoreForToken(visit)
    let place = place(visit.origin)
    let key = key(visit.origin, nil)
    var (sent, flight) = state.withLock {
      // A token that is being replaced was refused, or has expired: sending it would be in vain.
      (Sent(answer: $0.current[place]?.answer, stamp: $0.stamp), isToken ? $0.flights[key] : nil)
    }
    if let flight { return try await wait(for: flight, visit) }
    if sent.answer == nil { sent.answer = unasked(visit.origin) }
    guard isToken, let old = sent.answer, old.credential.isExpired(at: visit.now) else { return sent }
    let offer = Offer(challenge: Challenge(scheme: .bearer), digest: nil)
    switch step(toward: offer, after: sent, visit) {
    case .deliver: return sent
    case .fail(let error): throw error
    case .send(let newer): return newer
    case .wait(let flight):
      let newer = try await wait(for: flight, visit)
      return newer.answer == nil ? Sent(answer: old, stamp: newer.stamp) : newer
    }
  }

  private func unasked(_ origin: Origin) -> Answer? {
    let credential = authenticator.unaskedCredential(for: ProtectionSpace(origin, realm: nil))
    guard let credential, credential.isSentUnasked else { return nil }
    return Answer(unasked: credential)
  }

  /// A token that was kept is used before the one that the program began with: that may be an older one.
  private func askStoreForToken(_ visit: Visit) async throws {
    guard isToken, let store = visit.store, !state.withLock({ $0.hasAskedStore }) else { return }
    let space = storedSpace(visit.origin, nil)
    let found: Credential?
    do {
      found = try await withAbort(visit.call.abortSource) { try await store.credential(for: space) }
    } catch {
      try visit.call.abortSource.check()
      throw Self.failure("the credential store cannot be read", error)
    }
    let place = place(visit.origin)
    state.withLock { state in
      guard !state.hasAskedStore else { return }
      state.hasAskedStore = true
      guard let found, found.token != nil, state.current[place] == nil else { return }
      state.current[place] = (Answer(unasked: found, isStored: true), state.stamp)
    }
  }

  // MARK: After a response

  /// Takes note of an answer that was not refused.
  func accepted(_ sent: Sent, _ headers: HTTPHeaders, _ visit: Visit) async {
    guard let answer = sent.answer else { return }
    answer.digest?.takeNext(from: headers)
    let place = place(visit.origin)
    let key = key(visit.origin, answer.realm)
    let isNew = state.withLock { state in
      guard sent.stamp >= state.signedOutAt else { return false }
      if let current = state.current[place], current.answer === answer || current.stamp > sent.stamp {
        return false
      }
      state.current[place] = (answer, sent.stamp)
      state.strongest[place] = max(state.strongest[place] ?? 0, answer.strength)
      if state.spaces[key] != nil { state.spaces[key]?.failures = 0 }
      return true
    }
    guard isNew, isWorthStoring, !answer.isStored, !isToken, let store = visit.store else { return }
    // A store that cannot be written costs a question the next time, not this response.
    try? await store.set(answer.credential, for: storedSpace(visit.origin, answer.realm))
  }

  /// What the program has said itself is not written to disk.
  private var isWorthStoring: Bool { (authenticator as? CredentialAuthenticator)?.isFixed != true }

  /// Decides what follows from a 401.
  ///
  /// - Parameters:
  ///   - headers: Those of the response.
  ///   - sent: What the request had.
  ///   - uses: How often each scheme was sent for this request.
  func step(
    after headers: HTTPHeaders, _ sent: Sent, uses: [AuthenticationScheme: Int], _ visit: Visit
  ) -> Step {
    var challenges = Challenge.parse(headers[all: "WWW-Authenticate"])
    if isToken && !challenges.contains(where: { [.basic, .bearer, .digest].contains($0.scheme) }) {
      challenges = [Challenge(scheme: .bearer)]
    }
    guard let offer = Offer.strongest(of: challenges, among: authenticator.schemes), uses[offer.scheme, default: 0] < 2
    else { return .deliver }
    return step(toward: offer, after: sent, visit)
  }

  private func step(toward offer: Offer, after request: Sent, _ visit: Visit) -> Step {
    let place = place(visit.origin)
    let key = key(visit.origin, offer.realm)
    let sent = request.answer
    // What was meant for another realm is not refused in this one.
    let isRefused =
      sent.map { $0.scheme == offer.scheme && (isToken || $0.realm == nil || $0.realm == offer.realm) } ?? false
    let (step, question): (Step, (Flight, failures: Int)?) = state.withLock { state in
      if let best = state.strongest[place], best > offer.strength {
        let message = "\(offer.scheme) is offered where something stronger was accepted before"
        return (.fail(HTTPError(.authenticationFailed, message)), nil)
      }
      if let (newer, result) = state.spaces[key]?.outcome, newer > request.stamp {
        switch result {
        case .failure(let error): return (.fail(error), nil)
        case .success(let answer?) where answer.scheme == offer.scheme:
          return (.send(Sent(answer: answer, stamp: newer)), nil)
        case .success(nil): return (.deliver, nil)
        case .success: break
        }
      }
      if let sent, let renewed = Self.renewed(sent, offer, isKnown: state.current[place]?.answer === sent) {
        if state.current[place]?.answer === sent { state.current[place] = nil }
        return (.send(Sent(answer: renewed, stamp: state.stamp)), nil)
      }
      if isRefused, state.current[place]?.answer === sent, !isToken { state.current[place] = nil }
      if let flight = state.flights[key] { return (.wait(flight), nil) }
      let flight = Flight()
      state.flights[key] = flight
      var space = state.spaces[key] ?? Space()
      if isRefused { space.failures += 1 }
      state.spaces[key] = space
      return (.wait(flight), (flight, space.failures))
    }
    if let (flight, failures) = question {
      var challenge = AuthenticationChallenge(
        space: ProtectionSpace(visit.origin, realm: offer.realm), scheme: offer.scheme)
      challenge.parameters = offer.challenge.parameters
      challenge.previousFailures = failures
      challenge.rejected = isRefused ? sent?.credential : nil
      ask(challenge, offer, flight, key, isStored: sent?.isStored == true, visit)
    }
    return step
  }

  /// The same password with a new nonce: the old one was too old, or was good before and may be by now (RFC 7616 §3.3).
  private static func renewed(_ sent: Answer, _ offer: Offer, isKnown: Bool) -> Answer? {
    guard let old = sent.digest, let new = offer.digest, old.challenge.realm == new.realm, old.nonce != new.nonce,
      new.isStale || isKnown
    else { return nil }
    return Answer(sent.credential, to: offer, isStored: sent.isStored)
  }

  // MARK: The question

  private func ask(
    _ challenge: AuthenticationChallenge, _ offer: Offer, _ flight: Flight, _ key: Key, isStored: Bool, _ visit: Visit
  ) {
    let (store, timeline, limit) = (visit.store, visit.call.core.timeline, authenticator.answerLimit)
    let space = storedSpace(visit.origin, challenge.realm)
    // A task of nobody's: the request that came first may be cancelled, and the others still wait.
    Task {
      let killer = Task {
        guard (try? await timeline.watch(limit)) != nil else { return }
        flight.abortSource.abort(
          HTTPError(.authenticationFailed, "no credential came within \(HTTPError.text(limit))"))
      }
      let result: Result<Answer?, HTTPError>
      do {
        let sessions = Self.answering + [ObjectIdentifier(self)]
        result = .success(
          try await withAbort(flight.abortSource) {
            try await Self.$answering.withValue(sessions) {
              try await self.answer(challenge, offer, space, store, isStored: isStored)
            }
          })
      } catch {
        result = .failure(
          flight.abortSource.error as? HTTPError ?? Self.failure("there is no credential", error))
      }
      killer.cancel()
      finish(flight, key, result)
    }
  }

  private func answer(
    _ challenge: AuthenticationChallenge, _ offer: Offer, _ space: ProtectionSpace, _ store: (any CredentialStore)?,
    isStored: Bool
  ) async throws -> Answer? {
    if let store, isWorthStoring, !isToken {
      if isStored { try await store.set(nil, for: space) }
      if challenge.rejected == nil, let found = try await store.credential(for: space),
        let answer = Answer(found, to: offer, isStored: true)
      {
        return answer
      }
    }
    guard let credential = try await authenticator.respond(to: challenge) else { return nil }
    guard let answer = Answer(credential, to: offer) else {
      throw HTTPError(.authenticationFailed, "\(credential) cannot answer \(offer.scheme)")
    }
    // The old refresh token may be worth nothing any more, so the new one is kept before it is used.
    if isToken { try? await store?.set(credential, for: space) }
    return answer
  }

  private func finish(_ flight: Flight, _ key: Key, _ result: Result<Answer?, HTTPError>) {
    let stamp = state.withLock { state in
      // Not after a sign-out, which has forgotten it.
      guard state.flights[key] === flight else { return state.stamp }
      state.flights[key] = nil
      state.stamp += 1
      var space = state.spaces[key] ?? Space()
      space.outcome = (state.stamp, result)
      state.spaces[key] = space
      if isToken, case .success(let answer?) = result { state.current[key.origin] = (answer, state.stamp) }
      return state.stamp
    }
    flight.result.resolve(result.map { Sent(answer: $0, stamp: stamp) }.mapError { $0 as any Error })
  }

  /// Waits for the answer, as long as the call lives.
  func wait(for flight: Flight, _ visit: Visit) async throws -> Sent {
    visit.call.report(.waiting(.credential))
    defer { visit.call.report(.running) }
    return try await withAbort(visit.call.abortSource) { try await flight.result.value() }
  }

  private static func failure(_ message: String, _ error: any Error) -> HTTPError {
    // Of an error that is not ours only the type: its text may quote what it was about.
    let cause = (error as? HTTPError)?.description ?? "\(type(of: error))"
    return HTTPError(.authenticationFailed, "\(message): \(cause)", underlying: error)
  }

  /// Forgets everything and ends the questions under way.
  func signOut() async {
    let flights: [Flight] = state.withLock { state in
      defer {
        let stamp = state.stamp
        state = State()
        state.stamp = stamp + 1
        state.signedOutAt = stamp + 1
        state.hasAskedStore = true
      }
      return Array(state.flights.values)
    }
    for flight in flights {
      flight.abortSource.abort(HTTPError(.authenticationFailed, "the client was signed out"))
    }
    await authenticator.signOut()
  }
}

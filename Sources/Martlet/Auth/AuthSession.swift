import MartletBase

/// One authenticator's accepted credentials, and its pending question.
///
/// ``AuthState`` decides. This class calls the authenticator, waits for it, and updates the store.
final class AuthSession: Sendable {
  /// The sessions whose authenticator runs in this task.
  ///
  /// Requests that the task sends must not wait for their own session.
  @TaskLocal static var answering: [ObjectIdentifier] = []

  typealias Sent = AuthState.Sent
  typealias PendingAuthentication = AuthState.PendingAuthentication

  /// The origin and the call of a request.
  struct Target: Sendable {
    let origin: Origin
    let call: any RunningCall
    let abortSource: AbortSource
    let store: (any CredentialStore)?
    /// The trust and identity settings of the call's connections.
    let authority: String
  }

  let authenticator: any Authenticator
  /// The host pattern for which a token is shared; the token is stored under it.
  private let sharedName: String?
  private let isToken: Bool
  /// Whether tokens are read from the credential store, and written to it.
  private let storesTokens: Bool
  /// Whether the session is for proxies.
  ///
  /// Credentials of proxies and of servers are kept separately, even at the same address.
  private let isProxy: Bool
  private let state: Locked<AuthState>

  init(_ authenticator: any Authenticator, sharedName: String? = nil, isProxy: Bool = false) {
    self.authenticator = authenticator
    self.isProxy = isProxy
    let tokens = authenticator as? Authenticators.TokenAuthenticator
    isToken = tokens != nil
    storesTokens = tokens?.usesCredentialStore == true
    self.sharedName = isToken ? sharedName : nil
    state = Locked(AuthState(isToken: isToken))
  }

  var isAnswering: Bool { Self.answering.contains(ObjectIdentifier(self)) }

  /// Whether to store credentials once accepted; `false` for those set in code, and for tokens, which are stored before
  /// they are used.
  private var storesAccepted: Bool {
    !isToken && (authenticator as? Authenticators.CredentialAuthenticator)?.isFixed != true
  }

  private func key(_ visit: Target, _ realm: String?) -> AuthState.Key {
    // A token comes from the program and is independent of the partition: one renewal serves all requests.
    let authority = isToken ? "" : visit.authority
    let place = AuthState.AuthorityScope(origin: sharedName == nil ? visit.origin : nil, authority: authority)
    return AuthState.Key(place: place, realm: isToken ? nil : realm)
  }

  private func storedSpace(_ origin: Origin, _ realm: String?) -> ProtectionSpace {
    var space = ProtectionSpace(origin, realm: isToken ? nil : realm, isProxy: isProxy)
    if let sharedName { (space.scheme, space.host, space.port) = ("https", sharedName, 443) }
    return space
  }

  // MARK: Before a request

  /// Returns the credential that a request is first sent with.
  ///
  /// Throws `authenticationFailed` if a rejected or expired token could not be replaced, or the store cannot be read.
  func first(_ visit: Target) async throws -> Sent {
    try await askStoreForToken(visit)
    let key = key(visit, nil)
    var (sent, flight) = state.withLock { $0.first(key, of: visit.call.id) }
    if let flight { return try await wait(for: flight, visit) }
    if sent.answer == nil {
      let credential = authenticator.preemptiveCredential(
        for: ProtectionSpace(visit.origin, realm: nil, isProxy: isProxy))
      if let credential, credential.isPreemptive { sent.answer = Answer(unasked: credential) }
    }
    let now = visit.call.date
    guard isToken, let old = sent.answer, old.credential.isExpired(at: now) else { return sent }
    switch step(toward: Offer(challenge: Challenge(scheme: .bearer), digest: nil), after: sent, visit) {
    case .deliver: return sent
    case .fail(let error): throw error
    case .send(let newer): return newer
    case .wait(let flight), .ask(let flight, _):
      let newer = try await wait(for: flight, visit)
      return newer.answer == nil ? Sent(answer: old, stamp: newer.stamp) : newer
    }
  }

  /// Loads a stored token, which takes precedence over the possibly older initial token.
  private func askStoreForToken(_ visit: Target) async throws {
    guard storesTokens, let store = visit.store, !state.withLock({ $0.hasAskedStore }) else { return }
    let space = storedSpace(visit.origin, nil)
    let found: Credential?
    do {
      found = try await withAbort(visit.abortSource) { try await store.credential(for: space) }
    } catch {
      try visit.abortSource.check()
      throw Self.failure("the credential store cannot be read", error)
    }
    let answer = found?.token == nil ? nil : found.map { Answer(unasked: $0, isStored: true) }
    let key = key(visit, nil)
    state.withLock { $0.found(answer, key) }
  }

  // MARK: After a response

  func accepted(_ sent: Sent, _ headers: HTTPHeaders, _ visit: Target) async {
    guard let answer = sent.answer else { return }
    answer.digest?.takeNext(from: headers, isProxy: isProxy)
    let key = key(visit, answer.realm)
    let isNew = state.withLock { $0.accept(answer, key, stamp: sent.stamp) }
    guard isNew, storesAccepted, !answer.isStored, let store = visit.store else { return }
    await keep(answer.credential, for: storedSpace(visit.origin, answer.realm), in: store, visit)
  }

  /// Keeps a credential for the next attempt of its call: the server has neither accepted nor rejected it.
  func undecided(_ sent: Sent, _ visit: Target) {
    guard let answer = sent.answer else { return }
    let key = key(visit, answer.realm)
    state.withLock { $0.keep(answer, key, of: visit.call.id, stamp: sent.stamp) }
  }

  /// Stores a credential.
  ///
  /// A failure does not fail this response; it only means that the authenticator is called again next time.
  @inline(never) private func keep(
    _ credential: Credential, for space: ProtectionSpace, in store: any CredentialStore, _ visit: Target
  ) async {
    do {
      try await withAbort(visit.abortSource) { try await store.set(credential, for: space) }
    } catch {
      visit.call.report(.credentialNotStored(Self.text(error)))
    }
  }

  /// Decides how to continue after a 401, or a proxy's 407.
  ///
  /// Calls the authenticator if necessary. `sent` is the credential that the request had, and `uses` counts the
  /// requests by scheme.
  func step(
    after headers: HTTPHeaders, _ sent: Sent, uses: [AuthenticationScheme: Int], _ visit: Target
  ) -> AuthState.Step {
    var challenges = Challenge.parse(headers[wires: isProxy ? "Proxy-Authenticate" : "WWW-Authenticate"])
    // Some servers name other schemes when they reject a token.
    if isToken, sent.answer != nil || !challenges.contains(where: { [.basic, .bearer, .digest].contains($0.scheme) }) {
      challenges = [challenges.first { $0.scheme == .bearer } ?? Challenge(scheme: .bearer)]
    }
    guard let offer = Offer.strongest(of: challenges, among: schemes), uses[offer.scheme, default: 0] < 2
    else { return .deliver }
    return step(toward: offer, after: sent, visit)
  }

  /// The reason why a challenge was not answered, determined after the attempt.
  func silence(
    after headers: HTTPHeaders, _ sent: Sent, _ uses: [AuthenticationScheme: Int]
  ) -> Explanation.Reason {
    let values = headers[wires: isProxy ? "Proxy-Authenticate" : "WWW-Authenticate"]
    let offered = Challenge.parse(values)
    if let answer = sent.answer, isToken || offered.contains(where: { $0.scheme == answer.scheme }) {
      let scheme = answer.scheme
      return .init("rejected", "the only credential was rejected (\(scheme))")
    }
    let isAnswerable = Offer.strongest(of: offered, among: schemes).map { uses[$0.scheme, default: 0] < 2 } ?? false
    if isToken || isAnswerable { return .noCredential }
    let gaps =
      offered.isEmpty
      ? values.prefix(10).map { "\"\(Explanation.short(WireText.readable($0)))\"" }
      : DigestChallenge.gaps(in: offered, among: schemes)
    guard gaps.isEmpty else { return .init("unreadable", "the challenge cannot be read: \(Explanation.list(gaps))") }
    let names = offered.prefix(10).map(\.scheme.description)
    return .init(
      "noScheme",
      names.isEmpty ? "it names no scheme" : "\(Explanation.list(names)) cannot be used, or was tried before")
  }

  var schemes: [AuthenticationScheme] {
    authenticator.schemes.filter { !isProxy || $0 == .digest || $0 == .basic }
  }

  private func step(toward offer: Offer, after request: Sent, _ visit: Target) -> AuthState.Step {
    let key = key(visit, offer.realm)
    let sent = request.answer
    // A credential for another realm does not count as rejected in this one.
    let isRefused =
      sent.map { $0.scheme == offer.scheme && (isToken || $0.realm == nil || $0.realm == offer.realm) } ?? false
    let step = state.withLock { state in
      if isRefused { state.keep(nil, key, of: visit.call.id, stamp: request.stamp) }
      return state.step(key, toward: offer, after: request, isRefused: isRefused)
    }
    if case .ask(let flight, let failures) = step {
      var challenge = AuthenticationChallenge(
        space: ProtectionSpace(visit.origin, realm: offer.realm, isProxy: isProxy), scheme: offer.scheme)
      challenge.parameters = offer.challenge.parameters.mapValues(WireText.readable)
      challenge.previousFailures = failures
      challenge.rejected = isRefused ? sent?.credential : nil
      ask(challenge, offer, flight, key, isStored: sent?.isStored == true, visit)
    }
    return step
  }

  // MARK: The question

  private func ask(
    _ challenge: AuthenticationChallenge, _ offer: Offer, _ flight: PendingAuthentication, _ key: AuthState.Key,
    isStored: Bool,
    _ visit: Target
  ) {
    let (store, timeline, limit) = (visit.store, visit.call.timeline, authenticator.timeout)
    let space = storedSpace(visit.origin, challenge.realm)
    let onLoss: @Sendable (String) -> Void = { [weak call = visit.call] in call?.report(.credentialNotStored($0)) }
    // An unstructured task: if the first request is cancelled, the others continue to wait for the credential.
    Task {
      let killer = Task {
        guard (try? await timeline.watch(limit)) != nil else { return }
        flight.abortSource.abort(
          HTTPError(.authenticationFailed, "the authenticator returned no credential within \(limit.shown)"))
      }
      let sessions = Self.answering + [ObjectIdentifier(self)]
      let outcome = await Result.awaiting {
        try await withAbort(flight.abortSource) {
          // Several requests wait for it, so the deadline of the first one does not apply.
          try await Deadline.$current.withValue(nil) {
            try await Self.$answering.withValue(sessions) {
              try await self.answer(challenge, offer, space, store, isStored: isStored, at: key.place, onLoss)
            }
          }
        }
      }
      let result = outcome.mapError {
        flight.abortSource.error as? HTTPError
          ?? Self.failure("the authenticator or the credential store failed", $0)
      }
      killer.cancel()
      let stamp = state.withLock { $0.finish(flight, key, result) }
      flight.result.resolve(result.map { Sent(answer: $0, stamp: stamp) }.mapError { $0 as any Error })
    }
  }

  private func answer(
    _ challenge: AuthenticationChallenge, _ offer: Offer, _ space: ProtectionSpace, _ store: (any CredentialStore)?,
    isStored: Bool, at place: AuthState.AuthorityScope, _ onLoss: @Sendable (String) -> Void
  ) async throws -> Answer? {
    let counts = state.withLock { $0.counts }
    if let store, storesAccepted {
      if isStored { try await store.set(nil, for: space) }
      if challenge.rejected == nil, let found = try await store.credential(for: space),
        let answer = Answer(found, to: offer, isStored: true, counts: counts, at: place)
      {
        return answer
      }
    }
    guard let credential = try await authenticator.respond(to: challenge) else { return nil }
    guard let answer = Answer(credential, to: offer, counts: counts, at: place) else {
      throw HTTPError(.authenticationFailed, "\(credential) cannot answer \(offer.scheme)")
    }
    // Store the new token before its first use: the old refresh token may be invalid already.
    if storesTokens, let store {
      do { try await store.set(credential, for: space) } catch { onLoss(Self.text(error)) }
    }
    return answer
  }

  /// Waits for the credential until the call ends.
  func wait(for flight: PendingAuthentication, _ visit: Target) async throws -> Sent {
    visit.call.report(.waiting(.credential))
    defer { visit.call.report(.running) }
    return try await withAbort(visit.abortSource) { try await flight.result.value() }
  }

  private static func failure(_ message: String, _ error: any Error) -> HTTPError {
    HTTPError(.authenticationFailed, "\(message): \(text(error))", underlying: error)
  }

  /// A description of an error without credentials.
  ///
  /// For an unknown error, the text is only its type, because its description may quote credentials.
  private static func text(_ error: any Error) -> String { (error as? HTTPError)?.description ?? "\(type(of: error))" }

  /// Discards all credentials and ends the pending questions.
  func signOut() async {
    let flights = state.withLock { $0.signOut() }
    for flight in flights {
      flight.abortSource.abort(HTTPError(.authenticationFailed, "the client was signed out"))
    }
    await authenticator.signOut()
  }
}

extension Explanation.Decision {
  /// A credential was added to the request before any challenge.
  static func preemptive(_ scheme: AuthenticationScheme, _ party: Explanation.Party) -> Self {
    Self(
      "\(party.area).preemptive", "a credential for the \(party) was added to the request (\(scheme))", party.section)
  }

  /// A challenge was answered, with the scheme and the realm that it named.
  static func responded(_ scheme: AuthenticationScheme, realm: String?, _ party: Explanation.Party) -> Self {
    let realm = realm.map { ", realm \"\(InvalidInput.printable(Explanation.short($0)))\"" } ?? ""
    return Self(
      "\(party.area).responded", "the challenge of the \(party) was answered (\(scheme)\(realm))", party.section)
  }

  /// A challenge was not answered.
  static func declined(_ reason: Explanation.Reason, _ party: Explanation.Party) -> Self {
    Self("\(party.area).declined", "the challenge of the \(party) was not answered", because: reason, party.section)
  }
}

extension Explanation.Reason {
  /// No credential is known for the origin, or the program answers the challenge itself.
  static let noCredential = Self("noCredential", "no credential is configured")
}

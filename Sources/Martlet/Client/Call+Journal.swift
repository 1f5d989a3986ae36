import MartletBase

extension Call: RunningCall {
  var timeline: Timeline { core.timeline }
  var date: Date { settings.configuration.now() }

  /// Records a fact, and delivers it to the call's observers and instruments.
  ///
  /// After the end of the call, nothing is recorded. The method calls no code of the program, because the engine
  /// reports phases under its lock.
  @inline(never) func report(_ event: CallEvent) {
    switch event {
    case .started: emit(.started)
    case .waiting(let reason):
      guard change(to: .waiting(reason)) else { return }
      emit(.waiting(reason))
      core.activityChanged()
    case .running:
      if change(to: .running) { core.activityChanged() }
    case .attempt(let number, let hop):
      emit(.attempt(number: number, hop: hop))
      notifyInstruments(.attempt(number: number, hop: hop))
    case .attempted(let attempt, let decision): ended(attempt, decision)
    case .redirected(let redirect, let decisions): followed(redirect, decisions)
    case .upgraded(let host):
      emit(.upgraded(host: host))
      record(
        .init(
          "hsts.upgraded", "the URL was changed to https, because \(host) is a known HSTS host", "RFC 6797 §8.3"))
    case .responded(let scheme, let realm, let party):
      emit(.authenticating(scheme, realm: realm))
      record(.responded(scheme, realm: realm, party))
    case .phase(let phase, let exchange): notifyInstruments(.phase(phase, exchange: exchange))
    case .informational(let response, let exchange):
      emit(.informational(response))
      notifyInstruments(.informational(response, exchange: exchange))
    case .head(let response, let exchange):
      emit(.head(response.status))
      notifyInstruments(.head(InstrumentEvent.Head(response), exchange: exchange))
    case .notCached(let problem):
      emit(.notCached(problem))
      explain(CacheRules.Refusal.failure.decision)
    case .credentialNotStored(let problem): emit(.credentialNotStored(problem))
    case .decided(let decision): record(decision)
    }
  }

  /// Whether anyone observes interim responses.
  var observesInterim: Bool { isManaged || watch?.shown != nil }

  /// Reports a decision that each explanation contains.
  @inline(never) func decided(
    _ code: String, _ sentence: @autoclosure @escaping @Sendable () -> String, _ reference: String? = nil
  ) {
    report(.decided(.init(code, sentence(), reference)))
  }

  /// Reports a decision if the program requested an explanation.
  func explain(_ decision: @autoclosure () -> Explanation.Decision) {
    if explains { report(.decided(decision())) }
  }

  /// Reports that the status is accepted.
  func accepted(_ status: HTTPStatus) {
    decided("status.accepted", "the status \(status.rawValue) is accepted")
  }

  // The functions below are not inlined, because `report` would reserve stack space for all of them.

  @inline(never) private func ended(_ attempt: HTTPResponse.Attempt, _ decision: Explanation.Decision?) {
    if let decision { record(decision) }
    state.withLock { $0.attempts.append(attempt) }
    if attempt.delay != nil { emit(.retrying(attempt)) }
  }

  @inline(never) private func followed(_ redirect: HTTPResponse.Redirect, _ decisions: [Explanation.Decision]) {
    for decision in decisions { record(decision) }
    state.withLock {
      $0.redirects.append(redirect)
      // Only the attempts at the last hop count.
      $0.attempts = []
    }
    emit(.redirected(redirect))
  }

  @inline(never) private func record(_ decision: Explanation.Decision) {
    let time = elapsed
    let entry: Explanation.Entry? = state.withLock { state in
      guard !state.stage.isEnded else { return nil }
      // A recorded attempt is over; with a delay, the next one has begun.
      let isNext = state.attempts.last.map { $0.delay != nil } ?? true
      let entry = Explanation.Entry(
        decision: decision, hop: state.redirects.count, attempt: state.attempts.count + (isNext ? 1 : 0), time: time)
      let limit = explains ? Explanation.limit : Explanation.ownLimit
      if state.explanation == nil { state.explanation = Boxed(Explanation()) }
      state.explanation?.value.add(entry, limit: limit)
      return entry
    }
    if let entry { notifyInstruments(.decision(entry)) }
  }

  private func change(to stage: RequestEvent.State) -> Bool {
    state.withLock {
      guard !$0.stage.isEnded else { return false }
      $0.stage = stage
      return true
    }
  }

  private func emit(_ event: RequestEvent) {
    guard isManaged else { return }
    state.withLock {
      guard !$0.stage.isEnded else { return }
      // A policy may allow many redirects and attempts.
      if $0.history.count < 256 { $0.history.append(event) }
      // Under the lock, because otherwise a stream that begins now could get the event twice.
      $0.events?.yield(event)
    }
    observer?.call(id, did: event)
  }
}

import MartletBase

/// Repeats attempts by the call's policy, and records each attempt.
struct RetryStage: Stage {
  @inline(__always)
  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let call = context.call
    var context = context
    context.attempt = 1
    if let servers = call.settings.servers, call.settings.usesCluster(hop) {
      context.servers = ServerTrail(servers, first: context.hop == 0 ? call.server : context.namedServer)
    }
    var repetition = Repetition()
    while true {
      let start = call.core.timeline.now()
      context.servers?.begin(context.attempt)
      call.report(.attempt(number: context.attempt, hop: context.hop))
      var result = await Result.awaiting { try await next(hop, context) }
      guard let pause = try judge(&result, of: hop.request, context, &repetition, since: start) else {
        return try result.get()
      }
      // Its body keeps a connection and a place among those of the origin.
      result = .failure(CancellationError())
      if repetition.needsHTTP11 { context.needsHTTP11 = true }
      if repetition.needsNewConnection { context.needsNewConnection = true }
      if pause > .zero { try await context.pause(for: pause) }
      context.attempt += 1
    }
  }

  /// Records an attempt; returns the delay before the next one, or `nil`.
  ///
  /// If there is no next attempt, an error receives the list of all attempts.
  private func judge(
    _ result: inout Result<StreamedResponse, any Error>, of request: HTTPRequest, _ context: RequestContext,
    _ repetition: inout Repetition, since start: Duration
  ) throws -> Duration? {
    let call = context.call
    // An aborted request is not repeated.
    try context.abortSource.check()
    let duration = call.core.timeline.now() - start
    // No policy decides about a success.
    if case .success(let response) = result, response.status.rawValue < 400 {
      let attempt = HTTPResponse.Attempt(
        number: context.attempt, outcome: .status(response.status), duration: duration,
        server: context.servers?.server.map { "\($0.origin)" })
      call.report(.attempted(attempt, nil))
      return nil
    }
    guard let outcome = outcome(of: result) else { return nil }
    var attempt = HTTPResponse.Attempt(
      number: context.attempt, outcome: Self.summary(outcome), duration: duration,
      server: context.servers?.server.map { "\($0.origin)" })
    let decision = decide(after: context.attempt, &repetition, request, outcome, call, context.servers)
    switch decision {
    case .ended: break
    case .refused(let reason): attempt.retryRefusal = reason
    case .repeated(let pause, _): attempt.delay = pause
    }
    call.report(.attempted(attempt, decision.explanation))
    if attempt.delay == nil, case .failure(var error as HTTPError) = result {
      error.attempts = call.attempts
      result = .failure(error)
    }
    return attempt.delay
  }

  /// The outcome for the policy; `nil` for errors that it does not handle.
  ///
  /// These are errors other than ``HTTPError``, for example of a user's middleware.
  private func outcome(of result: Result<StreamedResponse, any Error>) -> RetryPolicy.Outcome? {
    switch result {
    case .success(let response): RetryPolicy.Outcome(status: response.status, headers: response.headers)
    case .failure(let error as HTTPError): RetryPolicy.Outcome(error: error)
    case .failure: nil
    }
  }

  private func decide(
    after attempt: Int, _ repetition: inout Repetition, _ request: HTTPRequest, _ outcome: RetryPolicy.Outcome,
    _ call: Call, _ servers: ServerTrail?
  ) -> RetryPolicy.Decision {
    let policy = call.options.retry
    if policy.repeatsRefusals, request.isUsable,
      repetition.mustRetry(after: outcome, isHTTP2Chosen: call.options.httpVersion != .automatic)
    {
      return .repeated(after: .zero, repetition.needsHTTP11 ? .needsHTTP11 : .unprocessed)
    }
    if policy.repeatsRefusals, request.isUsable, let error = outcome.error, servers?.takeMove(after: error) == true {
      repetition.moved()
      return .repeated(after: .zero, .otherServer)
    }
    let attempt = repetition.counted(attempt, after: outcome, policy)
    guard attempt < policy.maximumAttempts else { return .ended(policy.exhausted) }
    let configuration = call.settings.configuration
    // Exchange middleware may have changed the request: both the original and the sent one must be safe to repeat.
    let sent = call.currentRequest
    let weaker = sent.isIdempotent ? request : sent
    let decision = policy.decision(
      after: attempt, of: weaker, isIdempotent: call.options.isIdempotent ?? weaker.isIdempotent, outcome: outcome,
      hasOtherServer: servers?.hasOtherServer ?? false, now: configuration.now(), random: configuration.random())
    guard case .repeated(let pause, _) = decision else { return decision }
    // If the delay would last until the total limit, give up now: the current error says more than a timeout.
    let now = call.core.timeline.now()
    if let end = call.end, now.adding(pause) >= end {
      if let deadline = call.deadline, deadline.end <= end {
        return .refused(.exceedsDeadline(delay: pause, remaining: max(end - now, .zero)))
      }
      return .refused(.exceedsTotalLimit(delay: pause, limit: call.timeouts.total ?? .zero))
    }
    if policy.usesBudget && !call.core.budget.takeRetry() {
      return .refused(.budgetExhausted)
    }
    return decision
  }

  private static func summary(_ outcome: RetryPolicy.Outcome) -> HTTPResponse.Attempt.Outcome {
    if let status = outcome.status { return .status(status) }
    return .failure(outcome.error?.kind ?? .connectionLost, outcome.error?.message ?? "")
  }
}

extension RequestContext {
  /// Waits for the delay of a retry, or for another reason; throws the reason for an abort.
  func pause(for duration: Duration, reason: RequestEvent.WaitReason? = nil) async throws {
    call.report(.waiting(reason ?? .retryDelay(duration)))
    defer { call.report(.running) }
    try await withAbort(abortSource) { [timeline = call.timeline] in try await timeline.pause(duration) }
    try abortSource.check()
  }
}

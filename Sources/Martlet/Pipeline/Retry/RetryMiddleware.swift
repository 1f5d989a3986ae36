/// Repeats an attempt as the call's policy says, and records every one.
struct RetryMiddleware: Stage {
  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let call = context.call
    var context = context
    context.attempt = 1
    while true {
      let start = call.core.timeline.now()
      call.emit(.attempt(number: context.attempt, hop: context.hop))
      let result = await attempt(request, context, next)
      // A call that was ended is not repeated.
      try call.abortSource.check()
      guard let outcome = outcome(of: result) else { return try result.get() }
      var attempt = Attempt(
        number: context.attempt, outcome: Self.summary(outcome), duration: call.core.timeline.now() - start, pause: nil)
      attempt.pause = pause(after: context.attempt, request, outcome, call)
      call.record(attempt)
      guard let pause = attempt.pause else { return try Self.completed(result, call) }
      call.emit(.retrying(attempt))
      if pause > .zero { try await call.pause(for: pause) }
      context.attempt += 1
    }
  }

  private func attempt(
    _ request: HTTPRequest, _ context: RequestContext, _ next: Next
  ) async -> Result<StreamedResponse, any Error> {
    do { return .success(try await next(request, context)) } catch { return .failure(error) }
  }

  /// What the policy decides on; `nil` for what is none of its business, such as an error of a user's middleware.
  private func outcome(of result: Result<StreamedResponse, any Error>) -> RetryPolicy.Outcome? {
    switch result {
    case .success(let response): RetryPolicy.Outcome(status: response.status, headers: response.headers)
    case .failure(let error as HTTPError): RetryPolicy.Outcome(error: error)
    case .failure: nil
    }
  }

  private func pause(
    after attempt: Int, _ request: HTTPRequest, _ outcome: RetryPolicy.Outcome, _ call: Call
  ) -> Duration? {
    let policy = call.options.retry
    guard outcome.isFailure, attempt < policy.maximumAttempts else { return nil }
    let configuration = call.settings.configuration
    // Attempt middleware may have made something else of the request: it must be safe as it came and as it was sent.
    let sent = call.currentRequest
    let decided = policy.pause(
      after: attempt, of: sent.isIdempotent ? request : sent, outcome: outcome, now: configuration.now(),
      random: configuration.random())
    guard let pause = decided else { return nil }
    // A pause that outlasts the call is given up at once: the error in hand says more than a timeout.
    if let total = call.timeouts.total, call.elapsed + pause >= total { return nil }
    if policy.usesBudget && !call.core.budget.takeRetry() { return nil }
    return pause
  }

  private static func summary(_ outcome: RetryPolicy.Outcome) -> Attempt.Outcome {
    if let status = outcome.status { return .status(status) }
    return .failure(outcome.error?.kind ?? .connectionLost, outcome.error?.message ?? "")
  }

  private static func completed(
    _ result: Result<StreamedResponse, any Error>, _ call: Call
  ) throws -> StreamedResponse {
    guard case .failure(var error as HTTPError) = result else { return try result.get() }
    error.attempts = call.attempts
    throw error
  }
}

extension Call {
  /// Waits as long as a policy says; ends early, with the reason, when the call is aborted.
  func pause(for duration: Duration) async throws {
    report(.waiting(.retryPause(duration)))
    // The pause needs a task of its own, because it must end without the caller's task being cancelled.
    let sleeper = Task { [timeline = core.timeline] in try await timeline.pause(duration) }
    let token = abortSource.onAbort { _ in sleeper.cancel() }
    defer { abortSource.remove(token) }
    do { try await sleeper.value } catch { throw abortSource.error ?? error }
    try abortSource.check()
    report(.running)
  }
}

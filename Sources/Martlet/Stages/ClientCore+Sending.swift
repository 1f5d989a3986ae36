import MartletBase

extension ClientCore {
  /// Sends a request for a task that awaits it.
  ///
  /// Leaves the caller's actor, because the pipeline and the decoding must not load it.
  @concurrent func send<Output: Sendable>(
    _ request: HTTPRequest, options: RequestOptions, endpoint: (any Endpoint.Type)? = nil,
    decode: @escaping @Sendable (consuming HTTPResponse, Call) throws -> Output
  ) async throws -> Output {
    let call = try begin(request, options: options, endpoint: endpoint, isManaged: false)
    defer { call.endLeftovers() }
    return try await withTaskCancellationHandler {
      if call.settings.isAbortAware { return try await run(call, decode) }
      // Middleware is user code that cannot be ended, but the wait for it can.
      return try await withAbort(call.abortSource) { try await self.run(call, decode) }
    } onCancel: {
      call.abort(CancellationError())
    }
  }

  /// Starts a managed request.
  func start<Output: Sendable>(
    _ request: HTTPRequest, options: RequestOptions, endpoint: (any Endpoint.Type)? = nil, retryOf: RequestID? = nil,
    decode: @escaping @Sendable (HTTPResponse) throws -> Output,
    finish: @escaping @Sendable (Result<Output, any Error>) -> Result<Output, any Error> = { $0 }
  ) -> RequestHandle<Output> {
    start(request, options: options, endpoint: endpoint, retryOf: retryOf, finish: finish) { [self] call in
      try await run(call) { response, _ in try decode(response) }
    }
  }

  /// Starts managed work.
  func start<Output: Sendable>(
    _ request: HTTPRequest, options: RequestOptions, endpoint: (any Endpoint.Type)? = nil, retryOf: RequestID? = nil,
    finish: @escaping @Sendable (Result<Output, any Error>) -> Result<Output, any Error> = { $0 },
    work: @escaping @Sendable (Call) async throws -> Output
  ) -> RequestHandle<Output> {
    let result = Promise<Output>()
    let again: @Sendable (RequestID?) -> RequestHandle<Output> = { [self] id in
      start(request, options: options, endpoint: endpoint, retryOf: id, finish: finish, work: work)
    }
    let call: Call
    do {
      call = try begin(request, options: options, endpoint: endpoint, retryOf: retryOf, isManaged: true)
    } catch {
      result.resolve(finish(.failure(error)))
      return RequestHandle(RefusedRequest(retryOf: retryOf, request: request, error: error), result, again)
    }
    run(call, result, finish, work)
    return RequestHandle(call, result, again)
  }

  /// Performs the work of a call in a separate task.
  func run<Output: Sendable>(
    _ call: Call, _ result: Promise<Output>,
    _ finish: @escaping @Sendable (Result<Output, any Error>) -> Result<Output, any Error> = { $0 },
    _ work: @escaping @Sendable (Call) async throws -> Output
  ) {
    let task = Task {
      let outcome = await Result.awaiting { try await work(call) }
      // The abort handler below sets the result of an aborted call.
      if !call.isAborted { result.resolve(finish(outcome)) }
      call.endLeftovers()
    }
    call.abortSource.onAbort { [weak call] error in
      // Not for leftover work, because the result is known then.
      guard call?.isAborted == true else { return }
      task.cancel()
      // Not at the end of the task, which a user's middleware can delay indefinitely.
      result.resolve(finish(.failure(error)))
    }
  }

  /// Performs a call and returns the complete response.
  func response(of call: Call) async throws -> HTTPResponse { try await run(call) { response, _ in response } }

  /// Sends a request whose body a closure reads in the caller's isolation.
  nonisolated(nonsending) func stream<R: Sendable>(
    _ request: HTTPRequest, options: RequestOptions,
    _ body: nonisolated(nonsending) (StreamedResponse, Call) async throws -> R
  ) async throws -> R {
    let call = try begin(request, options: options, isManaged: false)
    // The request ends with the closure: a body that has left the closure keeps no connection.
    defer { call.abortSource.abort(BodyReader.closed) }
    return try await withTaskCancellationHandler {
      try await ending(call) {
        let response = try await opened(call)
        defer { response.body.close() }
        return (try await body(response, call), nil, response.status, response.source)
      }
    } onCancel: {
      call.abort(CancellationError())
    }
  }

  /// Performs a call until its response is accepted, whose body its caller reads.
  ///
  /// Leaves the caller's actor, because the pipeline must not load it.
  @concurrent func opened(_ call: Call) async throws -> StreamedResponse {
    var response = try await Pipeline.run(call, .stream)
    response.coders = call.settings.configuration.coders
    // The wait for a chunk that middleware creates ends with the call, as that for a chunk of an exchange.
    if !call.settings.isAbortAware { response.body = response.body.abortable(call.abortSource) }
    if call.options.accepts.accepts(response.status) != true {
      // A closure that judges the response has read the body, so the collected one is delivered.
      response.body = ResponseBody(try await accepted(response, call).body)
    }
    return response
  }

  /// Performs a call whose response is collected in memory.
  private func run<Output: Sendable>(
    _ call: Call, _ decode: @Sendable (consuming HTTPResponse, Call) throws -> Output
  ) async throws -> Output {
    try await ending(call) {
      let response = try await accepted(try await Pipeline.run(call, .whole), call)
      let (status, source, kept) = (response.status, response.source, call.isManaged ? response : nil)
      return (try decode(response, call), kept, status, source)
    }
  }

  /// Runs the work of a call and ends the call exactly once, with the first outcome.
  func ending<R: Sendable>(
    _ call: Call, _ work: () async throws -> (R, HTTPResponse?, HTTPStatus, HTTPResponse.Source)
  ) async throws -> R {
    do {
      let (result, response, status, source) = try await work()
      await call.deliverLast(succeeded: true)
      guard call.finish(.succeeded(status), response: response, source: source) else {
        throw call.failure ?? CancellationError()
      }
      return result
    } catch {
      throw await call.failed(with: error)
    }
  }

  func accepted(_ streamed: StreamedResponse, _ call: Call) async throws -> HTTPResponse {
    // The pipeline has read the body within its limits, unless middleware has replaced it.
    if call.settings.isAbortAware, let data = streamed.body.immediate { return try judged(streamed, data, call) }
    return try await limited(streamed, call)
  }

  private func limited(_ streamed: StreamedResponse, _ call: Call) async throws -> HTTPResponse {
    let response = try await CollectStage(isStreamed: false).limited(streamed, call)
    return try judged(response, response.body.immediate ?? Data(), call)
  }

  private func judged(_ streamed: StreamedResponse, _ data: Data, _ call: Call) throws -> HTTPResponse {
    var response = streamed.whole(data, asked: call.request, coders: call.settings.configuration.coders)
    let isAccepted: Bool
    switch call.options.accepts.rule {
    case .range(let range): isAccepted = range.contains(response.status.rawValue)
    case .response(let judge): isAccepted = try judge(response)
    }
    guard isAccepted else { throw call.refusal(of: response) }
    if call.explains {
      call.accepted(response.status)
      response.explanation = call.explanation
    }
    return response
  }

  /// Refuses new requests, waits for running ones, and cancels them after `timeout`.
  func drain(_ timeout: Duration?) async {
    // After this, no work can be attached. A request that attached work starts before it learns of the end is refused.
    close()
    let work = work
    let deadline = timeout.map { timeline.now().adding($0) }
    for work in work { work.beginDraining() }
    let killer = timeout.map { timeout in
      Task { [timeline] in
        guard (try? await timeline.pause(timeout)) != nil else { return }
        cancel()
      }
    }
    await waitUntilIdle()
    // A cancelled task does not wait, as if the time had passed.
    if timeout != nil, Task.isCancelled { cancel() }
    // Work such as an exporter sends what its instrument has received.
    await flushInstruments(before: deadline)
    for work in work {
      // Delivered requests must be recorded, which a busy disk may delay: all the remaining time is for that.
      await work.finishDraining(within: deadline.map { max($0 - timeline.now(), ClientCore.workPatience) })
    }
    killer?.cancel()
    let configuration = settings.configuration
    try? await configuration.dataLedger?.save(now: configuration.now())
    if !work.isEmpty { await flushInstruments(before: deadline) }
  }

  /// Waits until the instruments have received all events, at least 100 ms.
  private func flushInstruments(before deadline: Duration?) async {
    let rest = deadline.map { max($0 - timeline.now(), .milliseconds(100)) }
    await settings.instruments?.flush(within: min(rest ?? InstrumentFeed.patience, InstrumentFeed.patience))
  }
}

extension Call {
  /// Ends exchanges that middleware has left behind, because neither a limit nor a cancellation would end them.
  func endLeftovers() {
    // The reason for an abort takes precedence.
    if !settings.isAbortAware, !isAborted { abortSource.abort(MiddlewareNext.late) }
  }

  /// The error of a response whose status is not accepted.
  func refusal(of response: HTTPResponse) -> HTTPError {
    let status = response.status.rawValue
    decided("status.refused", "the status \(status) is an error")
    // Otherwise `AuthStage` has reported why it did not answer.
    if response.status == .unauthorized, credential == nil, settings.configuration.authenticators.isEmpty {
      recordSilence(to: response.finalRequest)
    }
    let reason = response.reasonPhrase.map { InvalidInput.printable($0) } ?? response.status.reasonPhrase
    let problem = unansweredChallenge(of: response).map { ": the server \($0)" } ?? ""
    return HTTPError(
      .status, "\(response.status.rawValue) \(reason)\(problem)", request: response.finalRequest, response: response)
  }

  /// Why no credential could answer a 401, if a Digest challenge is unsupported.
  private func unansweredChallenge(of response: HTTPResponse) -> String? {
    guard response.status == .unauthorized else { return nil }
    let url = response.finalRequest.absoluteURL
    let known: [AuthenticationScheme] = [.basic, .bearer, .digest, .ntlm, .negotiate]
    return DigestChallenge.problem(
      of: Challenge.parse(response.headers[wires: "WWW-Authenticate"]),
      among: url.flatMap { authSession(at: $0, after: redirects.isEmpty ? [] : [first.url]) }?.schemes ?? known)
  }

  /// Ends the call with an error, unless it has ended before.
  ///
  /// Returns the error to throw.
  func failed(with error: any Error) async -> any Error {
    let completed = complete(error)
    await deliverLast(succeeded: false)
    let response = (completed as? HTTPError)?.response
    if finish(.failed(completed), response: response, source: response?.source) { return completed }
    return failure ?? completed
  }

  /// Adds the details of the call to an `HTTPError`; returns other errors unchanged.
  func complete(_ error: any Error) -> any Error {
    guard var error = error as? HTTPError else { return error }
    complete(&error)
    return error
  }
}

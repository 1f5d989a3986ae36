import MartletBase

extension HTTPClient {
  /// Sends an endpoint's request and returns its output.
  ///
  /// The request belongs to the calling task, as with ``send(_:options:)``.
  ///
  /// - Parameters:
  ///   - endpoint: The endpoint.
  ///   - options: Per-request options, which override all other levels.
  /// - Returns: The output.
  /// - Throws: ``HTTPError``, `CancellationError`, or an error thrown by the endpoint.
  public nonisolated func send<E: Endpoint>(
    _ endpoint: E, options: RequestOptions = RequestOptions()
  ) async throws -> E.Output {
    try Task.checkCancellation()
    return try await core.send(endpoint, options: options).output
  }

  /// Starts an endpoint's managed request, which is not tied to the calling task.
  ///
  /// - Parameters:
  ///   - endpoint: The endpoint.
  ///   - options: Per-request options.
  /// - Returns: A handle to await, observe or cancel the request.
  @discardableResult
  public nonisolated func start<E: Endpoint>(
    _ endpoint: E, options: RequestOptions = RequestOptions()
  ) -> RequestHandle<E.Output> {
    core.start(endpoint, above: options)
  }

  /// Sends several requests of one endpoint type; the first failure cancels the others.
  ///
  /// - Parameters:
  ///   - endpoints: The endpoints.
  ///   - limit: The maximum number of concurrent requests.
  /// - Returns: The outputs, in the order of the endpoints.
  /// - Throws: The first error.
  public nonisolated func sendAll<E: Endpoint>(_ endpoints: [E], limit: Int = 16) async throws -> [E.Output] {
    var outputs = [E.Output?](repeating: nil, count: endpoints.count)
    try await send(endpoints, limit: limit) { index, result in outputs[index] = try result.get() }
    return outputs.compactMap { $0 }
  }

  /// Sends several requests of one endpoint type; each one succeeds or fails independently.
  ///
  /// Leaving the loop over the results cancels the requests that are still running.
  ///
  /// - Parameters:
  ///   - endpoints: The endpoints.
  ///   - limit: The maximum number of concurrent requests.
  /// - Returns: The results as they arrive, each with the index of its endpoint.
  public nonisolated func results<E: Endpoint>(
    _ endpoints: [E], limit: Int = 16
  ) -> AsyncStream<(index: Int, result: Result<E.Output, any Error>)> {
    AsyncStream { continuation in
      // A stream cannot own child tasks, so the task is unstructured; the end of the stream cancels it.
      let task = Task {
        try? await send(endpoints, limit: limit) { continuation.yield(($0, $1)) }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  /// Sends requests and passes on their results as they arrive; an error from the closure cancels the other requests.
  private nonisolated func send<E: Endpoint>(
    _ endpoints: [E], limit: Int, _ take: (Int, Result<E.Output, any Error>) throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: (Int, Result<E.Output, any Error>).self) { group in
      var waiting = endpoints.enumerated().makeIterator()
      func addNext() {
        guard let (index, endpoint) = waiting.next() else { return }
        group.addTask {
          do { return (index, .success(try await self.send(endpoint))) } catch { return (index, .failure(error)) }
        }
      }
      for _ in 0..<max(1, min(limit, endpoints.count)) { addNext() }
      while let (index, result) = try await group.next() {
        try take(index, result)
        addNext()
      }
    }
  }

  /// The pages of an endpoint, each requested after the previous one was consumed.
  ///
  /// - Parameter endpoint: The endpoint of the first page.
  /// - Returns: The pages; an error ends the sequence.
  public nonisolated func pages<E: PagedEndpoint>(of endpoint: E) -> AsyncThrowingStream<E.Output, any Error> {
    let pages = Pages(core, endpoint)
    return AsyncThrowingStream { try await pages.next() }
  }

  /// The outcomes of all later requests of an endpoint type.
  ///
  /// Each listener receives every event. A slow listener loses the oldest events and receives their number. The stream
  /// ends when nothing refers to the client: no request or handle.
  ///
  /// - Parameters:
  ///   - type: The endpoint type.
  ///   - limit: The maximum number of events kept for a slow listener.
  /// - Returns: The events.
  public nonisolated func events<E: Endpoint>(
    of type: E.Type, bufferingNewest limit: Int = 64
  ) -> AsyncStream<EndpointEvent<E.Output>> {
    core.outcomes.stream(of: type, keeping: limit)
  }
}

/// The remaining pages of an endpoint.
private actor Pages<E: PagedEndpoint> {
  private let core: ClientCore
  private var following: E?

  init(_ core: ClientCore, _ first: E) {
    self.core = core
    following = first
  }

  func next() async throws -> E.Output? {
    guard let endpoint = following else { return nil }
    following = nil
    let (output, response) = try await core.send(endpoint, options: RequestOptions())
    following = response.flatMap { endpoint.next(after: output, response: $0) }
    return output
  }
}

extension ClientCore {
  /// Sends an endpoint's request for a task that awaits it.
  ///
  /// The response is `nil` if the endpoint recovered from an error.
  @concurrent func send<E: Endpoint>(
    _ endpoint: E, options: RequestOptions
  ) async throws -> (output: E.Output, response: HTTPResponse?) {
    do {
      let result = try await send(
        try endpoint.request(), options: options.over(endpoint.options), endpoint: E.self,
        decode: { response, _ in (output: try endpoint.output(of: response), response: Optional(response)) })
      outcomes.publish(E.self, .succeeded(result.output))
      return result
    } catch {
      let output = try mapped(endpoint) { throw error }
      outcomes.publish(E.self, .succeeded(output))
      return (output, nil)
    }
  }

  /// Starts an endpoint's managed request.
  func start<E: Endpoint>(
    _ endpoint: E, above: RequestOptions = RequestOptions(), below: RequestOptions = RequestOptions(),
    retryOf: RequestID? = nil
  ) -> RequestHandle<E.Output> {
    let finish: @Sendable (Result<E.Output, any Error>) -> Result<E.Output, any Error> = { [self] result in
      do {
        let output = try mapped(endpoint) { try result.get() }
        outcomes.publish(E.self, .succeeded(output))
        return .success(output)
      } catch {
        return .failure(error)
      }
    }
    do {
      return start(
        try endpoint.request(), options: above.over(endpoint.options).over(below), endpoint: E.self, retryOf: retryOf,
        decode: { try endpoint.output(of: $0) }, finish: finish)
    } catch {
      let result = Promise<E.Output>()
      result.resolve(finish(.failure(error)))
      let refused = RefusedRequest(retryOf: retryOf, request: endpoint.unprepared, error: error)
      return RequestHandle(refused, result) { [self] id in
        start(endpoint, above: above, below: below, retryOf: id)
      }
    }
  }

  /// Lets the endpoint recover from an error, and publishes the remaining failure.
  private func mapped<E: Endpoint>(_ endpoint: E, _ work: () throws -> E.Output) throws -> E.Output {
    do {
      do { return try work() } catch let error as HTTPError { return try endpoint.recover(from: error) }
    } catch {
      if !(error is CancellationError) { outcomes.publish(E.self, .failed(error)) }
      throw error
    }
  }
}

extension Endpoint {
  func output(of response: HTTPResponse) throws -> Output {
    try validate(response)
    do {
      return try decode(response)
    } catch let error as DecodingError {
      // A `DecodingError` of the endpoint's own decoder is reported like one of the default decoder.
      throw HTTPError(
        .decoding,
        "the body cannot be decoded as \(Output.self): \(DecodingProblem.describe(error, in: response.body))",
        request: response.finalRequest, response: response, underlying: error)
    }
  }
}

import MartletBase

/// A call whose body is read at the reader's own pace, outside any closure.
///
/// It ends with its body or with an error; releasing this object cancels it.
final class StreamedCall: Sendable {
  let response: StreamedResponse
  let call: Call

  fileprivate init(_ call: Call, _ response: StreamedResponse) {
    self.call = call
    self.response = response
  }

  deinit {
    call.abort(CancellationError())
    call.endLeftovers()
  }

  /// The response, with a body that keeps the call alive.
  func living() async throws -> StreamedResponse {
    var body = response.body.makeAsyncIterator()
    var first: Data?
    // A body that is in memory, or does not exist, needs no call.
    if response.body.immediate != nil {
      try await succeed()
      return response
    } else if response.isWithoutBody {
      first = try await next(&body)
    }
    var living = response
    guard !response.isWithoutBody || first != nil else {
      living.body = ResponseBody()
      return living
    }
    // The iterator, and a chunk that was read already.
    let state = Locked((body: body, first: first))
    living.body = response.body.replaced { [self] in
      var (body, first) = state.withLock { $0 }
      if first == nil { first = try await next(&body) }
      state.withLock { [body] in $0 = (body, nil) }
      return first
    }
    return living
  }

  var elapsed: Duration { call.elapsed }

  /// Reads the next chunk, or returns `nil` at the end, when the call has succeeded.
  func next(_ body: inout ResponseBody.AsyncIterator) async throws -> Data? {
    try await call.awaited {
      do {
        if let piece = try await body.next() { return piece }
      } catch {
        throw await fail(error)
      }
      try await succeed()
      return nil
    }
  }

  func succeed() async throws {
    await call.deliverLast(succeeded: true)
    guard call.finish(.succeeded(response.status), response: nil, source: response.source) else {
      throw call.failure ?? CancellationError()
    }
  }

  /// Ends the call with an error.
  ///
  /// Returns the error to throw: with the details of the call, or the earlier failure of the call.
  func fail(_ error: any Error) async -> any Error { await call.failed(with: error) }

  /// The time for reading the body of a refused response, which may never end.
  private static let patience = Duration.seconds(2)

  /// Ends the call with an error about its response.
  ///
  /// The error keeps the beginning of the body, up to the limit of error bodies, as far as it arrives within
  /// ``patience``.
  func refuse(_ kind: HTTPError.Kind, _ message: String) async -> any Error {
    let limit = call.options.maximumErrorBodyBytes
    if let data = response.body.immediate {
      return await fail(refusal(kind, message, (data.prefix(limit), data.count <= limit)))
    }
    let read = Locked((data: Data(), isWhole: false))
    if limit > 0 {
      // The response's error is thrown instead of the body's, with the bytes that have arrived.
      try? await call.awaited {
        try await race([
          { [self] in
            for try await piece in response.body {
              let isFull = read.withLock { read in
                let room = limit - read.data.count
                read.data.append(piece.prefix(room))
                return piece.count > room
              }
              if isFull { return }
            }
            read.withLock { $0.isWhole = !Task.isCancelled }
          },
          { [self] in try await call.core.timeline.watch(Self.patience) },
        ])
      }
    }
    return await fail(refusal(kind, message, read.withLock { $0 }))
  }

  private func refusal(_ kind: HTTPError.Kind, _ message: String, _ read: (data: Data, isWhole: Bool)) -> HTTPError {
    var kept = response.whole(read.data, asked: call.request, coders: call.settings.configuration.coders)
    if !read.isWhole, !response.isWithoutBody { kept.isBodyTruncated = true }
    return HTTPError(kind, message, request: response.request, response: kept)
  }
}

extension ClientCore {
  /// Sends a request and returns its accepted response, whose reader may stop at any time.
  ///
  /// The call already exists during `pause`, so it can be cancelled before anything is sent.
  @concurrent func open(_ request: HTTPRequest, options: RequestOptions, after pause: Duration) async throws
    -> StreamedCall
  {
    try Task.checkCancellation()
    let call = try begin(request, options: options, isManaged: false)
    return try await call.awaited {
      do {
        if pause > .zero { try await RequestContext(call: call).pause(for: pause) }
        return StreamedCall(call, try await opened(call))
      } catch {
        defer { call.endLeftovers() }
        throw await call.failed(with: error)
      }
    }
  }
}

extension Call {
  /// Performs work of the call; cancelling the task that awaits it aborts the call.
  func awaited<R>(_ work: () async throws -> R) async throws -> R {
    try await withTaskCancellationHandler(operation: work) { abort(CancellationError()) }
  }
}

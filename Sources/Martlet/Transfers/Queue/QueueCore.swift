import MartletBase

/// The state of a queue, which outlives the queue as long as any request is in it.
final class QueueCore: CallObserver {
  private struct State: ~Copyable {
    var table: QueueTable
    var launches: [RequestID: @Sendable () -> Void] = [:]
    var calls: [RequestID: Call] = [:]
    /// The requests that determine a length.
    var measures: [RequestID: Call] = [:]
    var tally: QueueTally
    var isPaused: Bool
    var isFinishing = false
    /// Whether the queue was released: only its own requests can add others, by repeating themselves.
    var isReleased = false
    /// The requests that were cancelled because another one failed; their ends cancel nothing.
    var cancelled: Set<RequestID> = []
    /// Ends to report in order; reporting one may cause others.
    var ends = FirstInFirstOut<(RequestID, RequestEvent.End)>()
    var isProceeding = false
    /// Whether the end of the queue was reported.
    var isOver = false
    /// The number of `cancelAll()` calls in progress, during which nothing is started.
    var cancelling = 0
  }

  let client: ClientCore
  private let onFailure: RequestQueue.FailurePolicy
  private let kind: RequestQueue.Progress.Kind
  private let finished = ChangeSignal()
  let events = Broadcast<RequestQueue.Event>()
  private let progress = Broadcast<RequestQueue.Progress>()
  private let state: Locked<State>

  init(
    _ client: ClientCore, _ limits: RequestQueue.Limits, _ onFailure: RequestQueue.FailurePolicy,
    _ kind: RequestQueue.Progress.Kind, isPaused: Bool
  ) {
    self.client = client
    self.onFailure = onFailure
    self.kind = kind
    state = Locked(State(table: QueueTable(limits), tally: QueueTally(kind), isPaused: isPaused))
  }

  // MARK: Adding

  // Not specialized: in a queue, the difference in speed is negligible.
  @_semantics("optimize.sil.specialize.generic.never")
  func add<Output: Sendable>(
    _ request: HTTPRequest, options: RequestOptions, priority: Int, after predecessors: [RequestID],
    retryOf: RequestID? = nil, work: @escaping @Sendable (Call) async throws -> Output
  ) -> RequestHandle<Output> {
    let result = Promise<Output>()
    let again: @Sendable (RequestID?) -> RequestHandle<Output> = { [self] id in
      add(request, options: options, priority: priority, after: predecessors, retryOf: id, work: work)
    }
    let call: Call
    do {
      call = try client.begin(
        request, options: options, retryOf: retryOf, isManaged: true, isHeld: true, observer: self)
    } catch {
      result.resolve(.failure(error))
      return RequestHandle(RefusedRequest(retryOf: retryOf, request: request, error: error), result, again)
    }
    call.abortSource.onAbort { result.resolve(.failure($0)) }
    let measure = kind == .accurate && call.request.method == .get ? enqueueMeasure(call, options) : nil
    let awaited = predecessors + [measure].compactMap { $0 }
    let problem: HTTPError? = state.withLock { state in
      guard !state.isFinishing else {
        return HTTPError(.queueFailed, "the queue is finished and accepts no new requests")
      }
      do throws(HTTPError) {
        try state.table.add(call.id, host: call.first.url.host, priority: priority, after: awaited)
      } catch {
        return error
      }
      state.launches[call.id] = { [client] in if call.launch() { client.run(call, result, { $0 }, work) } }
      state.calls[call.id] = call
      state.tally.add()
      return nil
    }
    // An end that has already happened is also reported.
    if let problem { call.abort(problem) } else { call.onSettled { [self] in ended(call) } }
    proceed()
    return RequestHandle(call, result, again)
  }

  func add(_ predecessor: RequestID, before id: RequestID) throws -> Bool {
    try state.withLock { try $0.table.add(predecessor, before: id) }
  }

  /// Requests the length of a response, before all other requests of the queue.
  ///
  /// The request itself waits for it. An unknown length does not matter.
  private func enqueueMeasure(_ call: Call, _ options: RequestOptions) -> RequestID? {
    var request = call.request
    request.method = .head
    var asked = options.accepts(.any).retry(.off).cache(.off).timeout(.seconds(10))
    asked.onProgress = nil
    let id = ClientCore.nextID()
    let isAdded = state.withLock { state in
      // A request without predecessors can always be added.
      guard !state.isFinishing, (try? state.table.add(id, host: call.first.url.host, priority: .max, after: [])) != nil
      else {
        return false
      }
      state.launches[id] = { [self, request, asked] in startMeasure(id, of: call, request, asked) }
      return true
    }
    return isAdded ? id : nil
  }

  private func startMeasure(_ id: RequestID, of call: Call, _ request: HTTPRequest, _ options: RequestOptions) {
    if case .ended = call.stage { return measured(id, nil, call.id) }
    // The current task is that of a request that has ended, and not of this one.
    let head = Deadline.$current.withValue(nil) { client.start(request, options: options, decode: { $0 }).call }
    guard let head else { return measured(id, nil, call.id) }
    state.withLock { $0.measures[id] = head }
    head.onSettled { [self, asker = call.id] in measured(id, head.response, asker) }
  }

  private func measured(_ id: RequestID, _ response: HTTPResponse?, _ request: RequestID) {
    state.withLock { state in
      _ = state.table.end(id, succeeded: true)
      state.measures[id] = nil
      guard state.calls[request] != nil, let response, response.status.isSuccess,
        !response.headers.contains("Content-Encoding"),
        let length = response.headers.contentLength
      else { return }
      state.tally.expect(length, of: request)
    }
    proceed()
  }

  // MARK: Running

  func pause() { state.withLock { $0.isPaused = true } }

  func resume() {
    state.withLock { $0.isPaused = false }
    proceed()
  }

  /// Lets the remaining requests run, because a released queue cannot be resumed.
  func release() {
    state.withLock { $0.isReleased = true }
    resume()
  }

  /// Reports ends and progress, starts all requests that may start, and reports the end of the queue.
  ///
  /// Not recursively: a chain of thousands of requests would need thousands of stack frames. The first thread that
  /// arrives also performs the steps of the others.
  private func proceed() {
    let isFirst = state.withLock { !exchange(&$0.isProceeding, with: true) }
    guard isFirst else { return }
    while let step = nextStep() { step() }
  }

  private func nextStep() -> (@Sendable () -> Void)? {
    state.withLock { state in
      deliverProgress(&state)
      if let (id, end) = state.ends.popFirst() { return { [self] in deliver(id, end) } }
      while !state.isPaused, state.cancelling == 0, let id = state.table.start() {
        if let launch = state.launches.removeValue(forKey: id) { return launch }
      }
      if state.isFinishing || state.isReleased, state.table.count == 0, !exchange(&state.isOver, with: true) {
        return { [self, last = state.tally.progress] in deliverFinish(last) }
      }
      state.isProceeding = false
      return nil
    }
  }

  @discardableResult
  func cancelAll() -> Int {
    // The end of one request must not start another one.
    let (calls, measures) = state.withLock { state in
      state.cancelling += 1
      return (Array(state.calls.values), Array(state.measures.values))
    }
    for call in measures { call.cancel() }
    let count = calls.ordered { $0.id > $1.id }.count { $0.cancel() }
    state.withLock { $0.cancelling -= 1 }
    proceed()
    return count
  }

  // MARK: Ends

  private func ended(_ call: Call) {
    guard case .ended(let end) = call.stage else { return }
    state.withLock { $0.ends.append((call.id, end)) }
    proceed()
  }

  private func deliver(_ id: RequestID, _ end: RequestEvent.End) {
    let isSuccess = if case .succeeded = end { true } else { false }
    let (doomed, cancelled) = state.withLock { state in
      let successors = state.table.end(id, succeeded: isSuccess)
      let doomed = successors.compactMap { state.calls[$0] }
      state.launches[id] = nil
      if state.calls.removeValue(forKey: id) != nil { state.tally.end(id, end) }
      guard state.cancelled.remove(id) == nil, onFailure == .cancelOthers, !isSuccess else {
        return (doomed, [Call]())
      }
      state.cancelled.formUnion(state.calls.keys)
      return (doomed, Array(state.calls.values))
    }
    events.yield(.ended(id, end))
    for call in doomed { call.abort(QueueTable.failed(id)) }
    for call in cancelled { call.cancel() }
  }

  // MARK: Reports

  var status: RequestQueue.Progress { state.withLock { $0.tally.progress } }

  func call(_ id: RequestID, did event: RequestEvent) {
    events.yield(.request(id, event))
  }

  func call(_ id: RequestID, didMove progress: TransferProgress) {
    state.withLock { state in
      if state.calls[id] != nil { state.tally.move(progress, of: id) }
      deliverProgress(&state)
    }
  }

  /// Reports the progress under the lock, because otherwise an older value could overtake a newer one.
  ///
  /// Yielding only buffers, and runs no user code.
  private func deliverProgress(_ state: inout State) {
    if progress.isWatched, let news = state.tally.news() { progress.yield(news) }
  }

  func progressStream() -> AsyncStream<RequestQueue.Progress> {
    state.withLock { progress.stream(.bufferingNewest(1), first: [$0.tally.progress]) }
  }

  // MARK: Finishing

  func finish() async -> RequestQueue.Summary {
    state.withLock { $0.isFinishing = true }
    resume()
    await finished.wait { state.withLock { $0.table.count == 0 } }
    return status.summary
  }

  private func deliverFinish(_ last: RequestQueue.Progress) {
    events.finish(.finished(last.summary))
    progress.finish(last)
    finished.signal()
  }
}

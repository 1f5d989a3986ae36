import MartletBase
import Foundation

/// The state of a queue, which outlives the queue as long as any request is in it.
final class QueueCore: CallObserver {
  private struct State {
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
    var isTelling = false
    var isStarting = false
    /// The number of `cancelAll()` calls in progress, during which nothing is started.
    var cancelling = 0
    var events: [Int: AsyncStream<RequestQueue.Event>.Continuation] = [:]
    var progress: [Int: AsyncStream<RequestQueue.Progress>.Continuation] = [:]
    var nextWatcher = 0
  }

  let client: ClientCore
  private let onFailure: RequestQueue.FailurePolicy
  private let kind: RequestQueue.Progress.Kind
  private let finished = ChangeSignal()
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

  func add<Output: Sendable>(
    _ request: HTTPRequest, options: RequestOptions, priority: Int, after predecessors: [RequestID],
    endpoint: (any Endpoint.Type)? = nil, retryOf: RequestID? = nil,
    work: @escaping @Sendable (Call) async throws -> Output
  ) -> RequestHandle<Output> {
    let result = SharedResult<Output>()
    let again: @Sendable (RequestID?) -> RequestHandle<Output> = { [self] id in
      add(
        request, options: options, priority: priority, after: predecessors, endpoint: endpoint, retryOf: id, work: work)
    }
    let call: Call
    do {
      call = try client.begin(
        request, options: options, endpoint: endpoint, retryOf: retryOf, isManaged: true, isHeld: true, observer: self)
    } catch {
      result.resolve(.failure(error))
      return RequestHandle(refused: request, error, retryOf: retryOf, result, again)
    }
    call.abortSource.onAbort { result.resolve(.failure($0)) }
    let measure = kind == .accurate && call.request.method == .get ? enqueueMeasure(call, options) : nil
    enqueue(call, priority: priority, after: predecessors + [measure].compactMap { $0 }) { [client] in
      if call.launch() { client.run(call, result, { $0 }, work) }
    }
    return RequestHandle(call, result, again)
  }

  private func enqueue(
    _ call: Call, priority: Int, after predecessors: [RequestID], _ launch: @escaping @Sendable () -> Void
  ) {
    let problem: HTTPError? = state.withLock { state in
      guard !state.isFinishing else { return HTTPError(.queue, "the queue is finished and takes no new requests") }
      do throws(QueueTable.Problem) {
        try state.table.add(call.id, host: call.host, priority: priority, after: predecessors)
      } catch {
        return error.error
      }
      state.launches[call.id] = launch
      state.calls[call.id] = call
      state.tally.add()
      return nil
    }
    // An end that has already happened is reported, too.
    if let problem { call.abort(problem) } else { call.onSettled { [self] in ended(call) } }
    tellProgress()
    startReady()
  }

  func add(_ predecessor: RequestID, before id: RequestID) throws -> Bool {
    do throws(QueueTable.Problem) {
      return try state.withLock { state throws(QueueTable.Problem) in try state.table.add(predecessor, before: id) }
    } catch {
      throw error.error
    }
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
      guard !state.isFinishing, (try? state.table.add(id, host: call.host, priority: .max, after: [])) != nil else {
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
    tellProgress()
    startReady()
    tellFinish()
  }

  // MARK: Running

  func pause() { state.withLock { $0.isPaused = true } }

  func resume() {
    state.withLock { $0.isPaused = false }
    startReady()
  }

  /// Lets the remaining requests run, because a released queue cannot be resumed.
  func release() {
    state.withLock { $0.isReleased = true }
    resume()
    tellFinish()
  }

  /// Starts all requests that may start; not recursively, because any number may be refused at once.
  private func startReady() {
    let isFirst = state.withLock { state in
      defer { state.isStarting = true }
      return !state.isStarting
    }
    guard isFirst else { return }
    while let launch = nextLaunch() { launch() }
  }

  private func nextLaunch() -> (@Sendable () -> Void)? {
    state.withLock { state in
      while !state.isPaused, state.cancelling == 0, let id = state.table.start() {
        if let launch = state.launches.removeValue(forKey: id) { return launch }
      }
      state.isStarting = false
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
    let count = calls.sorted { $0.id > $1.id }.count { $0.cancel() }
    state.withLock { $0.cancelling -= 1 }
    startReady()
    return count
  }

  // MARK: Ends

  private func ended(_ call: Call) {
    guard case .ended(let end) = call.stage else { return }
    let isFirst = state.withLock { state in
      state.ends.append((call.id, end))
      defer { state.isTelling = true }
      return !state.isTelling
    }
    // Not recursively: a chain of thousands of requests would need thousands of stack frames.
    guard isFirst else { return }
    while let (id, end) = nextEnd() { tell(id, end) }
  }

  private func nextEnd() -> (RequestID, RequestEvent.End)? {
    state.withLock { state in
      let next = state.ends.popFirst()
      state.isTelling = next != nil
      return next
    }
  }

  private func tell(_ id: RequestID, _ end: RequestEvent.End) {
    let isSuccess = if case .succeeded = end { true } else { false }
    let (streams, doomed, cancelled) = state.withLock { state in
      let successors = state.table.end(id, succeeded: isSuccess)
      let doomed = successors.compactMap { state.calls[$0] }
      state.launches[id] = nil
      if state.calls.removeValue(forKey: id) != nil { state.tally.end(id, end) }
      guard state.cancelled.remove(id) == nil, onFailure == .cancelOthers, !isSuccess else {
        return (Array(state.events.values), doomed, [Call]())
      }
      state.cancelled.formUnion(state.calls.keys)
      return (Array(state.events.values), doomed, Array(state.calls.values))
    }
    for stream in streams { stream.yield(.ended(id, end)) }
    for call in doomed { call.abort(QueueTable.Problem.failed(id).error) }
    for call in cancelled { call.cancel() }
    tellProgress()
    startReady()
    tellFinish()
  }

  // MARK: What is told

  var status: RequestQueue.Progress { state.withLock { $0.tally.progress } }

  func call(_ id: RequestID, did event: RequestEvent) {
    let streams = state.withLock { Array($0.events.values) }
    for stream in streams { stream.yield(.request(id, event)) }
  }

  func call(_ id: RequestID, didMove progress: TransferProgress) {
    state.withLock { if $0.calls[id] != nil { $0.tally.move(progress, of: id) } }
    tellProgress()
  }

  private func tellProgress() {
    // Under the lock, so that no older value overtakes a newer one; yielding only buffers, and runs no user code.
    state.withLock { state in
      guard !state.progress.isEmpty, let progress = state.tally.news() else { return }
      for stream in state.progress.values { stream.yield(progress) }
    }
  }

  func events() -> AsyncStream<RequestQueue.Event> { stream(\.events, .bufferingNewest(4096)) { _ in nil } }

  func progress() -> AsyncStream<RequestQueue.Progress> {
    stream(\.progress, .bufferingNewest(1)) { $0.tally.progress }
  }

  /// Creates a stream of later elements, until the queue is finished.
  private func stream<Element: Sendable>(
    _ watchers: any WritableKeyPath<State, [Int: AsyncStream<Element>.Continuation]> & Sendable,
    _ policy: AsyncStream<Element>.Continuation.BufferingPolicy, first: @Sendable (State) -> Element?
  ) -> AsyncStream<Element> {
    AsyncStream(bufferingPolicy: policy) { continuation in
      let id: Int? = state.withLock { state in
        if let element = first(state) { continuation.yield(element) }
        guard !(state.isFinishing && state.table.count == 0) else { return nil }
        state.nextWatcher += 1
        state[keyPath: watchers][state.nextWatcher] = continuation
        return state.nextWatcher
      }
      guard let id else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        let removed = self?.state.withLock { $0[keyPath: watchers].removeValue(forKey: id) }
        _ = removed
      }
    }
  }

  // MARK: Finishing

  func finish() async -> RequestQueue.Summary {
    state.withLock { $0.isFinishing = true }
    resume()
    tellFinish()
    await finished.wait { state.withLock { $0.table.count == 0 } }
    return status.summary
  }

  private func tellFinish() {
    typealias Ends = (
      [AsyncStream<RequestQueue.Event>.Continuation], [AsyncStream<RequestQueue.Progress>.Continuation],
      RequestQueue.Progress
    )
    let ends: Ends? = state.withLock { state in
      guard state.isFinishing || state.isReleased, state.table.count == 0 else { return nil }
      defer { (state.events, state.progress) = ([:], [:]) }
      return (Array(state.events.values), Array(state.progress.values), state.tally.progress)
    }
    guard let (events, progress, last) = ends else { return }
    for stream in events {
      stream.yield(.finished(last.summary))
      stream.finish()
    }
    for stream in progress {
      stream.yield(last)
      stream.finish()
    }
    finished.signal()
  }
}

import MartletBase
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One task of the session, from its start to its end.
///
/// ```
///   head ──response──▶ body ──complete──▶ ended ◀── abort, or the body was dropped: from anywhere
/// ```
///
/// Cancelling a task while the loader works on one of our answers crashes the loader of Linux. So the end from outside is:
/// set a flag; fail the reader at once; and cancel the task in an operation on the delegate's serial queue, where no
/// delegate method can be running. From the flag on no redirect is answered.
final class URLSessionExchange: BodyStream.Source {
  private enum Stage {
    case head
    case body(BodyStream)
    case ended
  }

  private struct State {
    var stage = Stage.head
    var task: URLSessionTask?
    /// The response whose delivery is still due.
    var held: HTTPURLResponse?
    var expectedBytes: Int64?
    var hasMoved = false
    var isCancelled = false
    var isChallenged = false
    var token: Int?
  }

  /// How much may wait for a reader that streams: this loader cannot be slowed down.
  static let maximumUnreadBytes = 64 << 20

  let wire: URLSessionWire
  let head = OneShot<StreamedResponse>()
  private let context: RequestContext
  private let slot: ConnectionSlot
  private let queue: OperationQueue
  private let state = Locked(State())

  init(_ wire: URLSessionWire, _ context: RequestContext, slot: ConnectionSlot, queue: OperationQueue) {
    self.wire = wire
    self.context = context
    self.slot = slot
    self.queue = queue
  }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  // MARK: Start and end from outside

  /// To be called before the start, so that the end of the task finds what has to be taken back.
  func watchForAbort() {
    let token = context.exchange.abortSource.onAbort { self.cancel($0) }
    state.withLock { $0.token = token }
  }

  /// Starts the task; runs on the delegate's queue.
  func start(in session: @autoclosure () -> URLSession, _ bridge: URLSessionBridge) {
    guard !isCancelled else { return }
    let task = session().dataTask(with: wire.urlRequest())
    bridge.add(self, for: task)
    // A cancellation from now on comes after this operation.
    state.withLock { $0.task = task }
    task.resume()
  }

  /// Ends it from outside: with a reason, or because nobody reads it any more.
  private func cancel(_ error: (any Error)? = nil) {
    guard let stage = end(cancelling: true) else { return }
    let cancellation = BlockOperation { [self] in
      state.withLock { $0.task }?.cancel()
      slot.release()
    }
    // Before what a fast server has piled up there. If this overtakes the start, the start sees the flag.
    cancellation.queuePriority = .veryHigh
    queue.addOperation(cancellation)
    guard let error else { return }
    head.resolve(.failure(error))
    if case .body(let stream) = stage { stream.abort(error) }
  }

  /// This loader cannot be slowed down.
  func readerHasRoom() {}

  func readerHasLeft() { cancel() }

  /// Goes to the last stage; returns the stage before, or `nil` if the end had come already.
  private func end(cancelling: Bool = false) -> Stage? {
    let (stage, token): (Stage?, Int?) = state.withLock { state in
      if case .ended = state.stage { return (nil, nil) }
      defer {
        state.stage = .ended
        state.isCancelled = cancelling
        state.token = nil
      }
      return (state.stage, state.token)
    }
    if let token { context.exchange.abortSource.remove(token) }
    return stage
  }

  // MARK: What the delegate hears

  func received(_ response: HTTPURLResponse) {
    guard response.statusCode >= 200 else { return receivedInformation() }
    let (isLate, isDue): (Bool, Bool) = state.withLock {
      $0.hasMoved = true
      switch $0.stage {
      case .ended: return (false, false)
      case .body: return (true, false)
      case .head:
        $0.held = response
        return (false, !wire.mayMeetProxyResponse)
      }
    }
    if isLate { return cancel(HTTPError(.protocolViolation, "a second response came in the middle of the first")) }
    if isDue { deliverHead() }
  }

  /// A 1xx response: the request has arrived, and the wait goes on.
  private func receivedInformation() {
    state.withLock { $0.hasMoved = true }
    let control = context.exchange
    if control.phase == .connecting { control.enter(.waiting) } else { control.didReceive(0, of: nil) }
  }

  func received(_ data: Data) {
    deliverHead()
    let (stage, expected) = state.withLock { ($0.stage, $0.expectedBytes) }
    guard case .body(let stream) = stage, !data.isEmpty else { return }
    context.didReceive(data.count, of: expected)
    guard let unread = stream.append(data), unread > Self.maximumUnreadBytes else { return }
    // A reader that wants the whole body has a limit of its own, and may just not have begun.
    guard stream.isStreamed || unread > context.call.options.maximumBodyBytes else { return }
    cancel(
      HTTPError(
        .unsupported, "the reader is too slow for a loader without backpressure: \(unread) bytes wait for it",
        phase: .receiving))
  }

  func sent(_ bytes: Int) { context.didSend(bytes, of: wire.upload?.length) }

  func challenged() { state.withLock { $0.isChallenged = true } }

  /// The end of the task; `last` is the last response that the task has, even if no other method told of it.
  func completed(_ error: (any Error)?, last: HTTPURLResponse?) {
    let isChallenged = state.withLock { $0.isChallenged }
    let isRefusedChallenge = isChallenged && (error as? URLError)?.code == .cancelled
    if error == nil || isRefusedChallenge {
      // A redirect without a usable target is only found here.
      if let last, last.statusCode >= 200 { state.withLock { $0.held = $0.held ?? last } }
      deliverHead()
      finish(nil)
    } else {
      finish(error)
    }
  }

  private func finish(_ error: (any Error)?) {
    guard let stage = end() else { return }
    slot.release()
    switch stage {
    case .ended: break
    case .body(let stream): stream.finish(throwing: error.map { failure($0, hasHead: true) })
    case .head:
      let none = HTTPError(.protocolViolation, "the server sent no response", phase: .waiting)
      head.resolve(.failure(error.map { failure($0, hasHead: false) } ?? none))
    }
  }

  private func failure(_ error: any Error, hasHead: Bool) -> HTTPError {
    let hasMoved = state.withLock { $0.hasMoved }
    return URLSessionErrors.map(
      error, phase: context.exchange.phase, hasHead: hasHead, hasMoved: hasMoved, upload: wire.upload?.problem)
  }

  /// Hands over the response that is held back, if there is one.
  private func deliverHead() {
    let response: HTTPURLResponse? = state.withLock { state in
      guard case .head = state.stage else { return nil }
      defer { state.held = nil }
      return state.held
    }
    guard let response else { return }
    context.exchange.didReceiveStatus(HTTPStatus(rawValue: response.statusCode))
    let (headers, length, wasCoded) = ResponseFields.convert(response, method: wire.method)
    let stream = BodyStream(expecting: Int(clamping: length ?? 0), from: self)
    let isDelivered = state.withLock { state in
      guard case .head = state.stage else { return false }
      state.stage = .body(stream)
      // What comes is decoded, and its length is not known.
      state.expectedBytes = wasCoded ? nil : length
      return true
    }
    guard isDelivered else { return }
    var answer = StreamedResponse(
      status: HTTPStatus(rawValue: response.statusCode), headers: headers, body: ResponseBody(stream),
      request: wire.request)
    answer.wasCompressed = wasCoded
    head.resolve(.success(answer))
  }
}

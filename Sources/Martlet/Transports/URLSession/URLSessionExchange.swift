#if canImport(Darwin) || URLSession
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
  /// Cancelling a task while the loader processes one of our completion handlers crashes the loader of Linux. So
  /// cancellation from outside needs three steps: set a flag, fail the reader at once, and cancel the task in an
  /// operation on the delegate's serial queue, where no delegate method can be running. Once the flag is set, redirects
  /// are not followed.
  final class URLSessionExchange: BodyStream.Source {
    private enum Stage {
      case head
      case body(BodyStream)
      case ended
    }

    private struct State: ~Copyable {
      var stage = Stage.head
      var task: URLSessionTask?
      /// The response that is not delivered yet.
      var held: HTTPURLResponse?
      var expectedBytes: Int64?
      var hasMoved = false
      var isCancelled = false
      var isChallenged = false
      var token: Int?
    }

    /// The maximum number of unread bytes of a streamed body; this loader has no backpressure.
    static let maximumUnreadBytes = 64 << 20

    let wire: URLSessionWire
    let head = Promise<StreamedResponse>()
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

    /// Registers for an abort of the exchange.
    ///
    /// Call it before the start, so the end of the task finds the token.
    func watchForAbort() {
      let token = context.exchange.abortSource.onAbort { self.cancel($0) }
      state.withLock { $0.token = token }
    }

    /// Starts the task; runs on the delegate's queue.
    func start(in session: @autoclosure () -> URLSession, _ bridge: URLSessionBridge) {
      guard !isCancelled else { return }
      let task = session().dataTask(with: wire.urlRequest())
      bridge.add(self, for: task)
      // A later cancellation comes after this operation.
      state.withLock { $0.task = task }
      task.resume()
    }

    /// Ends the exchange from outside, with a reason or because its reader has left.
    private func cancel(_ error: (any Error)? = nil) {
      guard let stage = end(cancelling: true) else { return }
      let cancellation = BlockOperation { [self] in
        state.withLock { $0.task }?.cancel()
        slot.release()
      }
      // This must come before the delegate calls that a fast server has caused. If it overtakes the start, the start
      // finds the flag.
      cancellation.queuePriority = .veryHigh
      queue.addOperation(cancellation)
      guard let error else { return }
      head.resolve(.failure(error))
      if case .body(let stream) = stage { stream.abort(error) }
    }

    /// Does nothing, because this loader has no backpressure.
    func readerHasRoom() {}

    func readerDidCancel() { cancel() }

    /// Enters the last stage; returns the previous one, or `nil` if it had ended before.
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

    // MARK: Delegate events

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
      if isLate { return cancel(HTTPError(.protocolViolation, "a second response arrived in the middle of the first")) }
      if isDue { deliverHead() }
    }

    /// Records a 1xx response: the request has arrived, and the wait continues.
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
      // A reader of the whole body has its own limit, and may not have begun yet.
      guard stream.isStreamed || unread > context.call.options.maximumBodyBytes else { return }
      cancel(
        HTTPError(
          .unsupported, "the reader is too slow for a loader without backpressure: \(unread) bytes are waiting",
          phase: .receiving))
    }

    func sent(_ bytes: Int) { context.didSend(bytes, of: wire.upload?.length) }

    func challenged() { state.withLock { $0.isChallenged = true } }

    /// Ends the exchange with the task.
    ///
    /// `last` is the task's last response, even if no delegate method reported it.
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

    /// Delivers the held response, if there is one.
    private func deliverHead() {
      let response: HTTPURLResponse? = state.withLock { state in
        guard case .head = state.stage else { return nil }
        return state.held.take()
      }
      guard let response else { return }
      context.exchange.didReceiveStatus(HTTPStatus(rawValue: response.statusCode))
      let (headers, length, wasCoded) = ResponseFields.convert(response, method: wire.method)
      let stream = BodyStream(expecting: Int(clamping: length ?? 0), from: self)
      let isDelivered = state.withLock { state in
        guard case .head = state.stage else { return false }
        state.stage = .body(stream)
        // The bytes are decoded, and their number is unknown.
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
#endif

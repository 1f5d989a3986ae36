#if canImport(Darwin) || URLSession
  import MartletBase
  import Foundation

  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// One task of the session, from its start to its end.
  ///
  /// ```
  ///   head ──response──▶ body ────complete──▶ ended ◀── abort, or the body was dropped: from anywhere
  ///     └─────────101────▶ socket ──complete────▲
  /// ```
  ///
  /// Cancelling a task while the loader processes one of our completion handlers crashes the loader of Linux. So
  /// cancellation from outside needs three steps: set a flag, fail the reader at once, and cancel the task in an
  /// operation on the delegate's serial queue, where no delegate method can be running. Once the flag is set, redirects
  /// are not followed.
  ///
  /// Tasks are suspended and resumed on that queue as well, so these calls are in order.
  final class URLSessionExchange: BodyStream.Source, MessageConnection.Owner {
    private enum Stage {
      case head
      case body(BodyStream)
      case socket(MessageConnection)
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
      var suspension = TaskSuspension()
      var token: Int?
    }

    /// The maximum number of unread bytes of a streamed body, if suspending the task does not stop the bytes.
    static let maximumUnreadBytes = 64 << 20

    let wire: URLSessionWire
    let head = Promise<StreamedResponse>()
    private let context: RequestContext
    private let slot: ConnectionSlot
    private let queue: OperationQueue
    /// Whether a slow reader suspends the task.
    private let suspends: Bool
    /// The facts that the session reports with the end of the task; `nil` if it reports none.
    private let measurement: LateMeasurement?
    private let state = Locked(State())

    init(
      _ wire: URLSessionWire, _ context: RequestContext, slot: ConnectionSlot, queue: OperationQueue,
      suspends: Bool = URLSessionLoader.isFoundationDarwins
    ) {
      self.suspends = suspends
      measurement = URLSessionLoader.isFoundationDarwins ? LateMeasurement() : nil
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
    func start(in opened: @autoclosure () throws -> RoutedSession) rethrows {
      guard !isCancelled else { return }
      let opened = try opened()
      let task = task(in: opened.session)
      opened.bridge.add(self, for: task)
      // A later cancellation comes after this operation.
      state.withLock { $0.task = task }
      task.resume()
    }

    private func task(in session: URLSession) -> URLSessionTask {
      guard let messages = wire.messages else { return session.dataTask(with: wire.urlRequest()) }
      let task = session.webSocketTask(with: wire.urlRequest())
      // The session fails at this size; the reader of the frames checks the limit itself.
      task.maximumMessageSize = min(messages.maximumMessageBytes, .max - 1) + 1
      return task
    }

    /// Ends the exchange from outside, with a reason or because its reader has left.
    private func cancel(_ error: (any Error)? = nil) {
      guard let stage = end(cancelling: true) else { return }
      let cancellation = BlockOperation { [self] in
        state.withLock { $0.task }?.endExchange()
        slot.release()
      }
      // This must come before the delegate calls that a fast server has caused. If it overtakes the start, the start
      // finds the flag.
      cancellation.queuePriority = .veryHigh
      queue.addOperation(cancellation)
      if case .socket(let connection) = stage { connection.abort(error ?? CancellationError()) }
      guard let error else { return }
      head.resolve(.failure(error))
      if case .body(let stream) = stage { stream.abort(error) }
    }

    /// Ends the exchange with an error, such as a refusal to trust its server.
    func refuse(_ error: any Error) { cancel(error) }

    func readerDidCancel() { cancel() }

    // MARK: Backpressure

    /// Suspends the task if too many bytes are unread; runs on the delegate's queue.
    private func suspend(unread: Int) {
      let task: URLSessionTask? = state.withLock { state in
        guard case .body = state.stage, state.suspension.mustSuspend(unread: unread) else { return nil }
        return state.task
      }
      guard let task else { return }
      task.suspend()
      // The server's silence is now the reader's.
      context.exchange.setPaused(true)
      readerHasRoom()
    }

    func readerHasRoom() {
      guard suspends else { return }
      let stream: BodyStream? = state.withLock { state in
        guard state.suspension.stage == .suspended, case .body(let stream) = state.stage else { return nil }
        return stream
      }
      guard let stream else { return }
      let unread = stream.unreadCount
      guard state.withLock({ $0.suspension.mustResume(unread: unread) }) else { return }
      queue.addOperation { [self] in resume() }
    }

    private func resume() {
      let task: URLSessionTask? = state.withLock { state in
        state.suspension.resume()
        guard case .body = state.stage else { return nil }
        return state.task
      }
      guard let task else { return }
      context.exchange.setPaused(false)
      task.resume()
    }

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
        case .body, .socket: return (true, false)
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
      guard let unread = stream.append(data) else { return }
      if suspends { suspend(unread: unread) }
      guard unread > Self.maximumUnreadBytes else { return }
      // A reader of the whole body has its own limit, and may not have begun yet.
      guard stream.isStreamed || unread > context.call.options.maximumBodyBytes else { return }
      cancel(
        HTTPError(
          .unsupported, "the reader is too slow for a loader without backpressure: \(unread) bytes are waiting",
          phase: .receiving))
    }

    func received(byteCount: Int) { context.didReceive(byteCount) }

    func sent(_ bytes: Int) { context.didSend(bytes, of: wire.upload?.length) }

    /// Records that the task waits for a network, which only `waitsForConnectivity` allows.
    func waitsForConnectivity() { context.exchange.waitForConnectivity() }

    /// Records the facts that the session reports shortly before the end of the task.
    func measured(_ facts: ExchangeMeasurement) {
      measurement?.set(facts)
      context.exchange.didMeasure(facts)
    }

    func challenged() { state.withLock { $0.isChallenged = true } }

    /// Delivers the response that opens a WebSocket.
    func opened(_ task: URLSessionWebSocketTask, subprotocol: String?) {
      let response = task.response as? HTTPURLResponse
      // Foundation on Linux also reports other statuses here.
      guard let messages = wire.messages, (response?.statusCode ?? 101) == 101 else { return }
      var headers = response.map { ResponseFields.convert($0, method: .get).headers } ?? [:]
      // The session handles extensions, and has checked its own key.
      headers.remove("Sec-WebSocket-Extensions")
      headers.replace(with: messages.responseFields(wire.request, subprotocol))
      let connection = MessageConnection(WebSocketTask(task: task), messages, owner: self)
      let body = connection.open()
      let isFirst = state.withLock { state in
        guard case .head = state.stage else { return false }
        state.stage = .socket(connection)
        state.hasMoved = true
        return true
      }
      guard isFirst else { return connection.abort(CancellationError()) }
      // Like the engine's upgrades, an open WebSocket does not count as a connection to its host.
      slot.release()
      head.resolve(
        .success(
          StreamedResponse(headers: headers, body: ResponseBody(body), request: wire.request, writer: connection)))
      connection.receive()
    }

    func closed(_ closure: MessageUpgrade.Closure) {
      if case .socket(let connection) = state.withLock({ $0.stage }) { connection.closed(closure) }
    }

    /// Ends the exchange with the task.
    ///
    /// `last` is the task's last response, even if no delegate method reported it.
    func completed(_ error: (any Error)?, last: HTTPURLResponse?) {
      let isChallenged = state.withLock { $0.isChallenged }
      let isRefusedChallenge = isChallenged && (error as? URLError)?.code == .cancelled
      // A status other than 101 is an error of the task, which is still a response.
      let isRefusedUpgrade = wire.messages != nil && (last?.statusCode ?? 101) != 101
      if error == nil || isRefusedChallenge || isRefusedUpgrade {
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
      case .socket(let connection): connection.completed(error)
      case .body(let stream): stream.finish(throwing: error.map { failure($0, hasHead: true) })
      case .head:
        let none = HTTPError(.protocolViolation, "the server sent no response", phase: .waiting)
        head.resolve(.failure(error.map { failure($0, hasHead: false) } ?? none))
      }
    }

    func failure(for error: any Error) -> HTTPError { failure(error, hasHead: true) }

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
      answer.measurement = measurement
      head.resolve(.success(answer))
    }
  }
#endif

import CMartletShim
import MartletBase
import Synchronization

/// One exchange, from its start to its end.
///
/// Events go into its ``TransferStateMachine``, and the transfer performs the resulting actions.
///
/// `@unchecked Sendable`: state that is not constant, locked or atomic is used only under the loop's lock.
package final class CurlTransfer: CurlBody.Source, @unchecked Sendable {
  private typealias Answer = TransferResult<Result<CurlResponse, any Error>, Suspension<CurlResponse>, BodyStream>

  private struct State: ~Copyable {
    var answer = Answer()
    /// The token to return to the sink at the end.
    var token: Int?
  }

  package let job: CurlJob
  let isRoomAwaited = Atomic(false)
  /// The observer of the end of the transfer; set before the start.
  package var observer: (any CurlTransferObserver)?
  let slot: any CurlSlot
  /// The share in the load of its engine, if there are several engines.
  let share: LoadShare?
  package let route: CurlRoute?
  let sharing: ConnectionGroup
  /// Whether the transfer shares no HTTP/2 connection.
  let isExclusive: Bool
  package let upload: CurlUpload?
  let sink: any CurlSink
  let proxySink: (any CurlProxySink)?
  let throttle: CurlThrottle?
  let mailbox: CurlMailbox
  private let state = Locked(State())

  // Used under the loop's lock, which admits one thread at a time.
  var handle: CurlHandle?
  var life = TransferStateMachine()
  private var reader: ResponseHeadReader
  private var connectAnswer: CurlConnectAnswer?
  private var opened: CurlResponse?
  private(set) var body: CurlBody?
  /// Whether the transfer is in the loop's list of throttled transfers.
  var isListed = false
  /// The number of bytes received in this turn of the loop.
  private(set) var unreported = 0
  /// The raw form of a chunked body whose end must be found.
  var chunks: RawChunks?
  var overhead: OverheadMeter?
  /// The current request of a connection-based authentication.
  var round: AuthenticationRound?
  /// Whether libcurl has chosen an unusable connection.
  ///
  /// It is an HTTP/1 connection that another transfer uses, or one with unexpected bytes or an end.
  var isMisplaced = false
  /// Whether libcurl has chosen a connection that is too old.
  var isOutdated = false
  /// How often libcurl has done so.
  var outdatedCount = 0
  /// The number of bytes that were in the socket when sending last failed.
  var unread: CInt = .max
  /// How often sending has failed since libcurl last received.
  var vainSends = 0
  /// Whether the connection was reset without libcurl's knowledge.
  var isReset = false
  /// The number of the end of TLS that must precede the end of the body; 0 if irrelevant.
  private var endOfTLS: UInt = 0
  var addresses = CurlAddressCheck()

  package init(
    _ job: CurlJob, _ upload: CurlUpload?, _ route: CurlRoute?, _ sink: any CurlSink,
    _ proxySink: (any CurlProxySink)?, _ sharing: ConnectionGroup, isExclusive: Bool, slot: any CurlSlot,
    throttle: CurlThrottle?, mailbox: CurlMailbox, share: LoadShare?
  ) {
    self.job = job
    reader = ResponseHeadReader(awaitsUpgrade: job.isUpgrade, reportsInterim: sink.observesInterim)
    life.begin(isUpgrade: job.isUpgrade)
    self.upload = upload
    self.route = route
    self.sink = sink
    self.proxySink = proxySink
    self.sharing = sharing
    self.isExclusive = isExclusive
    self.slot = slot
    self.share = share
    self.mailbox = mailbox
    self.throttle = throttle
    upload?.attach(
      onBytes: { [weak self, isUpgrade = job.isUpgrade] in
        guard let self else { return }
        if isUpgrade { mailbox.write(for: self) } else { mailbox.post(.fed(self)) }
      },
      onFailure: { [weak self] in self?.uploadFailed($0) },
      onReceive: { [weak self] in self.map { mailbox.receive(for: $0) } ?? false })
  }

  package var isAnswered: Bool { state.withLock { $0.answer.isAnswered } }

  var isEnded: Bool { state.withLock { $0.answer.isEnded } }

  /// The number of remaining body bytes, if they arrive as fast as the network allows.
  var rest: Int64? { life.isAlone && throttle == nil ? life.expected.map { $0 - life.received } : nil }

  // MARK: From outside

  /// Registers for an abort of the exchange.
  ///
  /// Call it before the start, so the end of the transfer finds the token.
  package func watchForAbort() {
    let token = sink.onAbort { self.cancel($0) }
    state.withLock { $0.token = token }
  }

  package func start() { if !mailbox.post(.start(self)) { refuse() } }

  /// Ends the transfer, with a reason or because its reader has left.
  package func cancel(_ error: (any Error)? = nil) {
    guard let stage = end() else { return }
    if let error {
      answer(.failure(error))
      if case .body(let stream) = stage { stream.abort(error) }
    }
    // Without a loop, there is nothing to remove the transfer from.
    if !mailbox.post(.cancel(self)) { release() }
  }

  /// Fails the transfer because of an error of its body source or of the engine.
  private func uploadFailed(_ error: any Error) {
    cancel((error as? CurlFailure).map { sink.error(for: $0, of: self) } ?? error)
  }

  package func readerHasRoom() {
    if isRoomAwaited.exchange(false, ordering: .sequentiallyConsistent) { mailbox.post(.drained(self)) }
  }

  package func readerDidCancel() { cancel() }

  /// Fails the transfer, because no loop or handle is available, or because the process is exiting.
  func refuse() {
    release()
    fail(.unavailable)
  }

  /// Releases the transfer after the loop has finished with it, or never began.
  ///
  /// May be called more than once.
  func release() {
    slot.release()
    share?.end()
    observer?.transferIsOver(self)
  }

  /// Enters the last stage; returns the previous one, or `nil` if it had ended before.
  private func end() -> Answer.Stage? {
    let (stage, token): (Answer.Stage?, Int?) = state.withLock { state in
      guard let stage = state.answer.end() else { return (nil, nil) }
      defer { state.token = nil }
      return (stage, state.token)
    }
    if let token { sink.forgetAbort(token) }
    if stage != nil { upload?.stop() }
    return stage
  }

  private func fail(_ failure: CurlFailure) {
    guard let stage = end() else { return }
    let error = sink.error(for: failure, of: self)
    switch stage {
    case .body(let stream): stream.finish(throwing: error)
    case .head, .ended: answer(.failure(error))
    }
  }

  // MARK: The result

  /// The head of the response, once it has arrived; call it once.
  package func value() async throws -> CurlResponse {
    try await suspend { caller in
      state.withLock { $0.answer.ask(caller) }.map { caller.resume(with: $0) }
    }
  }

  /// Gives the result, a response or an error, to the caller; later ones are ignored.
  private func answer(_ answer: Result<CurlResponse, any Error>) {
    state.withLock { $0.answer.give(answer) }?.resume(with: answer)
  }

  // MARK: The request

  /// Records that the request is about to be sent; returns `false` if it must not be.
  func willSend() -> Bool {
    let (isAllowed, isNextStep) = life.willSend()
    guard isAllowed else { return false }
    if isNextStep {
      reader = ResponseHeadReader(awaitsUpgrade: job.isUpgrade, reportsInterim: sink.observesInterim)
      forgetChunks()
    }
    upload?.willBeAsked()
    proxySink?.connected()
    sink.reached(job.hasBody && !job.isUpgrade ? .sending : .waiting)
    return true
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> CurlUpload.Piece {
    guard let upload else { return .bytes(0) }
    if handle?.isLeaving == true { return .wait }
    var buffer = buffer
    if life.upgrade == .awaited, upload.bodyRest > 0 {
      buffer = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(upload.bodyRest))
    } else if job.isUpgrade, let reply = life.upgradeReply() {
      return reply ? .wait : .bytes(0)
    }
    // HTTP/1: a wait stops the upload without ending it. HTTP/2: the stream may end, because that leaves its connection
    // intact.
    if life.isUploadStopped { return life.isAlone || holdsEnd() ? .wait : .bytes(0) }
    upload.recordAnswer()
    guard let buffer = fitting(buffer).flatMap({ limited($0) }) else { return .wait }
    if upload.mayEnd(within: buffer.count), holdsEnd() { return .wait }
    let piece = upload.read(into: buffer)
    switch piece {
    case .bytes(0):
      sink.didSendAll()
      if job.isUpgrade { handle?.loop.halfClosing.append(self) }
    case .bytes(let count):
      throttle?.sent(count)
      sink.didSend(count, of: upload.length)
    case .wait: if job.isUpgrade { life.wait(for: .bytes) } else { wait(for: .bytes) }
    case .failed(let failure): life.record(failure)
    }
    return piece
  }

  /// Whether libcurl can begin; if not, check again after ``fed()``.
  ///
  /// Without a body libcurl requests no bytes, so a stream that must be empty is read beforehand.
  func isReady() -> Bool {
    guard let upload, !job.hasBody else { return true }
    let isHeld = !upload.isKnownToBeEmpty()
    if life.hold(isHeld) {
      sink.reached(isHeld ? .sending : .connecting)
      sink.setPaused(isHeld)
    }
    return !isHeld
  }

  // MARK: The response

  func receivedLine(_ line: UnsafeBufferPointer<UInt8>, _ handle: CurlHandle) -> Bool {
    // The request has not been sent yet, so this is a proxy's response.
    if let route, route.proxy != nil, life.sends.count == 0 {
      connectAnswer = connectAnswer ?? CurlConnectAnswer()
      return connectAnswer?.read(line, handle, route, proxySink) ?? false
    }
    round?.headBytes += Int64(line.count)
    do {
      switch try reader.read(line) {
      case .more: break
      case .interim(let head):
        sink.didReceive(0, of: nil)
        if let head { sink.didReceiveInterim(head.status, head.fields) }
      case .final(let head):
        let arrival = ReceivedHead(head: head, connection: handle.connection, timing: handle.timing)
        handle.watchLeftovers(of: head, to: job.method)
        if head.framing.hasTransferCoding, head.mayHaveBody(to: job.method) {
          watchChunks(handle, needsEnd: head.framing.lengthCount > 0 || CurlLibrary.misreadsChunkSizes)
        }
        if life.hasHead(arrival, isInHandshake: route?.handshake != nil) {
          try open(arrival)
          handle.loop.hasHead(self)
        } else if life.holdsUpload {
          // If this is the last response, libcurl would wait for bytes before it ends.
          mailbox.post(.fed(self))
        }
      }
      return true
    } catch {
      violate(error)
      return false
    }
  }

  private func open(_ arrival: ReceivedHead) throws(ResponseHeadReader.Problem) {
    let head = arrival.head
    let isHTTP1 = head.version.utf8.starts(with: "1.".utf8)
    let isHTTP3 = route?.version == .http3 && head.version == "3"
    guard isHTTP1 || handle?.isMultiplexed != false || isHTTP3 else {
      throw ResponseHeadReader.Problem(message: "the status line has version \(head.version) on an HTTP/1.1 connection")
    }
    var decoder: ContentDecoder?
    var end = TransferStateMachine.BodyEnd.length(0)
    if try life.changesProtocol(head) {
      end = .connection
    } else if head.mayHaveBody(to: job.method) {
      end = try head.bodyEnd(isHTTP1: isHTTP1)
      // A part of an encoded body cannot be decoded.
      if head.status != 206, job.isDecoded, head.framing.hasContentCoding {
        let codings = head.fields.values(of: "Content-Encoding").flatMap { FieldSyntax.listMembers(of: $0) }
        decoder = try ContentDecoder(codings)
      }
    }
    if end == .connection, let handle { endOfTLS = handle.watchEnd() }
    if head.framing.hasTransferCoding {
      // With two lengths, or a coding that HTTP/1.0 lacks, the end of the body is uncertain (RFC 9112 §6.1, §6.3).
      if head.framing.lengthCount > 0 || head.version == "1.0" { handle?.closeConnection() }
      if overhead == nil { handle?.loop.metered += 1 }
      overhead = OverheadMeter()
    }
    life.open(end, isAlone: isHTTP1)
    if isHTTP1, let time = head.framing.idleTime { handle?.resting?.idleTime = time }
    handle?.recordConnection()
    sink.didReceiveHead(head.status, arrival.timing)
    let body = CurlBody(
      expected: life.expected, decoder: decoder, isCollected: !job.isStreamed, isHeld: job.isUpgrade, source: self)
    // The transfer has ended in the meantime; the loop will be notified.
    guard state.withLock({ $0.answer.open(body.stream) }) else { return }
    self.body = body
    opened = CurlResponse(
      arrival, body.stream, isDecoded: decoder != nil, writer: life.upgrade == .upgraded ? upload : nil)
    if job.isUpgrade { endAwaitingUpgrade() } else { stopUpload(head.status) }
    if head.status == 417, job.expectsContinue, upload?.isAtStart == true { life.refuseExpectation() }
    recordLength()
  }

  func deliverHead() {
    if let opened = opened.take() { answer(.success(opened)) }
  }

  /// Reports the bytes of this turn of the loop.
  func endTurn(isLast: Bool = false) {
    guard unreported > 0 || isLast else { return }
    if unreported > 0 { sink.didReceive(unreported, of: life.expected) }
    let isFast = unreported >= Self.fastTurn
    unreported = 0
    guard let body, body.isUnflushed else { return }
    // Waking the reader costs more than anything else here, and fast bytes are likely to continue. But a message of
    // another protocol may end with them.
    let mayWait = isFast && !isLast && body.isGathering && !job.isUpgrade
    if mayWait, let loop = handle?.loop { loop.flushLater(self) } else { body.flush() }
  }

  func flush() { if let body, body.isUnflushed { body.flush() } }

  func receivedBody(_ bytes: UnsafeRawBufferPointer) -> CurlBody.Reply {
    do {
      if handle?.isLeaving == true { return .stop }
      if let arrival = life.takeUndecided() {
        try open(arrival)
        handle?.loop.hasHead(self)
      }
      guard let body, life.problem == nil else { return .stop }
      guard mayReceive() else { return .wait }
      let reply = try body.take(bytes)
      switch reply {
      case .taken:
        throttle?.received(bytes.count)
        life.receive(bytes.count)
        recordLength()
        if unreported == 0 { handle?.loop.hasBytes(self) }
        unreported += bytes.count
        if !life.isAlone, throttle != nil || unreported >= fullBuffer { handle?.loop.holdsMore(self) }
      case .wait: wait(for: .reader)
      case .stop: break
      }
      return reply
    } catch {
      violate(error)
      return .stop
    }
  }

  func violate(_ problem: ResponseHeadReader.Problem) {
    life.record(.violation(problem.message, hasHead: body != nil))
  }

  /// Continues after the reader has taken the available bytes; returns whether libcurl has to continue.
  func drained() -> Bool {
    guard let body, !isEnded else {
      life.readerDidCancel()
      return false
    }
    switch life.drained(Result { () throws(ResponseHeadReader.Problem) in try body.resume() }) {
    case .nothing: break
    case .libcurlGoesOn:
      waitsHaveChanged()
      return true
    case .ends: finish(body)
    case .fails(let problem):
      fail(problem)
      mailbox.post(.cancel(self))
    }
    return false
  }

  // MARK: The end

  /// Completes the transfer; returns whether bytes are still waiting for the reader.
  func completed(_ ending: TransferCompletion) -> Bool {
    share?.end()
    if job.isPreconnect, ending.code == 0, life.sends.count > 0 {
      if end() != nil { answer(.failure(ConnectionIsOpen(isShared: !life.isAlone))) }
      return false
    }
    endTurn(isLast: true)
    let seen = TransferStateMachine.CompletionFacts(
      isTLSCut: endOfTLS != 0 && !martlet_tls_has_ended(endOfTLS), isCutOff: ending.isCutOff,
      isReset: isReset, isPending: body?.isPending == true,
      chunksHaveEnded: chunks?.decisiveEnd,
      lacksLastChunk: chunks.map { $0.needsEnd && !$0.end.hasEnded } ?? false)
    switch life.completed(ending.code, seen) {
    case .challenge(let arrival): decide(arrival)
    case .withoutRest: if end() != nil { body?.stream.finish() }
    case .fails(let problem):
      fail(problem ?? (life.sends.count == 0 ? addresses.failure : nil) ?? .ended(withFacts(ending)))
    case .ends: if let body { finish(body) }
    case .lingers:
      sink.setPaused(true)
      // The reader may have made room in the meantime, and then waits.
      _ = drained()
    }
    return life.isLingering
  }

  /// Adds the transfer's own facts to those of libcurl's result.
  private func withFacts(_ ending: TransferCompletion) -> TransferCompletion {
    var ending = ending
    ending.hasConnected = life.sends.count > 0
    ending.hasMoved = reader.hasBytes
    ending.hasHead = body != nil
    ending.wasRepeated = !ending.hasMoved && life.sends.wasRepeated(ending.code)
    ending.wasRefused = life.sends.wasRefused
    ending.wantsHTTP11 = life.sends.wantsHTTP11
    ending.gotHTTP1 = life.sends.gotHTTP1 && !ending.hasMoved && !hasPriorKnowledge
    ending.isUnprocessed = !ending.hasMoved && ending.isUnprocessed
    ending.isUnsent = !ending.hasMoved && ending.isUnsent
    ending.hasProxyAnswer = connectAnswer != nil
    return ending
  }

  /// Makes the last 401 of an authentication the response, without a body.
  private func decide(_ arrival: ReceivedHead) {
    do { try open(arrival) } catch { violate(error) }
    deliverHead()
    if let problem = life.problem { fail(problem) } else if let body, end() != nil { body.stream.finish() }
  }

  private func finish(_ body: CurlBody) {
    if life.problem == nil {
      do { try body.checkEnd(reader) } catch { violate(error) }
    }
    if let problem = life.problem { return fail(problem) }
    if end() != nil { body.stream.finish() }
  }
}

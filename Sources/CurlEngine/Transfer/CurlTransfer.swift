import MartletBase
import CMartletShim
import Foundation
import Synchronization

/// One exchange, from its start to its end: what happens goes into its ``TransferLife``, and it does what comes out.
///
/// `@unchecked Sendable`: what is not a constant, locked or atomic is touched under the lock of the loop only.
package final class CurlTransfer: CurlBody.Source, @unchecked Sendable {
  private typealias Answer = TransferAnswer<Swift.Result<CurlAnswer, any Error>, Suspension<CurlAnswer>, BodyStream>

  private struct State {
    var answer = Answer()
    /// What the sink takes back at the end.
    var token: Int?
  }

  package let job: CurlJob
  let isRoomAwaited = Atomic(false)
  /// Who has to hear that the loop is done with the transfer; set before the start.
  package var observer: (any CurlTransferObserver)?
  let slot: any CurlSlot
  /// Its part in the load of its engine, where there are several.
  let share: LoadShare?
  package let route: CurlRoute?
  let sharing: CurlSharing
  /// Whether it shares none of HTTP/2.
  let isExclusive: Bool
  package let upload: CurlUpload?
  let sink: any CurlSink
  let proxySink: (any CurlProxySink)?
  let throttle: CurlThrottle?
  let mailbox: CurlMailbox
  private let state = Locked(State())

  // Under the loop's lock, which lets in one thread at a time.
  var handle: CurlHandle?
  var life = TransferLife()
  private var reader = ResponseHeadReader()
  private var connectAnswer: CurlConnectAnswer?
  private var opened: CurlAnswer?
  private(set) var body: CurlBody?
  /// Whether the loop looks after it when a wait is over.
  var isListed = false
  /// How many bytes came in this turn of the loop.
  private var unreported = 0
  /// Where the end of a chunked body has to be found.
  var chunks: RawChunks?
  var overhead: OverheadMeter?
  /// Whether libcurl has chosen a connection for it that cannot serve it: one of HTTP/1 that another transfer uses, or a
  /// spoiled one.
  var isMisplaced = false
  /// What the end of TLS is known by, which the end of the body has to be; 0 if it has an end of its own.
  private var endOfTLS: UInt = 0
  /// What became of its host's addresses, where they are checked.
  var addresses = CurlAddressCheck()

  package init(
    _ job: CurlJob, _ upload: CurlUpload?, _ route: CurlRoute?, _ sink: any CurlSink,
    _ proxySink: (any CurlProxySink)?, _ sharing: CurlSharing, isExclusive: Bool, slot: any CurlSlot,
    throttle: CurlThrottle?, mailbox: CurlMailbox, share: LoadShare?
  ) {
    self.job = job
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
      onBytes: { [weak self] in self.map { _ = mailbox.post(.fed($0)) } },
      onFailure: { [weak self] in self?.uploadFailed($0) })
  }

  package var isAnswered: Bool { state.withLock { $0.answer.isAnswered } }

  var isEnded: Bool { state.withLock { $0.answer.isEnded } }

  /// How much is still to come of the body, if that is known, as fast as the network brings it.
  var rest: Int64? { life.isAlone && throttle == nil ? life.expected.map { $0 - life.received } : nil }

  // MARK: From outside

  /// To be called before the start, so that the end of the transfer finds what has to be taken back.
  package func watchForAbort() {
    let token = sink.onAbort { self.cancel($0) }
    state.withLock { $0.token = token }
  }

  package func start() { if !mailbox.post(.start(self)) { refuse() } }

  /// Ends it: with a reason, or because nobody reads it any more.
  package func cancel(_ error: (any Error)? = nil) {
    guard let stage = end() else { return }
    if let error {
      answer(.failure(error))
      if case .body(let stream) = stage { stream.abort(error) }
    }
    // Where there is no loop yet, there is nothing to take it off.
    if !mailbox.post(.cancel(self)) { release() }
  }

  /// Its request body cannot be sent on: with an error of its source, or with one of the engine.
  private func uploadFailed(_ error: any Error) {
    cancel((error as? CurlFailure).map { sink.error(for: $0, of: self) } ?? error)
  }

  package func readerHasRoom() {
    if isRoomAwaited.exchange(false, ordering: .sequentiallyConsistent) { mailbox.post(.drained(self)) }
  }

  package func readerHasLeft() { cancel() }

  /// There is nothing that could do it.
  func refuse() {
    release()
    fail(.unavailable)
  }

  /// The loop is done with it, or never began; may be called more than once.
  func release() {
    slot.release()
    share?.end()
    observer?.transferIsOver(self)
  }

  /// Goes to the last stage; returns the stage before, or `nil` if the end had come already.
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

  // MARK: The answer

  /// The head of the response, as soon as it is there; to be called once.
  package func value() async throws -> CurlAnswer {
    try await suspend { caller in
      state.withLock { $0.answer.ask(caller) }.map { caller.resume(with: $0) }
    }
  }

  /// Gives the caller its answer; later ones are ignored.
  private func answer(_ answer: Swift.Result<CurlAnswer, any Error>) {
    state.withLock { $0.answer.give(answer) }?.resume(with: answer)
  }

  // MARK: The request

  /// The request is about to be sent; `false` if it must not be.
  func willSend() -> Bool {
    let (isAllowed, isNextStep) = life.willSend()
    guard isAllowed else { return false }
    if isNextStep { reader = ResponseHeadReader() }
    upload?.willBeAsked()
    proxySink?.connected()
    sink.reached(job.hasBody ? .sending : .waiting)
    return true
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> CurlUpload.Piece {
    guard let upload else { return .bytes(0) }
    // libcurl neither sends more nor takes it for the end. A stream of HTTP/2 may end, which leaves its connection.
    if life.isUploadStopped { return life.isAlone ? .wait : .bytes(0) }
    upload.noteAnswer()
    guard let buffer = fitting(buffer).flatMap({ limited($0) }) else { return .wait }
    let piece = upload.read(into: buffer)
    switch piece {
    case .bytes(0): sink.didSendAll()
    case .bytes(let count):
      throttle?.sent(count)
      sink.didSend(count, of: upload.length)
    case .wait: wait(for: .bytes)
    case .failed(let failure): life.note(failure)
    }
    return piece
  }

  /// Whether libcurl can begin; if not, it is to be asked again after ``fed()``.
  ///
  /// Without a body libcurl asks for no bytes, so what has to be an empty stream is read before.
  func isReady() -> Bool {
    guard let upload, !job.hasBody else { return true }
    let isHeld =
      if case .wait = upload.read(into: UnsafeMutableRawBufferPointer(start: nil, count: 0)) { true } else { false }
    if life.hold(isHeld) {
      sink.reached(isHeld ? .sending : .connecting)
      sink.setPaused(isHeld)
    }
    return !isHeld
  }

  // MARK: The response

  func receivedLine(_ line: UnsafeBufferPointer<UInt8>, _ handle: CurlHandle) -> Bool {
    // Nothing was asked of the server yet.
    if life.sends.count == 0, let route, route.proxy != nil {
      connectAnswer = connectAnswer ?? CurlConnectAnswer()
      return connectAnswer?.read(line, handle, route, proxySink) ?? false
    }
    do {
      switch try reader.read(line) {
      case .more: break
      case .interim: sink.didReceive(0, of: nil)
      case .final(let head):
        let arrival = CurlArrival(head, handle)
        if head.framing.hasTransferCoding { watchChunks(handle) }
        if life.hasHead(arrival, isInHandshake: route?.handshake != nil) {
          try open(arrival)
          handle.loop.hasHead(self)
        } else if life.holdsUpload {
          // If it is the last one, libcurl would wait for bytes before it ends.
          mailbox.post(.fed(self))
        }
      }
      return true
    } catch {
      violate(error)
      return false
    }
  }

  private func open(_ arrival: CurlArrival) throws(ResponseHeadReader.Problem) {
    let head = arrival.head
    let isHTTP1 = head.version.hasPrefix("1.")
    var decoder: ContentDecoder?
    var end = TransferLife.BodyEnd.length(0)
    if job.method != "HEAD" && head.status != 204 && head.status != 304 {
      end = try head.bodyEnd(isHTTP1: isHTTP1)
      // Of a part of a coded body nothing can be decoded.
      let isDecoded = head.status != 206 && job.isDecoded
      let codings =
        isDecoded && head.framing.hasContentCoding
        ? head.fields.values(of: "Content-Encoding").flatMap { FieldSyntax.listMembers(of: $0) } : []
      if !codings.isEmpty { decoder = try ContentDecoder(codings) }
    }
    if end == .connection, let handle { endOfTLS = handle.watchEnd() }
    if head.framing.hasTransferCoding {
      // Two lengths, or one that HTTP/1.0 does not know: whose the next bytes are is not sure (RFC 9112 §6.1, §6.3).
      if head.framing.lengthCount > 0 || head.version == "1.0" { handle?.closeConnection() }
      if overhead == nil { handle?.loop.metered += 1 }
      overhead = OverheadMeter()
    }
    life.open(end, isAlone: isHTTP1)
    handle?.noteConnection()
    sink.didReceiveHead(head.status, arrival.timing)
    let body = CurlBody(expected: life.expected, decoder: decoder, source: self)
    // Ended meanwhile: the loop will hear of it.
    guard state.withLock({ $0.answer.open(body.stream) }) else { return }
    self.body = body
    opened = CurlAnswer(arrival, body.stream, isDecoded: decoder != nil)
    stopUpload(head.status)
    if head.status == 417, job.expectsContinue, upload?.isAtStart == true { life.refuseExpectation() }
    noteLength()
  }

  func deliverHead() {
    guard let opened else { return }
    self.opened = nil
    answer(.success(opened))
  }

  /// Tells of what came in this turn of the loop.
  func endTurn(isLast: Bool = false) {
    guard unreported > 0 || isLast else { return }
    if unreported > 0 { sink.didReceive(unreported, of: life.expected) }
    let isFast = unreported >= Self.fastTurn
    unreported = 0
    guard let body, body.isUnflushed else { return }
    // To wake the reader costs more than anything else here: what comes fast comes on.
    if isFast && !isLast && body.isGathering, let loop = handle?.loop { loop.flushLater(self) } else { body.flush() }
  }

  /// Gives the reader what has come fast.
  func flush() { if let body, body.isUnflushed { body.flush() } }

  func receivedBody(_ bytes: UnsafeRawBufferPointer) -> CurlBody.Reply {
    do {
      if let arrival = life.takeUndecided() {
        try open(arrival)
        handle?.loop.hasHead(self)
      }
      guard let body else { return .stop }
      guard mayReceive() else { return .wait }
      let reply = try body.take(bytes)
      switch reply {
      case .taken:
        throttle?.received(bytes.count)
        life.receive(bytes.count)
        noteLength()
        if unreported == 0 { handle?.loop.hasBytes(self) }
        unreported += bytes.count
        if !life.isAlone, throttle != nil || unreported >= Self.fullBuffer { handle?.loop.holdsMore(self) }
      case .wait: wait(for: .reader)
      case .stop: break
      }
      return reply
    } catch {
      violate(error)
      return .stop
    }
  }

  private func violate(_ problem: ResponseHeadReader.Problem) {
    life.note(.violation(problem.message, hasHead: body != nil))
  }

  /// The reader has taken what there was; `true` if libcurl has to go on.
  func drained() -> Bool {
    guard let body, !isEnded else {
      life.readerHasLeft()
      return false
    }
    switch life.drained(Swift.Result { () throws(ResponseHeadReader.Problem) in try body.resume() }) {
    case .nothing: return false
    case .libcurlGoesOn:
      waitsHaveChanged()
      return true
    case .ends:
      finish(body)
      return false
    case .fails(let problem):
      fail(problem)
      mailbox.post(.cancel(self))
      return false
    }
  }

  // MARK: The end

  /// The transfer is over; `true` if bytes still wait for the reader.
  func completed(_ result: Result) -> Bool {
    share?.end()
    endTurn(isLast: true)
    let seen = TransferLife.Circumstances(
      isTLSCut: endOfTLS != 0 && !martlet_tls_has_ended(endOfTLS), isCutOff: result.isCutOff,
      dropsWhilePaused: CurlLibrary.readsWhilePaused, isPending: body?.isPending == true,
      chunksHaveEnded: chunks?.end.hasEnded)
    switch life.completed(result.code, seen) {
    case .challenge(let arrival): decide(arrival)
    case .withoutRest: if end() != nil { body?.stream.finish() }
    case .fails(let problem):
      fail(problem ?? (life.sends.count == 0 ? addresses.failure : nil) ?? .ended(ending(result)))
    case .ends: if let body { finish(body) }
    case .lingers:
      sink.setPaused(true)
      // The reader may have made room meanwhile, and then waits.
      _ = drained()
    }
    return life.isLingering
  }

  private func ending(_ result: Result) -> CurlEnding {
    let hasMoved = reader.hasBytes
    return CurlEnding(
      code: result.code, text: result.text, hasConnected: life.sends.count > 0, hasMoved: hasMoved,
      hasHead: body != nil, isReused: result.isReused, wasRepeated: !hasMoved && life.sends.wasRepeated(result),
      wasRefused: life.sends.wasRefused, wantsHTTP11: life.sends.wantsHTTP11,
      isUnprocessed: !hasMoved && result.isUnprocessed, goAwayError: result.goAwayError, refusal: result.refusal,
      hasProxyAnswer: connectAnswer != nil)
  }

  /// The last 401 of a handshake is the answer, without a body.
  private func decide(_ arrival: CurlArrival) {
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

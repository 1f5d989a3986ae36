import MartletBase
import CMartletShim
import Foundation
import Synchronization

/// One exchange, from its start to its end.
///
/// ```
///   head ──empty line──▶ body ──done──▶ ended ◀── abort, or the body was dropped: from anywhere
///                         │  ▲
///                    full │  │ drained: the reader took what there was
///                         ▼  │
///                        paused
/// ```
///
/// `@unchecked Sendable`: what is not a constant, locked or atomic is touched under the lock of the loop only.
package final class CurlTransfer: CurlBody.Source, @unchecked Sendable {
  private enum Stage {
    case head
    case body(BodyStream)
    case ended
  }

  private struct State {
    var stage = Stage.head
    var token: Int?
    /// What the caller gets, until it is there to get it.
    var answer: Swift.Result<CurlAnswer, any Error>?
    var isAnswered = false
    var caller: Suspension<CurlAnswer>?
  }

  package let job: CurlJob
  let isRoomAwaited = Atomic(false)
  /// Who has to hear that the loop is done with the transfer; set before the start.
  package var observer: (any CurlTransferObserver)?
  let slot: any CurlSlot
  /// Its part in the load of its engine, where there are several.
  let share: LoadShare?
  /// What is special about its connection.
  package let route: CurlRoute?
  /// Whose connections it may use.
  let sharing: CurlSharing
  /// Whether it shares none of HTTP/2.
  let isExclusive: Bool
  package let upload: CurlUpload?
  /// Who hears how it gets on.
  let sink: any CurlSink
  /// Who hears what its proxy says.
  let proxySink: (any CurlProxySink)?
  /// Its part in the limit of bandwidth, if there is one.
  let throttle: CurlThrottle?
  let mailbox: CurlMailbox
  private let state = Locked(State())

  // Under the loop's lock, which lets in one thread at a time: no access is checked.
  @exclusivity(unchecked) var handle: CurlHandle?
  /// Whether bytes wait for the reader after the end of the transfer.
  @exclusivity(unchecked) private(set) var isLingering = false
  @exclusivity(unchecked) private var reader = ResponseHeadReader()
  @exclusivity(unchecked) private var connectAnswer: CurlConnectAnswer?
  /// A 401 that belongs to libcurl's handshake if that goes on, and else is the answer.
  @exclusivity(unchecked) private(set) var undecided: CurlArrival?
  @exclusivity(unchecked) private var opened: CurlAnswer?
  @exclusivity(unchecked) private(set) var body: CurlBody?
  @exclusivity(unchecked) private(set) var expected: Int64?
  /// Whether nothing else comes on its connection.
  @exclusivity(unchecked) private(set) var isAlone = false
  /// How much is still to come of the body, if that is known, as fast as the network brings it.
  var rest: Int64? { isAlone && throttle == nil ? expected.map { $0 - received } : nil }
  /// What libcurl waits for.
  @exclusivity(unchecked) var waits: CurlWaits = []
  /// Whether the loop looks after it when a wait is over.
  @exclusivity(unchecked) var isListed = false
  /// Whether it is not started yet, because a stream has to show first that it is empty.
  @exclusivity(unchecked) private(set) var isHeld = false
  @exclusivity(unchecked) private(set) var received: Int64 = 0
  /// How many bytes came in this turn of the loop.
  @exclusivity(unchecked) private var unreported = 0
  @exclusivity(unchecked) private(set) var isExpectationRefused = false
  /// Whether the server has refused the request, so that no more of it is sent.
  @exclusivity(unchecked) var isUploadStopped = false
  /// Where the end of a chunked body has to be found.
  @exclusivity(unchecked) var chunks: RawChunks?
  @exclusivity(unchecked) var overhead: OverheadMeter?
  @exclusivity(unchecked) var sends = CurlSends()
  /// Whether libcurl has chosen a connection for it that cannot serve it: one of HTTP/1 that another transfer uses, or a
  /// spoiled one.
  @exclusivity(unchecked) var isMisplaced = false
  @exclusivity(unchecked) private var problem: CurlFailure?
  /// What the end of TLS is known by, which the end of the body has to be; 0 if it has an end of its own.
  @exclusivity(unchecked) private(set) var endOfTLS: UInt = 0
  /// Whether the end of its HTTP/2 stream alone ends the body.
  @exclusivity(unchecked) private(set) var endsWithStream = false
  /// What became of its host's addresses, where they are checked.
  @exclusivity(unchecked) var addresses = CurlAddressCheck()

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

  package var isAnswered: Bool { state.withLock { $0.isAnswered } }

  var isEnded: Bool { state.withLock { if case .ended = $0.stage { true } else { false } } }

  // MARK: From outside

  /// To be called before the start, so that the end of the transfer finds what has to be taken back.
  package func watchForAbort() {
    let token = sink.onAbort { self.cancel($0) }
    state.withLock { $0.token = token }
  }

  /// Hands it to the loop.
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

  /// Goes to the last stage.
  ///
  /// - Returns: The stage before, or `nil` if the end had come already.
  private func end() -> Stage? {
    let (stage, token): (Stage?, Int?) = state.withLock { state in
      if case .ended = state.stage { return (nil, nil) }
      defer {
        state.stage = .ended
        state.token = nil
      }
      return (state.stage, state.token)
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
    try await suspend { continuation in
      let answer: Swift.Result<CurlAnswer, any Error>? = state.withLock { state in
        defer { state.answer = nil }
        if state.answer == nil { state.caller = continuation }
        return state.answer
      }
      if let answer { continuation.resume(with: answer) }
    }
  }

  /// Gives the caller its answer; later ones are ignored.
  private func answer(_ answer: Swift.Result<CurlAnswer, any Error>) {
    let caller: Suspension<CurlAnswer>? = state.withLock { state in
      guard !state.isAnswered else { return nil }
      state.isAnswered = true
      if state.caller == nil { state.answer = answer }
      defer { state.caller = nil }
      return state.caller
    }
    caller?.resume(with: answer)
  }

  // MARK: The request

  /// The request is about to be sent.
  ///
  /// libcurl sends again what a connection took that had served before, whatever the method, if it ended without an
  /// answer. Whether that is right is for the stages above to say, which know more. A handshake goes on after a 401.
  func willSend() -> Bool {
    sends.begin()
    if sends.count > 1 {
      guard undecided != nil, sends.count <= CurlRoute.Handshake.maximumRequests else { return false }
      undecided = nil
      reader = ResponseHeadReader()
    }
    upload?.willBeAsked()
    proxySink?.connected()
    sink.reached(job.hasBody ? .sending : .waiting)
    return true
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> CurlUpload.Piece {
    guard let upload else { return .bytes(0) }
    // libcurl neither sends more nor takes it for the end. A stream of HTTP/2 may end, which leaves its connection.
    if isUploadStopped { return isAlone ? .wait : .bytes(0) }
    upload.noteAnswer()
    guard let buffer = fitting(buffer).flatMap({ limited($0) }) else { return .wait }
    let piece = upload.read(into: buffer)
    switch piece {
    case .bytes(0): sink.didSendAll()
    case .bytes(let count):
      throttle?.sent(count)
      sink.didSend(count, of: upload.length)
    case .wait: wait(for: .bytes)
    case .failed(let failure): problem = problem ?? failure
    }
    return piece
  }

  /// Whether libcurl can begin; if not, it is to be asked again after ``fed()``.
  ///
  /// Without a body libcurl asks for no bytes, so what has to be an empty stream is read before.
  func isReady() -> Bool {
    guard let upload, !job.hasBody else { return true }
    if case .wait = upload.read(into: UnsafeMutableRawBufferPointer(start: nil, count: 0)) {
      sink.reached(.sending)
      sink.setPaused(true)
      isHeld = true
      return false
    }
    if isHeld {
      sink.setPaused(false)
      sink.reached(.connecting)
    }
    isHeld = false
    return true
  }

  // MARK: The response

  func receivedLine(_ line: UnsafeBufferPointer<UInt8>, _ handle: CurlHandle) -> Bool {
    // Nothing was asked of the server yet.
    if sends.count == 0, let route, route.proxy != nil {
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
        if head.status == 401 && route?.handshake != nil {
          undecided = arrival
          // If it is the last one, libcurl would wait for bytes before it ends.
          if holdsUpload { mailbox.post(.fed(self)) }
        } else {
          try open(arrival)
          handle.loop.hasHead(self)
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
    var decoder: ContentDecoder?
    if job.method != "HEAD" && head.status != 204 && head.status != 304 {
      expected = try head.bodyLength()
      // Of a part of a coded body nothing can be decoded.
      let isDecoded = head.status != 206 && job.isDecoded
      let codings =
        isDecoded && head.framing.hasContentCoding
        ? head.fields.values(of: "Content-Encoding").flatMap { FieldSyntax.listMembers(of: $0) } : []
      if !codings.isEmpty { decoder = try ContentDecoder(codings) }
      let endsWithConnection = expected == nil && !head.framing.hasTransferCoding && head.version.hasPrefix("1.")
      if endsWithConnection, let handle { endOfTLS = handle.watchEnd() }
      endsWithStream = expected == nil && !head.version.hasPrefix("1.")
    } else {
      expected = 0
    }
    if head.framing.hasTransferCoding {
      // Two lengths, or one that HTTP/1.0 does not know: whose the next bytes are is not sure (RFC 9112 §6.1, §6.3).
      if head.framing.lengthCount > 0 || head.version == "1.0" { handle?.closeConnection() }
      if overhead == nil { handle?.loop.metered += 1 }
      overhead = OverheadMeter()
    }
    isAlone = head.version.hasPrefix("1.")
    handle?.noteConnection()
    sink.didReceiveHead(head.status, arrival.timing)
    let body = CurlBody(expected: expected, decoder: decoder, source: self)
    let isOpen = state.withLock { state in
      guard case .head = state.stage else { return false }
      state.stage = .body(body.stream)
      return true
    }
    // Ended meanwhile: the loop will hear of it.
    guard isOpen else { return }
    self.body = body
    opened = CurlAnswer(arrival, body.stream, isDecoded: decoder != nil)
    if head.status >= 300 { stopUpload(head.status) }
    isExpectationRefused = head.status == 417 && upload?.isAtStart == true && job.expectsContinue
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
    if unreported > 0 { sink.didReceive(unreported, of: expected) }
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
      // Of an answer that libcurl goes on from, it shows no body.
      if let arrival = undecided {
        undecided = nil
        try open(arrival)
        handle?.loop.hasHead(self)
      }
      guard let body else { return .stop }
      guard mayReceive() else { return .wait }
      let reply = try body.take(bytes)
      switch reply {
      case .taken:
        throttle?.received(bytes.count)
        received += Int64(bytes.count)
        noteLength()
        if unreported == 0 { handle?.loop.hasBytes(self) }
        unreported += bytes.count
        if !isAlone, throttle != nil || unreported >= Self.fullBuffer { handle?.loop.holdsMore(self) }
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
    self.problem = self.problem ?? .violation(problem.message, hasHead: body != nil)
  }

  /// The reader has taken what there was.
  ///
  /// - Returns: Whether libcurl has to go on.
  func drained() -> Bool {
    guard let body, !isEnded else {
      isLingering = false
      return false
    }
    do {
      guard try body.resume() else { return false }
    } catch {
      violate(error)
      // Not left to the next bytes: they may take their time, and the reader waits.
      if !isLingering {
        if let problem { fail(problem) }
        mailbox.post(.cancel(self))
        return false
      }
    }
    if isLingering {
      isLingering = false
      finish(body)
      return false
    }
    guard waits.contains(.reader) else { return false }
    endWaiting(for: .reader)
    return true
  }

  // MARK: The end

  /// The transfer is over.
  ///
  /// - Returns: Whether bytes still wait for the reader.
  func completed(_ result: Result) -> Bool {
    share?.end()
    endTurn(isLast: true)
    if result.code == 0 { problem = problem ?? earlyEnd(result) }
    if let undecided {
      // ABORTED_BY_CALLBACK and COULDNT_CONNECT stand for the second connection that it does not get.
      if [0, 42, 7].contains(result.code) { return decide(undecided) }
      self.undecided = nil
    }
    if isExpectationRefused, let body, result.code == 42 || result.code == 7 {
      // libcurl has thrown away the body and wants to send the request once more, without `Expect`.
      if end() != nil { body.stream.finish() }
      return false
    }
    // SEND_ERROR: the server reads no further, and may have closed.
    let isWhole = result.code == 0 || result.code == 55 && endOfResponse(nil, isReading: true) == 0
    if !isWhole || problem != nil {
      let ending = CurlEnding(
        code: result.code, text: result.text, hasConnected: sends.count > 0, hasMoved: reader.hasBytes,
        hasHead: body != nil, isReused: result.isReused,
        wasRepeated: !reader.hasBytes && sends.wasRepeated(result), wasRefused: sends.wasRefused,
        wantsHTTP11: sends.wantsHTTP11, isUnprocessed: !reader.hasBytes && result.isUnprocessed,
        goAwayError: result.goAwayError, refusal: result.refusal, hasProxyAnswer: connectAnswer != nil)
      fail(problem ?? (sends.count == 0 ? addresses.failure : nil) ?? .ended(ending))
      return false
    }
    guard let body else {
      fail(.cutHead)
      return false
    }
    isLingering = body.isPending
    guard isLingering else {
      finish(body)
      return false
    }
    sink.setPaused(true)
    // The reader may have made room meanwhile, and then waits.
    _ = drained()
    return isLingering
  }

  /// The end came instead of the next step of a handshake: its last 401 is the answer, without a body.
  private func decide(_ arrival: CurlArrival) -> Bool {
    undecided = nil
    do { try open(arrival) } catch { violate(error) }
    deliverHead()
    if let problem { fail(problem) } else if let body, end() != nil { body.stream.finish() }
    return false
  }

  private func finish(_ body: CurlBody) {
    if problem == nil {
      do { try body.checkEnd(reader) } catch { violate(error) }
    }
    if let problem { return fail(problem) }
    if end() != nil { body.stream.finish() }
  }
}

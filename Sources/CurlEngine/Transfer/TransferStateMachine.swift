/// The state machine of a transfer: receives events, returns actions.
///
/// ```
///   held ─▶ unsent ──willSend──▶ sent ──head──▶ open ──completed──▶ lingering ──drained──▶ whole
///                                 ▲ │            ▲ │ ▲                          or: failed, from anywhere
///                        willSend │ │ 401        │ │ │ endWaiting
///                                 │ ▼            │ ▼ │
///                              undecided ────────┘ waits
/// ```
///
/// A value without a socket or a lock, which knows libcurl's codes but does not call libcurl. ``CurlTransfer`` calls it
/// under the loop's lock, and performs the actions. ``TransferResult`` handles ends from other threads and the response
/// to the caller.
struct TransferStateMachine {
  enum Response {
    case none
    /// A 401 that is a step of libcurl's authentication if that continues, otherwise the response.
    indirect case undecided(ReceivedHead)
    case open
  }

  /// The end of a body (RFC 9112 §6.3, RFC 9113 §8.1).
  enum BodyEnd: Equatable {
    case length(Int64)
    case chunks
    /// The end of its HTTP/1 connection.
    case connection
    /// The end of its HTTP/2 stream.
    case stream
  }

  private(set) var response = Response.none
  var sends = SendCounter()
  private(set) var bodyEnd: BodyEnd?
  /// Whether the transfer has its connection alone, as with HTTP/1.
  private(set) var isAlone = false
  private(set) var received: Int64 = 0
  private(set) var waits: CurlWaits = []
  /// Whether the start is delayed until a body stream has shown that it is empty.
  private(set) var isHeld = false
  /// Whether bytes wait for the reader after the end of the transfer.
  private(set) var isLingering = false
  /// Whether the server has refused the request, so the rest of it is not sent.
  private(set) var isUploadStopped = false
  /// Whether a 417 responded to `Expect` before any of the body was sent.
  private(set) var isExpectationRefused = false
  private(set) var upgrade = Upgrade.none
  private(set) var problem: CurlFailure?

  /// The response to a request for another protocol.
  enum Upgrade {
    /// The request asks for none.
    case none
    case awaited, upgraded, refused
  }

  var expected: Int64? { if case .length(let length)? = bodyEnd { length } else { nil } }
  var isOpen: Bool { if case .open = response { true } else { false } }
  var undecided: ReceivedHead? { if case .undecided(let arrival) = response { arrival } else { nil } }
  /// Whether the whole announced body has arrived.
  var isWhole: Bool { expected == received }

  mutating func record(_ problem: CurlFailure) { if self.problem == nil { self.problem = problem } }
}

// MARK: The request

extension TransferStateMachine {
  /// Sets whether the start waits for the body stream; returns whether that has changed.
  mutating func hold(_ isHeld: Bool) -> Bool {
    defer { self.isHeld = isHeld }
    return isHeld != self.isHeld
  }

  /// Records that libcurl is about to send the request.
  ///
  /// libcurl repeats a request, whatever its method, if a reused connection ended without a response. Whether that is
  /// right is decided elsewhere. Connection-based authentication continues after a 401.
  mutating func willSend() -> (isAllowed: Bool, isNextStep: Bool) {
    sends.begin()
    if sends.count == 1 { return (true, false) }
    guard case .undecided = response, sends.count <= CurlRoute.Handshake.maximumRequests else { return (false, false) }
    response = .none
    return (true, true)
  }

  /// Records the connection of a transfer that sends nothing.
  mutating func connected(isAlone: Bool) { self.isAlone = isAlone }

  /// Records that bytes are available or no longer awaited; returns whether libcurl has to continue.
  mutating func fed() -> Bool {
    guard holdsUpload || isUploadStopped else { return false }
    endWaiting(for: [.bytes, .up, .upgrade])
    return true
  }

  /// Handles the status of the response; returns whether to stop the upload.
  ///
  /// A status of 300 or more refuses the request. libcurl stops after such a head, unless the connection is closed
  /// after the response anyway. `needsAll` says whether libcurl requires all of this body over HTTP/2.
  mutating func stopsUpload(_ status: Int, needsAll: Bool) -> Bool {
    guard status >= 300, !(needsAll && !isAlone && status < 400) else { return false }
    isUploadStopped = true
    return true
  }

  /// Records a 417 in response to `Expect` before any of the body was sent.
  ///
  /// libcurl discards the body of that response.
  mutating func refuseExpectation() { isExpectationRefused = true }
}

// MARK: The response

extension TransferStateMachine {
  /// Records a final head; returns `false` if it may be a step of authentication.
  mutating func hasHead(_ arrival: ReceivedHead, isInHandshake: Bool) -> Bool {
    guard isInHandshake, arrival.head.status == 401 else { return true }
    response = .undecided(arrival)
    return false
  }

  /// Makes the undecided 401 the response.
  ///
  /// libcurl delivers no body of a response after which it continues.
  mutating func takeUndecided() -> ReceivedHead? {
    guard let undecided else { return nil }
    response = .none
    return undecided
  }

  mutating func open(_ end: BodyEnd, isAlone: Bool) {
    response = .open
    bodyEnd = end
    self.isAlone = isAlone
  }

  mutating func receive(_ count: Int) { received += Int64(count) }
}

// MARK: Upgrades

extension TransferStateMachine {
  mutating func begin(isUpgrade: Bool) { if isUpgrade { upgrade = .awaited } }

  /// Records the final head of a request for another protocol; returns whether the protocol changes.
  mutating func changesProtocol(_ head: ResponseHeadReader.Head) throws(ResponseHeadReader.Problem) -> Bool {
    guard upgrade == .awaited else { return false }
    guard head.status == 101 else {
      upgrade = .refused
      return false
    }
    guard head.version == "1.1" else {
      throw ResponseHeadReader.Problem(message: "the 101 response has HTTP version \(head.version) instead of 1.1")
    }
    // libcurl would apply them to the bytes of the other protocol.
    guard !head.framing.hasTransferCoding, head.framing.lengthCount == 0 else {
      throw ResponseHeadReader.Problem(message: "the 101 response has Content-Length or Transfer-Encoding")
    }
    upgrade = .upgraded
    return true
  }

  /// Whether libcurl has to wait before it sends, or has nothing to send; `nil` once the connection is upgraded.
  mutating func upgradeReply() -> Bool? {
    switch upgrade {
    case .none, .upgraded: return nil
    case .awaited:
      wait(for: .upgrade)
      return true
    case .refused: return false
    }
  }
}

// MARK: Waits

/// The conditions for which libcurl waits before it continues a transfer.
struct CurlWaits: OptionSet {
  let rawValue: UInt8

  /// Room in the reader's buffer.
  static let reader = CurlWaits(rawValue: 1)
  /// Bytes to send.
  static let bytes = CurlWaits(rawValue: 2)
  /// The bandwidth limit for receiving.
  static let down = CurlWaits(rawValue: 4)
  /// The bandwidth limit for sending.
  static let up = CurlWaits(rawValue: 8)
  /// Room in the socket.
  static let room = CurlWaits(rawValue: 16)
  /// The reader, before the end of the request may be sent.
  static let end = CurlWaits(rawValue: 32)
  /// The response to a request for another protocol.
  static let upgrade = CurlWaits(rawValue: 64)
}

extension TransferStateMachine {
  /// Whether libcurl waits before it receives.
  var isPaused: Bool { !waits.isDisjoint(with: [.reader, .down]) }
  /// Whether libcurl waits before it sends.
  var holdsUpload: Bool { !waits.isDisjoint(with: [.bytes, .up, .room, .end, .upgrade]) }
  /// Whether the transfer waits for anything but the network, so no network limit applies.
  ///
  /// An upgraded connection without bytes to send waits for the network.
  var isAtRest: Bool { !waits.subtracting(upgrade == .none ? .room : [.room, .upgrade, .bytes]).isEmpty }

  mutating func wait(for reason: CurlWaits) { waits.insert(reason) }

  mutating func endWaiting(for reasons: CurlWaits) {
    waits.subtract(reasons)
    if !isPaused { waits.remove(.end) }
  }

  enum Drained {
    case nothing
    case libcurlGoesOn
    /// The body has ended and was read; its end is to be checked.
    case ends
    case fails(CurlFailure)
  }

  /// Records that the reader has taken the available bytes.
  ///
  /// `hasRoom` says whether more bytes can be taken, or contains the error of the pending bytes.
  mutating func drained(_ hasRoom: Swift.Result<Bool, ResponseHeadReader.Problem>) -> Drained {
    switch hasRoom {
    case .success(false): return .nothing
    case .success(true): break
    case .failure(let violation):
      record(.violation(violation.message, hasHead: true))
      // Fails now, because the next bytes may arrive much later, and the reader waits.
      if !isLingering, let problem { return .fails(problem) }
    }
    if isLingering {
      isLingering = false
      return .ends
    }
    guard waits.contains(.reader) else { return .nothing }
    endWaiting(for: .reader)
    return .libcurlGoesOn
  }

  mutating func readerDidCancel() { isLingering = false }
}

// MARK: The end

extension TransferStateMachine {
  /// The visible state of a connection while libcurl is still sending.
  struct ConnectionSnapshot {
    /// Whether libcurl waits for more of the response, if known.
    var isReading: Bool
    /// Whether the last chunk has arrived, if that is watched.
    var chunksHaveEnded: Bool?
    /// Whether the whole request is written, over HTTP/2; `nil` if unknown.
    var hasSentAll: Bool?
    var isAloneOnConnection = false
  }

  /// How the response has ended although libcurl is still sending.
  ///
  /// Returns the code with which libcurl would end, or `nil` if the response continues.
  func endOfResponse(_ sight: ConnectionSnapshot) -> CInt? {
    guard sends.count > 0, !isPaused, undecided == nil else { return nil }
    guard isOpen else { return sight.isReading ? nil : 52 }  // GOT_NOTHING
    if isExpectationRefused { return sight.isReading ? nil : 42 }  // ABORTED_BY_CALLBACK
    guard isAlone else {
      guard sight.hasSentAll == false else { return nil }
      if isWhole { return 0 }
      // libcurl is about to learn that no more is sent, and ends then.
      if isUploadStopped, holdsUpload { return nil }
      // libcurl keeps reading from a connection that others use. On a connection of its own it stops when the stream
      // was reset, without an error. libcurl 7.88 then loses the last bytes that arrived before the reset.
      return !sight.isReading && sight.isAloneOnConnection ? 18 : nil
    }
    let hasEnded: Bool? =
      switch bodyEnd {
      case .length: isWhole
      case .chunks: sight.chunksHaveEnded
      case .connection, .stream, nil: !sight.isReading
      }
    guard let hasEnded else { return nil }
    return hasEnded ? 0 : sight.isReading ? nil : 18  // PARTIAL_FILE
  }

  /// Additional facts when libcurl ends a transfer.
  struct CompletionFacts {
    /// Whether TLS should have ended before the connection, but did not.
    var isTLSCut = false
    var isCutOff = false
    /// Whether the connection was reset instead of closed.
    var isReset = false
    var isPending = false
    var chunksHaveEnded: Bool?
    /// Whether a chunked body whose last chunk must be seen has not shown it.
    var lacksLastChunk = false
  }

  enum Completion {
    /// The last 401 of an authentication becomes the response, without a body.
    ///
    /// The end arrived instead of the next step.
    case challenge(ReceivedHead)
    case withoutRest
    /// The transfer fails with this problem, or with libcurl's code.
    case fails(CurlFailure?)
    case lingers
    /// All bytes were read; the end is to be checked.
    case ends
  }

  /// Handles the end of the transfer by libcurl, or on its behalf.
  mutating func completed(_ code: CInt, _ seen: CompletionFacts) -> Completion {
    // GOT_NOTHING: libcurl counts only the bytes after the 101.
    let code = code == 52 && upgrade == .upgraded ? 0 : code
    if code == 0, let early = earlyEnd(seen) { record(early) }
    // ABORTED_BY_CALLBACK and COULDNT_CONNECT mean that libcurl was denied a second connection.
    let isWithoutConnection = code == 42 || code == 7
    if let undecided = takeUndecided(), code == 0 || isWithoutConnection { return .challenge(undecided) }
    // libcurl has discarded the body, and is about to send the request again without `Expect`.
    if isExpectationRefused, isOpen, isWithoutConnection { return .withoutRest }
    // SEND_ERROR: the server no longer reads, and may have closed the connection.
    let sight = ConnectionSnapshot(isReading: true, chunksHaveEnded: seen.chunksHaveEnded)
    let isOver = code == 0 || code == 55 && endOfResponse(sight) == 0
    guard isOver, problem == nil else { return .fails(problem) }
    guard isOpen else { return .fails(.cutHead) }
    isLingering = seen.isPending
    return isLingering ? .lingers : .ends
  }

  /// The error in the end of a body that libcurl reports as complete.
  private func earlyEnd(_ seen: CompletionFacts) -> CurlFailure? {
    if seen.isTLSCut { return .cutBody("the connection ended without a TLS close, so the body may be incomplete") }
    if seen.lacksLastChunk, bodyEnd == .chunks {
      return .violation("the chunked body has no valid last chunk", hasHead: true)
    }
    if seen.isReset, bodyEnd == .connection { return .cutBody("the connection was reset before the body ended") }
    guard seen.isCutOff, bodyEnd == .stream || expected != nil && !isWhole else { return nil }
    return .cutBody("the HTTP/2 stream ended early: the body is incomplete")
  }
}

/// The life of a transfer: what happens goes in, what is to be done comes out.
///
/// ```
///   held ─▶ unsent ──willSend──▶ sent ──head──▶ open ──completed──▶ lingering ──drained──▶ whole
///                                 ▲ │            ▲ │ ▲                          or: failed, from anywhere
///                        willSend │ │ 401        │ │ │ endWaiting
///                                 │ ▼            │ ▼ │
///                              undecided ────────┘ waits
/// ```
///
/// A value: it has no socket and no lock, and calls no libcurl, whose codes it knows. ``CurlTransfer`` asks it under the lock
/// of the loop, and does what it says. Who ends a transfer from elsewhere, and who gets the answer, is for
/// ``TransferAnswer``.
struct TransferLife {
  enum Response {
    case none
    /// A 401 that belongs to libcurl's handshake if that goes on, and else is the answer.
    case undecided(CurlArrival)
    case open
  }

  /// What ends a body (RFC 9112 §6.3, RFC 9113 §8.1).
  enum BodyEnd: Equatable {
    case length(Int64)
    case chunks
    /// The end of its HTTP/1 connection.
    case connection
    /// The end of its HTTP/2 stream.
    case stream
  }

  private(set) var response = Response.none
  /// How often the request was sent.
  var sends = CurlSends()
  /// What ends the body, once it is open.
  private(set) var bodyEnd: BodyEnd?
  /// Whether nothing else comes on its connection, which is one of HTTP/1.
  private(set) var isAlone = false
  /// How many bytes of the body have come.
  private(set) var received: Int64 = 0
  /// What libcurl waits for.
  private(set) var waits: CurlWaits = []
  /// Whether it is not started yet, because a stream has to show first that it is empty.
  private(set) var isHeld = false
  /// Whether bytes wait for the reader after the end of the transfer.
  private(set) var isLingering = false
  /// Whether the server has refused the request, so that no more of it is sent.
  private(set) var isUploadStopped = false
  /// Whether a 417 has answered to `Expect`, before anything of the body was sent.
  private(set) var isExpectationRefused = false
  /// What was wrong first.
  private(set) var problem: CurlFailure?

  /// The length of the body, if it is known.
  var expected: Int64? { if case .length(let length)? = bodyEnd { length } else { nil } }
  /// Whether the response has begun.
  var isOpen: Bool { if case .open = response { true } else { false } }
  var undecided: CurlArrival? { if case .undecided(let arrival) = response { arrival } else { nil } }
  /// Whether all that was announced has come.
  var isWhole: Bool { expected == received }

  mutating func note(_ problem: CurlFailure) { if self.problem == nil { self.problem = problem } }
}

// MARK: The request

extension TransferLife {
  /// Notes whether its stream still has to show something before it can begin; `true` if that has changed.
  mutating func hold(_ isHeld: Bool) -> Bool {
    defer { self.isHeld = isHeld }
    return isHeld != self.isHeld
  }

  /// libcurl is about to send the request, perhaps as the next step of a handshake.
  ///
  /// libcurl sends again what a connection took that had served before, whatever the method, if it ended without an
  /// answer. Whether that is right is for others to say, who know more. A handshake goes on after a 401.
  mutating func willSend() -> (isAllowed: Bool, isNextStep: Bool) {
    sends.begin()
    if sends.count == 1 { return (true, false) }
    guard case .undecided = response, sends.count <= CurlRoute.Handshake.maximumRequests else { return (false, false) }
    response = .none
    return (true, true)
  }

  /// There are bytes to send, or libcurl is not to wait for them any more; `true` if libcurl has to go on.
  mutating func fed() -> Bool {
    guard holdsUpload || isUploadStopped else { return false }
    endWaiting(for: [.bytes, .up])
    return true
  }

  /// The server has answered, with a status that refuses the request from 300 on; `true` if no more is to be sent.
  ///
  /// libcurl stops after such a head, unless the connection is closed after the response anyway. `needsAll` says
  /// whether it takes no less than all of this body, over HTTP/2.
  mutating func stopsUpload(_ status: Int, needsAll: Bool) -> Bool {
    guard status >= 300, !(needsAll && !isAlone && status < 400) else { return false }
    isUploadStopped = true
    return true
  }

  /// A 417 has answered to `Expect` before anything of the body was sent: libcurl throws its body away.
  mutating func refuseExpectation() { isExpectationRefused = true }
}

// MARK: The response

extension TransferLife {
  /// The head of a final response has come; `false` if it is not the answer, but may be a step of a handshake.
  mutating func hasHead(_ arrival: CurlArrival, isInHandshake: Bool) -> Bool {
    guard isInHandshake, arrival.head.status == 401 else { return true }
    response = .undecided(arrival)
    return false
  }

  /// What was undecided is the answer: libcurl shows no body of an answer that it goes on from.
  mutating func takeUndecided() -> CurlArrival? {
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

// MARK: Waits

/// What libcurl waits for, before it goes on with a transfer.
struct CurlWaits: OptionSet {
  let rawValue: UInt8

  /// The reader has to make room.
  static let reader = CurlWaits(rawValue: 1)
  /// There are no bytes to send.
  static let bytes = CurlWaits(rawValue: 2)
  /// The client receives as fast as it may already.
  static let down = CurlWaits(rawValue: 4)
  /// The client sends as fast as it may already.
  static let up = CurlWaits(rawValue: 8)
  /// The socket is full.
  static let room = CurlWaits(rawValue: 16)
}

extension TransferLife {
  /// Whether libcurl waits before it receives.
  var isPaused: Bool { !waits.isDisjoint(with: [.reader, .down]) }
  /// Whether libcurl waits before it sends.
  var holdsUpload: Bool { !waits.isDisjoint(with: [.bytes, .up, .room]) }
  /// Whether it waits for anything but the network, so that no limit for that applies.
  var isAtRest: Bool { !waits.subtracting(.room).isEmpty }

  mutating func wait(for reason: CurlWaits) { waits.insert(reason) }

  mutating func endWaiting(for reasons: CurlWaits) { waits.subtract(reasons) }

  enum Drained {
    case nothing
    case libcurlGoesOn
    /// All has come, and was read: the end is to be checked.
    case ends
    case fails(CurlFailure)
  }

  /// The reader has taken what there was: `hasRoom` says whether more can be taken, or what was wrong with what waited.
  mutating func drained(_ hasRoom: Swift.Result<Bool, ResponseHeadReader.Problem>) -> Drained {
    switch hasRoom {
    case .success(false): return .nothing
    case .success(true): break
    case .failure(let violation):
      note(.violation(violation.message, hasHead: true))
      // Not left to the next bytes: they may take their time, and the reader waits.
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

  /// Nobody reads any more.
  mutating func readerHasLeft() { isLingering = false }
}

// MARK: The end

extension TransferLife {
  /// What is seen of a connection while libcurl still sends.
  struct Sight {
    /// Whether libcurl wants more of the response, as far as known.
    var isReading: Bool
    /// Whether the last chunk has come, where that is watched.
    var chunksHaveEnded: Bool?
    /// Whether the whole request is written, over HTTP/2; `nil` if nobody can tell.
    var hasSentAll: Bool?
    /// Whether no other transfer uses the connection of HTTP/2.
    var isAloneOnConnection = false
  }

  /// How the response has ended though libcurl still sends: the code that libcurl would end with, or `nil` if it goes
  /// on.
  func endOfResponse(_ sight: Sight) -> CInt? {
    guard sends.count > 0, !isPaused, undecided == nil else { return nil }
    guard isOpen else { return sight.isReading ? nil : 52 }  // GOT_NOTHING
    if isExpectationRefused { return sight.isReading ? nil : 42 }  // ABORTED_BY_CALLBACK
    guard isAlone else {
      guard sight.hasSentAll == false else { return nil }
      if isWhole { return 0 }
      // It is about to be told that nothing more is sent, and ends then.
      if isUploadStopped, holdsUpload { return nil }
      // Of a connection that others use libcurl reads on. On one of its own it stops when the stream was reset, without an
      // error, and of what came with that libcurl 7.88 loses the last piece.
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

  /// What else is known when libcurl says that a transfer has ended.
  struct Circumstances {
    /// Whether the body was to end with TLS, and TLS has not ended.
    var isTLSCut = false
    var isCutOff = false
    /// Whether this libcurl drops what comes while it waits for a reader.
    var dropsWhilePaused = false
    /// Whether bytes that have come are not decoded yet.
    var isPending = false
    var chunksHaveEnded: Bool?
  }

  enum Completion {
    /// The end came instead of the next step of a handshake: its last 401 is the answer, without a body.
    case challenge(CurlArrival)
    /// The rest of the body is thrown away.
    case withoutRest
    /// As noted, or as libcurl says.
    case fails(CurlFailure?)
    /// Bytes still wait for the reader.
    case lingers
    /// All was read: the end is to be checked.
    case ends
  }

  /// libcurl has ended the transfer, or would have.
  mutating func completed(_ code: CInt, _ seen: Circumstances) -> Completion {
    if code == 0, let early = earlyEnd(seen) { note(early) }
    // ABORTED_BY_CALLBACK and COULDNT_CONNECT stand for the second connection that it does not get.
    let isWithoutConnection = code == 42 || code == 7
    if let undecided = takeUndecided(), code == 0 || isWithoutConnection { return .challenge(undecided) }
    // libcurl has thrown away the body and wants to send the request once more, without `Expect`.
    if isExpectationRefused, isOpen, isWithoutConnection { return .withoutRest }
    // SEND_ERROR: the server reads no further, and may have closed.
    let sight = Sight(isReading: true, chunksHaveEnded: seen.chunksHaveEnded)
    let isOver = code == 0 || code == 55 && endOfResponse(sight) == 0
    guard isOver, problem == nil else { return .fails(problem) }
    guard isOpen else { return .fails(.cutHead) }
    isLingering = seen.isPending
    return isLingering ? .lingers : .ends
  }

  /// What is wrong with the end of a body that libcurl takes for complete.
  private func earlyEnd(_ seen: Circumstances) -> CurlFailure? {
    if seen.isTLSCut { return .cutBody("the body ended with its connection, and TLS did not") }
    if seen.dropsWhilePaused, !isAlone, waits.contains(.reader) {
      return .cutBody("libcurl 8.5.0 has dropped what came for a reader that took its time: the body is incomplete")
    }
    guard bodyEnd == .stream, seen.isCutOff else { return nil }
    return .cutBody("the HTTP/2 connection broke before the stream ended: the body is incomplete")
  }
}

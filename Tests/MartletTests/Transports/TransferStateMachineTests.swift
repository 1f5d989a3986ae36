#if os(Linux)
  @testable import CurlEngine
  @testable import Martlet
  @testable import MartletBase
  import Testing

  /// The state machine without a socket.
  @Suite struct TransferStateMachineTests {
    typealias BodyEnd = TransferStateMachine.BodyEnd

    /// A transfer with an open response, over HTTP/1 by default.
    private static func opened(_ end: BodyEnd, isAlone: Bool = true, received: Int = 0) -> TransferStateMachine {
      var life = TransferStateMachine()
      _ = life.willSend()
      life.open(end, isAlone: isAlone)
      life.receive(received)
      return life
    }

    // MARK: Request

    @Test func `a request without connection-based authentication is sent once`() {
      var life = TransferStateMachine()

      let first = life.willSend()
      let second = life.willSend()

      #expect(first == (true, false))
      #expect(second == (false, false))
    }

    @Test func `connection-based authentication continues after each 401, for at most four requests`() {
      var life = TransferStateMachine()
      var steps: [Bool] = []

      for _ in 1...6 {
        steps.append(life.willSend().isAllowed)
        _ = life.hasHead(.of(401), isInHandshake: true)
      }

      #expect(steps == [true, true, true, true, false, false])
    }

    @Test func `connection-based authentication does not continue without a 401`() {
      var life = TransferStateMachine()
      _ = life.willSend()

      _ = life.hasHead(.of(200), isInHandshake: true)

      #expect(life.willSend() == (false, false))
    }

    @Test func `each 401 allows one more request`() {
      var life = TransferStateMachine()
      _ = life.willSend()
      _ = life.hasHead(.of(401), isInHandshake: true)

      let next = life.willSend()

      #expect(next == (true, true))
      #expect(life.undecided == nil)
      #expect(life.willSend() == (false, false))
    }

    @Test func `the start and the end of a hold are reported once`() {
      var life = TransferStateMachine()

      let changes = [false, true, true, false, false].map { life.hold($0) }

      #expect(changes == [false, true, false, true, false])
    }

    @Test(arguments: [
      (status: 200, needsAll: false, isAlone: true, stops: false), (299, false, true, false),
      (300, false, true, true), (404, false, true, true), (404, false, false, true), (302, true, false, false),
      (302, true, true, true), (404, true, false, true), (200, true, false, false),
      (399, true, false, false), (400, true, false, true),
    ])
    func `a status of 300 or more stops the upload unless libcurl needs all of it`(
      _ row: (status: Int, needsAll: Bool, isAlone: Bool, stops: Bool)
    ) {
      var life = Self.opened(.length(0), isAlone: row.isAlone)

      let stops = life.stopsUpload(row.status, needsAll: row.needsAll)

      #expect(stops == row.stops)
      #expect(life.isUploadStopped == row.stops)
    }

    @Test(arguments: [
      (waits: CurlWaits.bytes, isStopped: false, goesOn: true), (.up, false, true), (.room, false, true),
      (.bytes.union(.reader), false, true), (.reader, false, false), (.down, false, false),
      (CurlWaits(), false, false), (CurlWaits(), true, true),
    ])
    func `available bytes end the waits for upload data`(_ row: (waits: CurlWaits, isStopped: Bool, goesOn: Bool)) {
      var life = Self.opened(.length(1))
      if row.isStopped { _ = life.stopsUpload(404, needsAll: false) }
      life.wait(for: row.waits)

      let goesOn = life.fed()

      #expect(goesOn == row.goesOn)
      #expect(life.waits == row.waits.subtracting([.bytes, .up]))
    }

    // MARK: Response

    @Test(arguments: [
      (status: 401, isInHandshake: true, isAnswer: false), (401, false, true), (200, true, true), (407, true, true),
    ])
    func `only a 401 during connection-based authentication is held back`(
      _ row: (status: Int, isInHandshake: Bool, isAnswer: Bool)
    ) {
      var life = TransferStateMachine()
      _ = life.willSend()

      let isAnswer = life.hasHead(.of(row.status), isInHandshake: row.isInHandshake)

      #expect(isAnswer == row.isAnswer)
      #expect((life.undecided?.head.status == row.status) != row.isAnswer)
    }

    @Test func `a held back 401 is taken once`() {
      var life = TransferStateMachine()
      _ = life.willSend()
      _ = life.hasHead(.of(401), isInHandshake: true)

      #expect(life.takeUndecided()?.head.status == 401)
      #expect(life.takeUndecided() == nil)
    }

    // MARK: Waits

    @Test(arguments: [
      (wait: CurlWaits.reader, isPaused: true, holdsUpload: false, isAtRest: true), (.down, true, false, true),
      (.bytes, false, true, true), (.up, false, true, true), (.room, false, true, false), (.end, false, true, true),
      (.room.union(.bytes), false, true, true),
    ])
    func `each wait holds one direction, and only a wait for socket room does not leave the transfer idle`(
      _ row: (wait: CurlWaits, isPaused: Bool, holdsUpload: Bool, isAtRest: Bool)
    ) {
      var life = Self.opened(.length(1))

      life.wait(for: row.wait)

      #expect(life.isPaused == row.isPaused)
      #expect(life.holdsUpload == row.holdsUpload)
      #expect(life.isAtRest == row.isAtRest)
      life.endWaiting(for: row.wait)
      #expect(!life.isPaused && !life.holdsUpload && !life.isAtRest)
    }

    @Test func `the end of the request waits until nothing else pauses the response`() {
      var life = Self.opened(.length(1))
      life.wait(for: [.reader, .down, .end, .bytes])

      _ = life.fed()
      #expect(life.waits == [.reader, .down, .end])
      life.endWaiting(for: .down)
      #expect(life.holdsUpload)
      _ = life.drained(.success(true))
      #expect(!life.holdsUpload && !life.isPaused)
    }

    @Test func `a reader without room keeps libcurl paused`() {
      var life = Self.opened(.length(1))
      life.wait(for: .reader)

      #expect("\(life.drained(.success(false)))" == "nothing")
      #expect(life.isPaused)
      #expect("\(life.drained(.success(true)))" == "libcurlGoesOn")
      #expect(!life.isPaused)
      #expect("\(life.drained(.success(true)))" == "nothing")
    }

    @Test func `room in the reader does not end the wait for bandwidth`() {
      var life = Self.opened(.length(1))
      life.wait(for: [.reader, .down])

      #expect("\(life.drained(.success(true)))" == "libcurlGoesOn")
      #expect(life.waits == .down)
    }

    @Test func `a decoding error fails at once while libcurl runs, and at the end afterwards`() {
      let violation = Swift.Result<Bool, ResponseHeadReader.Problem>.failure(.init(message: "no gzip"))
      var running = Self.opened(.length(1))
      var over = Self.opened(.length(1))
      _ = over.completed(0, .init(isPending: true))

      #expect("\(running.drained(violation))".contains("no gzip"))
      #expect("\(over.drained(violation))" == "ends")
      #expect(over.problem.map { "\($0)" }?.contains("no gzip") == true)
    }

    // MARK: Responses before the end of the request

    @Test func `an unsent, paused or undecided transfer has not ended`() {
      let unsent = TransferStateMachine()
      var paused = Self.opened(.length(1), received: 1)
      paused.wait(for: .reader)
      var undecided = TransferStateMachine()
      _ = undecided.willSend()
      _ = undecided.hasHead(.of(401), isInHandshake: true)

      for life in [unsent, paused, undecided] { #expect(life.endOfResponse(.init(isReading: false)) == nil) }
    }

    @Test func `a connection that ends without a response yields CURLE_GOT_NOTHING`() {
      var life = TransferStateMachine()
      _ = life.willSend()

      #expect(life.endOfResponse(.init(isReading: true)) == nil)
      #expect(life.endOfResponse(.init(isReading: false)) == 52)
    }

    @Test(arguments: [
      (end: BodyEnd.length(5), received: 5, isReading: true, chunks: Bool?.none, code: CInt?.some(0)),
      (.length(5), 5, false, nil, 0), (.length(5), 4, true, nil, nil), (.length(5), 4, false, nil, 18),
      (.length(0), 0, true, nil, 0), (.chunks, 5, true, true, 0), (.chunks, 5, false, true, 0),
      (.chunks, 5, true, false, nil), (.chunks, 5, false, false, 18), (.chunks, 5, false, nil, nil),
      (.connection, 5, true, nil, nil), (.connection, 5, false, nil, 0),
    ])
    func `detects the end of an HTTP/1 response while libcurl is still sending`(
      _ row: (end: BodyEnd, received: Int, isReading: Bool, chunks: Bool?, code: CInt?)
    ) {
      let life = Self.opened(row.end, received: row.received)

      #expect(life.endOfResponse(.init(isReading: row.isReading, chunksHaveEnded: row.chunks)) == row.code)
    }

    @Test(arguments: [
      (received: 5, isReading: true, sent: Bool?.some(false), alone: true, code: CInt?.some(0)),
      (5, true, true, true, nil), (5, true, nil, true, nil), (4, true, false, true, nil), (4, false, false, true, 18),
      (4, false, false, false, nil), (4, false, true, true, nil),
    ])
    func `detects the end of an HTTP/2 response while libcurl is still sending`(
      _ row: (received: Int, isReading: Bool, sent: Bool?, alone: Bool, code: CInt?)
    ) {
      let life = Self.opened(.length(5), isAlone: false, received: row.received)
      let sight = TransferStateMachine.ConnectionSnapshot(
        isReading: row.isReading, hasSentAll: row.sent, isAloneOnConnection: row.alone)

      #expect(life.endOfResponse(sight) == row.code)
    }

    @Test func `a rejected HTTP/2 upload ends only after libcurl is resumed`() {
      var life = Self.opened(.length(5), isAlone: false, received: 4)
      _ = life.stopsUpload(404, needsAll: false)
      let sight = TransferStateMachine.ConnectionSnapshot(
        isReading: false, hasSentAll: false, isAloneOnConnection: true)
      life.wait(for: .bytes)

      #expect(life.endOfResponse(sight) == nil)
      _ = life.fed()
      #expect(life.endOfResponse(sight) == 18)
    }

    @Test func `a rejected expectation ends with the connection regardless of its body`() {
      var life = Self.opened(.length(5), received: 5)
      life.refuseExpectation()

      #expect(life.endOfResponse(.init(isReading: true)) == nil)
      #expect(life.endOfResponse(.init(isReading: false)) == 42)
    }

    // MARK: End

    @Test(arguments: [
      (end: BodyEnd.length(5), received: 5, code: CInt(0), completion: "ends"), (.chunks, 5, 0, "ends"),
      (.length(5), 4, 18, "fails(nil)"), (.length(5), 5, 56, "fails(nil)"),
      // The server closed the connection while the request was being sent.
      (.length(5), 5, 55, "ends"), (.length(5), 4, 55, "fails(nil)"), (.chunks, 5, 55, "fails(nil)"),
      (.connection, 5, 55, "fails(nil)"), (.length(5), 5, 42, "fails(nil)"), (.length(5), 5, 7, "fails(nil)"),
    ])
    func `libcurl's result decides, except for a send error after a complete body`(
      _ row: (end: BodyEnd, received: Int, code: CInt, completion: String)
    ) {
      var life = Self.opened(row.end, received: row.received)

      let completion = life.completed(row.code, .init())

      #expect("\(completion)" == row.completion)
      #expect(!life.isLingering)
    }

    @Test func `a chunked body that has ended is complete despite a send error`() {
      var life = Self.opened(.chunks, received: 5)

      #expect("\(life.completed(55, .init(chunksHaveEnded: true)))" == "ends")
    }

    @Test func `an end without a head is an error`() {
      var life = TransferStateMachine()
      _ = life.willSend()

      #expect("\(life.completed(0, .init()))".contains("cutHead"))
    }

    @Test func `undecoded bytes linger until the reader has room`() {
      var life = Self.opened(.length(5), received: 5)

      #expect("\(life.completed(0, .init(isPending: true)))" == "lingers")
      #expect("\(life.drained(.success(false)))" == "nothing")
      #expect(life.isLingering)
      #expect("\(life.drained(.success(true)))" == "ends")
      #expect(!life.isLingering)
    }

    @Test func `nothing lingers for a reader that has left`() {
      var life = Self.opened(.length(5), received: 5)
      _ = life.completed(0, .init(isPending: true))

      life.readerDidCancel()

      #expect(!life.isLingering)
      #expect("\(life.drained(.success(true)))" == "nothing")
    }

    @Test(arguments: [
      (code: CInt(0), isChallenge: true), (42, true), (7, true), (56, false), (28, false), (55, false),
    ])
    func `the last 401 is the response if libcurl ends cleanly or lacks a connection`(
      _ row: (code: CInt, isChallenge: Bool)
    ) {
      var life = TransferStateMachine()
      _ = life.willSend()
      _ = life.hasHead(.of(401), isInHandshake: true)

      let completion = life.completed(row.code, .init())

      #expect("\(completion)".hasPrefix("challenge") == row.isChallenge)
      #expect("\(completion)".hasPrefix("fails") != row.isChallenge)
      #expect(life.undecided == nil)
    }

    @Test(arguments: [(code: CInt(42), completion: "withoutRest"), (7, "withoutRest"), (0, "ends"), (56, "fails(nil)")])
    func `a rejected expectation is a response even if libcurl would send again`(
      _ row: (code: CInt, completion: String)
    ) {
      var life = Self.opened(.length(5), received: 0)
      life.refuseExpectation()

      #expect("\(life.completed(row.code, .init()))" == row.completion)
    }

    @Test(arguments: [
      (
        end: BodyEnd.connection, isAlone: true, seen: TransferStateMachine.CompletionFacts(isTLSCut: true),
        words: "without a TLS close"
      ),
      (.stream, false, .init(isCutOff: true), "ended early"),
      (.connection, true, .init(isReset: true), "was reset"), (.length(0), true, .init(isReset: true), "ends"),
      (.length(0), false, .init(isCutOff: true), "ends"), (.length(9), false, .init(isCutOff: true), "ended early"),
      (.stream, false, .init(), "ends"), (.connection, true, .init(isCutOff: true), "ends"),
      (.chunks, true, .init(lacksLastChunk: true), "valid last chunk"),
      (.length(0), true, .init(lacksLastChunk: true), "ends"),
    ])
    func `detects truncated bodies that libcurl reports as complete`(
      _ row: (end: BodyEnd, isAlone: Bool, seen: TransferStateMachine.CompletionFacts, words: String)
    ) {
      var life = Self.opened(row.end, isAlone: row.isAlone)

      let completion = "\(life.completed(0, row.seen))"

      #expect(completion.contains(row.words))
    }

    @Test func `an error of libcurl is not replaced by a truncation error`() {
      for seen in [TransferStateMachine.CompletionFacts(isTLSCut: true), .init(isCutOff: true)] {
        var life = Self.opened(.stream, isAlone: false)

        #expect("\(life.completed(56, seen))" == "fails(nil)")
      }
    }

    @Test func `a send error fails HTTP/2 responses, paused ones and rejected expectations`() {
      var multiplexed = Self.opened(.length(5), isAlone: false, received: 5)
      var paused = Self.opened(.length(5), received: 5)
      paused.wait(for: .reader)
      var refused = Self.opened(.length(5), received: 5)
      refused.refuseExpectation()

      for life in [multiplexed.completed(55, .init()), paused.completed(55, .init()), refused.completed(55, .init())] {
        #expect("\(life)" == "fails(nil)")
      }
    }

    @Test func `a challenge or a rejected expectation takes precedence over a problem`() {
      var challenged = TransferStateMachine()
      _ = challenged.willSend()
      _ = challenged.hasHead(.of(401), isInHandshake: true)
      challenged.record(.cutHead)
      var refused = Self.opened(.length(5))
      refused.refuseExpectation()
      refused.record(.cutHead)

      #expect("\(challenged.completed(42, .init()))".hasPrefix("challenge"))
      #expect("\(refused.completed(42, .init()))" == "withoutRest")
    }

    @Test func `the first problem takes precedence over libcurl's result`() {
      for code in [CInt(0), 23, 55, 56] {
        var life = Self.opened(.length(5), received: 5)
        life.record(.violation("first", hasHead: true))
        life.record(.violation("second", hasHead: true))

        #expect("\(life.completed(code, .init()))".contains("first"))
      }
    }
  }

  extension ReceivedHead {
    /// A head that contains only a status.
    static func of(_ status: Int) -> ReceivedHead {
      ReceivedHead(
        head: ResponseHeadReader.Head(
          status: status, reason: nil, version: "1.1", fields: ReceivedFields([], []),
          framing: ResponseHeadReader.Framing()),
        connection: CurlConnection(addresses: nil, isReused: false), timing: CurlTiming())
    }
  }
#endif

#if os(Linux)
  @testable import CurlEngine
  @testable import Martlet
  @testable import MartletBase
  import TestSupport
  import Testing

  /// Transfers whose events occur in random orders: those of libcurl, the loop, the reader, the upload and the caller.
  @Suite struct TransferSequenceTests {
    private static let runs = 10_000

    @Test func `a caller gets one result and a body one end in any order of events`() {
      var tally: [String: Int] = [:]
      for seed in 0..<UInt64(Self.runs) {
        var run = TransferRun(seed: seed, isCutShort: true)
        run.play()

        #expect(run.faults == [], "seed \(seed): \(run.log)")
        for word in run.words { tally[word, default: 0] += 1 }
        if run.faults != [] { return }
      }
      // Every outcome must occur, because otherwise the test would prove nothing.
      for word in TransferRun.allWords { #expect(tally[word, default: 0] > Self.runs / 200, "\(word): \(tally)") }
    }

    @Test func `a reader gets all bytes of an uninterrupted response`() {
      for seed in 0..<UInt64(Self.runs) {
        var run = TransferRun(seed: seed, isCutShort: false)
        run.play()

        #expect(run.faults == [], "seed \(seed): \(run.log)")
        #expect(run.ending == "whole" || run.ending == "challenge", "seed \(seed): \(run.log)")
        #expect(run.taken == run.made, "seed \(seed): \(run.log)")
        if run.faults != [] || run.taken != run.made { return }
      }
    }
  }

  /// One transfer from its start to its end, with all its participants.
  private struct TransferRun {
    static let allWords = [
      "whole", "failed", "cancelled", "left", "challenge", "without rest", "opened late", "bytes late", "ended late",
      "lingered", "reader waited for", "upload waited for", "answered early", "corrupt",
    ]
    /// The number of bytes that may wait for the reader.
    private static let room = 3

    private enum Event {
      case ask, send, head, bytes, starve, feed, answered, libcurlEnds, read, leave, cancel, turn
    }

    /// Each event is repeated according to its frequency.
    private static let events: [Event] =
      [.ask, .send, .head, .starve, .feed, .answered, .libcurlEnds, .read, .leave, .cancel]
      + Array(repeating: .turn, count: 3) + Array(repeating: .bytes, count: 10)

    private enum Operation {
      case cancel, drained, fed
    }

    /// The state of libcurl.
    private enum Network {
      case idle, sent, body, over
    }

    private(set) var log: [String] = []
    private(set) var faults: [String] = []
    private(set) var words: Set<String> = []
    private(set) var ending = ""
    /// The number of bytes that the decoder has produced; `taken` counts those that the reader has received.
    private(set) var made = 0
    private(set) var taken = 0

    private var random: SeededGenerator
    private let isCutShort: Bool
    private let hasHandshake: Bool
    private let hasUpload: Bool
    private let isCoded: Bool
    private let isCorrupt: Bool
    private let isAlone: Bool
    private let length: Int
    private var life = TransferStateMachine()
    private var answer = TransferResult<Bool, Int, Int>()
    private var posted: [Operation] = []

    private var network = Network.idle
    /// Whether receiving was paused in libcurl, which is separate from the state machine.
    private var isReceivingPaused = false
    private var isSendingPaused = false
    private var received = 0

    private var hasAsked = false
    private var answers: [Bool] = []
    private var bodyEnds = 0
    private var ends = 0
    private var isOpened = false
    /// The number of bytes that wait for the decoder; `unread` counts those that wait for the reader.
    private var pending = 0
    private var unread = 0
    private var isRoomAwaited = false
    /// Whether the head is delivered at the end of the turn.
    private var isHeadReady = false
    private var hasLeft = false

    init(seed: UInt64, isCutShort: Bool) {
      random = SeededGenerator(seed: seed)
      self.isCutShort = isCutShort
      hasHandshake = Int.random(in: 0..<4, using: &random) == 0
      hasUpload = Bool.random(using: &random)
      isCoded = Bool.random(using: &random)
      isCorrupt = isCutShort && Int.random(in: 0..<6, using: &random) == 0
      isAlone = hasHandshake || Bool.random(using: &random)
      length = Int.random(in: 0...12, using: &random)
    }

    mutating func play() {
      for _ in 0..<100 {
        guard let event = Self.events.randomElement(using: &random) else { return }
        perform(event)
        check()
      }
      // All remaining events occur, and then the transfer must be over.
      for _ in 0..<80 {
        for event in [Event.ask, .send, .head, .bytes, .feed, .libcurlEnds, .turn, .read] { perform(event) }
        check()
      }
      words.insert(ending)
      if answers.count != 1 { faults.append("\(answers.count) answers") }
      if ends != 1 { faults.append("\(ends) ends") }
      if isOpened, bodyEnds != 1 { faults.append("\(bodyEnds) ends of the body") }
      if network != .over { faults.append("libcurl goes on") }
      if ["whole", "challenge", "without rest"].contains(ending), answers != [true] { faults.append("a wrong answer") }
      if !isOpened, answers != [false] { faults.append("a response from nowhere") }
    }

    /// Checks the invariants.
    private mutating func check() {
      if answers.count > 1 || ends > 1 || bodyEnds > 1 { faults.append("twice") }
      if answer.isEnded { return }
      // The reader must wake a transfer that waits for it.
      let isReaderAwaited = isRoomAwaited || posted.contains(.drained)
      if isReceivingPaused || life.isLingering, !isReaderAwaited { faults.append("waits for nobody to read") }
      if isReceivingPaused != life.isPaused { faults.append("libcurl was told something else") }
      if isSendingPaused, !life.waits.contains(.bytes), !posted.contains(.fed) { faults.append("waits for no bytes") }
    }

    private mutating func perform(_ event: Event) {
      switch (event, network) {
      case (.ask, _) where !hasAsked:
        hasAsked = true
        if let given = answer.ask(1) { answers.append(given) }
      case (.send, .idle): send()
      case (.send, .sent) where hasHandshake && life.undecided != nil && life.sends.count < 3: send()
      case (.head, .sent) where life.undecided == nil: head()
      case (.bytes, .body) where !isReceivingPaused && received < length: bytes()
      case (.bytes, .sent) where life.undecided != nil:
        // The body of a 401 after which the handshake does not continue.
        if let arrival = life.takeUndecided() { open(arrival) }
      case (.starve, .sent), (.starve, .body):
        guard hasUpload, !isSendingPaused, !life.isUploadStopped else { return }
        life.wait(for: .bytes)
        isSendingPaused = true
        words.insert("upload waited for")
      case (.feed, _) where isSendingPaused: posted.append(.fed)
      case (.answered, .body) where hasUpload: answered()
      case (.libcurlEnds, .sent) where isCutShort && chance(of: 8) || life.undecided != nil: libcurlEnds()
      case (.libcurlEnds, .body) where !isReceivingPaused:
        let isOver = received == length && !isSendingPaused
        if isOver || isCutShort && chance(of: 8) { libcurlEnds() }
      case (.turn, _): turn()
      case (.read, _) where unread > 0: read()
      case (.leave, _) where isCutShort && isOpened && answers == [true] && !hasLeft && chance(of: 12):
        hasLeft = true
        cancel(isError: false)
      case (.cancel, _) where isCutShort && chance(of: 12): cancel(isError: true)
      default: return
      }
      log.append("\(event)")
    }

    private mutating func chance(of number: Int) -> Bool { Int.random(in: 0..<number, using: &random) == 0 }

    // MARK: libcurl

    private mutating func send() {
      if !life.willSend().isAllowed { faults.append("may not send") }
      network = .sent
    }

    private mutating func head() {
      let finalStatus = isCutShort ? [200, 200, 404, 417].randomElement(using: &random) ?? 0 : 200
      let status = hasHandshake && life.sends.count < 3 ? 401 : finalStatus
      let arrival = ReceivedHead.of(status)
      if life.hasHead(arrival, isInHandshake: hasHandshake) {
        open(arrival)
      } else if life.holdsUpload {
        posted.append(.fed)
      }
    }

    private mutating func open(_ arrival: ReceivedHead) {
      life.open(.length(Int64(length)), isAlone: isAlone)
      network = .body
      guard answer.open(0) else {
        words.insert("opened late")
        return
      }
      isOpened = true
      isHeadReady = true
      let status = arrival.head.status
      if hasUpload, life.stopsUpload(status, needsAll: false), life.holdsUpload || !life.isAlone {
        posted.append(.fed)
      }
      if hasUpload, status == 417 { life.refuseExpectation() }
    }

    private mutating func bytes() {
      guard isOpened, !answer.isEnded else {
        // No reader takes the bytes.
        words.insert("bytes late")
        return complete(23)
      }
      guard makeRoomIfFull() else {
        life.wait(for: .reader)
        isReceivingPaused = true
        words.insert("reader waited for")
        return
      }
      if isCorrupt, !isCoded, chance(of: 3) {
        words.insert("corrupt")
        life.record(.violation("corrupt", hasHead: true))
        return complete(23)
      }
      received += 1
      life.receive(1)
      if isCoded { decode(15) } else { add(1) }
    }

    private mutating func answered() {
      let hasSentAll = isAlone ? nil : chance(of: 4)
      guard let code = life.endOfResponse(.init(isReading: true, hasSentAll: hasSentAll)) else { return }
      words.insert("answered early")
      complete(code)
    }

    private mutating func libcurlEnds() {
      // A body that is too short has its own code.
      let whole: CInt = received == length || life.undecided != nil || network == .sent ? 0 : 18
      complete(isCutShort ? [whole, whole, whole, 42, 56, 55].randomElement(using: &random) ?? 0 : whole)
    }

    private mutating func complete(_ code: CInt) {
      network = .over
      (isReceivingPaused, isSendingPaused) = (false, false)
      if answer.isEnded { words.insert("ended late") }
      switch life.completed(code, .init(isPending: pending > 0)) {
      case .challenge(let arrival):
        open(arrival)
        network = .over
        deliver()
        if end("challenge") != nil { bodyEnds += 1 }
      case .withoutRest: if end("without rest") != nil { bodyEnds += 1 }
      case .fails: fail()
      case .ends: finish()
      case .lingers:
        words.insert("lingered")
        drained()
      }
    }

    // MARK: Loop and transfer

    private mutating func turn() {
      deliver()
      let operations = posted
      posted = []
      for operation in operations {
        switch operation {
        case .cancel:
          network = .over
          (isReceivingPaused, isSendingPaused) = (false, false)
        case .drained: drained()
        case .fed:
          guard !answer.isEnded, life.fed() else { continue }
          isSendingPaused = life.holdsUpload
        }
      }
    }

    private mutating func deliver() {
      guard isHeadReady else { return }
      isHeadReady = false
      give(true)
    }

    private mutating func give(_ isSuccess: Bool) { if answer.give(isSuccess) != nil { answers.append(isSuccess) } }

    private mutating func end(_ name: String) -> TransferResult<Bool, Int, Int>.Stage? {
      guard let stage = answer.end() else { return nil }
      ends += 1
      ending = name
      return stage
    }

    private mutating func fail() {
      switch end("failed") {
      case .body?: bodyEnds += 1
      case .head?: give(false)
      case .ended?, nil: break
      }
    }

    private mutating func finish() {
      if life.problem != nil { return fail() }
      guard isOpened else { return }
      if end("whole") != nil {
        bodyEnds += 1
        if pending > 0 { faults.append("an end before the last bytes") }
        if received != length { faults.append("an end of a part") }
      }
    }

    /// May run on any thread.
    private mutating func cancel(isError: Bool) {
      guard let stage = end(isError ? "cancelled" : "left") else { return }
      if case .body = stage { bodyEnds += 1 }
      if isError { give(false) }
      (unread, pending, isRoomAwaited) = (0, 0, false)
      posted.append(.cancel)
    }

    // MARK: Body and reader

    private mutating func add(_ count: Int) {
      made += count
      unread += count
    }

    /// Three units become one byte, and fifteen units arrive at a time.
    private mutating func decode(_ count: Int = 0) {
      pending += count
      while pending > 0, unread <= Self.room {
        pending -= 1
        if pending % 3 == 0 { add(1) }
      }
      if pending > 0 || unread > Self.room { isRoomAwaited = true }
    }

    private mutating func makeRoomIfFull() -> Bool { pending == 0 && unread <= Self.room || makeRoom() }

    private mutating func makeRoom() -> Bool {
      isRoomAwaited = true
      if unread <= Self.room { decode() }
      guard unread <= Self.room, pending == 0 else { return false }
      isRoomAwaited = false
      return true
    }

    private mutating func read() {
      taken += unread
      unread = 0
      guard isRoomAwaited else { return }
      isRoomAwaited = false
      posted.append(.drained)
    }

    private mutating func drained() {
      guard isOpened, !answer.isEnded else { return life.readerDidCancel() }
      let isBroken = isCorrupt && pending > 0 && chance(of: 2)
      let hasRoom: Swift.Result<Bool, ResponseHeadReader.Problem> =
        isBroken ? .failure(.init(message: "corrupt")) : .success(makeRoom())
      if isBroken { words.insert("corrupt") }
      switch life.drained(hasRoom) {
      case .nothing: break
      case .libcurlGoesOn: isReceivingPaused = false
      case .ends: finish()
      case .fails:
        fail()
        posted.append(.cancel)
      }
    }
  }
#endif

#if os(Linux)
  @testable import CurlEngine
  @testable import Martlet
  @testable import MartletBase
  import TestSupport
  import Testing

  /// Lives whose events come in any order that libcurl, the reader and the caller can bring about.
  @Suite struct TransferSequenceTests {
    private static let runs = 10_000

    @Test func `a caller gets one answer, and a body one end, whatever comes when`() {
      var tally: [String: Int] = [:]
      for seed in 0..<UInt64(Self.runs) {
        var run = Run(seed: seed, isCutShort: true)
        run.play()

        #expect(run.faults == [], "seed \(seed): \(run.log)")
        tally[run.ending, default: 0] += 1
        if run.faults != [] { return }
      }
      // A test of orders that never come up would show nothing.
      for ending in Run.endings { #expect(tally[ending, default: 0] > Self.runs / 200, "\(ending): \(tally)") }
    }

    @Test func `a reader gets all bytes of a response that nobody cuts short`() {
      for seed in 0..<UInt64(Self.runs) {
        var run = Run(seed: seed, isCutShort: false)
        run.play()

        #expect(run.faults == [], "seed \(seed): \(run.log)")
        #expect(run.ending == "whole" || run.ending == "challenge", "seed \(seed): \(run.log)")
        #expect(run.taken == run.sent, "seed \(seed): \(run.log)")
        if run.faults != [] || run.taken != run.sent { return }
      }
    }

    /// One life from its start to its end, with all that takes part in it: libcurl, the reader, the caller.
    private struct Run {
      static let endings = ["whole", "failed", "cancelled", "left", "challenge", "without rest"]
      /// How many bytes may wait for the reader.
      private static let room = 3

      private enum Event: CaseIterable {
        case ask, send, head, bytes, libcurlEnds, read, leave, cancel, turn
      }

      /// What libcurl is at.
      private enum Network {
        case idle, sent, body, over
      }

      private(set) var log: [String] = []
      private(set) var faults: [String] = []
      private(set) var ending = ""
      /// The number of bytes that libcurl has brought, and that the reader has got.
      private(set) var sent = 0
      private(set) var taken = 0

      private var random: SeededGenerator
      private let isCutShort: Bool
      private let hasHandshake: Bool
      private let isCoded: Bool
      private let length: Int
      private var life = TransferLife()
      private var answer = TransferAnswer<Bool, Int, Int>()
      private var network = Network.idle
      private var hasAsked = false
      private var answers = 0
      private var bodyEnds = 0
      private var ends = 0
      /// The bytes that wait for the decoder, and for the reader.
      private var pending = 0
      private var unread = 0
      private var isRoomAwaited = false
      /// What is delivered at the end of the turn.
      private var isHeadReady = false
      private var hasLeft = false

      init(seed: UInt64, isCutShort: Bool) {
        random = SeededGenerator(seed: seed)
        self.isCutShort = isCutShort
        hasHandshake = Int.random(in: 0..<4, using: &random) == 0
        isCoded = Bool.random(using: &random)
        length = Int.random(in: 0...12, using: &random)
      }

      mutating func play() {
        for _ in 0..<60 {
          guard let event = Event.allCases.randomElement(using: &random) else { return }
          perform(event)
          check()
        }
        // All that can still come comes, and then all is over.
        for _ in 0..<40 {
          for event in [Event.ask, .send, .head, .bytes, .libcurlEnds, .turn, .read] { perform(event) }
          check()
        }
        if answers != 1 { faults.append("\(answers) answers") }
        if ends != 1 { faults.append("\(ends) ends") }
        if isOpened, bodyEnds != 1 { faults.append("\(bodyEnds) ends of the body") }
        if network != .over, ending != "cancelled", ending != "left" { faults.append("libcurl goes on") }
        if life.isLingering { faults.append("bytes linger") }
      }

      private var isOpened = false

      /// What always holds.
      private mutating func check() {
        if answers > 1 || ends > 1 || bodyEnds > 1 { faults.append("twice") }
        if life.isLingering && network != .over { faults.append("lingers while libcurl runs") }
        if life.isOpen && life.undecided != nil { faults.append("open and undecided") }
        // Who waits for room is woken by the reader.
        if life.waits.contains(.reader), !answer.isEnded, !isRoomAwaited { faults.append("waits for nobody") }
      }

      private mutating func perform(_ event: Event) {
        let isEnded = answer.isEnded
        switch (event, network) {
        case (.ask, _) where !hasAsked:
          hasAsked = true
          if answer.ask(1) != nil { answers += 1 }
        case (.send, .idle) where !isEnded: send()
        case (.send, .sent) where hasHandshake && life.undecided != nil && life.sends.count < 3 && !isEnded: send()
        case (.head, .sent) where life.undecided == nil && !isEnded: head()
        case (.bytes, .body) where !isEnded && !life.isPaused && sent < length: bytes()
        case (.bytes, .sent) where life.undecided != nil && !isEnded:
          // Of a 401 after which the handshake does not go on.
          if let arrival = life.takeUndecided() { open(arrival) }
        case (.libcurlEnds, .sent) where !isEnded && (isCutShort || life.undecided != nil): complete()
        case (.libcurlEnds, .body) where !isEnded && !life.isPaused:
          if isCutShort || sent == length { complete() }
        case (.turn, _): deliver()
        case (.read, _) where unread > 0: read()
        case (.leave, _) where isCutShort && isOpened && answers == 1 && !hasLeft && chance(of: 8):
          hasLeft = true
          cancel(nil, as: "left")
        case (.cancel, _) where isCutShort && chance(of: 8): cancel(false, as: "cancelled")
        default: return
        }
        log.append("\(event)")
      }

      private mutating func chance(of number: Int) -> Bool { Int.random(in: 0..<number, using: &random) == 0 }

      // MARK: libcurl

      private mutating func send() {
        let (isAllowed, _) = life.willSend()
        if !isAllowed { faults.append("may not send") }
        network = .sent
      }

      private mutating func head() {
        let status = hasHandshake && life.sends.count < 3 ? 401 : isCutShort && chance(of: 6) ? 417 : 200
        let arrival = CurlArrival.of(status)
        guard life.hasHead(arrival, isInHandshake: hasHandshake) else { return }
        open(arrival)
        if status == 417 { life.refuseExpectation() }
      }

      private mutating func open(_ arrival: CurlArrival) {
        life.open(.length(Int64(length)), isAlone: true)
        guard answer.open(0) else { return }
        isOpened = true
        isHeadReady = true
        network = .body
      }

      private mutating func bytes() {
        guard makeRoomIfFull() else { return life.wait(for: .reader) }
        sent += 1
        life.receive(1)
        if isCoded { decode(3) } else { unread += 1 }
      }

      private mutating func complete() {
        network = .over
        // Most of what ends too early has a code of its own.
        let isWhole = sent == length && life.isOpen
        let code: CInt =
          if isCutShort { [0, 0, 42, 56, 55].randomElement(using: &random) ?? 0 } else { 0 }
        if code == 0, life.isOpen, !isWhole, life.undecided == nil { life.note(.cutHead) }
        switch life.completed(code, .init(isPending: pending > 0)) {
        case .challenge(let arrival):
          open(arrival)
          network = .over
          deliver()
          if end("challenge") != nil { bodyEnds += 1 }
        case .withoutRest: if end("without rest") != nil { bodyEnds += 1 }
        case .fails: fail()
        case .ends: finish()
        case .lingers: _ = drained()
        }
      }

      // MARK: What a transfer does

      private mutating func deliver() {
        guard isHeadReady else { return }
        isHeadReady = false
        give(true)
      }

      private mutating func give(_ success: Bool) { if answer.give(success) != nil { answers += 1 } }

      private mutating func end(_ name: String) -> TransferAnswer<Bool, Int, Int>.Stage? {
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
        if end("whole") != nil { bodyEnds += 1 }
        if pending > 0 { faults.append("an end before the last bytes") }
      }

      private mutating func cancel(_ error: Bool?, as name: String) {
        guard let stage = end(name) else { return }
        if case .body = stage { bodyEnds += 1 }
        if let error { give(error) }
        unread = 0
        pending = 0
        // The loop hears of it.
        _ = drained()
      }

      // MARK: The body and its reader

      /// Each byte of a coded body makes three.
      private mutating func decode(_ count: Int = 0) {
        pending += count
        while pending > 0, unread <= Self.room {
          pending -= 1
          if pending % 3 == 0 { unread += 1 }
        }
        if pending > 0 || unread > Self.room { isRoomAwaited = true }
      }

      private mutating func makeRoomIfFull() -> Bool {
        guard pending > 0 || unread > Self.room else { return true }
        return makeRoom()
      }

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
        _ = drained()
      }

      private mutating func drained() -> Bool {
        guard isOpened, !answer.isEnded else {
          life.isAbandoned()
          return false
        }
        switch life.drained(.success(makeRoom())) {
        case .nothing: return false
        case .libcurlGoesOn: return true
        case .ends: finish()
        case .fails: fail()
        }
        return false
      }
    }
  }
#endif

#if os(Linux)
  import Foundation
  @testable import CurlEngine
  @testable import MartletBase
  @testable import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Callers that wait for responses on their own threads, because earlier responses arrived at once.
  @Suite(.hangLimit) struct AnswerWaitTests {
    private static let block = Data(count: 65_521) { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    /// Returns a number of bytes, which are generated quickly.
    private static func bytes(_ count: Int) -> Data {
      var bytes = Data()
      while bytes.count < count { bytes += block.prefix(count - bytes.count) }
      return bytes
    }

    @Test(arguments: Lane.engines) func `waits inline for fast responses`(_ lane: Lane) async throws {
      let server = try MockServer(.ok("hello"))
      // The patience exceeds the time of any response, even on a busy machine.
      let pace = InlineWaitHeuristic(patience: 20_000_000, credit: InlineWaitHeuristic.maximumCredit)
      let transport = WaitingTransport(lane: lane, pace: pace)
      let client = Lane.curl.client(.transport(transport))

      for _ in 0..<100 {
        let response = try await client.get(RequestTarget(server.url))
        #expect(response.text == "hello")
      }

      // Not every wait is inline: another thread may be about to take the loop, which is common on a busy machine.
      #expect(!Stress.isOn || transport.awaitedCount >= 20)
      #expect(server.requests.count == 100)
    }

    @Test(arguments: Lane.engines) func `does not wait inline for slow responses`(_ lane: Lane) async throws {
      let server = try MockServer { (_: RecordedRequest) in .ok("x").delayed(by: .milliseconds(100)) }
      let transport = WaitingTransport(
        lane: lane, pace: InlineWaitHeuristic(patience: 1_000, credit: InlineWaitHeuristic.price))
      let client = Lane.curl.client(.transport(transport))

      for _ in 0..<5 { _ = try await client.get(RequestTarget(server.url)) }

      #expect(transport.awaitedCount <= 1)
    }

    /// The wait ends after its time, and the loop's own thread continues the transfer.
    @Test(arguments: Lane.engines) func `hands a late response over to the loop`(_ lane: Lane) async throws {
      let server = try MockServer { (request: RecordedRequest) in
        request.target == "/slow" ? .ok("late").delayed(by: .milliseconds(60)) : .ok("x")
      }
      let client = Lane.curl.client(
        .transport(WaitingTransport(lane: lane, pace: InlineWaitHeuristic(patience: 20_000, credit: 64))))
      _ = try await client.get(RequestTarget(server.url))

      for _ in 0..<8 {
        let slow = try await client.get(RequestTarget(server.url("/slow")))
        let quick = try await client.get(RequestTarget(server.url("/quick")))
        #expect(slow.text == "late" && quick.text == "x")
      }

      #expect(server.connectionCount == 1)
    }

    @Test(arguments: Lane.engines) func `cancelling ends an inline wait`(_ lane: Lane) async throws {
      let server = try MockServer { (request: RecordedRequest) in
        request.target == "/never" ? .hang : .ok("x")
      }
      let client = Lane.curl.client(
        .transport(WaitingTransport(lane: lane, pace: InlineWaitHeuristic(patience: 100_000, credit: 64))))

      for _ in 0..<3 {
        for _ in 0..<3 { _ = try await client.get(RequestTarget(server.url)) }
        let task = Task { try await client.get(RequestTarget(server.url("/never"))) }
        #expect(await server.wait { $0.requests.last?.target == "/never" })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.joined }
      }
    }

    /// An inline wait delays no other request, whichever thread runs the loop.
    @Test(arguments: Lane.engines) func `other requests start and finish during an inline wait`(_ lane: Lane)
      async throws
    {
      let server = try MockServer { (request: RecordedRequest) in
        request.target.hasPrefix("/slow") ? .ok("slow").delayed(by: .milliseconds(30)) : .ok("quick")
      }
      let client = Lane.curl.client(
        .transport(WaitingTransport(lane: lane, pace: InlineWaitHeuristic(patience: 10_000, credit: 64))))
      _ = try await client.get(RequestTarget(server.url))

      let texts = try await withThrowingTaskGroup(of: String?.self) { group in
        for number in 0..<200 {
          group.addTask {
            let path = number % 10 == 0 ? "/slow/\(number)" : "/quick/\(number)"
            return try await client.get(RequestTarget(server.url(path))).text
          }
        }
        return try await group.reduce(into: [String?: Int]()) { $0[$1, default: 0] += 1 }
      }

      #expect(texts == ["slow": 20, "quick": 180])
    }

    @Test(arguments: Lane.engines) func `survives servers that close connections at any time`(_ lane: Lane) async throws
    {
      let server = try MockServer { (request: RecordedRequest) in
        switch request.target.utf8.count % 4 {
        case 0: .ok("x").thenClose()
        case 1: .steps([.reset])
        default: .ok("x")
        }
      }
      let client = Lane.curl.client(.transport(WaitingTransport(lane: lane)))
      var ends = [0, 0]

      for number in 0..<200 {
        let path = "/" + String(repeating: "a", count: number % 7)
        do {
          _ = try await client.get(RequestTarget(server.url(path)))
          ends[0] += 1
        } catch let error as HTTPError {
          #expect([.connectionLost, .cannotConnect].contains(error.kind), "\(error)")
          ends[1] += 1
        }
      }

      #expect(ends[0] + ends[1] == 200 && ends[0] >= 100 && ends[1] >= 20, "\(ends)")
    }

    @Test(arguments: Lane.engines) func `reads bodies of any size after an inline wait`(_ lane: Lane) async throws {
      let server = try MockServer { (request: RecordedRequest) in
        .data(Self.bytes(Int(request.target.dropFirst()) ?? 0))
      }
      let client = Lane.curl.client(.transport(WaitingTransport(lane: lane)))
      _ = try await client.get(RequestTarget(server.url("/1")))

      for count in [0, 1, 16_384, 65_536, 65_537, 262_144, 1_000_003, 4_000_000] {
        let expected = Self.bytes(count)
        let whole = try await client.get(RequestTarget(server.url("/\(count)"))).body
        let streamed = try await client.stream(.get(RequestTarget(server.url("/\(count)")))) { response in
          var pieces: [Data] = []
          for try await piece in response.body { pieces.append(piece) }
          return pieces
        }
        let isRight = whole == expected && streamed.reduce(into: Data(), { $0 += $1 }) == expected
        #expect(isRight, "\(count)")
        #expect(streamed.allSatisfy { !$0.isEmpty })
      }
    }
  }

  /// An engine that considers its servers fast from the start.
  struct WaitingTransport: Transport {
    private let lane: Lane
    private let pace: InlineWaitHeuristic
    private let made = Made()

    private final class Made: Sendable {
      let count = Locked<AwaitedCount?>(nil)
    }

    init(
      lane: Lane,
      pace: InlineWaitHeuristic = InlineWaitHeuristic(patience: 50_000, credit: InlineWaitHeuristic.maximumCredit)
    ) {
      self.lane = lane
      self.pace = pace
    }

    /// The number of responses that arrived before their callers had to suspend.
    var awaitedCount: Int { made.count.withLock { $0?.value ?? 0 } }

    func prepared(for settings: TransportSettings) -> any Transport {
      var settings = settings
      settings.answerPace = pace
      let (transport, count): (any Transport, AwaitedCount) =
        switch lane {
        case .curl: CurlLoader(settings).withCount { $0.awaitedCount }
        #if URLSession
          case .urlSession: CurlSessionLoader(settings).withCount { $0.awaitedCount }
        #endif
        }
      made.count.withLock { $0 = count }
      return transport
    }

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      try await prepared(for: TransportSettings()).send(request, context: context)
    }
  }

  extension Transport {
    fileprivate func withCount(_ count: (Self) -> AwaitedCount) -> (any Transport, AwaitedCount) { (self, count(self)) }
  }
#endif

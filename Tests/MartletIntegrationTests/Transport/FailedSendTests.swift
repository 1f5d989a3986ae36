#if os(Linux)
  import Foundation
  import MartletBase
  import MartletTesting
  import Synchronization
  import TestSupport
  import Testing

  @testable import Martlet

  /// Responses that arrive just before sending fails.
  @Suite(.needs(.reportedRequests), .hangLimit) struct FailedSendTests {
    /// Responds and resets the connection while the engine is about to send a part of the body.
    ///
    /// The engine stalls after it has read the clock a number of times: with 0, before libcurl receives and sends; with
    /// 1, after libcurl has taken the part that is sent next.
    private func post(
      _ lane: Lane, _ answer: String, after times: Int = 1, isReused: Bool = false, isFinished: Bool = false
    ) async throws -> Result<HTTPResponse, any Error> {
      let server = try SteppedServer()
      let clock = StallingClock()
      defer { clock.resume() }
      let client = lane.client {
        $0.clock = clock
        $0.timeout = .unlimited
        $0.retry = .off
        $0.options.expectsContinue = false
      }
      if isReused {
        async let first = client.get(server.target)
        try await server.request()
        try await server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        _ = try await first
      }
      let (pieces, source) = AsyncStream.makeStream(of: Data.self)
      source.yield(Data("first".utf8))
      async let answered = client.post(server.target, body: .stream(pieces), options: .accepts(.any))
      if isReused { try await server.nextRequest() } else { try await server.request() }
      try await server.waitForBytes("5\r\nfirst\r\n")

      clock.stall(after: times)
      source.yield(Data("second".utf8))
      #expect(await becomes { clock.isStalled })
      if !answer.isEmpty { try await server.send(answer) }
      if isFinished { server.finish() }
      server.reset()
      clock.resume()

      do { return .success(try await answered) } catch { return .failure(error) }
    }

    @Test(arguments: Lane.engines, EarlyAnswerTests.Framing.allCases)
    func `delivers a response even if sending fails`(
      _ lane: Lane, _ framing: EarlyAnswerTests.Framing
    ) async throws {
      for times in 0...1 {
        for isReused in [false, true] {
          // Only a server that closes its direction ends a body without a length.
          let isFinished = framing == .close || isReused
          let response = try await post(
            lane, framing.answer(413), after: times, isReused: isReused, isFinished: isFinished
          ).get()

          #expect(response.status == .contentTooLarge && response.text == "answer early")
          #expect(response.connection?.isReused == isReused)
        }
      }
    }

    @Test(arguments: Lane.engines) func `an interim or truncated response does not count as a response`(_ lane: Lane)
      async throws
    {
      let whole = EarlyAnswerTests.Framing.length.answer(413)
      let endless = EarlyAnswerTests.Framing.close.answer(413)
      for answer in [
        "", "HTTP/1.1 102 Processing\r\n\r\n", String(whole.dropLast(1)), String(whole.prefix(20)), endless,
      ] {
        let result = try await post(lane, answer)

        let error = #expect(throws: HTTPError.self) { try result.get() }
        #expect(error?.kind == .connectionLost, "\(answer)")
      }
    }

    /// Each request is sent shortly before or after its connection ends.
    @Test(.needs(.nginx), arguments: Lane.engines)
    func `a POST while nginx closes the connection arrives once, or fails`(_ lane: Lane) async throws {
      let logs = try TemporaryFolder()
      let server = try await NginxServer(
        "keepalive_timeout 20ms; access_log \(logs.path("log")); location / { return 200; }")
      let client = lane.client { $0.retry = .off }
      let count = Stress.count(60, full: 1500)

      var (failed, unsent): (Set<Int>, Set<Int>) = ([], [])
      for number in 0..<count {
        do {
          try await client.post("\(raw: server.url)/\(number)", body: .text("x"))
        } catch let error as HTTPError {
          #expect(error.kind == .connectionLost, "\(error)")
          failed.insert(number)
          if error.wasNotProcessed { unsent.insert(number) }
        }
        try await Task.sleep(for: .microseconds(18_000 + number % 13 * 400))
      }

      #expect(failed.count < count / 10)
      let lines = try String(contentsOfFile: logs.path("log"), encoding: .utf8)
      let arrived = lines.split(separator: "\n").compactMap { line in
        line.split(separator: " ").first { $0.hasPrefix("/") }.flatMap { Int($0.dropFirst()) }
      }
      #expect(arrived.count == Set(arrived).count)
      #expect(Set(0..<count).subtracting(arrived).isSubset(of: failed))
      #expect(unsent.isDisjoint(with: arrived))
    }
  }

  /// A clock that stalls the engine's thread.
  private final class StallingClock: Clock {
    private let isStalling = Atomic(false)
    private let isWaiting = Atomic(false)
    private let remaining = Atomic(0)

    var isStalled: Bool { isWaiting.load(ordering: .sequentiallyConsistent) }
    let minimumResolution = Duration.nanoseconds(1)

    var now: ContinuousClock.Instant {
      guard isStalling.load(ordering: .sequentiallyConsistent), isEngine,
        remaining.subtract(1, ordering: .sequentiallyConsistent).newValue < 0
      else { return .now }
      while isStalling.load(ordering: .sequentiallyConsistent) {
        isWaiting.store(true, ordering: .sequentiallyConsistent)
        usleep(500)
      }
      return .now
    }

    private var isEngine: Bool {
      (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) == "martlet-curl\n"
    }

    /// Lets the engine's thread read the clock a number of times, and then stalls it.
    func stall(after times: Int) {
      remaining.store(times, ordering: .sequentiallyConsistent)
      isStalling.store(true, ordering: .sequentiallyConsistent)
    }

    func resume() { isStalling.store(false, ordering: .sequentiallyConsistent) }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
      try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
    }
  }
#endif

#if os(Linux) && URLSession
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  extension URLSessionTests {
    /// Tasks that are suspended for a slow reader.
    @Suite(.ownThreads, .hangLimit) struct SuspensionTests {
      /// The number of bytes that may arrive before a task is suspended: the high mark, and calls that were waiting.
      private static let bound = TaskSuspension.highMark + 24 * PausingSource.chunk

      private static func client(_ source: PausingSource, _ settings: ClientSetting...) -> HTTPClient {
        HTTPClient(source.transport, .cache(.off), .retry(.off), ClientSetting(settings))
      }

      /// Reads a body and checks each byte; returns the number of bytes.
      private static func read(
        _ iterator: inout ResponseBody.AsyncIterator, from start: Int = 0, _ afterChunk: (Int) async throws -> Void
      ) async throws -> Int {
        var count = start
        while let data = try await iterator.next() {
          data.withUnsafeBytes { bytes in
            for octet in bytes {
              if octet != PausingSource.octet(count / PausingSource.chunk) { Issue.record("wrong byte \(count)") }
              count += 1
            }
          }
          try await afterChunk(count)
        }
        return count
      }

      @Test(.needs(.proc)) func `a reader that stops uses bounded memory, and gets the whole body`() async {
        let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
          let size = 256 << 20
          let source = PausingSource(size: size)
          let client = Self.client(source)
          let more = try await ProcessFacts.peakGrowth {
            let count = try await client.stream(.get(source.target)) { response in
              var iterator = response.body.makeAsyncIterator()
              var halts = 0
              return try await Self.read(&iterator) { count in
                // The reader stops until the source has, four times.
                guard count >= halts * size / 4, count < size - 2 * Self.bound else { return }
                halts += 1
                #expect(await becomes { source.isPaused })
                #expect(source.produced - count <= Self.bound)
              }
            }
            #expect(count == size)
          }
          Figures.record("256 MiB with a suspended task: \(more >> 20) MiB more, \(source.pauseCount) suspensions")
          #expect(source.pauseCount >= 4)
          #expect(isSanitized || more < 48 << 20)
        }
        Figures.show(child)
      }

      @Test func `a body that is collected is complete`() async throws {
        let source = PausingSource(size: 32 << 20)

        let body = try await Self.client(source).get(source.target).body

        #expect(body.count == 32 << 20)
        #expect(body.last == PausingSource.octet((32 << 20) / PausingSource.chunk - 1))
      }

      enum End: CaseIterable { case cancellation, totalLimit, abandonment }

      @Test(arguments: End.allCases) func `a suspended exchange ends at once`(_ end: End) async throws {
        let source = PausingSource(size: 1 << 30)
        let clock = TestClock(advancing: .manually)
        let client = Self.client(
          source, .clock(clock), .timeout(TimeoutPolicy(connect: nil, idle: .seconds(30), total: .seconds(100))))

        let reading = Task {
          try await client.stream(.get(source.target)) { response in
            var iterator = response.body.makeAsyncIterator()
            _ = try await iterator.next()
            #expect(await becomes { source.isPaused })
            if end == .abandonment { return }
            if end == .totalLimit { clock.advance(by: .seconds(100)) }
            _ = await becomes { source.isStopped }
            while try await iterator.next() != nil {}
          }
        }
        if end == .cancellation {
          #expect(await becomes { source.isPaused })
          reading.cancel()
        }

        switch end {
        case .abandonment: try await reading.value
        case .cancellation: await #expect(throws: CancellationError.self) { try await reading.value }
        case .totalLimit:
          let error = await #expect(throws: HTTPError.self) { try await reading.value }
          #expect(error?.kind == .timedOut && error?.message.contains("total limit") == true)
        }
        #expect(await becomes { source.isStopped })
      }

      @Test func `the idle limit does not count the time of a suspension, but the silence after it`() async throws {
        let source = PausingSource(size: 64 << 20, silence: 8 << 20)
        let clock = TestClock(advancing: .manually)
        let client = Self.client(
          source, .clock(clock), .timeout(TimeoutPolicy(connect: nil, idle: .seconds(30), total: nil)))

        let error = await #expect(throws: HTTPError.self) {
          try await client.stream(.get(source.target)) { response in
            var iterator = response.body.makeAsyncIterator()
            let first = try #require(try await iterator.next()).count
            #expect(await becomes { source.isPaused })
            for _ in 0..<10 {
              clock.advance(by: .seconds(60))
              await letOthersRun()
            }
            #expect(!source.isStopped)
            _ = try await Self.read(&iterator, from: first) { count in
              guard count == source.silence else { return }
              Task {
                await becomes {
                  clock.advance(by: .seconds(30))
                  return source.isStopped
                }
              }
            }
          }
        }

        #expect(error?.kind == .timedOut && error?.message.contains("idle limit") == true)
        #expect(await becomes { source.isStopped })
      }

      /// The reason why the loader suspends no task with Foundation on Linux.
      @Test(.needs(.documentedLoader))
      func `Foundation's loader sends the request again when a task is resumed, which ends the exchange`() async {
        await #expect(processExitsWith: .success) {
          let head = MockResponse.Step.text("HTTP/1.1 200 OK\r\nContent-Length: \(64 << 20)\r\n\r\n")
          let server = try MockServer(
            .steps([head, .drip(Data(count: 64 << 20), chunk: 1 << 16, every: .milliseconds(5))]))
          let client = HTTPClient(
            PreparedTransport { URLSessionLoader($0, suspends: true) }, .cache(.off), .retry(.off))

          let error = await #expect(throws: HTTPError.self) {
            try await client.stream(.get(RequestTarget(server.url))) { response in
              var iterator = response.body.makeAsyncIterator()
              _ = try await iterator.next()
              // A suspended task loses its connection.
              #expect(await server.waitForOpenConnections(atMost: 0))
              while try await iterator.next() != nil {}
            }
          }

          #expect(error?.kind == .protocolViolation)
          #expect(server.requests.count == 2)
          server.stop()
        }
      }
    }
  }
#endif

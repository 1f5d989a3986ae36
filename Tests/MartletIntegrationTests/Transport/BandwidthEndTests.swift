#if os(Linux)
  import Foundation
  import MartletTesting
  import Testing

  @testable import Martlet

  /// How requests end that a limit holds back, and what they cost until then.
  @Suite(.oneAtATime, .serialized, .timeLimit(.minutes(3))) struct BandwidthEndTests {
    private static let large = Data(repeating: 7, count: 1_000_000)

    private func waiters(_ client: HTTPClient) -> Int {
      let budget = client.core.settings.configuration.bandwidthBudget
      return (budget?.down?.waiterCount ?? 0) + (budget?.up?.waiterCount ?? 0)
    }

    // MARK: Time limits

    @Test(arguments: Lane.engines)
    func `a wait for the limit is no silence`(_ lane: Lane) async throws {
      let server = try MockServer(answering: MockResponse.echo)
      defer { server.stop() }
      // A turn is a second long.
      let client = lane.client {
        $0.bandwidth = .limit(down: 1024, up: 1024)
        $0.timeout.idle = .milliseconds(400)
      }

      let seconds = try await Pace.seconds {
        let response = try await client.post(RequestTarget(server.url), body: .data(Self.large.prefix(3000)))
        #expect(response.body == Self.large.prefix(3000))
      }

      #expect(seconds > 2 * 2000 / 1024 / 1.15)
    }

    @Test(arguments: Lane.engines)
    func `the silence of a server counts as ever`(_ lane: Lane) async throws {
      let head = "HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n"
      let server = try MockServer(.steps([.text(head), .bytes(Self.large.prefix(4000)), .hang]))
      defer { server.stop() }
      let client = lane.client {
        $0.bandwidth = .limit(down: 2048)
        $0.timeout.idle = .milliseconds(700)
      }

      var error: HTTPError?
      let seconds = await Pace.seconds {
        error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url)) }
      }

      #expect(error?.kind == .timedOut)
      #expect(error?.phase == .receiving)
      // 4,000 bytes in their time, but for two turns, and then the silence.
      #expect(seconds > 0.8 + 0.65, "\(seconds)")
      #expect(seconds < 20)
    }

    @Test(arguments: Lane.engines)
    func `the total limit passes while a request waits`(_ lane: Lane) async throws {
      let server = try MockServer(.data(Self.large))
      defer { server.stop() }
      let client = lane.client {
        $0.bandwidth = .limit(down: 1024, up: 1024)
        $0.timeout.total = .seconds(1)
      }
      for body in [nil, HTTPBody.data(Self.large)] {
        var error: HTTPError?
        let seconds = await Pace.seconds {
          error = await #expect(throws: HTTPError.self) {
            try await client.send(HTTPRequest(body == nil ? .get : .post, RequestTarget(server.url), body: body))
          }
        }
        #expect(error?.kind == .timedOut)
        #expect(seconds >= 0.99 && seconds < 5, "\(seconds)")
      }
      #expect(await becomes { waiters(client) == 0 })
    }

    // MARK: Ends

    @Test(arguments: Lane.engines)
    func `cancelling ends a request at once, and gives its place back`(_ lane: Lane) async throws {
      let server = try MockServer(.data(Self.large))
      defer { server.stop() }
      let client = lane.client { $0.bandwidth = .limit(down: 1024, up: 1024) }
      let url = RequestTarget(server.url)
      for body in [nil, HTTPBody.data(Self.large)] {
        let tasks = (0..<5).map { _ in
          Task { try await client.send(HTTPRequest(body == nil ? .get : .post, url, body: body)) }
        }
        #expect(await becomes { waiters(client) == 5 })

        let seconds = await Pace.seconds {
          for task in tasks {
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
          }
        }

        #expect(seconds < 2, "\(seconds)")
        #expect(await becomes { waiters(client) == 0 })
      }

      // What they had not used is there for others.
      let small = try MockServer(.ok("hello"))
      defer { small.stop() }
      let seconds = try await Pace.seconds {
        let response = try await client.get(RequestTarget(small.url))
        #expect(response.text == "hello")
      }
      #expect(seconds < 8, "\(seconds)")
    }

    @Test(arguments: Lane.engines)
    func `a client that is drained does not wait for turns`(_ lane: Lane) async throws {
      let server = try MockServer(.data(Self.large))
      defer { server.stop() }
      let client = lane.client { $0.bandwidth = .limit(down: 1024, up: 1024) }
      let tasks = (0..<6).map { index in
        let body = index % 2 == 0 ? nil : HTTPBody.data(Self.large)
        return Task { try await client.send(HTTPRequest(.post, RequestTarget(server.url), body: body)) }
      }
      #expect(await becomes { waiters(client) == 6 })

      let seconds = await Pace.seconds {
        await client.drain(timeout: .zero)
        for task in tasks { await #expect(throws: (any Error).self) { try await task.value } }
      }

      #expect(seconds < 2, "\(seconds)")
      #expect(await becomes { waiters(client) == 0 })
      #expect(await server.waitForOpenConnections(atMost: 0))
    }

    @Test(arguments: Lane.engines)
    func `a refused upload is answered at once, though its turn is far away`(_ lane: Lane) async throws {
      let server = try MockServer(.status(413).withoutReadingBody())
      defer { server.stop() }
      let client = lane.client { $0.bandwidth = .limit(up: 1024) }

      let seconds = try await Pace.seconds {
        let response = try await client.post(RequestTarget(server.url), body: .data(Self.large))
        #expect(response.status.rawValue == 413)
      }

      #expect(seconds < 5, "\(seconds)")
      #expect(await becomes { waiters(client) == 0 })
    }

    @Test(arguments: Lane.engines)
    func `a connection that ends under a request that waits fails it, and nobody else`(_ lane: Lane) async throws {
      let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
      let server = try MockServer(answering: { request in
        guard request.path != "/cut" else { return .steps([.text(head), .bytes(Self.large.prefix(5000)), .cut]) }
        return .data(Self.large.prefix(5000))
      })
      defer { server.stop() }
      let client = lane.client { $0.bandwidth = .limit(down: 10_000) }
      async let other = client.get(RequestTarget(server.url + "/whole"))

      let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url + "/cut")) }

      #expect(error?.kind == .connectionLost)
      #expect(try await other.body.count == 5000)
      #expect(await becomes { waiters(client) == 0 })
    }

    // MARK: Log

    @Test(arguments: Lane.engines)
    func `the log says how long a request was held back`(_ lane: Lane) async throws {
      let server = try MockServer(.data(Self.large.prefix(30_000)))
      defer { server.stop() }
      let lines = Shared<[String]>([])
      let sink = LogSink { line in lines.withLock { $0.append(line) } }
      let client = lane.client {
        $0.bandwidth = .limit(down: 20_000)
        $0.attemptMiddleware = [LoggingMiddleware(.throttle, to: sink)]
      }

      _ = try await client.get(RequestTarget(server.url))
      await sink.flush()

      let line = lines.withLock { $0 }.first ?? ""
      #expect(lines.withLock(\.count) == 1)
      let found = try #require(
        try /[0-9]+-0-1 \* held back for ([0-9.]+) s by the limit of bandwidth/.wholeMatch(in: line))
      #expect(try #require(Double(found.1)) > 1.1)
    }

    // MARK: Cost

    @Test(arguments: Lane.engines)
    func `waiting costs no memory and no time, and clients without a limit are as fast as ever`(_ lane: Lane) async {
      await #expect(processExitsWith: .success) { [lane = lane as Lane] in
        let server = try MockServer(.repeating(Data(repeating: 1, count: 1 << 20), count: 256))
        let url = RequestTarget(server.url)
        let fast = HTTPClient { $0.transport = lane.transport }
        let slow = fast.derived { $0.bandwidth = .limit(down: 200_000, up: 200_000) }
        let pieces = UploadPieces(Data(count: 1 << 20), count: 256)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<4 {
            group.addTask { try await slow.stream(.get(url)) { for try await _ in $0.body {} } }
          }
          group.addTask { _ = try await slow.post(url, body: .stream(pieces)) }
          try await Task.sleep(for: .seconds(1))
          let (memory, time) = (ProcessFacts.residentBytes, ProcessFacts.processorTime)
          try await Task.sleep(for: .seconds(2))
          #expect(isSanitized || ProcessFacts.residentBytes - memory < 4 << 20)
          #expect(isSanitized || ProcessFacts.processorTime - time < .milliseconds(300))
          #expect(pieces.takenCount < 8)
          group.cancelAll()
          while await group.nextResult() != nil {}
        }
        let start = ContinuousClock.now
        try await fast.stream(.get(url)) { for try await _ in $0.body {} }
        #expect(ContinuousClock.now - start < .seconds(20))
        server.stop()
      }
    }
  }
#endif

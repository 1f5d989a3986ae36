#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import MartletBase
  @testable import Martlet

  /// How requests end that a bandwidth limit delays, and their cost until then.
  @Suite(.ownThreads, .hangLimit) struct BandwidthEndTests {
    private static let large = Data(repeating: 7, count: 1_000_000)

    // MARK: Time limits

    @Test(arguments: Lane.engines, [false, true])
    func `waiting for bandwidth does not count as idle time`(_ lane: Lane, isUpload: Bool) async throws {
      let server = try MockServer(.data(Self.large))
      defer { server.stop() }
      // With 40 requests ahead of it, a request waits for 40 turns of a second each, so it gets none in this test,
      // however busy the machine is.
      let client = lane.client {
        $0.bandwidth = isUpload ? .limit(up: 1024) : .limit(down: 1024)
        $0.maximumConnectionsPerHost = 50
        $0.timeout = .unlimited
      }
      let request = HTTPRequest(
        isUpload ? .post : .get, RequestTarget(server.url), body: isUpload ? .data(Self.large) : nil)
      let others = (0..<40).map { _ in Task { try await client.send(request) } }
      #expect(await becomes { waiters(client) == 40 })
      let clock = TestClock(advancing: .manually)
      let watched = client.derived {
        $0.clock = clock
        $0.timeout = TimeoutPolicy(idle: .seconds(600), total: nil)
      }

      let hasHead = Shared(isUpload)
      let task = Task {
        try await watched.stream(request) { response in
          hasHead.withLock { $0 = true }
          for try await _ in response.body {}
        }
      }
      await hasHead.wait { $0 }
      #expect(await becomes { waiters(client) == 41 })
      // Advances the clock beyond the idle limit.
      for _ in 0..<3 {
        clock.advance(by: .seconds(700))
        try await Task.sleep(for: .milliseconds(20))
      }
      task.cancel()

      // The error must not be a timeout.
      await #expect(throws: CancellationError.self) { try await task.joined }
      for other in others {
        other.cancel()
        await #expect(throws: CancellationError.self) { try await other.joined }
      }
    }

    @Test(arguments: Lane.engines)
    func `a silent server still triggers the idle limit`(_ lane: Lane) async throws {
      let server = try SteppedServer()
      let clock = TestClock(advancing: .manually)
      let client = lane.client {
        $0.clock = clock
        $0.bandwidth = .limit(down: 20_480)
        $0.timeout = TimeoutPolicy(idle: .seconds(600), total: nil)
      }
      let hasHead = Shared(false)
      let task = Task {
        try await client.stream(.get(server.target)) { response in
          hasHead.withLock { $0 = true }
          for try await _ in response.body {}
        }
      }
      try await server.request()
      try await server.send("HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n")
      await hasHead.wait { $0 }
      // The bytes arrive in more than one turn.
      let seconds = try await Pace.seconds {
        try await server.send(Self.large.prefix(8000))
        #expect(await becomes { client.activity.current.running.first?.progress.received == 8000 })
      }

      let end = await clock.pass(.seconds(601), until: task)
      let error = #expect(throws: HTTPError.self) { try end.get() }

      #expect(error?.kind == .timedOut)
      #expect(error?.phase == .receiving)
      #expect(seconds > 0.1, "\(seconds)")
    }

    @Test(arguments: Lane.engines)
    func `the total limit includes the wait for bandwidth`(_ lane: Lane) async throws {
      let server = try MockServer(.data(Self.large))
      defer { server.stop() }
      let clock = TestClock(advancing: .manually)
      let client = lane.client {
        $0.clock = clock
        $0.bandwidth = .limit(down: 1024, up: 1024)
        $0.timeout = TimeoutPolicy(idle: nil, total: .seconds(600))
      }
      for body in [nil, HTTPBody.data(Self.large)] {
        let task = Task {
          try await client.send(HTTPRequest(body == nil ? .get : .post, RequestTarget(server.url), body: body))
        }
        #expect(await becomes { waiters(client) == 1 })
        let end = await clock.pass(.seconds(601), until: task)
        let error = #expect(throws: HTTPError.self) { try end.get() }
        #expect(error?.kind == .timedOut)
        #expect(await becomes { waiters(client) == 0 })
      }
    }

    // MARK: Ended requests

    // Each of these bodies would take minutes.

    @Test(arguments: Lane.engines)
    func `cancelling removes a request from the bandwidth queue`(_ lane: Lane) async throws {
      let server = try MockServer(.data(Self.large))
      defer { server.stop() }
      let client = lane.client {
        $0.bandwidth = .limit(down: 8192, up: 8192)
        $0.timeout = .unlimited
      }
      let url = RequestTarget(server.url)
      for body in [nil, HTTPBody.data(Self.large)] {
        let tasks = (0..<5).map { _ in
          Task { try await client.send(HTTPRequest(body == nil ? .get : .post, url, body: body)) }
        }
        #expect(await becomes { waiters(client) == 5 })

        for task in tasks {
          task.cancel()
          await #expect(throws: CancellationError.self) { try await task.joined }
        }

        #expect(await becomes { waiters(client) == 0 })
      }

      // Behind the cancelled requests, no request would ever get its turn.
      let small = try MockServer(.ok("hello"))
      defer { small.stop() }
      #expect(try await client.get(RequestTarget(small.url)).text == "hello")
    }

    @Test(arguments: Lane.engines)
    func `draining ends requests that wait for bandwidth`(_ lane: Lane) async throws {
      let server = try MockServer(.data(Self.large))
      defer { server.stop() }
      let client = lane.client {
        $0.bandwidth = .limit(down: 1024, up: 1024)
        $0.timeout = .unlimited
      }
      let tasks = (0..<6).map { index in
        let body = index % 2 == 0 ? nil : HTTPBody.data(Self.large)
        return Task { try await client.send(HTTPRequest(.post, RequestTarget(server.url), body: body)) }
      }
      #expect(await becomes { waiters(client) == 6 })

      await client.drain(timeout: .zero)
      for task in tasks { await #expect(throws: (any Error).self) { try await task.joined } }

      #expect(await becomes { waiters(client) == 0 })
      #expect(await server.waitForOpenConnections(atMost: 0))
    }

    @Test(arguments: Lane.engines)
    func `the response to a rejected upload does not wait for bandwidth`(_ lane: Lane) async throws {
      let server = try MockServer(.status(413).withoutReadingBody())
      defer { server.stop() }
      let client = lane.client {
        $0.bandwidth = .limit(up: 1024)
        $0.timeout = .unlimited
      }

      let response = try await client.post(RequestTarget(server.url), body: .data(Self.large))

      #expect(response.status.rawValue == 413)
      #expect(await becomes { waiters(client) == 0 })
    }

    @Test(arguments: Lane.engines)
    func `a lost connection fails only its own request while others wait for bandwidth`(_ lane: Lane) async throws {
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
    func `the log reports how long a request waited for bandwidth`(_ lane: Lane) async throws {
      let server = try MockServer(.data(Self.large.prefix(3_000)))
      defer { server.stop() }
      let lines = Shared<[String]>([])
      let sink = LogSink { line in lines.withLock { $0.append(line) } }
      let client = lane.client {
        $0.bandwidth = .limit(down: 2_000)
        $0.exchangeMiddleware = [LoggingMiddleware(.throttle, to: sink)]
      }

      // There is a turn every half second. The time that the machine needs for a turn is not a wait for bandwidth.
      let elapsed = try await Pace.seconds { _ = try await client.get(RequestTarget(server.url)) }
      await sink.flush()

      let line = lines.withLock { $0 }.first ?? ""
      #expect(lines.withLock(\.count) == 1)
      let found = try #require(
        try /[0-9]+-0-1 \* held back for ([0-9.]+) (m?s) by the bandwidth limit/.wholeMatch(in: line))
      let seconds = try #require(Double(found.1)) * (found.2 == "s" ? 1 : 0.001)
      #expect(0 < seconds && seconds <= elapsed + 0.005, "\(seconds) of \(elapsed)")
    }

    // MARK: Cost

    @Test(.needs(.proc), arguments: Lane.engines)
    func `waiting for bandwidth needs little memory, and clients without a limit do not wait`(_ lane: Lane) async {
      await #expect(processExitsWith: .success) { [lane = lane as Lane] in
        let size = Stress.count(64, full: 256)
        let server = try MockServer(.repeating(Data(repeating: 1, count: 1 << 20), count: size))
        let url = RequestTarget(server.url)
        let fast = HTTPClient { $0.transport = lane.transport }
        let slow = fast.derived { $0.bandwidth = .limit(down: 200_000, up: 200_000) }
        let pieces = UploadPieces(Data(count: 1 << 20), count: size)
        let small = try MockServer(.ok("hello"))
        _ = try await slow.get(RequestTarget(small.url))
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<4 {
            group.addTask { try await slow.stream(.get(url)) { for try await _ in $0.body {} } }
          }
          group.addTask { _ = try await slow.post(url, body: .stream(pieces)) }
          #expect(await becomes { waiters(slow) == 5 })
          let (memory, time) = (ProcessFacts.residentBytes, ProcessFacts.processorTime)
          try await Task.sleep(for: .milliseconds(Stress.count(400, full: 2_000)))
          #expect(isSanitized || ProcessFacts.residentBytes - memory < 16 << 20)
          #expect(!Stress.isOn || isSanitized || ProcessFacts.processorTime - time < .milliseconds(300))
          #expect(pieces.takenCount < 8)
          group.cancelAll()
          while await group.nextResult() != nil {}
        }
        // With the limit, this would take minutes.
        try await fast.stream(.get(url)) { for try await _ in $0.body {} }
        server.stop()
        small.stop()
      }
    }
  }

  /// Returns the number of requests of a client that wait for their turn.
  private func waiters(_ client: HTTPClient) -> Int {
    let budget = client.core.settings.configuration.bandwidthBudget
    return (budget?.down?.waiterCount ?? 0) + (budget?.up?.waiterCount ?? 0)
  }
#endif

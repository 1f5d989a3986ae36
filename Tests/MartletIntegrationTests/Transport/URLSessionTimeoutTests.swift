#if canImport(Darwin) || URLSession
  import Foundation
  import MartletBase
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  extension URLSessionTests {
    @Suite(.hangLimit) struct TimeoutTests {
      /// Returns the error of a request that only a timeout can end, and the time it took.
      private func timeOut(
        _ url: String, _ options: RequestOptions, body: HTTPBody? = nil, _ loader: URLSessionTransport.Loader
      ) async -> (error: HTTPError?, elapsed: Duration) {
        let start = ContinuousClock.now
        let error = await #expect(throws: HTTPError.self) {
          try await HTTPClient(.urlSession(loader: loader), .retry(.off)).send(
            HTTPRequest(body == nil ? .get : .put, RequestTarget(url), body: body), options: options)
        }
        return (error, ContinuousClock.now - start)
      }

      @Test(arguments: [50, 300], URLSessionTests.loaders)
      func `enforces a total limit of less than a second`(_ milliseconds: Int, _ loader: URLSessionTransport.Loader)
        async throws
      {
        let server = try MockServer(.hang)
        let limit = Duration.milliseconds(milliseconds)

        let (error, elapsed) = await timeOut(server.url, .timeout(limit), loader)

        #expect(error?.kind == .timedOut)
        #expect(elapsed >= limit)
      }

      @Test(.needs(.proc), arguments: URLSessionTests.loaders)
      func `enforces the connect limit for an unresponsive host`(_ loader: URLSessionTransport.Loader) async throws {
        let hole = try BlackHole()

        let (error, elapsed) = await timeOut(hole.url, .timeout(connect: .milliseconds(300)), loader)

        #expect(error?.kind == .timedOut)
        #expect(error?.phase == .connecting)
        #expect(error?.mayHaveReachedServer == false)
        #expect(elapsed >= .milliseconds(300))
      }

      @Test(.needs(.proc), arguments: URLSessionTests.loaders)
      func `does not apply the connect limit to a slow response`(_ loader: URLSessionTransport.Loader) async throws {
        let server = try SteppedServer()
        let clock = TestClock(advancing: .manually)
        let client = HTTPClient(.urlSession(loader: loader), .retry(.off)).derived { $0.clock = clock }
        let options = RequestOptions.timeout(TimeoutPolicy(connect: .seconds(10), idle: nil, total: nil))
        let task = Task { try await client.get(server.target, options: options) }

        try await server.request()
        for _ in 0..<3 {
          clock.advance(by: .seconds(600))
          try await Task.sleep(for: .milliseconds(30))
        }
        try await server.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate")

        #expect(try await task.joined.text == "late")
      }

      @Test(.needs(.proc), arguments: URLSessionTests.loaders)
      func `waits for a connection when the first byte limit is shorter than the connect limit`(
        _ loader: URLSessionTransport.Loader
      ) async throws {
        let hole = try BlackHole()

        let (error, elapsed) = await timeOut(
          hole.url, .timeout(connect: .milliseconds(400)).timeout(firstByte: .milliseconds(100)), loader)

        #expect(error?.phase == .connecting)
        #expect(elapsed >= .milliseconds(400))
      }

      @Test(arguments: URLSessionTests.loaders)
      func `enforces the first byte limit`(_ loader: URLSessionTransport.Loader) async throws {
        let server = try MockServer(.hang)

        let (error, elapsed) = await timeOut(server.url, .timeout(firstByte: .milliseconds(200)), loader)

        #expect(error?.kind == .timedOut)
        #expect(error?.phase == .waiting)
        #expect(error?.mayHaveReachedServer == true)
        #expect(elapsed >= .milliseconds(200))
      }

      @Test(arguments: [false, true], URLSessionTests.loaders)
      func `enforces the idle limit while waiting for the response`(
        _ hasBody: Bool, _ loader: URLSessionTransport.Loader
      )
        async throws
      {
        let server = try MockServer(.hang)

        let (error, elapsed) = await timeOut(
          server.url, .timeout(idle: .milliseconds(200)), body: hasBody ? .text("x") : nil, loader)

        #expect(error?.kind == .timedOut)
        #expect(error?.phase == .waiting)
        #expect(elapsed >= .milliseconds(200))
      }

      /// Starts a request that receives the beginning of a body of 30,000 bytes; the rest is up to the test.
      private func beginBody(
        _ loader: URLSessionTransport.Loader, _ clock: TestClock, _ server: SteppedServer, _ received: Shared<Int64>
      ) async throws -> Task<Int, any Error> {
        let client = HTTPClient(.urlSession(loader: loader), .retry(.off)).derived { $0.clock = clock }
        let options = RequestOptions.timeout(TimeoutPolicy(idle: .seconds(600), total: nil)).onProgress { now in
          received.withLock { $0 = now.received }
        }
        let hasHead = Shared(false)
        let task = Task {
          try await client.stream(.get(server.target), options: options) { response in
            hasHead.withLock { $0 = true }
            return try await response.body.reduce(into: 0) { $0 += $1.count }
          }
        }
        try await server.request()
        try await server.send("HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n")
        try await server.send(Data(count: 20_000))
        await received.wait { $0 > 0 }
        // Bytes may arrive before the head has reached its reader and set the phase.
        await hasHead.wait { $0 }
        return task
      }

      @Test(arguments: URLSessionTests.loaders)
      func `enforces the idle limit within a body`(_ loader: URLSessionTransport.Loader) async throws {
        let server = try SteppedServer()
        let clock = TestClock(advancing: .manually)
        let task = try await beginBody(loader, clock, server, Shared(0))

        let end = await clock.pass(.seconds(601), until: task)
        let error = #expect(throws: HTTPError.self) { try end.get() }

        #expect(error?.kind == .timedOut)
        #expect(error?.phase == .receiving)
      }

      @Test(arguments: URLSessionTests.loaders)
      func `does not apply the idle limit to a body that progresses`(_ loader: URLSessionTransport.Loader) async throws
      {
        let server = try SteppedServer()
        let clock = TestClock(advancing: .manually)
        let received = Shared<Int64>(0)
        let task = try await beginBody(loader, clock, server, received)

        for number in 1...10 {
          let before = received.value
          clock.advance(by: .seconds(400))
          try await server.send(Data(count: 1000))
          // The last chunk is not reported before the end.
          if number < 10 { await received.wait { $0 > before } }
        }

        #expect(try await task.joined == 30_000)
      }

      @Test(arguments: URLSessionTests.loaders)
      func `interim responses reset the idle limit`(_ loader: URLSessionTransport.Loader) async throws {
        let server = try SteppedServer()
        let clock = TestClock(advancing: .manually)
        let client = HTTPClient(.urlSession(loader: loader), .retry(.off)).derived { $0.clock = clock }
        let options = RequestOptions.timeout(TimeoutPolicy(idle: .seconds(600), total: nil))
        let hint = "HTTP/1.1 103 Early Hints\r\n\r\n"
        let task = Task { try await client.get(server.target, options: options) }
        try await server.request()
        // The first response only informs the system's loader that there is a connection, which is not progress.
        try await server.send(hint)

        let changes = client.core.changes
        changes.addWatcher()
        defer { changes.removeWatcher() }
        for _ in 0..<3 {
          let before = changes.version
          try await server.send(hint)
          await changes.wait(after: before)
          clock.advance(by: .seconds(400))
        }
        try await server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        #expect(try await task.joined.status == .ok)
      }
    }
  }
#endif

#if os(Linux)
  import CMartletShim
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import MartletBase
  @testable import Martlet

  /// The state that the engine's loop keeps for transfers and connections, and for how long.
  @Suite(.hangLimit) struct CurlLoopTests {
    @Test func `rejects a blocking call on an engine thread`() async throws {
      let client = Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.seconds(3600)))

      let error = await withCheckedContinuation { (continuation: CheckedContinuation<(any Error)?, Never>) in
        Thread.detachNewThread {
          // Simulates a thread that holds the lock of an engine.
          _ = martlet_library_enter()
          defer { martlet_library_leave() }
          do {
            _ = try client.blocking.send(.get("http://127.0.0.1:9/"))
            continuation.resume(returning: nil)
          } catch {
            continuation.resume(returning: error)
          }
        }
      }

      let refusal = try #require(error as? HTTPError)
      #expect(refusal.kind == .unsupported && refusal.message.contains("your own thread"))
    }

    @Test func `an unread response body does not affect other requests`() async throws {
      let piece = Data(count: 1 << 16)
      let server = try MockServer { (request: RecordedRequest) in
        request.path == "/large" ? .repeating(piece, count: 512) : .ok("x")
      }
      let client = Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.seconds(3600)))
      let (small, large) = (RequestTarget(server.url("/small")), RequestTarget(server.url("/large")))
      _ = try await client.get(small)

      let size = try await client.stream(.get(large)) { response in
        #expect(response.connection?.isReused == true)
        var pieces = response.body.makeAsyncIterator()
        var size = try await pieces.next()?.count ?? 0
        // More bytes arrive than the buffer can hold, while other requests start.
        for _ in 0..<20 {
          #expect(try await client.get(small).text == "x")
          try await Task.sleep(for: .milliseconds(10))
        }
        while let piece = try await pieces.next() { size += piece.count }
        return size
      }

      #expect(size == 512 << 16)
    }

    // MARK: Finished requests

    @Test func `releases the body of a finished request`() async throws {
      let server = try MockServer(.ok())
      let client = Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.seconds(3600)))
      let isGone = Shared(false)
      func send() async throws {
        let signal = ReleaseSignal { isGone.withLock { $0 = true } }
        let body = HTTPBody.stream { () -> UploadPieces in
          _ = signal
          return UploadPieces(Data("x".utf8), count: 1)
        }
        #expect(try await client.post(RequestTarget(server.url), body: body).status == .ok)
      }

      try await send()

      await isGone.wait { $0 }
      #expect(try client.hasEngineThread())
    }

    /// Returns a server whose small body decodes to 1 MiB, so all of it arrives before its reader has room for it.
    private func swelling() throws -> MockServer {
      let coded = try Compressor.compress(Data(count: 1 << 20), .gzip)
      return try MockServer(.data(coded, headers: ["Content-Encoding": "gzip"]))
    }

    @Test func `a body decoded after its transfer ended does not keep the thread alive`() async throws {
      let server = try swelling()
      let client = Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.milliseconds(1)))

      let count = try await client.stream(.get(RequestTarget(server.url))) { response in
        var count = 0
        for try await piece in response.body { count += piece.count }
        return count
      }

      #expect(count == 1 << 20)
      #expect(await becomes { (try? client.hasEngineThread()) == false })
    }

    @Test func `an abandoned encoded body does not keep the thread alive`() async throws {
      let server = try swelling()
      let client = Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.milliseconds(1)))

      let status = try await client.stream(.get(RequestTarget(server.url))) { $0.status }

      #expect(status == .ok)
      #expect(await becomes { (try? client.hasEngineThread()) == false })
    }

    @Test func `a cancelled upload of an endless stream does not keep the thread alive`() async throws {
      let server = try MockServer(.ok())
      let client = Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.milliseconds(1)))
      let isAsked = Shared(false)
      let silent = AsyncStream<Data> {
        isAsked.withLock { $0 = true }
        _ = try? await untilCancelled()
        return nil
      }
      let start = ContinuousClock.now
      let task = Task { try await client.post(RequestTarget(server.url), body: .stream(silent, length: 0)) }
      await isAsked.wait { $0 }

      task.cancel()
      let elapsed = ContinuousClock.now - start
      await #expect(throws: CancellationError.self) { try await task.value }

      #expect(await becomes { (try? client.hasEngineThread()) == false })
      // A request whose bytes are all there is sent after 50 ms, even if its stream is open.
      #expect(server.requests.isEmpty || elapsed > .milliseconds(25))
    }

    @Test func `connections are closed when their client is released`() async throws {
      let server = try MockServer(.ok("x"))
      func send() async throws {
        let client = Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.seconds(3600)))
        #expect(try await client.get(RequestTarget(server.url)).text == "x")
        #expect(server.openConnections == 1)
      }

      try await send()

      #expect(await server.waitForOpenConnections(atMost: 0))
    }

    // MARK: Other connections

    @Test func `the end of one connection does not end an upload on another`() async throws {
      let first = try MockServer(.ok("x"))
      let second = try MockServer(answering: MockResponse.echo)
      let client = Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.seconds(3600)))
      #expect(try await client.get(RequestTarget(first.url)).text == "x")
      let (pieces, source) = AsyncStream.makeStream(of: Data.self)
      source.yield(Data("begin ".utf8))
      async let response = client.post(RequestTarget(second.url), body: .stream(pieces))
      #expect(await second.wait { $0.openConnections == 1 })

      first.stop()
      source.yield(Data("end".utf8))
      source.finish()

      #expect(try await response.text == "begin end")
    }

    // MARK: Early responses

    @Test func `a complete response is delivered even if the server closes during the upload`() async throws {
      let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole"
      let server = try MockServer(
        .ok(), options: .init(earlyAnswer: { _ in .steps([.text(answer), .delay(.milliseconds(50)), .cut]) }))
      let (body, isGone) = UploadPieces.endless()

      let response = try await Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.seconds(3600))).post(
        RequestTarget(server.url), body: body)

      #expect(response.text == "whole")
      #expect(await becomes { isGone() })
    }

    @Test(arguments: ["Content-Length: 6\r\n\r\nwhole", "Transfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n"])
    func `a response truncated during the upload is an error`(answer: String) async throws {
      let text = "HTTP/1.1 200 OK\r\n" + answer
      let server = try MockServer(
        .ok(), options: .init(earlyAnswer: { _ in .steps([.text(text), .delay(.milliseconds(50)), .cut]) }))
      let (body, isGone) = UploadPieces.endless()

      let error = await #expect(throws: HTTPError.self) {
        try await Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.seconds(3600))).post(
          RequestTarget(server.url), body: body)
      }

      #expect(error?.kind == .connectionLost)
      #expect(await becomes { isGone() })
    }

    @Test func `an error response ends the upload even if the server keeps the connection open`() async throws {
      let answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\n\r\ntoo large"
      let server = try MockServer(.ok(), options: .init(earlyAnswer: { _ in .steps([.text(answer), .hang]) }))
      defer { server.stop() }
      let (body, isGone) = UploadPieces.endless()

      let response = try await Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.seconds(3600))).post(
        RequestTarget(server.url), body: body)

      #expect(response.status == 413 && response.text == "too large")
      #expect(await becomes { isGone() })
    }

    @Test func `a request lost on one connection is not sent on another`() async throws {
      let arrivals = Shared(0)
      let server = try MockServer { request in
        guard request.method == "GET" else { return .steps([.cut]) }
        // The server responds only when both requests have arrived, so each has its own connection.
        arrivals.withLock { $0 += 1 }
        await arrivals.wait { $0 == 2 }
        return .ok("x")
      }
      let client = Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.seconds(3600)))
      async let first = client.get(RequestTarget(server.url))
      async let second = client.get(RequestTarget(server.url))
      #expect(try await first.text == "x")
      #expect(try await second.text == "x")
      #expect(server.connectionCount == 2)

      let error = await #expect(throws: HTTPError.self) {
        try await client.send(HTTPRequest(.post, RequestTarget(server.url)))
      }

      #expect(error?.kind == .connectionLost)
      #expect(server.requests.filter { $0.method == "POST" }.count == 1)
    }

    /// Refuses the first attempts at a request unread, as an HTTP/2 server does.
    private struct RefusingTransport: Transport {
      var base: any Transport

      func prepared(for settings: TransportSettings) -> any Transport {
        RefusingTransport(base: base.prepared(for: settings))
      }

      func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
        guard request.url?.path() == "/refused", context.attempt <= 3 else {
          return try await base.send(request, context: context)
        }
        var error = HTTPError(.connectionLost, "refused")
        error.mayHaveReachedServer = false
        throw error
      }
    }

    @Test(arguments: Lane.engines)
    func `a request refused three times gets a new connection, and later requests reuse one`(
      lane: Lane
    ) async throws {
      let server = try MockServer(.ok("x"))
      let client = lane.client {
        $0.transport = RefusingTransport(base: lane.transport)
        $0.retry = .standard
      }
      _ = try await client.get(RequestTarget(server.url))

      let response = try await client.get(RequestTarget(server.url("/refused")))
      #expect(response.connection?.isReused == false && server.connectionCount == 2)

      let next = try await client.get(RequestTarget(server.url))
      #expect(next.connection?.isReused == true && server.connectionCount == 2)
    }

    // MARK: Turns

    @Test func `an upload that waits for bandwidth ends at its total limit`() async throws {
      let server = try MockServer(.ok())
      let clock = TestClock(advancing: .manually)
      let client = Lane.curl.client {
        $0.clock = clock
        $0.bandwidth = .limit(up: 2_000)
        $0.timeout = TimeoutPolicy(idle: nil, total: .seconds(600))
      }
      let task = Task { try await client.post(RequestTarget(server.url), body: .data(Data(count: 1_000_000))) }
      let budget = client.core.settings.configuration.bandwidthBudget
      #expect(await becomes { budget?.up?.waiterCount == 1 })

      let end = await clock.pass(.seconds(601), until: task)
      let error = #expect(throws: HTTPError.self) { try end.get() }

      #expect(error?.kind == .timedOut && error?.phase == .sending)
      #expect(server.requests.allSatisfy { !$0.isComplete })
    }

    // MARK: Handles

    @Test(.needs(.reportedRequests)) func `a handle sends all fields of a request after a request with another method`()
      async throws
    {
      let server = try MockServer(.ok("x"))
      let client = Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.seconds(3600)))
      for method in [HTTPMethod.get, .head, .get, .delete, .head, .post, .get] {
        _ = try await client.send(HTTPRequest(method, RequestTarget(server.url), headers: ["X-Own": "a"]))
      }

      #expect(server.requests.map { $0.header("X-Own") } == [String?](repeating: "a", count: 7))
      #expect(Set(server.requests.map { $0.header("User-Agent") }).count == 1)
      #expect(server.requests.allSatisfy { $0.header("Host") == "127.0.0.1:\(server.port)" })
      #expect(server.connectionCount == 1)
    }

    @Test func `a handle that is set up again sends the same fields`() async throws {
      let server = try MockServer(.ok("x"))
      let client = Lane.curl.client(.timeout(.unlimited), .idleConnectionLifetime(.seconds(3600)))
      for _ in 0..<3 {
        _ = try await client.get(RequestTarget(server.url), options: .httpVersion(.http1_1))
      }

      #expect(Set(server.requests.map { $0.headers.map { "\($0.name): \($0.value)" } }).count == 1)
      #expect(server.requests.allSatisfy { $0.header("Accept-Encoding") != nil })
      #expect(server.connectionCount == 1)
    }
  }
#endif

#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import MartletBase
  @testable import Martlet

  /// Streamed request bodies that end before the exchange, or that the exchange ends.
  @Suite(.hangLimit) struct CurlUploadEndTests {
    private let client = HTTPClient {
      $0.transport = .curl
      $0.retry = .off
      $0.accepts = .any
    }

    // MARK: Invalid sources

    @Test(.needs(.reportedRequests), arguments: [1, 99_999, 100_001, 1_000_000] as [Int64])
    func `a stream that differs from its announced length fails and closes the connection`(length: Int64) async throws {
      let server = try MockServer(.ok())
      let client = client
      _ = try await client.get(RequestTarget(server.url))
      let pieces = UploadPieces(Data(count: 1000), count: 100)

      let error = await #expect(throws: HTTPError.self) {
        try await client.post(RequestTarget(server.url), body: .stream(pieces, length: length))
      }

      #expect(error?.kind == .invalidRequest)
      #expect(error?.phase == .sending)
      #expect(error?.mayHaveReachedServer == true)
      #expect(error?.message.contains("\(length) bytes announced") == true)
      #expect(await server.waitForOpenConnections(atMost: 0))
      #expect(server.requests.count == 1 || server.requests.last?.isComplete == false)
    }

    @Test(arguments: [0, 1, 3, 300_000]) func `sends a stream with all announced bytes that does not end`(
      count: Int
    ) async throws {
      let server = try MockServer(answering: MockResponse.echo)
      let (chunks, continuation) = AsyncStream<Data>.makeStream()
      let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
      for start in stride(from: 0, to: count, by: 100_000) {
        continuation.yield(bytes[start..<min(start + 100_000, count)])
      }

      let body = HTTPBody.stream(chunks, length: Int64(count))
      let response = try await client.post(RequestTarget(server.url), body: body)

      #expect(response.body == bytes)
      continuation.finish()
    }

    @Test func `cancelling around the end of a stream that stays open leaves nothing behind`() async throws {
      let server = try MockServer(answering: MockResponse.echo)
      let client = client

      let ends = await withTaskGroup(of: String.self) { group in
        for number in 0..<64 {
          group.addTask {
            let (chunks, continuation) = AsyncStream<Data>.makeStream()
            defer { continuation.finish() }
            continuation.yield(Data("abc".utf8))
            let body = HTTPBody.stream(chunks, length: 3)
            let task = Task { try await client.post(RequestTarget(server.url), body: body).text }
            // The last bytes are sent after 50 ms.
            try? await Task.sleep(for: .milliseconds(40 + number / 2))
            task.cancel()
            do { return try await task.value } catch { return error is CancellationError ? "cancelled" : "\(error)" }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      let last = try await client.get(RequestTarget(server.url))

      #expect(ends.allSatisfy { ["abc", "cancelled"].contains($0) }, "\(ends)")
      #expect(last.status == 200 && client.core.entryCount == 0)
      #expect(server.malformed.isEmpty)
    }

    @Test func `rethrows the error of the source and leaves the request incomplete`() async throws {
      let server = try MockServer(.ok(), options: .init(keepsBodies: false))
      for length in [nil, 1_000_000] as [Int64?] {
        let pieces = UploadPieces(Data(count: 1000), count: 100, isBroken: true)

        await #expect(throws: UploadPieces.Broken(number: 100)) {
          try await client.post(RequestTarget(server.url), body: .stream(pieces, length: length))
        }

        #expect(await server.waitForOpenConnections(atMost: 0))
      }
      await #expect(throws: UploadPieces.Broken(number: 1)) {
        let body = HTTPBody.stream { () throws -> UploadPieces in throw UploadPieces.Broken(number: 1) }
        return try await client.post(RequestTarget(server.url), body: body)
      }
      #expect(server.requests.allSatisfy { !$0.isComplete })
      #expect(server.malformed.isEmpty)
    }

    @Test func `a blocked upload does not request the next chunk and can be cancelled`() async throws {
      let server = try MockServer(.steps([.hang]).withoutReadingBody(pausesReading: true))
      defer { server.stop() }
      let isFull = Locked(false)
      let body = HTTPBody.stream { () -> AsyncThrowingStream<Data, any Error> in
        let steps = Locked(0)
        return AsyncThrowingStream {
          let step = steps.withLock { step in
            step += 1
            return step
          }
          if step == 1 { return Data(count: 64 << 20) }
          isFull.withLock { $0 = true }
          throw UploadPieces.Broken(number: 2)
        }
      }
      // The second chunk is requested only when the first is nearly used up, which never happens here.
      let task = Task { try await client.post(RequestTarget(server.url), body: body) }
      _ = await server.waitForRequests(1)
      try await Task.sleep(for: .milliseconds(300))
      #expect(!isFull.withLock { $0 })
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.joined }
    }

    // MARK: Ended exchanges

    @Test func `cancelling releases a source that waits forever`() async throws {
      let server = try MockServer(.ok())
      let (body, isGone) = UploadPieces.endless()
      let client = client
      let task = Task { try await client.post(RequestTarget(server.url), body: body, options: .timeout(.unlimited)) }
      _ = await server.waitForRequests(1)

      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.joined }

      #expect(await server.wait { _ in isGone() })
      #expect(await server.waitForOpenConnections(atMost: 0))
    }

    @Test func `a connection closed by the server releases a source that waits forever`() async throws {
      for steps: [MockResponse.Step] in [[.delay(.milliseconds(50)), .cut], [.delay(.milliseconds(50)), .reset]] {
        let server = try MockServer(.ok(), options: .init(earlyAnswer: { _ in .steps(steps) }))
        let (body, isGone) = UploadPieces.endless()

        let error = await #expect(throws: HTTPError.self) {
          try await client.post(RequestTarget(server.url), body: body, options: .timeout(.unlimited))
        }

        #expect(error?.kind == .connectionLost)
        #expect(await server.wait { _ in isGone() })
      }
    }

    @Test func `an early error response is delivered and ends the source`() async throws {
      for close in [true, false] {
        let answer = MockResponse.status(413, headers: close ? ["Connection": "close"] : [:], body: "too large")
        let server = try MockServer(.ok(), options: .init(earlyAnswer: { _ in answer }))
        let (waiting, isGone) = UploadPieces.endless()

        // The source never ends, and no timeout ends it.
        let options = RequestOptions.timeout(.unlimited)
        let first = try await client.post(RequestTarget(server.url), body: waiting, options: options)
        let busy = UploadPieces(Data(count: 64 << 10), count: 100_000)
        let second = try await client.post(RequestTarget(server.url), body: .stream(busy), options: options)

        #expect(first.status == 413 && second.status == 413)
        #expect(first.text == "too large" && second.text == "too large")
        #expect(await server.wait { _ in isGone() })
        let taken = busy.takenCount
        try await Task.sleep(for: .milliseconds(50))
        #expect(busy.takenCount <= taken + 1)
        #expect(taken < 100_000)
        #expect(server.requests.allSatisfy { !$0.isComplete })
      }
    }

    @Test func `Expect: 100-continue holds the body back until the server accepts it`() async throws {
      let headers: HTTPHeaders = ["Expect": "100-continue"]
      let server = try MockServer(answering: MockResponse.echo)
      let refusing = try MockServer(
        .ok(), options: .init(sendsContinue: false, earlyAnswer: { _ in .status(417, body: "no") }))
      let unread = UploadPieces(Data(count: 1000), count: 100)

      let body = HTTPBody.stream(UploadPieces(Data(count: 1000), count: 100))
      let response = try await client.send(.post(RequestTarget(server.url), headers: headers, body: body))
      let refused = try await client.send(
        .post(RequestTarget(refusing.url), headers: headers, body: .stream(unread)))

      #expect(response.body.count == 100_000)
      #expect(refused.status == 417)
      #expect(unread.takenCount == 0)
    }

    // MARK: Retries

    @Test func `a single-use stream is sent once`() async throws {
      let server = try MockServer(connectionScripts: [[.steps([.cut])], [.ok("twice")]])
      let retrying = client.derived { $0.retry = .custom { _, _ in .zero } }
      let body = HTTPBody.stream(UploadPieces(Data(count: 1000), count: 10))

      let lost = await #expect(throws: HTTPError.self) {
        try await retrying.put(RequestTarget(server.url), body: body)
      }
      let used = await #expect(throws: HTTPError.self) {
        try await retrying.put(RequestTarget(server.url), body: body)
      }

      #expect(lost?.kind == .connectionLost)
      #expect(lost?.attempts.count == 1)
      #expect(used?.kind == .bodyNotReplayable)
      #expect(server.requests.count == 1)
    }

    @Test func `an unread stream is sent after a failed attempt`() async throws {
      let server = try MockServer(answering: MockResponse.echo)
      let port = Locked(try MockServer.refusedPort())
      let retrying = client.derived {
        $0.retry = .custom { _, _ in .zero }
        $0.exchangeMiddleware = [
          .changing { request in
            let url = "http://127.0.0.1:\(port.withLock { $0 })/"
            port.withLock { $0 = server.port }
            request.target = RequestTarget(url)
          }
        ]
      }

      let body = HTTPBody.stream(UploadPieces(Data(count: 1000), count: 10))
      let response = try await retrying.post("http://127.0.0.1/", body: body)

      #expect(response.body.count == 10_000)
      #expect(response.attempts.count <= 2)
    }

    @Test func `a replayable stream is sent again after a 503 and a redirect`() async throws {
      let made = Locked(0)
      let body = HTTPBody.stream(length: 10_000) {
        made.withLock { $0 += 1 }
        return UploadPieces(Data(count: 1000), count: 10)
      }
      let server = try MockServer(script: [.status(503), .redirect(to: "/there", status: 307), .ok("done")])
      let retrying = client.derived { $0.retry = .backoff(attempts: 2, initialDelay: .zero) }

      let response = try await retrying.put(RequestTarget(server.url), body: body)

      #expect(response.text == "done")
      #expect(made.withLock { $0 } == 3)
      #expect(server.requests.map(\.bodyLength) == [10_000, 10_000, 10_000])
    }

    @Test(arguments: [307, 308])
    func `a redirect that needs the body again fails for a single-use stream`(status: Int) async throws {
      let server = try MockServer(script: [.redirect(to: "/there", status: status), .ok("twice")])
      let body = HTTPBody.stream(UploadPieces(Data(count: 1000), count: 10))

      let error = await #expect(throws: HTTPError.self) {
        try await client.post(RequestTarget(server.url), body: body)
      }

      #expect(error?.kind == .bodyNotReplayable)
      #expect(server.requests.count == 1)
    }

    @Test func `a 303 redirect after a streamed POST is followed with GET`() async throws {
      let server = try MockServer(script: [.redirect(to: "/there", status: 303), .ok("read")])
      let body = HTTPBody.stream(UploadPieces(Data(count: 1000), count: 10))

      #expect(try await client.post(RequestTarget(server.url), body: body).text == "read")
      #expect(server.requests.map(\.method) == ["POST", "GET"])
    }
  }
#endif

#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  @Suite(.ownThreads, .hangLimit) struct CurlTransportTests {
    private let client = HTTPClient {
      $0.transport = .curl
      $0.retry = .off
      $0.accepts = .any
    }

    private func error(from text: String) async throws -> HTTPError? {
      let server = try MockServer(.raw(text))
      defer { server.stop() }
      return await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url)) }
    }

    // MARK: Heads

    @Test func `reports the version, reason phrase and timing`() async throws {
      let server = try MockServer(.raw("HTTP/1.0 404 Not Here At All\r\n\r\nx"))
      let response = try await client.get(RequestTarget(server.url))
      #expect(response.httpVersion == .http1_0)
      #expect(response.reasonPhrase == "Not Here At All")
      #expect(response.timing.connect != nil)
      #expect(response.timing.tls == nil)
    }

    @Test func `joins folded lines`() async throws {
      let server = try MockServer(.raw("HTTP/1.1 200 OK\r\nX-A: one\r\n \t two\r\nContent-Length: 0\r\n\r\n"))
      #expect(try await client.get(RequestTarget(server.url)).headers["X-A"] == "one two")
    }

    @Test func `limits interim responses, header fields and trailers`() async throws {
      let ok = "HTTP/1.1 200 OK\r\n"
      let hint = "HTTP/1.1 103 Early Hints\r\n\r\n"
      let end = "Content-Length: 2\r\n\r\nok"
      let chunked = ok + "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
      let long = "X-A: " + String(repeating: "a", count: 65_000) + "\r\n"
      let fine = [
        String(repeating: hint, count: 300) + ok + end, ok + String(repeating: "A: b\r\n", count: 999) + end,
        chunked + String(repeating: "A: b\r\n", count: 999) + "\r\n",
      ]
      for text in fine {
        let server = try MockServer(.raw(text))
        #expect(try await client.get(RequestTarget(server.url)).text == "ok")
        server.stop()
      }
      let bad = [
        String(repeating: hint, count: 2000) + ok + end, ok + String(repeating: "A: b\r\n", count: 1000) + end,
        chunked + String(repeating: "A: b\r\n", count: 1000) + "\r\n",
        ok + String(repeating: long, count: 5) + end,
        "HTTP/1.1 103 Early Hints\r\n" + String(repeating: "A: b\r\n", count: 999) + "\r\n" + ok + "A: b\r\n" + end,
      ]
      for text in bad { #expect(try await error(from: text)?.kind == .protocolViolation, "\(text.prefix(60))") }
    }

    @Test func `an error names a header line or a trailer that is too long`() async throws {
      let ok = "HTTP/1.1 200 OK\r\n"
      let long = String(repeating: "a", count: 110_000)
      let rows = [
        ("a response header line exceeds 100 KiB", "\(ok)X-A: \(long)\r\nContent-Length: 0\r\n\r\n"),
        (
          "a response trailer exceeds 4 KiB",
          "\(ok)Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: \(long.prefix(10_000))\r\n\r\n"
        ),
      ]
      for (message, text) in rows {
        let error = try await error(from: text)
        #expect(error?.kind == .protocolViolation && error?.message == message, "\(error?.message ?? "")")
      }
    }

    @Test func `rejects ambiguous response heads`() async throws {
      let fields = [
        "Content-Length: 2\r\nContent-Length: 3", "Content-Length: +2", "Content-Length: 2, 3", "Content-Length: ",
        "Content-Length : 2", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: xchunked", "no colon", ": 2", " folded: 1", "X-A: a\rb",
      ]
      // The handle is reused, because libcurl before 8.1.1 would then write to freed memory for the folded line.
      let warm = try MockServer(.ok("x"))
      _ = try await client.get(RequestTarget(warm.url))
      for field in fields {
        let error = try await error(from: "HTTP/1.1 200 OK\r\n\(field)\r\n\r\nok")
        #expect(error?.kind == .protocolViolation, "\(field): \(error.map { "\($0)" } ?? "no error")")
      }
      let server = try MockServer(.raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2, 2\r\n\r\nok"))
      #expect(try await client.get(RequestTarget(server.url)).text == "ok")
    }

    @Test func `survives a folded first line on a reused handle`() async throws {
      // For these lines, libcurl 7.83 to 8.1.0 writes to freed memory unless the engine prevents it.
      let good = try MockServer(.raw("HTTP/1.1 200 OK\r\nX-A: \(String(repeating: "a", count: 90))\r\n\r\nok"))
      let bad = try MockServer(.raw("HTTP/1.1 200 OK\r\n \t\(String(repeating: "b", count: 300))\r\nX-B: 1\r\n\r\nok"))
      let late = try MockServer(.raw("HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\n c\r\n\r\nok"))
      for _ in 0..<50 {
        #expect(try await client.get(RequestTarget(good.url)).text == "ok")
        for server in [bad, late] {
          let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url)) }
          #expect(error?.kind == .protocolViolation)
        }
      }
    }

    @Test func `rejects a 101 response`() async throws {
      let error = try await error(from: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
      #expect(error?.kind == .protocolViolation)
    }

    // MARK: Requests

    @Test func `preserves the order and case of header fields and adds no unexpected ones`() async throws {
      let server = try MockServer(.ok())
      let headers: HTTPHeaders = ["b": "1", "A": "", "X-A": "2", "x-a": "3", "Host": "other.example", "a": "4"]
      _ = try await client.send(.get(RequestTarget(server.url("/x")), headers: headers))
      let fields = try #require(server.requests.first).headers
      let names = fields.map(\.name).filter { !["Accept", "User-Agent", "Accept-Encoding"].contains($0) }
      #expect(names == ["Host", "b", "A", "X-A", "x-a", "a"])
      #expect(fields.first?.value == "other.example")
    }

    @Test(.needs(.reportedRequests)) func `sends requests with different methods over one connection`() async throws {
      let server = try MockServer(answering: MockResponse.echo)
      let methods: [(HTTPMethod, HTTPBody?)] = [
        (.get, nil), (.post, .text("a")), (.get, nil), (.head, nil), (.get, nil), (.get, .text("b")), (.get, nil),
        (.delete, nil), (.put, .text("c")), (.head, nil), (.post, nil), (.get, nil), (.options, nil),
        (.patch, .text("d")),
      ]
      for (method, body) in methods {
        let response = try await client.send(HTTPRequest(method, RequestTarget(server.url), body: body))
        #expect(response.headers["X-Method"] == method.rawValue)
      }
      #expect(server.requests.map { $0.method } == methods.map { $0.0.rawValue })
      #expect(server.requests.map { $0.body.count } == methods.map { $0.1 == nil ? 0 : 1 })
      #expect(server.connectionCount == 1)
    }

    // MARK: Requests that are sent once

    /// libcurl would send the request again automatically, whatever its method.
    @Test(.needs(.reportedRequests), arguments: ["GET", "POST", "PUT", "DELETE", "PATCH", "PROPFIND"], [false, true])
    func `a request lost on a reused connection is sent once`(method: String, hasBody: Bool) async throws {
      for step in [MockResponse.Step.cut, .reset] {
        let server = try MockServer(connectionScripts: [[.ok("warm"), .steps([step])], [.ok("twice")]])
        defer { server.stop() }
        _ = try await client.get(RequestTarget(server.url))
        let error = await #expect(throws: HTTPError.self) {
          try await client.send(
            HTTPRequest(HTTPMethod(method), RequestTarget(server.url("/order")), body: hasBody ? .text("beer") : nil))
        }
        #expect(error?.kind == .connectionLost)
        #expect(error?.mayBeStaleConnection == true)
        #expect(error?.mayHaveReachedServer == true)
        #expect(server.requests.count { $0.path == "/order" } == 1)
        // The client opens no second connection either.
        #expect(server.connectionCount == 1)
      }
    }

    @Test func `a POST that the server drops without a response is sent once`() async throws {
      let server = try MockServer(script: [.ok("warm"), .steps([.delay(.milliseconds(60)), .cut])])
      _ = try await client.get(RequestTarget(server.url))
      let error = await #expect(throws: HTTPError.self) { try await client.post(RequestTarget(server.url("/order"))) }
      #expect(error?.kind == .connectionLost)
      #expect(server.requests.count { $0.path == "/order" } == 1)
    }

    @Test func `each POST is sent once while the server closes idle connections`() async throws {
      let options = MockServer.Options(onConnect: { _ in .closeWhenIdle(for: .milliseconds(5)) })
      let server = try MockServer(.ok("x"), options: options)
      var answered = 0
      for number in 0..<Stress.count(60, full: 150) {
        // The pauses vary around the moment when the server closes the connection.
        try await Task.sleep(for: .microseconds(4_000 + number * 20))
        do {
          _ = try await client.post(RequestTarget(server.url("/\(number)")), body: number % 2 == 0 ? nil : .text("x"))
          answered += 1
        } catch let error as HTTPError {
          #expect(error.kind == .connectionLost)
        }
      }
      #expect(answered > 0)
      let paths = server.requests.map(\.path)
      #expect(Set(paths).count == paths.count)
    }

    @Test func `a failure on a new connection is not reported as a stale connection`() async throws {
      let server = try MockServer(.steps([.cut]))
      let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url)) }
      #expect(error?.kind == .connectionLost)
      #expect(error?.mayBeStaleConnection == false)
      #expect(error?.mayHaveReachedServer == true)
      #expect(error?.phase == .waiting)
    }

    /// libcurl would wait for the first response, to see whether one connection can serve all requests.
    @Test func `opens a second connection without waiting for the first response`() async throws {
      let server = try MockServer { (request: RecordedRequest) in request.path == "/slow" ? .hang : .ok("x") }
      let client = client
      let slow = Task { try await client.get(RequestTarget(server.url("/slow"))) }
      #expect(await server.waitForRequests(1))

      let response = try await client.get(RequestTarget(server.url("/fast")), options: .timeout(.unlimited))

      #expect(response.text == "x")
      slow.cancel()
      _ = await slow.result
    }

    @Test(.needs(.unknownNames))
    func `a handle whose connection failed serves later requests`() async throws {
      // The request is refused before there is a connection. Later, a GET sets few options, and a POST sets all of
      // them.
      let refused = try MockServer.refusedPort()
      let server = try MockServer(answering: MockResponse.echo)
      for _ in 0..<3 {
        let error = await #expect(throws: HTTPError.self) {
          try await client.get(RequestTarget("http://127.0.0.1:\(refused)/"))
        }
        #expect(error?.kind == .cannotConnect)
        _ = await #expect(throws: HTTPError.self) { try await client.get("http://nobody.invalid/") }
        // The connection is stale, so libcurl tries to open another one, which the engine forbids.
        let stale = try MockServer(script: [.ok("warm"), .steps([.cut])])
        _ = try await client.get(RequestTarget(stale.url))
        _ = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(stale.url)) }
        #expect(try await client.post(RequestTarget(server.url), body: .text("a")).text == "a")
        #expect(try await client.get(RequestTarget(server.url)).status == .ok)
      }
    }

    // MARK: Uploads

    @Test(arguments: [0, 1, 65_536, 65_537, 1_000_003]) func `sends bodies with a Content-Length`(_ count: Int)
      async throws
    {
      let server = try MockServer(answering: MockResponse.echo)
      // A slice whose indices do not start at 0.
      let data = Data((0..<(count + 7)).map { UInt8(truncatingIfNeeded: $0 &* 31) }).dropFirst(7)
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      let file = try folder.write(Data(data), to: "file")
      let handle = client.start(.put(RequestTarget(server.url), body: .data(data)))

      #expect(try await handle.value.body == data)
      #expect(try await client.post(RequestTarget(server.url), body: .file(file)).body == data)

      for request in server.requests {
        #expect(request.headers(named: "Content-Length") == ["\(count)"])
        #expect(request.header("Transfer-Encoding") == nil)
        #expect(request.header("Expect") == nil)
      }
      var last = TransferProgress()
      for await progress in handle.progress { last = progress }
      #expect(last.sent == count)
      #expect(last.received == count)
    }

    @Test(arguments: [-1_000_000, 1_000_000])
    func `fails if a file changes its length during the upload`(_ change: Int) async throws {
      let size = 16_000_000
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      let file = try folder.write(Data(repeating: 7, count: size), to: "file")
      let server = try SteppedServer()
      let client = client

      let upload = Task { try await client.post(server.target, body: .file(file), options: .expectsContinue(false)) }
      // The buffers cannot hold the whole file, so the client is still reading it when it changes.
      try await server.request()
      let handle = try FileHandle(forUpdating: file)
      try handle.truncate(atOffset: UInt64(size + change))
      try handle.close()
      let count = try await server.countToEnd()

      let error = await #expect(throws: HTTPError.self) { try await upload.joined }
      #expect(error?.kind == .fileFailed)
      #expect(count < size)
    }

    @Test func `a reset during an upload does not end the process with SIGPIPE`() async {
      await #expect(processExitsWith: .success) {
        signal(SIGPIPE, SIG_DFL)
        let early = MockResponse.steps([.delay(.milliseconds(1)), .reset]).withoutReadingBody()
        let server = try MockServer(.ok(), options: MockServer.Options(earlyAnswer: { _ in early }))
        let client = HTTPClient {
          $0.transport = .curl
          $0.retry = .off
        }
        for _ in 0..<Stress.count(20, full: 100) {
          let error = await #expect(throws: HTTPError.self) {
            try await client.post(RequestTarget(server.url), body: .data(Data(count: 3_000_000)))
          }
          #expect(error?.kind == .connectionLost)
        }
        server.stop()
      }
    }

    // MARK: Limits and cancellation

    @Test func `a timeout reports the phase in which it occurred`() async throws {
      let hole = try BlackHole()
      let connect = await #expect(throws: HTTPError.self) {
        try await client.get(RequestTarget(hole.url), options: .timeout(connect: .milliseconds(100)))
      }
      #expect(connect?.kind == .timedOut)
      #expect(connect?.phase == .connecting)
      #expect(connect?.mayHaveReachedServer == false)

      let server = try MockServer(.hang)
      let wait = await #expect(throws: HTTPError.self) {
        try await client.get(RequestTarget(server.url), options: .timeout(idle: .milliseconds(100)))
      }
      #expect(wait?.kind == .timedOut)
      #expect(wait?.phase == .waiting)
      #expect(await server.waitForOpenConnections(atMost: 0))
    }

    @Test func `a slow reader does not trigger the idle limit`() async throws {
      let server = try MockServer(.repeating(Data(repeating: 1, count: 1 << 20), count: 16))
      let other = try MockServer(.ok())
      let clock = TestClock(advancing: .manually)
      let client = client.derived { $0.clock = clock }
      let options = RequestOptions.timeout(TimeoutPolicy(idle: .seconds(600), total: nil))
      @Sendable func received() -> Int64 { client.activity.current.running.map(\.progress.received).max() ?? 0 }
      let count = try await client.stream(.get(RequestTarget(server.url)), options: options) { response in
        var count = 0
        for try await piece in response.body {
          if count == 0 {
            // Waits until the buffer is full and the loop has done other work since.
            let isFull = await becomes {
              let before = received()
              guard before > Int64(piece.count + CurlBody.highWater) else { return false }
              return await (try? client.get(RequestTarget(other.url))) != nil && received() == before
            }
            #expect(isFull)
            clock.advance(by: .seconds(700))
            try await Task.sleep(for: .milliseconds(50))
          }
          count += piece.count
        }
        return count
      }
      #expect(count == 16 << 20)
    }

    @Test func `requests can be cancelled while connecting`() async throws {
      let hole = try BlackHole()
      let client = client
      let tasks = (0..<6).map { _ in
        Task { try await client.get(RequestTarget(hole.url), options: .timeout(.unlimited)) }
      }
      await client.wait { client.activity.current.running.count == 6 }
      try await Task.sleep(for: .milliseconds(50))
      for task in tasks { task.cancel() }
      for task in tasks { await #expect(throws: CancellationError.self) { try await task.joined } }
    }
  }
#endif

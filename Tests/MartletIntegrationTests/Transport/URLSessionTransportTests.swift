#if canImport(Darwin) || URLSession
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  extension URLSessionTests {
    @Suite(.hangLimit) struct TransportTests {
      @Test(arguments: URLSessionTests.loaders)
      func `gets a response with its header fields and body`(_ loader: URLSessionTransport.Loader) async throws {
        let server = try MockServer(.ok("hello", headers: ["X-One": "1"]))

        let response = try await HTTPClient(.urlSession(loader: loader), .retry(.off)).get(
          RequestTarget(server.url("/a?b=c")))

        #expect(response.status == .ok)
        #expect(response.text == "hello")
        #expect(response.headers["x-one"] == "1")
        #expect(server.requests.map(\.target) == ["/a?b=c"])
      }

      @Test func `sends the request's header fields in place of the loader's defaults`() async throws {
        let server = try MockServer(.ok())

        _ = try await HTTPClient(.urlSession(loader: .system), .retry(.off)).send(
          HTTPRequest(
            .post, RequestTarget(server.url("/")),
            headers: [
              "x-api-KEY": "a", "X-List": "1", "x-list": "2", "Cookie": "a=1", "cookie": "b=2", "X-Empty": "",
              "Accept": "a/b",
            ]))

        let sent = try #require(server.requests.first)
        let expected = [
          "Accept", "Accept-Encoding", "Connection", "Content-Length", "Cookie", "Host", "User-Agent", "X-Empty",
          "X-List",
          "x-api-KEY",
        ]
        #expect(sent.headers.map(\.name).sorted() == expected)
        #expect(sent.header("x-api-key") == "a")
        #expect(sent.header("X-List") == "1, 2")
        #expect(sent.header("Cookie") == "a=1; b=2")
        #expect(sent.header("X-Empty") == "")
        #expect(sent.header("Accept") == "a/b")
        #expect(sent.header("User-Agent") == "Martlet/\(HTTPClient.Configuration.version)")
      }

      @Test(arguments: URLSessionTests.loaders)
      func `sends Accept-Encoding: identity with a Range`(_ loader: URLSessionTransport.Loader) async throws {
        let server = try MockServer(.ok())

        _ = try await HTTPClient(.urlSession(loader: loader), .retry(.off)).get(
          RequestTarget(server.url), headers: ["Range": "bytes=1-"])

        #expect(server.requests.first?.header("Accept-Encoding") == "identity")
      }

      /// H1: the loader would wait forever for a reply to the challenge.
      @Test(
        arguments: ["Basic realm=\"a\"", "basic realm=a", "Digest realm=\"a\", nonce=\"b\"", "Bearer", "Basic"],
        URLSessionTests.loaders)
      func `returns a 401 with its body`(_ challenge: String, _ loader: URLSessionTransport.Loader) async throws {
        let server = try MockServer(.status(401, headers: ["WWW-Authenticate": challenge], body: "who are you?"))

        let response = try await HTTPClient(.urlSession(loader: loader), .retry(.off)).get(
          RequestTarget(server.url), options: .accepts(.any))

        #expect(response.status == .unauthorized)
        #expect(response.text == "who are you?")
        #expect(response.headers["WWW-Authenticate"] == challenge)
        #expect(server.requests.count == 1)
      }

      @Test(arguments: URLSessionTests.loaders)
      func `streams the body of a 401`(_ loader: URLSessionTransport.Loader) async throws {
        let body = Data(repeating: 1, count: 300_000)
        let server = try MockServer(.data(body, status: 401, headers: ["WWW-Authenticate": "Basic realm=\"a\""]))

        let count = try await HTTPClient(.urlSession(loader: loader), .retry(.off)).stream(
          .get(RequestTarget(server.url)), options: .accepts(.any)
        ) {
          response in
          var count = 0
          for try await piece in response.body { count += piece.count }
          return count
        }

        #expect(count == 300_000)
      }

      /// C4: the loader parses cookies even if they are not used, and an emoji in a name crashes it.
      @Test(arguments: URLSessionTests.loaders)
      func `survives unusual cookie names and keeps Set-Cookie lines separate`(_ loader: URLSessionTransport.Loader)
        async throws
      {
        let server = try MockServer(
          .ok(headers: [
            "Set-Cookie": "😀😀=a", "Set-Cookie": "e\u{301}=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
            "Set-Cookie": "c=d",
          ]))

        let response = try await HTTPClient(.urlSession(loader: loader), .retry(.off)).get(RequestTarget(server.url))

        #expect(
          response.headers[all: "Set-Cookie"] == ["😀😀=a", "e\u{301}=b; Expires=Wed, 21 Oct 2026 07:28:00 GMT", "c=d"])
      }

      @Test(arguments: URLSessionTests.loaders)
      func `neither stores nor sends cookies`(_ loader: URLSessionTransport.Loader) async throws {
        let server = try MockServer(.ok(headers: ["Set-Cookie": "a=1"]))
        let client = HTTPClient(.urlSession(loader: loader), .retry(.off)).derived { $0.cookies = .off }

        _ = try await client.get(RequestTarget(server.url))
        _ = try await client.get(RequestTarget(server.url))

        #expect(server.requests.map { $0.header("Cookie") } == [nil, nil])
      }

      @Test(arguments: [301, 302, 303, 307, 308], URLSessionTests.loaders)
      func `follows redirects and resends the body only for 307 and 308`(
        _ status: Int, _ loader: URLSessionTransport.Loader
      ) async throws {
        let server = try MockServer { request in
          request.path == "/from" ? .redirect(to: "/to", status: status) : MockResponse.echo(request)
        }

        let response = try await HTTPClient(.urlSession(loader: loader), .retry(.off)).post(
          RequestTarget(server.url("/from")), body: .text("hello"))

        #expect(response.headers["X-Target"] == "/to")
        #expect(response.headers["X-Method"] == (status < 304 ? "GET" : "POST"))
        #expect(response.text == (status < 304 ? "" : "hello"))
      }

      @Test(arguments: ["", "https://", "http://[", "ftp://a.test/", "mailto:x"], URLSessionTests.loaders)
      func `returns a redirect with an unusable target`(_ location: String, _ loader: URLSessionTransport.Loader)
        async throws
      {
        let server = try MockServer(.status(302, headers: ["Location": location], body: "moved"))

        let response = try await HTTPClient(.urlSession(loader: loader), .retry(.off)).get(
          RequestTarget(server.url), options: .accepts(.any).redirects(.off))

        #expect(response.status == .found)
        #expect(response.headers["Location"] == location || location.isEmpty)
      }

      @Test(arguments: URLSessionTests.loaders)
      func `returns a redirect without a Location`(_ loader: URLSessionTransport.Loader) async throws {
        let server = try MockServer(.status(302, body: "moved"))

        let response = try await HTTPClient(.urlSession(loader: loader), .retry(.off)).get(
          RequestTarget(server.url), options: .accepts(.any))

        #expect(response.status == .found)
      }

      @Test(arguments: URLSessionTests.loaders)
      func `waits for the final response after interim responses`(_ loader: URLSessionTransport.Loader) async throws {
        let server = try MockServer(
          .raw(
            """
            HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n\
            HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi
            """))

        let response = try await HTTPClient(.urlSession(loader: loader), .retry(.off)).get(RequestTarget(server.url))

        #expect(response.status == .ok)
        #expect(response.text == "hi")
        #expect(response.headers["Link"] == nil)
      }

      @Test(arguments: URLSessionTests.loaders)
      func `drops Content-Encoding and Content-Length of a decoded body`(_ loader: URLSessionTransport.Loader)
        async throws
      {
        // The text "hello", compressed with gzip.
        let coded = Data(base64Encoded: "H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==") ?? Data()
        let server = try MockServer(.data(coded, headers: ["Content-Encoding": "gzip", "ETag": "\"a\""]))

        let response = try await HTTPClient(.urlSession(loader: loader), .retry(.off)).get(RequestTarget(server.url))
        let head = try await HTTPClient(.urlSession(loader: loader), .retry(.off)).send(
          .head(RequestTarget(server.url)))

        #expect(response.text == "hello")
        #expect(response.headers["Content-Encoding"] == nil)
        #expect(response.headers["Content-Length"] == nil)
        #expect(response.headers["ETag"] == "\"a\"")
        #expect(head.headers["Content-Encoding"] == "gzip")
      }

      @Test func `rejects requests that the loader cannot send, before connecting`() async throws {
        let server = try MockServer(.ok())
        let requests = [
          HTTPRequest(.get, RequestTarget(server.url), body: .text("x")),
          HTTPRequest("get", RequestTarget(server.url)), HTTPRequest(.get, "http://[::1]:\(server.port)/"),
        ]

        for request in requests {
          let error = await #expect(throws: HTTPError.self) {
            try await HTTPClient(.urlSession(loader: .system), .retry(.off)).send(request)
          }
          #expect(error?.kind == .unsupported)
        }

        #expect(server.connectionCount == 0)
      }

      @Test(arguments: URLSessionTests.loaders)
      func `respects the connection limit and completes all requests`(_ loader: URLSessionTransport.Loader) async throws
      {
        let server = try MockServer { _ in .ok("x").delayed(by: .milliseconds(5)) }
        let client = HTTPClient {
          $0.transport = .urlSession(loader: loader)
          $0.maximumConnectionsPerHost = 3
        }

        let texts = try await withThrowingTaskGroup(of: String.self) { group in
          for _ in 0..<60 { group.addTask { try await client.get(RequestTarget(server.url)).text } }
          return try await group.reduce(into: []) { $0.append($1) }
        }

        #expect(texts == Array(repeating: "x", count: 60))
        #expect(server.maximumConcurrentRequests <= 3)
        #expect(server.connectionCount <= 3)
      }

      @Test(arguments: URLSessionTests.loaders)
      func `reports that a request waits for a connection`(_ loader: URLSessionTransport.Loader) async throws {
        let gate = Gate()
        let server = try MockServer { _ in
          await gate.pass()
          return .ok()
        }
        let client = HTTPClient {
          $0.transport = .urlSession(loader: loader)
          $0.maximumConnectionsPerHost = 1
          $0.options.coalesces = false
        }

        let first = client.start(.get(RequestTarget(server.url)))
        _ = await server.waitForRequests(1)
        let second = client.start(.get(RequestTarget(server.url)))
        var sawWait = false
        for await event in second.events {
          guard case .waiting(.connectionSlot) = event else { continue }
          sawWait = true
          try await Task.sleep(for: .milliseconds(30))
          gate.open()
        }

        #expect(sawWait)
        _ = try await first.value
        #expect(try await second.value.timing.queued > .milliseconds(20))
      }

      /// Returns a response with at most about 60 MB per second.
      ///
      /// While bytes are available, the system's loader does nothing but read: it does not even end the transfer. If it
      /// is slower than the server, as under the sanitizer, every session of the process waits until the body ends.
      private static func paced(megabytes: Int) -> MockResponse {
        let head = MockResponse.Step.text("HTTP/1.1 200 OK\r\nContent-Length: \(megabytes << 20)\r\n\r\n")
        let megabyte = MockResponse.Step.drip(Data(count: 1 << 20), chunk: 1 << 16, every: .milliseconds(1))
        return .steps([head] + Array(repeating: megabyte, count: megabytes))
      }

      @Test(arguments: URLSessionTests.loaders)
      func `ends an abandoned body and frees its connection slot`(_ loader: URLSessionTransport.Loader) async throws {
        let server = try MockServer(
          loader == .system ? Self.paced(megabytes: 1 << 12) : .repeating(Data(count: 1 << 16), count: 1 << 20))
        let client = HTTPClient {
          $0.transport = .urlSession(loader: loader)
          $0.maximumConnectionsPerHost = 1
        }

        for _ in 0..<5 {
          let status = try await client.stream(.get(RequestTarget(server.url))) { $0.status }
          #expect(status == .ok)
        }

        #expect(await server.waitForOpenConnections(atMost: 0))
      }

      @Test func `fails a reader that falls too far behind`() async throws {
        let server = try MockServer(Self.paced(megabytes: 1 << 11))

        let error = await #expect(throws: HTTPError.self) {
          try await HTTPClient(.urlSession(loader: .system), .retry(.off)).stream(.get(RequestTarget(server.url))) {
            response in
            var iterator = response.body.makeAsyncIterator()
            _ = try await iterator.next()
            _ = await server.wait { $0.openConnections == 0 }
            while try await iterator.next() != nil {}
          }
        }

        #expect(error?.kind == .unsupported)
        #expect(error?.message.contains("too slow") == true)
      }

      @Test(arguments: URLSessionTests.loaders)
      func `collects a body that is larger than the buffer limit`(_ loader: URLSessionTransport.Loader) async throws {
        let size = Stress.count(80 << 20, full: 128 << 20)
        let server = try MockServer(.repeating(Data(count: 1 << 16), count: size >> 16))

        let response = try await HTTPClient(.urlSession(loader: loader), .retry(.off)).get(
          RequestTarget(server.url), options: .maximumBodyBytes(1 << 28))

        #expect(response.body.count == size)
      }

      @Test(arguments: URLSessionTests.loaders)
      func `sends requests through an unprepared transport`(_ loader: URLSessionTransport.Loader) async throws {
        struct Wrapper: Transport {
          let loader: URLSessionTransport.Loader

          func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
            try await URLSessionTransport(loader: loader).send(request, context: context)
          }
        }
        let server = try MockServer(.repeating(Data(count: 1 << 16), count: 100))
        let client = HTTPClient { $0.transport = Wrapper(loader: loader) }

        let response = try await client.get(RequestTarget(server.url))

        #expect(response.body.count == 100 << 16)
      }

      @Test(arguments: URLSessionTests.loaders)
      func `completes a request after its client is released`(_ loader: URLSessionTransport.Loader) async throws {
        let server = try MockServer(.ok("x").delayed(by: .milliseconds(20)))

        let handle = HTTPClient { $0.transport = .urlSession(loader: loader) }.start(.get(RequestTarget(server.url)))

        #expect(try await handle.value.text == "x")
      }
    }
  }
#endif

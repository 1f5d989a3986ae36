#if canImport(Darwin) || URLSession
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  extension URLSessionTests {
    @Suite(.hangLimit) struct ErrorsTests {
      private let client = HTTPClient {
        $0.transport = .urlSession(loader: .system)
        $0.retry = .off
      }

      private func failure(_ response: MockResponse) async throws -> HTTPError? {
        let server = try MockServer(response)
        return await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url)) }
      }

      @Test func `reports a refused connection`() async throws {
        let port = try MockServer.refusedPort()

        let error = await #expect(throws: HTTPError.self) { try await client.get("http://127.0.0.1:\(port)/") }

        #expect(error?.kind == .cannotConnect)
        #expect(error?.phase == .connecting)
        #expect(error?.mayHaveReachedServer == false)
        #expect(error?.mayBeStaleConnection == false)
        #expect(error?.underlying is URLError)
        #expect(error?.message.contains("\n") == false)
      }

      @Test(.needs(.unknownNames)) func `reports an unknown host name`() async throws {
        let error = await #expect(throws: HTTPError.self) {
          try await client.get("http://nobody.invalid/", options: .timeout(.unlimited))
        }

        #expect(error?.kind == .cannotConnect)
      }

      @Test(arguments: [
        [MockResponse.Step.cut], [.reset], [.delay(.milliseconds(30)), .cut], [.delay(.milliseconds(30)), .reset],
      ])
      func `reports a connection that ends before the response`(_ steps: [MockResponse.Step]) async throws {
        let error = try await failure(.steps(steps))

        #expect(error?.kind == .connectionLost)
        #expect(error?.phase == .waiting)
        #expect(error?.mayHaveReachedServer == true)
        #expect(error?.mayBeStaleConnection == true)
      }

      @Test(arguments: [
        [MockResponse.Step.text("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .cut],
        [.text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), .cut],
        [.text("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello"), .cut],
      ])
      func `reports a truncated body`(_ steps: [MockResponse.Step]) async throws {
        let error = try await failure(.steps(steps))

        #expect(error?.kind == .connectionLost)
        #expect(error?.phase == .receiving)
        #expect(error?.mayBeStaleConnection == false)
      }

      @Test func `reports a connection reset within the body`() async throws {
        let server = try SteppedServer()
        let hasRead = Shared(false)
        let task = Task {
          try await client.stream(.get(server.target)) { response in
            for try await _ in response.body { hasRead.withLock { $0 = true } }
          }
        }

        try await server.request()
        // More bytes than the loader holds back at first.
        try await server.send(
          "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + String(repeating: "hello", count: 4_000))
        await hasRead.wait { $0 }
        server.reset()
        let error = await #expect(throws: HTTPError.self) { try await task.joined }

        #expect(error?.kind == .connectionLost)
        #expect(error?.phase == .receiving)
        #expect(error?.mayBeStaleConnection == false)
      }

      @Test(arguments: [
        "garbage\r\n\r\n", "HTTP/0.9 200 OK\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 000 X\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nName:value\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nContent-Encoding: nonsense\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nhi",
      ])
      func `reports a malformed response as a protocol violation`(_ answer: String) async throws {
        let error = try await failure(.raw(answer))

        #expect(error?.kind == .protocolViolation)
        #expect(error?.mayBeStaleConnection == false)
      }

      @Test func `reports a server that does not speak TLS`() async throws {
        let greeting = MockResponse.Step.text("HTTP/1.1 400 Bad Request\r\n\r\n")
        let server = try MockServer(.ok(), options: MockServer.Options(onConnect: { _ in .greet([greeting]) }))

        let error = await #expect(throws: HTTPError.self) { try await client.get("https://127.0.0.1:\(server.port)/") }

        #expect(error?.kind == .tls)
        #expect(error?.phase == .connecting)
        #expect(error?.mayHaveReachedServer == false)
      }

      @Test(arguments: [
        ("SSL certificate problem: certificate has expired", HTTPError.Kind.tls),
        ("SSL certificate problem: self-signed certificate", .tls),
        ("SSL certificate problem: unable to get local issuer certificate", .tls),
        ("SSL: no alternative certificate subject name matches target host name 'a.test'", .tls),
        ("error:0A000410:SSL routines::sslv3 alert handshake failure", .tls),
        ("OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0", .tls),
        ("OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof while reading, errno 0", .connectionLost),
        ("OpenSSL SSL_connect: Connection reset by peer in connection to a.test:443", .tls),
        ("CONNECT tunnel failed, response 407", .cannotConnect),
        ("Send failure: Broken pipe", .connectionLost),
        ("HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)", .connectionLost),
        ("Failed writing header", .protocolViolation),
        ("Unrecognized content encoding type. libcurl understands deflate, gzip, br, zstd", .protocolViolation),
        ("something new", .protocolViolation),
      ])
      func `classifies libcurl's error messages`(_ text: String, _ kind: HTTPError.Kind) {
        #expect(URLSessionErrors.kind(.unknown, text) == kind)
      }
    }
  }
#endif

#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// A real failure and the error that it must cause.
  struct ErrorCause: Sendable, CustomTestStringConvertible {
    let name: String
    let kind: HTTPError.Kind
    let phase: HTTPError.Phase?
    /// One of these must be part of the message: libcurl's text, which differs between versions, or Martlet's own.
    let texts: [String]
    var hasReached = true
    var isStale = false
    /// Causes the failure for a request.
    let provoke: @Sendable (HTTPClient) async throws -> Void

    var testDescription: String { name }

    static let all: [ErrorCause] = connections + handshakes + heads + bodies + uploads + limits

    private static let ok = "HTTP/1.1 200 OK\r\n"

    init(
      _ name: String, _ kind: HTTPError.Kind, _ phase: HTTPError.Phase?, _ texts: String..., hasReached: Bool = true,
      isStale: Bool = false, provoke: @escaping @Sendable (HTTPClient) async throws -> Void
    ) {
      self.name = name
      self.kind = kind
      self.phase = phase
      self.texts = texts
      self.hasReached = hasReached
      self.isStale = isStale
      self.provoke = provoke
    }

    /// Returns a cause that responds to a `GET` with steps.
    private static func answer(_ steps: MockResponse.Step...) -> @Sendable (HTTPClient) async throws -> Void {
      { client in
        let server = try MockServer(.steps(steps))
        defer { server.stop() }
        _ = try await client.get(RequestTarget(server.url))
      }
    }

    /// Returns a cause whose server treats its connections as planned.
    private static func peer(
      _ plan: ConnectionPlan, scheme: String = "http", body: HTTPBody? = nil, options: RequestOptions = RequestOptions()
    ) -> @Sendable (HTTPClient) async throws -> Void {
      { client in
        let server = try MockServer(.ok(), options: MockServer.Options(onConnect: { _ in plan }))
        defer { server.stop() }
        let target = RequestTarget("\(scheme)://127.0.0.1:\(server.port)/")
        _ = try await client.send(HTTPRequest(body == nil ? .get : .put, target, body: body), options: options)
      }
    }

    /// Requires a resolver that reports unknown names.
    static let unknownName = ErrorCause(
      "an unknown name", .cannotConnect, .connecting, "resolve host", hasReached: false
    ) {
      _ = try await $0.get("http://nobody.invalid/", options: .timeout(.unlimited))
    }

    private static let connections: [ErrorCause] = [
      ErrorCause("a refused connection", .cannotConnect, .connecting, "connect to 127.0.0.1", hasReached: false) {
        _ = try await $0.get(RequestTarget("http://127.0.0.1:\(try MockServer.refusedPort())/"))
      },
      ErrorCause(
        "a close without an answer", .connectionLost, .waiting, "Empty reply", provoke: answer(.cut)),
      ErrorCause(
        "a close without an answer, some time later", .connectionLost, .waiting, "Empty reply",
        provoke: answer(.delay(.milliseconds(30)), .cut)),
      ErrorCause(
        "a close without an answer on a used connection", .connectionLost, .waiting, "before a response", isStale: true
      ) { try await again($0, .cut) },
      ErrorCause(
        "a reset without an answer on a used connection", .connectionLost, .waiting, "before a response", isStale: true
      ) { try await again($0, .reset) },
      ErrorCause(
        "a reset while waiting", .connectionLost, .waiting, "reset",
        provoke: answer(.delay(.milliseconds(30)), .reset)),
      ErrorCause(
        "a reset in the head", .connectionLost, .waiting, "reset",
        provoke: answer(.text(ok + "X-A: 1\r\n"), .delay(.milliseconds(50)), .reset)),
      ErrorCause("a reset in the body", .connectionLost, .receiving, "reset") { client in
        let server = try SteppedServer()
        try await inTheMiddle(of: client, server) { _ in server.reset() }
      },
      ErrorCause(
        "a close in the head", .connectionLost, .waiting, "in the head", provoke: answer(.text(ok + "X-A: 1\r\n"), .cut)
      ),
    ]

    private static func again(_ client: HTTPClient, _ step: MockResponse.Step) async throws {
      let server = try MockServer(script: [.ok("warm"), .steps([step])])
      defer { server.stop() }
      _ = try await client.get(RequestTarget(server.url))
      _ = try await client.get(RequestTarget(server.url))
    }

    /// Performs an action after a part of the body has been read.
    private static func inTheMiddle(
      of client: HTTPClient, _ server: SteppedServer, options: RequestOptions = RequestOptions(),
      _ happens: @Sendable (Task<Void, any Error>) async throws -> Void
    ) async throws {
      let hasRead = Shared(false)
      let task = Task {
        try await client.stream(.get(server.target), options: options) { response in
          for try await _ in response.body { hasRead.withLock { $0 = true } }
        }
      }
      try await server.request()
      try await server.send(ok + "Content-Length: 9\r\n\r\nhello")
      await hasRead.wait { $0 }
      try await happens(task)
      try await task.joined
    }

    private static let handshakes: [ErrorCause] = [
      ErrorCause(
        "TLS spoken to a plain port", .tls, .connecting, "begin with http://", hasReached: false,
        provoke: peer(.greet([.text("HTTP/1.1 400 Bad Request\r\n\r\n"), .cut]), scheme: "https")),
      // OpenSSL's response to plain HTTP: the alert "unexpected message".
      ErrorCause(
        "plain HTTP spoken to a TLS port", .protocolViolation, .waiting, "may require https://",
        provoke: answer(.bytes(Data([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x0A])), .cut)),
      ErrorCause(
        "a close in the handshake", .tls, .connecting, "SSL", "TLS", "tls", hasReached: false,
        provoke: peer(.delayedClose(after: .milliseconds(50)), scheme: "https")),
      ErrorCause(
        "a reset in the handshake", .tls, .connecting, "reset", "SSL", hasReached: false,
        provoke: { client in
          let server = try SteppedServer()
          async let response = client.get("https://127.0.0.1:\(server.port)/")
          // An earlier reset would count as a refused connection.
          try await server.firstBytes()
          server.reset()
          _ = try await response
        }),
    ]

    private static let heads: [ErrorCause] = [
      ErrorCause(
        "what is not HTTP", .protocolViolation, .waiting, "no HTTP status line",
        provoke: answer(.text("garbage\r\n\r\n"), .cut)),
      ErrorCause(
        "an unknown version", .protocolViolation, .waiting, "version", "HTTP/0.9",
        provoke: answer(.text("HTTP/9.9 200 OK\r\n\r\n"), .cut)),
      ErrorCause(
        "a malformed status", .protocolViolation, .waiting, "response code", "HTTP/0.9", "HTTP/1 subversion",
        "status line",
        provoke: answer(.text("HTTP/1.1 2x0 OK\r\n\r\n"), .cut)),
      ErrorCause(
        "a line of 1 MiB", .protocolViolation, .waiting, "header", "memory", "large",
        provoke: answer(.text(ok + "X-A: "), .repeating(Data(repeating: 97, count: 1 << 10), count: 1 << 10), .cut)),
      ErrorCause(
        "lines of 260 KB", .protocolViolation, .waiting, "262144 bytes",
        provoke: answer(
          .text(ok), .repeating(Data(("X-A: " + String(repeating: "a", count: 60_000) + "\r\n").utf8), count: 5), .cut)),
      ErrorCause(
        "too many fields", .protocolViolation, .waiting, "1000 header fields",
        provoke: answer(.text(ok), .repeating(Data("A: b\r\n".utf8), count: 1_001), .text("\r\n"), .cut)),
      ErrorCause(
        "a field without a name", .protocolViolation, .waiting, "no name", "colon", "header",
        provoke: answer(.text(ok + "no colon\r\n\r\n"), .cut)),
      ErrorCause(
        "a change of protocol", .protocolViolation, .waiting, "not requested",
        provoke: answer(.text("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"), .cut)),
      ErrorCause(
        "an unknown transfer coding", .protocolViolation, .waiting, "coding",
        provoke: answer(.text(ok + "Transfer-Encoding: xchunked\r\n\r\nhello"), .cut)),
      ErrorCause(
        "two lengths", .protocolViolation, .waiting, "two different values", "Invalid Content-Length",
        provoke: answer(.text(ok + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc"), .cut)),
      ErrorCause(
        "a length that is no number", .protocolViolation, .waiting, "Content-Length",
        provoke: answer(.text(ok + "Content-Length: five\r\n\r\nhello"), .cut)),
    ]

    private static let bodies: [ErrorCause] = [
      ErrorCause(
        "a short body", .connectionLost, .receiving, "remaining", "missing",
        provoke: answer(.text(ok + "Content-Length: 10\r\n\r\nhello"), .cut)),
      ErrorCause(
        "a body without its last chunk", .connectionLost, .receiving, "outstanding", "missing",
        provoke: answer(.text(ok + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), .cut)),
      ErrorCause(
        "chunk garbage", .protocolViolation, .receiving, "chunk",
        provoke: answer(.text(ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\nhello\r\n"), .cut)),
      ErrorCause(
        "a coded body that ends early", .protocolViolation, .receiving, "is truncated",
        provoke: answer(
          .message(
            MockResponse.Message(
              status: 200, headers: [MockResponse.Field("Content-Encoding", "gzip")],
              body: .data(CodedBodies.gzip.dropLast(9)))))),
      ErrorCause(
        "a coded body that is something else", .protocolViolation, .receiving, "corrupt",
        provoke: answer(
          .message(
            MockResponse.Message(
              status: 200, headers: [MockResponse.Field("Content-Encoding", "gzip")], body: .data(Data("hello".utf8)))
          ))),
      ErrorCause("a body larger than the limit", .bodyTooLarge, .receiving, "larger than 10 bytes") { client in
        let server = try MockServer(.ok("hello, world"))
        _ = try await client.get(RequestTarget(server.url), options: .maximumBodyBytes(10))
      },
    ]

    private static let uploads: [ErrorCause] = [
      ErrorCause("a reset in the upload", .connectionLost, .sending, "reset", "Broken pipe", "Send failure") { client in
        let early = MockResponse.steps([.delay(.milliseconds(5)), .reset]).withoutReadingBody(pausesReading: true)
        let server = try MockServer(.ok(), options: MockServer.Options(earlyAnswer: { _ in early }))
        defer { server.stop() }
        _ = try await client.put(RequestTarget(server.url), body: .data(Data(count: 64 << 20)))
      },
      ErrorCause("a file that is not there", .fileFailed, nil, "file", hasReached: false) { client in
        let file = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString)")
        _ = try await client.put("http://127.0.0.1:1/", body: .file(file))
      },
    ]

    private static let limits: [ErrorCause] = [
      ErrorCause("no slot in time", .timedOut, .queued, "total", hasReached: false) { client in
        let server = try MockServer(.hang)
        let client = client.derived { $0.maximumConnectionsPerHost = 1 }
        let first = client.start(.get(RequestTarget(server.url)))
        defer { first.cancel() }
        _ = await server.waitForRequests(1)
        _ = try await client.get(RequestTarget(server.url), options: .timeout(.milliseconds(100)))
      },
      ErrorCause("no connection in time", .timedOut, .connecting, "connect limit", hasReached: false) { client in
        let hole = try BlackHole()
        defer { hole.close() }
        _ = try await client.get(RequestTarget(hole.url), options: .timeout(connect: .milliseconds(100)))
      },
      ErrorCause(
        "no handshake in time", .timedOut, .connecting, "connect limit", hasReached: false,
        provoke: peer(.acceptAndStall, scheme: "https", options: .timeout(connect: .milliseconds(100)))),
      ErrorCause("an upload that nobody takes", .timedOut, .sending, "idle limit") { client in
        let server = try MockServer(.ok(), options: MockServer.Options(onConnect: { _ in .acceptAndStall }))
        defer { server.stop() }
        let clock = TestClock(advancing: .manually)
        let client = client.derived { $0.clock = clock }
        let hasSent = Shared(false)
        let options = RequestOptions.timeout(TimeoutPolicy(idle: .seconds(600), total: nil)).expectsContinue(false)
          .onProgress { now in hasSent.withLock { $0 = now.sent > 0 } }
        let task = Task {
          try await client.put(RequestTarget(server.url), body: .data(Data(count: 64 << 20)), options: options)
        }
        await hasSent.wait { $0 }
        _ = try await clock.pass(.seconds(601), until: task).get()
      },
      ErrorCause("no answer in time", .timedOut, .waiting, "idle limit") { client in
        let server = try MockServer(.hang)
        _ = try await client.get(RequestTarget(server.url), options: .timeout(idle: .milliseconds(100)))
      },
      ErrorCause("no first byte in time", .timedOut, .waiting, "first byte limit") { client in
        let server = try MockServer(.hang)
        _ = try await client.get(RequestTarget(server.url), options: .timeout(firstByte: .milliseconds(100)))
      },
      ErrorCause("a body that stops", .timedOut, .receiving, "idle limit") { client in
        let clock = TestClock(advancing: .manually)
        let client = client.derived { $0.clock = clock }
        let options = RequestOptions.timeout(TimeoutPolicy(idle: .seconds(600), total: nil))
        try await inTheMiddle(of: client, try SteppedServer(), options: options) { task in
          _ = await clock.pass(.seconds(601), until: task)
        }
      },
      ErrorCause("a body that takes too long in all", .timedOut, .receiving, "total") { client in
        let clock = TestClock(advancing: .manually)
        let client = client.derived { $0.clock = clock }
        let options = RequestOptions.timeout(TimeoutPolicy(idle: nil, total: .seconds(600)))
        try await inTheMiddle(of: client, try SteppedServer(), options: options) { task in
          _ = await clock.pass(.seconds(601), until: task)
        }
      },
    ]
  }
#endif

#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// HTTP/2 without TLS.
  @Suite(.needs(.http2), .hangLimit) struct PriorKnowledgeTests {
    @Test(.needsHTTP2Server, arguments: Lane.engines) func `uses HTTP/2 from the first byte`(
      _ lane: Lane
    ) async throws {
      let server = try await HTTP2Server()
      let client = lane.client(.httpVersion(.http2PriorKnowledge))

      let first = try await client.get(server.target(1, ["head:200:x-a=b", "data:ok", "trailer:x-sum=1"]))
      let second = try await client.post(server.target(2, ["head", "last:again"]), body: .text("body"))

      #expect(first.text == "ok" && first.httpVersion == .http2 && first.trailers == ["x-sum": "1"])
      #expect(second.text == "again" && second.httpVersion == .http2)
      #expect(server.connectionCount(of: 1) == 0)
      // With libcurl 7.88, each request has its own connection.
      #expect(server.connectionCount() == (second.connection?.isReused == true ? 1 : 2))
    }

    @Test(.needsHTTP2Server, arguments: Lane.engines) func `cancelling a request closes its connection`(
      _ lane: Lane
    ) async throws {
      let server = try await HTTP2Server()
      let client = lane.client(.httpVersion(.http2PriorKnowledge))

      for number in 100..<102 {
        let other = try await client.get(server.target(number, ["head", "last:ok"]))
        // With libcurl 8, other requests use the connection as well.
        if other.connection?.isReused == true { return }
      }
      for number in 0..<3 {
        let task = Task { try await client.get(server.target(number, ["head", "data:abc"])) }
        #expect(await becomes { server.count(of: number) == 1 })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(await becomes { server.closedCount == 3 + number })
      }
    }

    @Test(.needsHTTP2Server, arguments: Lane.engines)
    func `an early response in several chunks ends its upload and its connection`(
      _ lane: Lane
    ) async throws {
      let server = try await HTTP2Server()
      let (upload, continuation) = AsyncStream<Data>.makeStream()
      continuation.yield(Data("a".utf8))
      let steps = ["early", "head:413:content-length=4", "wait:20", "data:no", "wait:20", "last:ne"]

      let response = try await lane.client(.httpVersion(.http2PriorKnowledge)).post(
        server.target(1, steps), body: .stream(upload))

      #expect(response.status == .contentTooLarge && response.text == "none")
      #expect(server.count(of: 1) == 1)
      #expect(await becomes { server.closedCount == 1 })
      withExtendedLifetime(continuation) {}
    }

    @Test(.needs(.nginx), arguments: Lane.engines) func `nginx accepts 40 concurrent requests`(_ lane: Lane)
      async throws
    {
      let server = try await NginxServer(
        listening: "http2", "add_header X-Version $server_protocol;",
        "location / { return 200 ok; }")
      let client = lane.client(.httpVersion(.http2PriorKnowledge))

      let responses = try await withThrowingTaskGroup(of: HTTPResponse.self) { group in
        for _ in 0..<40 { group.addTask { try await client.get(RequestTarget(server.url)) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }

      #expect(responses.allSatisfy { $0.text == "ok" && $0.headers["X-Version"] == "HTTP/2.0" })
    }

    @Test(.needsHTTP2Server, arguments: Lane.engines) func `shares no connection with HTTP/1.1`(
      _ lane: Lane
    ) async throws {
      let server = try await HTTP2Server()
      let client = lane.client()
      let target = server.target(1, ["head", "last:two"])
      let versions: [RequestOptions.HTTPVersionPolicy] = [
        .automatic, .http2PriorKnowledge, .http1_1, .http2PriorKnowledge, .automatic,
      ]

      var texts: [String] = []
      for version in versions { texts.append(try await client.get(target, options: .httpVersion(version)).text) }
      let together = try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<20 {
          let version = versions[number % versions.count]
          group.addTask {
            try await client.get(target, options: .httpVersion(version)).text
              == (version == .http2PriorKnowledge ? "two" : "one")
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }

      #expect(texts == ["one", "two", "one", "two", "one"])
      #expect(together.allSatisfy { $0 } && together.count == 20)
    }

    @Test(arguments: Lane.engines) func `the error names a server without HTTP/2 as the likely cause`(
      _ lane: Lane
    ) async throws {
      let answering = try MockServer(.ok("x"))
      let closing = try SteppedServer()
      Task {
        try await closing.request()
        closing.close()
      }
      let client = lane.client(.httpVersion(.http2PriorKnowledge))

      let errors = [
        await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(answering.url)) },
        await #expect(throws: HTTPError.self) { try await client.get(closing.target) },
      ]

      for error in errors {
        #expect(error?.message.contains("may not speak HTTP/2 without TLS") == true, "\(error.map { "\($0)" } ?? "")")
        #expect([.connectionLost, .protocolViolation].contains(error?.kind))
      }
      #expect(answering.requests.isEmpty)
    }

    @Test(.needs(.openssl, .nginx), arguments: Lane.engines) func `ALPN decides the version over TLS`(
      _ lane: Lane
    ) async throws {
      let authority = try await CertificateAuthority()
      let (new, old) = (
        try await NginxServer(try await authority.identity(), isHTTP2: true),
        try await NginxServer(try await authority.identity())
      )
      let client = lane.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        $0.options.httpVersion = .http2PriorKnowledge
      }

      #expect(try await client.get(RequestTarget(new.url)).httpVersion == .http2)
      #expect(try await client.get(RequestTarget(old.url)).httpVersion == .http1_1)
    }

    @Test(arguments: Lane.engines) func `rejects HTTP proxies and request trailers`(_ lane: Lane) async throws {
      let server = try MockServer(.ok("x"))
      let proxied = lane.client {
        $0.proxy = .proxy(Proxy("http://127.0.0.1:\(server.port)"))
        $0.options.httpVersion = .http2PriorKnowledge
      }
      let body = HTTPBody.text("x").withTrailers(["X-A"]) { ["X-A": "1"] }

      let first = await #expect(throws: HTTPError.self) { try await proxied.get("http://a.test/") }
      let second = await #expect(throws: HTTPError.self) {
        try await lane.client(.httpVersion(.http2PriorKnowledge)).post(RequestTarget(server.url), body: body)
      }

      #expect(first?.kind == .unsupported && second?.kind == .unsupported)
      #expect(server.connectionCount == 0)
    }
  }
#endif

#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// The numbers of concurrent requests and of their connections.
  @Suite(.hangLimit) struct RequestLimitTests {
    /// Sends a number of requests at once.
    private static func send(
      _ count: Int, _ client: HTTPClient, _ target: @escaping @Sendable (Int) -> RequestTarget
    ) async throws -> [HTTPResponse] {
      try await withThrowingTaskGroup(of: HTTPResponse.self) { group in
        for number in 0..<count { group.addTask { try await client.get(target(number)) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }

    @Test(.needsHTTP2Server, arguments: Lane.engines, [nil, 10])
    func `HTTP/2 requests share one connection, or a few if the server limits streams`(_ lane: Lane, _ streams: Int?)
      async throws
    {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity(), streams: streams)
      let client = lane.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        // A server that allows fewer streams than it receives refuses the others unread.
        $0.retry = .standard
      }

      // The server reads the requests of a connection one after another, and responds to each as it is read.
      let responses = try await Self.send(40, client) { server.target($0, ["head", "last:ok"]) }

      #expect(responses.count == 40 && responses.allSatisfy { $0.text == "ok" && $0.httpVersion == .http2 })
      #expect(server.connectionCount() <= (streams == nil ? 1 : 6))
    }

    /// libcurl has a single list of requests that wait for a connection to share.
    @Test(.needsHTTP2Server, arguments: Lane.engines)
    func `a host that stalls in the TLS handshake does not delay other hosts`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let silent = try MockServer(.ok(), options: MockServer.Options(onConnect: { _ in .acceptAndStall }))
      let server = try await HTTP2Server(try await authority.identity())
      let client = lane.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        $0.timeout = .unlimited
        $0.maximumConnectionsPerHost = 50
        $0.maximumConnections = 200
      }
      defer { client.cancelAll() }
      for _ in 0..<30 { client.start(.get("https://127.0.0.1:\(silent.port)/")) }
      #expect(await becomes { silent.connectionCount > 0 })

      let responses = try await Self.send(10, client) { server.target($0, ["head", "wait:1", "last:ok"]) }

      #expect(responses.count == 10 && responses.allSatisfy { $0.text == "ok" && $0.httpVersion == .http2 })
      #expect(server.connectionCount() == 1)
    }

    @Test(.needs(.http2), .needs(.openssl, .nginx), arguments: Lane.engines)
    func `HTTP/2 requests run concurrently`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let identity = try await authority.identity()
      let inner = try MockServer(answering: { _ in .hang })
      defer { inner.stop() }
      let server = try await NginxServer(
        identity, isHTTP2: true, "location /inner { proxy_pass http://127.0.0.1:\(inner.port); }")
      let client = lane.client { [root = authority.root] in $0.tls = .customRoots(pem: root) }

      let running = (0..<40).map { number in client.start(.get("\(raw: server.url)/inner/\(number)")) }

      // No response arrives, so all requests must be running at once.
      #expect(await becomes { inner.requests.count == 40 })
      for request in running { request.cancel() }
    }

    @Test(arguments: Lane.engines) func `HTTP/1.1 requests use at most six connections`(_ lane: Lane)
      async throws
    {
      let server = try MockServer(.ok("x").delayed(by: .milliseconds(5)))

      let responses = try await Self.send(40, lane.client()) { _ in RequestTarget(server.url) }

      #expect(responses.count == 40)
      #expect(server.connectionCount <= 6)
    }

    @Test(.needsHTTP2Server, arguments: Lane.engines)
    func `a fixed concurrency applies to HTTP/2`(_ lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let server = try await HTTP2Server(try await authority.identity())
      let client = lane.client { [root = authority.root] in
        $0.tls = .customRoots(pem: root)
        $0.concurrency = .fixed(2)
      }
      let isFull = Shared(false)

      // Both responses are in the middle of bodies that do not end.
      let running = (0..<2).map { number in client.start(.get(server.target(number, ["head", "data:a"]))) }
      #expect(await becomes { server.count(of: 0) + server.count(of: 1) == 2 })
      let third = Task { try await client.get(server.target(2, ["head", "last:ok"])) }
      #expect(await becomes { client.activity.current.waiting.contains { $0.reason == .connectionSlot } })
      isFull.withLock { $0 = server.count(of: 2) == 0 }
      for request in running { request.cancel() }

      #expect(try await third.value.text == "ok")
      #expect(isFull.withLock { $0 })
    }
  }
#endif

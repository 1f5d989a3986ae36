#if os(Linux)
  @testable import CurlEngine
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  @Suite(.needs(.reportedRequests), .hangLimit) struct PreconnectTests {
    @Test(arguments: Lane.engines) func `opens connections that the next requests use`(_ lane: Lane) async throws {
      let gate = Gate()
      let server = try MockServer { _ in
        await gate.pass()
        return .ok("x")
      }
      let client = lane.client()

      try await client.preconnect(to: RequestTarget(server.url), count: 3)
      #expect(await becomes { server.connectionCount == 3 })
      #expect(server.requests.isEmpty)
      #expect(
        await becomes {
          let pool = client.activity.current.connections.first
          return pool?.open == 3 && pool?.idle == 3 && pool?.queued == 0 && pool?.port == server.port
        })
      let reused = try await withThrowingTaskGroup(of: Bool?.self) { group in
        for _ in 0..<3 { group.addTask { try await client.get(RequestTarget(server.url)).connection?.isReused } }
        await gate.waitForArrivals(3)
        gate.open()
        return try await group.reduce(into: []) { $0.append($1) }
      }

      #expect(reused == [true, true, true])
      #expect(server.connectionCount == 3)
      #expect(client.activity.current.totals.started == 3)
    }

    @Test(.needs(.openssl, .nginx), arguments: Lane.engines, CurlLibrary.hasHTTP2 ? [false, true] : [false])
    func `completes the TLS handshake`(_ lane: Lane, isHTTP2: Bool) async throws {
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await NginxServer(try await authority.identity(), isHTTP2: isHTTP2)
      let client = lane.client { $0.tls = .customRoots(pem: root) }

      try await client.preconnect(to: RequestTarget(server.url), count: 2)
      #expect(
        await becomes {
          let pool = client.activity.current.connections.first
          return pool?.open == (isHTTP2 ? 1 : 2) && pool?.idle == pool?.open
        })
      // The session tickets arrive after the handshake.
      try await Task.sleep(for: .milliseconds(50))
      let responses = try await withThrowingTaskGroup { group in
        for number in 0..<2 { group.addTask { try await client.get(RequestTarget("\(raw: server.url)/\(number)")) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }

      for response in responses {
        #expect(response.text == "ok" && response.connection?.isReused == true)
        #expect(response.httpVersion == (isHTTP2 ? .http2 : .http1_1))
        #expect(Int(response.headers["X-Connection"] ?? "").map { $0 <= 2 } == true)
      }
      guard isHTTP2 else { return }
      // Nothing is opened to a server that shares a connection already.
      try await client.preconnect(to: RequestTarget(server.url))
      let other = lane.client { $0.tls = .customRoots(pem: root) }
      #expect(try await other.get(RequestTarget(server.url)).headers["X-Connection"] == "2")
    }

    @Test(.needs(.openssl, .python), arguments: [WireServer.Way.tunnel]) func `connects through a proxy`(
      way: WireServer.Way
    ) async throws {
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await WireServer(try await authority.identity(), way)
      let client = Lane.curl.client(.proxy(server.proxy)) { $0.tls = .customRoots(pem: root) }

      try await client.preconnect(to: server.target(1))
      let response = try await client.get(server.target(2))

      #expect(response.text == "2")
      // GnuTLS receives the session tickets while the connection is idle, which looks like a response.
      #expect(response.connection?.isReused == true || CurlLibrary.hasGnuTLS)
    }

    @Test(.needs(.openssl, .nginx)) func `fails with the errors of a request, and counts nothing`() async throws {
      let authority = try await CertificateAuthority()
      let secure = try await NginxServer(try await authority.identity())
      let server = try MockServer(.ok())
      let refused = try MockServer.refusedPort()
      let kind = { @Sendable (client: HTTPClient, url: String, count: Int) async -> HTTPError.Kind? in
        do {
          try await client.preconnect(to: RequestTarget(url), count: count)
          return nil
        } catch { return (error as? HTTPError)?.kind }
      }
      let client = Lane.curl.client()

      #expect(await kind(client, "http://127.0.0.1:\(refused)", 1) == .cannotConnect)
      #expect(await kind(client, secure.url, 1) == .tls)
      #expect(await kind(client, "http://", 1) == .invalidRequest)
      for count in [0, -1, 7, .min, .max] { #expect(await kind(client, server.url, count) == .invalidRequest) }
      #expect(await kind(client, server.url, 6) == nil)
      let guarded = Lane.curl.client { $0.guards = [.publicAddressesOnly] }
      #expect(await kind(guarded, server.url, 1) == .refusedByGuard)
      #expect(await kind(Lane.curl.client(.idleConnectionLifetime(.zero)), server.url, 1) == .unsupported)
      let prior = Lane.curl.client(.httpVersion(.http2PriorKnowledge))
      #expect(await kind(prior, server.url, 1) == .unsupported)
      #expect(await kind(Lane.curl.client { $0.unixSocket = "/nowhere" }, server.url, 1) == .unsupported)
      let address = "127.0.0.1:\(server.port)"
      let authenticating = [
        ClientSetting { $0.proxy = .proxy(Proxy("http://ada:a@\(address)")) },
        ClientSetting {
          $0.proxy = .proxy(Proxy("http://\(address)"))
          $0.authenticators[.proxy("http://\(address)")] = .password(user: "ada", password: "a")
        },
      ]
      for setting in authenticating {
        let client = Lane.curl.client(setting)
        for url in [secure.url, "http://a.test"] { #expect(await kind(client, url, 1) == .unsupported) }
      }
      #expect(await kind(HTTPClient(StubTransport(script: [.text("x")])), server.url, 1) == .unsupported)
      let closed = Lane.curl.client()
      await closed.drain()
      #expect(await kind(closed, server.url, 1) == .clientClosed)
      #expect(client.activity.current.totals.started == 0 && server.requests.isEmpty)
    }

    @Test func `a deadline and the total limit end its wait for a free connection`() async throws {
      let server = try MockServer(.hang)
      let client = Lane.curl.client { $0.maximumConnectionsPerHost = 1 }
      let running = client.start(.get(RequestTarget(server.url)))
      _ = await server.waitForRequests(1)

      let late = await #expect(throws: HTTPError.self) {
        try await withDeadline(.milliseconds(200)) { try await client.preconnect(to: RequestTarget(server.url)) }
      }
      await client.update { $0.options.timeout.total = .milliseconds(200) }
      let limited = await #expect(throws: HTTPError.self) {
        try await client.preconnect(to: RequestTarget(server.url))
      }
      running.cancel()

      #expect(late?.kind == .timedOut && late?.deadline != nil)
      #expect(limited?.kind == .timedOut && limited?.deadline == nil)
      #expect(server.connectionCount == 1)
    }

    @Test func `ends at the connect limit and with its task`() async throws {
      let silent = try BlackHole()
      let limited = Lane.curl.client { $0.options.timeout.connect = .milliseconds(100) }
      let patient = Lane.curl.client()

      let error = await #expect(throws: HTTPError.self) {
        try await limited.preconnect(to: RequestTarget(silent.url))
      }
      let task = Task { try await patient.preconnect(to: RequestTarget(silent.url)) }
      #expect(await becomes { patient.activity.current.isNetworkInUse })
      task.cancel()

      #expect(error?.kind == .timedOut)
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(await becomes { patient.activity.current.connections.allSatisfy { $0.open == 0 } })
    }

    @Test(arguments: [false, true]) func `ends with the client`(drains: Bool) async throws {
      let silent = try BlackHole()
      let client = Lane.curl.client { $0.options.timeout.connect = .seconds(600) }

      let task = Task { try await client.preconnect(to: RequestTarget(silent.url)) }
      #expect(await becomes { client.activity.current.trackedWork == ["preconnect"] })
      if drains { await client.drain(timeout: .milliseconds(10)) } else { client.cancelAll() }

      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(client.activity.current.trackedWork.isEmpty)
    }
  }

  @Suite(.hangLimit) struct ConnectionPoolTests {
    @Test(arguments: Lane.engines) func `counts open and idle connections and waiting requests`(_ lane: Lane)
      async throws
    {
      let gate = Gate()
      let server = try MockServer { _ in
        await gate.pass()
        return .ok("x")
      }
      let client = lane.client { $0.maximumConnectionsPerHost = 2 }
      let counts = { @Sendable () -> [Int] in
        let pool = client.activity.current.connections.first
        return pool.map { [$0.open, $0.active, $0.idle, $0.queued] } ?? []
      }

      try await withThrowingTaskGroup { group in
        for _ in 0..<5 { group.addTask { _ = try await client.get(RequestTarget(server.url)) } }
        await gate.waitForArrivals(2)
        #expect(await becomes { counts() == [2, 2, 0, 3] }, "\(counts())")
        gate.open()
        try await group.waitForAll()
      }

      #expect(await becomes { counts() == [2, 0, 2, 0] }, "\(counts())")
      let pool = client.activity.current.connections.first
      #expect(pool?.scheme == "http" && pool?.host == "127.0.0.1")
      client.closeIdleConnections()
      #expect(await becomes { counts().isEmpty }, "\(counts())")
    }
  }
#endif

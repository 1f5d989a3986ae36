#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Redirects lead only to http and https at every hop, and not forever.
  @Suite(.hangLimit) struct RedirectSafetyTests {
    @Test(arguments: Lane.engines, 0..<3)
    func `refuses a redirect to another scheme at any hop`(lane: Lane, hops: Int) async throws {
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      let secret = try folder.write("secret", to: "secret")
      let target = Shared("")
      let server = try MockServer { request in
        let number = Int(request.path.dropFirst()) ?? 0
        return .redirect(to: number < hops ? "/\(number + 1)" : target.withLock { $0 })
      }
      let client = lane.client { $0.redirects = .follow }

      for location in [
        secret.absoluteString, "file://localhost\(secret.path)", "FILE:\(secret.path)",
        "ftp://127.0.0.1:\(server.port)/",
        "data:text/plain,secret", "gopher://127.0.0.1:\(server.port)/_x", "dict://127.0.0.1:\(server.port)/",
        "unix:///run/x", "ws://127.0.0.1:\(server.port)/", "http+unix://%2Frun%2Fx/", "javascript:1", "about:blank",
      ] {
        server.forgetRequests()
        target.withLock { $0 = location }
        let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url + "/0")) }
        #expect(error?.kind == .redirectRefused, "\(location)")
        #expect(error?.response?.status == 302 && error?.response?.text.contains("secret") == false)
        #expect(server.requests.map(\.target) == (0...hops).map { "/\($0)" })
      }
      #expect(server.malformed.isEmpty)
    }

    @Test(arguments: Lane.engines)
    func `stops redirect loops and endless redirect chains`(lane: Lane) async throws {
      let growing = try MockServer { request in .redirect(to: request.target + "/a") }
      let looping = try MockServer { request in .redirect(to: request.target == "/a" ? "/b" : "/a") }
      let client = lane.client { $0.redirects = .follow }

      for (server, count) in [(growing, 11), (looping, 11)] {
        let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url + "/x")) }
        #expect(error?.kind == .tooManyRedirects)
        #expect(server.requests.count == count)
      }
    }

    // S134: testRedirectStressTest
    @Test(arguments: Lane.engines)
    func `an endless redirect chain can be cancelled at any point`(lane: Lane) async throws {
      let server = try MockServer { request in .redirect(to: "/\((Int(request.path.dropFirst()) ?? 0) + 1)") }
      let client = lane.client { $0.redirects = .follow(upTo: 1_000_000) }
      var hops: [Int] = []

      for round in 0..<Stress.count(30, full: 100) {
        let handle = client.start(.get(RequestTarget(server.url + "/0")))
        // In the first round, the chain is certainly in progress.
        if round == 0 { #expect(await server.waitForRequests(3)) }
        try await Task.sleep(for: .microseconds(round * 100))
        handle.cancel()
        await #expect(throws: CancellationError.self) { try await handle.value }
        hops.append(handle.finalRequest.url.flatMap { Int($0.lastPathComponent) } ?? 0)
      }

      // Some requests were cancelled in the middle of their chain.
      #expect((hops.max() ?? 0) > 0)
      await client.waitUntilEmpty()
      // The server accepts connections in order, so no earlier connection is left to accept.
      _ = try await client.get(RequestTarget(server.url + "/last"), options: .redirects(.off))
      // By then, everything on the wire has arrived; a chain that continued would send further requests.
      client.closeIdleConnections()
      #expect(await server.waitForOpenConnections(atMost: 0))
      server.forgetRequests()
      try await Task.sleep(for: .milliseconds(50))
      #expect(server.requests.isEmpty)
    }

    @Test(arguments: Lane.engines)
    func `a redirect to another origin reduces Referer to its origin`(lane: Lane) async throws {
      let other = try MockServer(.ok("x"))
      let server = try MockServer { request in .redirect(to: request.path == "/1" ? "/2" : "\(other.url)/3") }
      let client = lane.client { $0.redirects = .follow }
      let headers: HTTPHeaders = ["Referer": "http://u:p@r.test/path?token=1#f"]

      _ = try await client.get(RequestTarget(server.url + "/1"), headers: headers)

      #expect(server.requests.map { $0.header("Referer") } == Array(repeating: "http://r.test/path?token=1", count: 2))
      #expect(other.requests.map { $0.header("Referer") } == ["http://r.test/"])
    }
  }
#endif

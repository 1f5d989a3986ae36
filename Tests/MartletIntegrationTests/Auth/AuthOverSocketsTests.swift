#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Credentials over both transports, with third-party servers.
  @Suite(.hangLimit) struct AuthOverSocketsTests {
    @Test(.needs(.apache), arguments: Lane.engines)
    func `authenticates to Apache with Digest after a single challenge`(lane: Lane) async throws {
      let server = try await ApacheServer()
      let notes = StatusNotes()
      let client = lane.client { [url = server.url] in
        $0.exchangeMiddleware = [notes]
        $0.authenticators[.origin(url)] = .password(user: "ada", password: "s3cret")
      }

      for query in ["", "?a=b&c=%20d", "?"] {
        let response = try await client.get(RequestTarget("\(raw: server.url)/file.txt\(raw: query)"))
        #expect(response.text == "served by apache\n")
      }

      #expect(notes.all == [401, 200, 200, 200])
      withExtendedLifetime(server) {}
    }

    @Test(.needs(.apache), arguments: Lane.engines)
    func `sends URL credentials to Apache with Digest, and returns its 401 for a wrong password`(lane: Lane)
      async throws
    {
      let server = try await ApacheServer()
      let notes = StatusNotes()
      let client = lane.client { $0.exchangeMiddleware = [notes] }
      let host = server.url.dropFirst(7)

      let good = try await client.get(RequestTarget("http://ada:s3cret@\(raw: String(host))/file.txt"))
      let bad = try await client.get(RequestTarget("http://ada:wrong@\(raw: String(host))/file.txt"))

      #expect(good.text == "served by apache\n" && bad.status == .unauthorized)
      #expect(notes.all == [401, 200, 401, 401])
      withExtendedLifetime(server) {}
    }

    @Test(.needs(.apache), arguments: Lane.engines)
    func `uses Apache's next nonces and replaces stale ones`(lane: Lane) async throws {
      // Within the last 30 seconds of a nonce's lifetime, each response contains the nonce for the next request.
      let server = try await ApacheServer("AuthDigestNonceLifetime 30")
      let notes = StatusNotes()
      let questions = Shared(0)
      let client = lane.client { [url = server.url] in
        $0.exchangeMiddleware = [notes]
        $0.authenticators[.origin(url)] = .ask { _ in
          questions.withLock { $0 += 1 }
          return .user("ada", password: "s3cret")
        }
      }
      func get() async throws {
        let response = try await client.get(RequestTarget("\(raw: server.url)/file.txt"))
        #expect(response.status == .ok)
      }

      for _ in 0..<6 { try await get() }
      // Apache writes the log entries shortly after it responds.
      #expect(await becomes { server.nonces.count == 7 })
      let taken = server.nonces.compactMap { $0 }
      let whileUsed = notes.all
      // A restarted Apache treats all nonces from before the restart as stale.
      client.closeIdleConnections()
      try await server.restart()
      try await get()

      #expect(whileUsed == [401, 200, 200, 200, 200, 200, 200])
      #expect(taken.count == 6 && Set(taken).count == 6, "\(taken)")
      #expect(notes.all.dropFirst(7).filter { $0 != 200 } == [401] && notes.all.last == 200, "\(notes.all)")
      #expect(questions.value == 1)
    }

    @Test(.needs(.apache), arguments: Lane.engines)
    func `many requests share Apache's nonce`(lane: Lane) async throws {
      let server = try await ApacheServer()
      let notes = StatusNotes()
      let client = lane.client { [url = server.url] in
        $0.exchangeMiddleware = [notes]
        $0.authenticators[.origin(url)] = .digest(user: "ada", password: "s3cret")
      }
      try await client.get(RequestTarget("\(raw: server.url)/file.txt"))

      try await withThrowingTaskGroup { group in
        for _ in 0..<50 {
          group.addTask { [url = server.url] in
            let response = try await client.get(RequestTarget("\(raw: url)/file.txt"))
            #expect(response.status == .ok)
          }
        }
        try await group.waitForAll()
      }

      #expect(notes.all.count { $0 == 401 } == 1 && notes.all.count == 52)
      withExtendedLifetime(server) {}
    }

    @Test(.needs(.nginx), arguments: Lane.engines)
    func `authenticates to nginx with Basic after a single challenge`(lane: Lane) async throws {
      let server = try await NginxServer.basic()
      let notes = StatusNotes()
      let client = lane.client { [url = server.url] in
        $0.cache = .off
        $0.exchangeMiddleware = [notes]
        $0.authenticators[.origin(url)] = .password(user: "ada", password: "s3cret \u{FC}")
      }
      let host = server.url.dropFirst(7)

      let first = try await client.get(RequestTarget("\(raw: server.url)/file.txt"))
      let second = try await client.get(RequestTarget("\(raw: server.url)/file.txt"))
      let ofURL = try await lane.client().get(RequestTarget("http://ada:s3cret%20%C3%BC@\(raw: String(host))/file.txt"))
      let wrong = try await lane.client().get(RequestTarget("http://ada:no@\(raw: String(host))/file.txt"))

      #expect([first, second, ofURL].map(\.text) == Array(repeating: "served by nginx\n", count: 3))
      #expect(wrong.status == .unauthorized)
      #expect(notes.all == [401, 200, 200])
      withExtendedLifetime(server) {}
    }

    @Test(arguments: Lane.engines)
    func `100 concurrent requests with a rejected token cause one refresh`(lane: Lane) async throws {
      let refusals = Shared(0)
      let server = try MockServer { request in
        if request.path == "/token" {
          #expect(request.header("Authorization") == nil)
          return .ok("new")
        }
        if request.header("Authorization") == "Bearer new" { return .ok("in") }
        refusals.withLock { $0 += 1 }
        return .status(401, headers: ["WWW-Authenticate": "Bearer"], body: String(repeating: "no ", count: 1000))
      }
      let box = Shared<HTTPClient?>(nil)
      let refreshes = Shared(0)
      let client = lane.client {
        $0.authenticators[.origin(server.url)] = .oauth2(.token("old")) { _ in
          refreshes.withLock { $0 += 1 }
          let client = box.withLock { $0 }
          return .token(try await client?.post(RequestTarget(server.url("/token"))).text ?? "none")
        }
      }
      box.withLock { $0 = client }

      let statuses = try await withThrowingTaskGroup { group in
        for number in 0..<100 {
          group.addTask { try await client.get(RequestTarget(server.url("/\(number)"))).status }
        }
        return try await group.reduce(into: [HTTPStatus]()) { $0.append($1) }
      }

      #expect(statuses.count == 100 && statuses.allSatisfy { $0 == .ok })
      #expect(refreshes.withLock { $0 } == 1)
      #expect((1...100).contains(refusals.withLock { $0 }))
      box.withLock { $0 = nil }
    }

    @Test(arguments: Lane.engines)
    func `repeats an upload after a 401, and fails if its body cannot be replayed`(lane: Lane) async throws {
      let server = try MockServer { request in
        request.header("Authorization") == nil
          ? .status(401, headers: ["WWW-Authenticate": #"Basic realm="r""#]) : .ok("\(request.bodyLength)")
      }
      let client = lane.client {
        $0.options.credential = .user("u", password: "p"); $0.baseURL = RequestTarget(server.url)
      }
      let pieces = AsyncStream<Data> {
        $0.yield(Data(repeating: 1, count: 100_000))
        $0.finish()
      }

      let once = try await #require(throws: HTTPError.self) {
        try await client.put("/", body: .stream(pieces))
      }
      let fresh = lane.client {
        $0.options.credential = .user("u", password: "p"); $0.baseURL = RequestTarget(server.url)
      }
      let again = try await fresh.put("/", body: .data(Data(repeating: 1, count: 100_000)))

      #expect(once.kind == .bodyNotReplayable)
      #expect(again.text == "100000")
    }
  }
#endif

#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import RedisStore
  import TestSupport
  import Testing

  /// The example's Redis store, with a Redis server.
  @Suite(.needs(.redis), .hangLimit) struct RedisStoreTests {
    /// Returns a server whose response contains the request's `Accept-Language`.
    private func server(vary: Bool = false, body: String = "body") throws -> MockServer {
      try MockServer(answering: { request in
        .ok(
          "\(body) \(request.header("Accept-Language") ?? "")",
          headers: ["Cache-Control": "max-age=600", vary ? "Vary" : "X-None": "Accept-Language"])
      })
    }

    // The test clock keeps the store's timeouts from expiring on a slow machine.
    private static let settings: ClientSetting = [.retry(.off), .clock(TestClock())]

    @Test func `a response stored by one client is served to another`() async throws {
      let redis = try await RedisServer()
      let server = try server()
      defer { server.stop() }
      let (one, two) = (
        HTTPClient(.cache(.store(redis.store)), Self.settings), HTTPClient(.cache(.store(redis.store)), Self.settings)
      )

      let first = try await one.get("\(raw: server.url)/x")
      let second = try await two.get("\(raw: server.url)/x")

      #expect(first.source == .network && second.source == .cache)
      #expect(first.text == "body " && second.text == first.text && second.status == .ok)
      #expect(server.requests.count == 1)
      let keys = try await redis.keys
      #expect(keys.count == 1)
      #expect(keys.allSatisfy { $0.hasPrefix("martlet:") && $0.count == 48 })
    }

    @Test func `entries expire in Redis after their lifetime`() async throws {
      let redis = try await RedisServer()
      let server = try server()
      defer { server.stop() }
      let week = HTTPClient(.cache(.store(redis.store)), Self.settings)
      let second = HTTPClient(.cache(.store(RedisStore(port: redis.port, lifetime: .milliseconds(10)))), Self.settings)

      _ = try await week.get("\(raw: server.url)/x")
      let key = try #require(try await redis.keys.first)
      let left = try await redis.connection.command("TTL", "\(key)")
      try await week.cache.removeAll()
      _ = try await second.get("\(raw: server.url)/x")
      let isForgotten = await becomes(every: .milliseconds(20)) { (try? await redis.keys) == [] }

      guard case .integer(let seconds) = left else {
        Issue.record("\(left)")
        return
      }
      #expect(604_000...604_800 ~= seconds)
      #expect(isForgotten)
    }

    @Test func `clients share all variants of a response`() async throws {
      let redis = try await RedisServer()
      let server = try server(vary: true)
      defer { server.stop() }
      let (one, two) = (
        HTTPClient(.cache(.store(redis.store)), Self.settings), HTTPClient(.cache(.store(redis.store)), Self.settings)
      )

      for language in ["de", "en"] {
        _ = try await one.get("\(raw: server.url)/x", headers: ["Accept-Language": language])
      }
      for language in ["en", "de"] {
        let response = try await two.get("\(raw: server.url)/x", headers: ["Accept-Language": language])
        #expect(response.source == .cache && response.text == "body \(language)")
      }
      let third = try await two.get("\(raw: server.url)/x", headers: ["Accept-Language": "fr"])

      #expect(third.source == .network && third.text == "body fr")
      #expect(server.requests.count == 3)
    }

    @Test func `removal affects all clients and leaves other keys alone`() async throws {
      let redis = try await RedisServer()
      let server = try server(vary: true)
      defer { server.stop() }
      let (one, two) = (
        HTTPClient(.cache(.store(redis.store)), Self.settings), HTTPClient(.cache(.store(redis.store)), Self.settings)
      )
      try await redis.connection.command("SET", "other", "1")
      _ = try await one.get("\(raw: server.url)/x")
      _ = try await one.get("\(raw: server.url)/y")

      try await two.cache.remove("\(server.url)/x")

      #expect(try await one.get("\(raw: server.url)/x").source == .network)
      #expect(try await two.get("\(raw: server.url)/y").source == .cache)

      try await one.cache.removeAll()

      #expect(try await redis.keys == ["other"])
      #expect(try await two.get("\(raw: server.url)/y").source == .network)
    }

    @Test func `removeAll removes the keys of all SCAN pages`() async throws {
      let redis = try await RedisServer()
      let script = "for i=1,3000 do redis.call('SET','martlet:'..i,'x') end"
      try await redis.connection.command("EVAL", "\(script)", "0")
      #expect(try await redis.connection.command("DBSIZE") == .integer(3000))

      try await redis.store.removeAll()

      #expect(try await redis.connection.command("DBSIZE") == .integer(0))
    }

    @Test func `a damaged entry is fetched again and replaced`() async throws {
      let redis = try await RedisServer()
      let server = try server()
      defer { server.stop() }
      let client = HTTPClient(.cache(.store(redis.store)), Self.settings)
      _ = try await client.get("\(raw: server.url)/x")
      let key = try #require(try await redis.keys.first)
      guard case .data(let whole) = try await redis.connection.command("GET", "\(key)") else {
        Issue.record("nothing is stored")
        return
      }
      var flipped = whole
      flipped[flipped.endIndex - 1] ^= 1

      for garbage in [Data(), Data("garbage".utf8), whole.dropLast(), flipped] {
        try await redis.connection.command("SET", "\(key)", .data(Data(garbage)))
        let (after, next) = (
          try await client.get("\(raw: server.url)/x"), try await client.get("\(raw: server.url)/x")
        )
        #expect(after.source == .network && after.text == "body ")
        #expect(next.source == .cache && next.text == "body ")
      }
      #expect(server.requests.count == 5)
    }

    @Test func `reconnects after a lost connection`() async throws {
      let redis = try await RedisServer()
      let server = try server()
      defer { server.stop() }
      let client = HTTPClient(.cache(.store(redis.store)), Self.settings)
      _ = try await client.get("\(raw: server.url)/x")

      try await redis.connection.command("CLIENT", "KILL", "TYPE", "normal")

      #expect(try await client.get("\(raw: server.url)/x").source == .cache)
    }

    @Test func `requests go to the server when Redis is not running`() async throws {
      let redis = try await RedisServer()
      let server = try server()
      defer { server.stop() }
      let client = HTTPClient(.cache(.store(redis.store)), Self.settings)
      _ = try await client.get("\(raw: server.url)/x")
      try await redis.stop()

      // A refused connection must fail fast: two 1 s timeouts per request would exceed the test's limit.
      for _ in 0..<40 { #expect(try await client.get("\(raw: server.url)/x").source == .network) }

      #expect(server.requests.count == 41)
    }

    @Test func `a hanging Redis does not delay every request`() async throws {
      let redis = try await RedisServer()
      let server = try server()
      defer { server.stop() }
      let client = HTTPClient(.cache(.store(RedisStore(port: redis.port))), Self.settings)
      _ = try await client.get("\(raw: server.url)/x")
      redis.hang()

      // The client must not wait for each request: two 1 s timeouts per request would exceed the test's limit.
      for _ in 0..<40 { #expect(try await client.get("\(raw: server.url)/x").source == .network) }

      #expect(server.requests.count == 41)
    }

    @Test func `does not store a body larger than the limit`() async throws {
      let redis = try await RedisServer()
      let server = try server(body: String(repeating: "x", count: 2000))
      defer { server.stop() }
      let client = HTTPClient(.cache(.store(redis.store, maximumBodyBytes: 1000)), Self.settings)

      for _ in 0..<2 { #expect(try await client.get("\(raw: server.url)/x").source == .network) }

      #expect(try await redis.keys.isEmpty)
    }

    @Test func `stores and serves a body of almost 1 MiB`() async throws {
      let redis = try await RedisServer()
      let body = String(repeating: "0123456789abcdef", count: (1 << 20) / 16 - 1)
      let server = try server(body: body)
      defer { server.stop() }
      let (one, two) = (
        HTTPClient(.cache(.store(redis.store)), Self.settings), HTTPClient(.cache(.store(redis.store)), Self.settings)
      )

      _ = try await one.get("\(raw: server.url)/x")
      let second = try await two.get("\(raw: server.url)/x")

      #expect(second.source == .cache && second.text == body + " ")
    }

    @Test func `responses to requests with credentials or cookies never reach Redis`() async throws {
      let redis = try await RedisServer()
      let server = try server()
      defer { server.stop() }
      let client = HTTPClient(.cache(.store(redis.store)), Self.settings)
      let asked: [(path: String, options: RequestOptions, headers: HTTPHeaders)] = [
        ("user", .credential(.user("ada", password: "secret", isPreemptive: true)), [:]),
        ("token", .credential(.token("secret")), [:]),
        ("field", RequestOptions(), ["Authorization": "Bearer secret"]),
        ("cookie", RequestOptions(), ["Cookie": "session=secret"]),
      ]

      for (path, options, headers) in asked {
        let url: RequestTarget = "\(raw: server.url)/\(path)"
        let first = try await client.get(url, headers: headers, options: options)
        let second = try await client.get(url, headers: headers, options: options)
        #expect(first.source == .network, "\(path)")
        // The response is stored, but only in memory.
        #expect(second.source == .cache, "\(path)")
      }

      #expect(try await redis.connection.command("DBSIZE") == .integer(0))
    }

    // MARK: The connection

    @Test func `throws the error reply of Redis and keeps the connection usable`() async throws {
      let redis = try await RedisServer()

      await #expect(throws: RedisError.refused("ERR wrong number of arguments for 'get' command")) {
        try await redis.connection.command("GET")
      }
      #expect(try await redis.connection.command("PING") == .text("PONG"))
      #expect(try await redis.connection.command("GET", "none") == .nothing)
    }

    @Test(
      arguments: [
        ("+OK\r\n", nil), ("+OK\r\n+more\r\n", .malformed), ("+OK\n", .malformed), ("OK\r\n", .malformed),
        ("\r\n", .malformed), ("-no\r\n", .refused("no")), (":x\r\n", .malformed),
        (":99999999999999999999\r\n", .malformed),
        ("$-2\r\n", .malformed), ("$1001\r\n", .malformed), ("$9223372036854775807\r\n", .malformed),
        ("$3\r\nabcd\r\n", .malformed), ("$3\r\nab", .lost), ("*2\r\n:1\r\n", .lost), ("", .lost),
        ("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", .malformed), (String(repeating: "+", count: 2000), .malformed),
        ("*900\r\n" + String(repeating: ":1\r\n", count: 900), .malformed),
      ] as [(String, RedisError?)])
    func `parses replies, and throws for malformed or truncated ones`(reply: String, error: RedisError?) async throws {
      let server = try ByteServer { _ in ByteServer.Script(pieces: [Array(reply.utf8)], end: .close) }
      let connection = RedisConnection(host: "localhost", port: server.port, maximumReplyBytes: 1000)

      var thrown: RedisError?
      do {
        // This server treats an empty line as the end of a request.
        try await connection.command("\r\n\r\n")
      } catch let error as RedisError {
        thrown = error
      }

      #expect(thrown == error)
    }
  }
#endif

#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  /// Proxies that require authentication, over both transports.
  @Suite(.hangLimit) struct ProxyAuthTests {
    private static let challenge: KeyValuePairs = ["Proxy-Authenticate": #"Basic realm="the proxy""#]
    private static let basic = "Basic " + Data("ada:secret".utf8).base64EncodedString()

    /// Returns a proxy that responds to http URLs itself if the password is right, and opens no tunnels.
    private static func proxy(accepting value: String = basic) throws -> MockServer {
      try MockServer { request in
        guard request.header("Proxy-Authorization") == value else {
          return .status(407, headers: challenge, body: String(repeating: "no ", count: 1000))
        }
        return request.method == "CONNECT" ? .status(502) : .ok("in")
      }
    }

    private static func values(_ server: MockServer) -> [String?] {
      server.requests.map { $0.header("Proxy-Authorization") }
    }

    // MARK: A real proxy

    @Test(.needs(.tinyproxy, .openssl, .nginx), arguments: Lane.engines)
    func `requests proxy credentials once and sends them only to the proxy`(lane: Lane) async throws {
      let proxy = try await ProxyProgram.http(user: "ada", password: "secret")
      let address = "http://127.0.0.1:\(proxy.port)"
      let authority = try await CertificateAuthority()
      let root = authority.root
      let secure = try await NginxServer(
        try await authority.identity(), "add_header X-Got \"[$http_proxy_authorization$http_authorization]\";")
      let plain = try MockServer(.ok("plain"))
      let questions = Shared<[AuthenticationChallenge]>([])
      let client = lane.client {
        $0.tls = .customRoots(pem: root)
        $0.proxy = .proxy(Proxy(address))
        $0.authenticators[.everywhere] = .ask { challenge in
          questions.withLock { $0.append(challenge) }
          return .user("ada", password: "secret")
        }
      }

      let first = try await client.get(RequestTarget(secure.url))
      let second = try await client.get(RequestTarget(plain.url))
      let third = try await client.get(RequestTarget(secure.url))

      #expect([first, second, third].map(\.text) == ["ok", "plain", "ok"])
      #expect(first.headers["X-Got"] == "[]" && third.headers["X-Got"] == "[]")
      #expect(plain.requests.allSatisfy { $0.header("Proxy-Authorization") == nil })
      #expect(third.connection?.isReused == true && proxy.tunnelCount == 2)
      let asked = questions.withLock { $0 }
      #expect(asked.map(\.isProxy) == [true] && asked.map(\.scheme) == [.basic])
      #expect(asked.first?.space.port == proxy.port && asked.first?.host == "127.0.0.1")
      #expect(asked.first?.realm?.isEmpty == false && asked.first?.isSentInClear == true)
    }

    @Test(.needs(.tinyproxy, .openssl, .nginx), arguments: Lane.engines)
    func `asks again after a wrong password, then reuses the connection`(lane: Lane) async throws {
      let proxy = try await ProxyProgram.http(user: "ada", password: "secret")
      let address = "http://127.0.0.1:\(proxy.port)"
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await NginxServer(try await authority.identity())
      let failures = Shared<[Int]>([])
      let client = lane.client {
        $0.tls = .customRoots(pem: root)
        $0.proxy = .proxy(Proxy(address))
        $0.authenticators[.proxy(address)] = .ask { challenge in
          failures.withLock { $0.append(challenge.previousFailures) }
          return .user("ada", password: challenge.previousFailures == 0 ? "wrong" : "secret")
        }
      }

      let first = try await client.get(RequestTarget(server.url))
      let second = try await client.get(RequestTarget(server.url))

      #expect(first.text == "ok" && second.connection?.isReused == true)
      #expect(failures.withLock { $0 } == [0, 1])
      #expect(proxy.tunnelCount == 3)
    }

    @Test(.needs(.tinyproxy, .openssl, .nginx), arguments: Lane.engines)
    func `a connection is not reused after signOut`(lane: Lane) async throws {
      let proxy = try await ProxyProgram.http(user: "ada", password: "secret")
      let address = "http://127.0.0.1:\(proxy.port)"
      let authority = try await CertificateAuthority()
      let root = authority.root
      let server = try await NginxServer(try await authority.identity())
      let isSignedOut = Shared(false)
      let client = lane.client {
        $0.tls = .customRoots(pem: root)
        $0.proxy = .proxy(Proxy(address))
        $0.authenticators[.everywhere] = .ask { _ in
          isSignedOut.withLock { $0 } ? nil : .user("ada", password: "secret")
        }
      }
      try await client.get(RequestTarget(server.url))
      isSignedOut.withLock { $0 = true }
      try await client.signOut()

      let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url)) }

      #expect(error?.kind == .authenticationFailed)
    }

    @Test(arguments: Lane.engines)
    func `a timeout while credentials are requested is reported in the queued phase`(lane: Lane) async throws {
      let proxy = try MockServer(.status(407, headers: ["Proxy-Authenticate": "Basic realm=\"a\""]))
      defer { proxy.stop() }
      let address = proxy.url
      let isAsked = Gate()
      let clock = TestClock(advancing: .manually)
      let client = lane.client {
        $0.clock = clock
        $0.proxy = .proxy(Proxy(address))
        $0.authenticators[.proxy(address)] = .ask { _ in
          await isAsked.pass()
          return nil
        }
      }

      let task = Task { try await client.get("http://host.example/", options: .timeout(.seconds(1))) }
      await isAsked.waitForArrivals(1)
      let end = await clock.pass(.seconds(2), until: task)
      let error = #expect(throws: HTTPError.self) { try end.get() }

      #expect(error?.kind == .timedOut && error?.phase == .queued, "\(String(describing: error))")
    }

    @Test(arguments: Lane.engines)
    func `retries when connections are lost before and after a proxy's challenge`(lane: Lane) async throws {
      let count = Shared(0)
      let proxy = try MockServer { request in
        let number = count.withLock {
          $0 += 1
          return $0
        }
        // Both losses occur on a connection that has already carried a response.
        if number == 2 || number == 4 { return .raw("") }
        return number == 3 ? .status(407, headers: Self.challenge) : .ok("in")
      }
      let address = proxy.url
      let client = lane.client {
        $0.retry = .standard
        $0.proxy = .proxy(Proxy(address))
        $0.authenticators[.proxy(address)] = .password(user: "ada", password: "secret")
      }

      try await client.get("http://host.example/")
      let response = try await client.get("http://host.example/")

      #expect(response.text == "in" && response.attempts.count == 3)
      // The lost exchange has not rejected the credential, so the next attempt sends it without another challenge.
      #expect(Self.values(proxy) == [nil, nil, nil, Self.basic, Self.basic])
    }

    // MARK: Concurrent requests

    @Test(arguments: Lane.engines, ["http", "https"])
    func `20 concurrent requests obtain credentials once`(lane: Lane, scheme: String) async throws {
      let proxy = try Self.proxy()
      let questions = Shared(0)
      let client = lane.client {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.authenticators[.proxy(proxy.url)] = .ask { _ in
          questions.withLock { $0 += 1 }
          try await Task.sleep(for: .milliseconds(100))
          return .user("ada", password: "secret")
        }
      }

      let results = await withTaskGroup { group in
        for number in 0..<20 {
          group.addTask {
            try? await client.get(RequestTarget("\(raw: scheme)://host\(raw: "\(number)").example/")).text
          }
        }
        return await group.reduce(into: [String?]()) { $0.append($1) }
      }

      #expect(questions.withLock { $0 } == 1)
      // This proxy opens no tunnels, so https requests fail although it accepts their credentials.
      #expect(results.allSatisfy { $0 == (scheme == "http" ? "in" : nil) })
      #expect(Self.values(proxy).count { $0 == Self.basic } == 20)
      #expect(Self.values(proxy).allSatisfy { $0 == nil || $0 == Self.basic })
    }

    @Test(arguments: Lane.engines)
    func `cancelling the request that obtains credentials does not affect waiting requests`(lane: Lane) async throws {
      let proxy = try Self.proxy()
      let question = Gate()
      let client = lane.client {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.authenticators[.proxy(proxy.url)] = .ask { _ in
          await question.pass()
          return .user("ada", password: "secret")
        }
      }
      let first = Task { try await client.get("http://a.example/").text }
      await question.waitForArrivals(1)
      let second = Task { try await client.get("http://b.example/").text }
      #expect(await proxy.waitForRequests(2))

      first.cancel()
      await #expect(throws: CancellationError.self) { try await first.value }
      question.open()

      #expect(try await second.value == "in")
      #expect(Self.values(proxy) == [nil, nil, Self.basic])
    }

    // MARK: Refusals

    @Test(.needs(.reportedRequests), arguments: Lane.engines, ["http", "https"])
    func `missing or wrong credentials fail with an error that names the proxy`(lane: Lane, scheme: String) async throws
    {
      let proxy = try Self.proxy()
      let url = RequestTarget("\(raw: scheme)://nowhere.example/")
      let fixed = lane.client {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.authenticators[.proxy(proxy.url)] = .password(user: "ada", password: "wr0ng")
      }
      let own = lane.client { $0.proxy = .proxy(Proxy(proxy.url, user: "ada", password: "wr0ng")) }
      let asking = lane.client {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.authenticators[.everywhere] = .ask { .user("ada", password: "wr0ng\($0.previousFailures)") }
      }
      let stubborn = lane.client {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.authenticators[.everywhere] = .ask { _ in .user("ada", password: "wr0ng") }
      }
      let nobody = lane.client { $0.proxy = .proxy(Proxy(proxy.url)) }

      for (client, exchanges) in [(fixed, 2), (own, 1), (asking, 3), (stubborn, 2), (nobody, 1)] {
        proxy.forgetRequests()
        let error = await #expect(throws: HTTPError.self) { try await client.get(url) }
        #expect(error?.kind == .authenticationFailed)
        #expect(error?.message.contains(proxy.url) == true, "\(error?.message ?? "")")
        #expect(error.map { "\($0)" }?.contains("wr0ng") == false)
        #expect(error?.status?.rawValue == (scheme == "http" ? 407 : nil))
        #expect(proxy.requests.count == exchanges)
      }
    }

    // F61
    @Test(
      arguments: Lane.engines,
      [
        ("http", #"Digest realm="p", nonce="n", qop="auth-int""#, #"quality of protection "auth-int""#),
        ("https", #"Digest realm="p", nonce="n", qop="auth-int""#, #"quality of protection "auth-int""#),
        ("http", #"Digest realm="p", nonce="n", algorithm=SHA-512, Basic realm="p""#, #"algorithm "SHA-512""#),
        ("https", #"Digest realm="p", nonce="n", algorithm=SHA-512"#, #"algorithm "SHA-512""#),
        ("https", #"Digest realm="p", nonce="n", algorithm=SHA-512, Digest realm="p", nonce="n""#, nil),
      ] as [(String, String, String?)])
    func `the error names an unsupported Digest option in a proxy's challenge`(
      lane: Lane, row: (scheme: String, challenge: String, reason: String?)
    ) async throws {
      let proxy = try MockServer(.status(407, headers: ["Proxy-Authenticate": row.challenge]))
      let known = lane.client {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.authenticators[.proxy(proxy.url)] = .digest(user: "ada", password: "wrong")
      }

      let error = await #expect(throws: HTTPError.self) {
        try await known.get(RequestTarget("\(raw: row.scheme)://nowhere.example/"))
      }

      #expect(error?.kind == .authenticationFailed)
      let reason = row.reason.map { ": it offers Digest with the \($0)" }
      #expect(error?.message.contains(reason ?? proxy.url) == true, "\(error?.message ?? "")")
      #expect(error?.message.contains("offers") == (reason != nil))
    }

    @Test(arguments: Lane.engines)
    func `a 401 without a challenge does not confirm proxy credentials`(lane: Lane) async throws {
      // Like tinyproxy, this proxy rejects wrong credentials with a 401.
      let proxy = try MockServer { request in
        guard let value = request.header("Proxy-Authorization") else { return .status(407, headers: Self.challenge) }
        return value == Self.basic ? .ok("in") : .status(401)
      }
      let questions = Shared(0)
      let client = lane.client {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.authenticators[.proxy(proxy.url)] = .ask { _ in
          questions.withLock { $0 += 1 }
          return .user("ada", password: questions.withLock { $0 } == 1 ? "wrong" : "secret")
        }
      }

      let first = try await client.get("http://nowhere.example/")
      let second = try await client.get("http://nowhere.example/")

      #expect(first.status == .unauthorized && second.text == "in")
      #expect(questions.withLock { $0 } == 2)
    }

    @Test(.needs(.tinyproxy, .microsocks, .openssl, .nginx), arguments: Lane.engines)
    func `a 407 from an origin server is returned and gets no credentials`(lane: Lane) async throws {
      let authority = try await CertificateAuthority()
      let root = authority.root
      let secure = try await NginxServer(
        try await authority.identity(),
        "location = /407 { add_header Proxy-Authenticate 'Basic realm=\"x\"' always; return 407 \"[$http_proxy_authorization]\"; }"
      )
      let plain = try MockServer(.status(407, headers: Self.challenge))
      let tunnel = try await ProxyProgram.http()
      let socks = try await ProxyProgram.socks()
      let settings: [(ProxySettings, String)] = [
        (.direct, plain.url), (.proxy(Proxy("socks5://127.0.0.1:\(socks.port)")), plain.url),
        (.resolver { _ in nil }, plain.url), (.proxy(Proxy("http://127.0.0.1:\(tunnel.port)")), secure.url),
      ]

      for (setting, url) in settings {
        let client = lane.client {
          $0.tls = .customRoots(pem: root)
          $0.proxy = setting
          $0.authenticators[.everywhere] = .ask { _ in .user("ada", password: "secret") }
        }
        let response = try await client.get(RequestTarget("\(raw: url)/407"))
        #expect(response.status == 407 && !response.text.contains("Basic"), "\(setting)")
      }

      #expect(plain.requests.count == 3)
      #expect(
        plain.requests.allSatisfy { $0.header("Proxy-Authorization") == nil && $0.header("Authorization") == nil })
    }

    @Test(arguments: Lane.engines)
    func `proxy credentials are not sent to another proxy or to a server at the same address`(lane: Lane) async throws {
      let proxy = try MockServer { request in
        if request.target.hasPrefix("http://") {
          return request.header("Proxy-Authorization") == Self.basic ? .ok("in") : .status(407, headers: Self.challenge)
        }
        return .status(401, headers: ["WWW-Authenticate": #"Basic realm="the proxy""#])
      }
      let other = try MockServer(.status(407, headers: Self.challenge))
      let turns = Turns()
      let client = lane.client {
        $0.proxy = .resolver { _ in [Proxy(proxy.url), Proxy(other.url), nil][turns.next() % 4 % 3] }
        $0.authenticators[.proxy(proxy.url)] = .password(user: "ada", password: "secret")
      }

      // The second attempt is made through the other proxy, which requests credentials as well.
      let error = await #expect(throws: HTTPError.self) { try await client.get("http://nowhere.example/") }
      let direct = try await client.get(RequestTarget(proxy.url))

      #expect(error?.message.contains(other.url) == true)
      #expect(other.requests.count == 1 && Self.values(other) == [nil])
      #expect(direct.status == .unauthorized)
      #expect(
        proxy.requests.allSatisfy { $0.header("Authorization") == nil && $0.header("Proxy-Authorization") == nil })
      #expect(try await client.get("http://nowhere.example/").text == "in")
    }

    @Test(arguments: Lane.engines)
    func `repeats an upload after a 407, and fails if its body cannot be replayed`(lane: Lane) async throws {
      let proxy = try MockServer { request in
        request.header("Proxy-Authorization") == Self.basic
          ? .ok("\(request.bodyLength)") : .status(407, headers: Self.challenge)
      }
      let configure: @Sendable (inout HTTPClient.Configuration) -> Void = {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.authenticators[.proxy(proxy.url)] = .password(user: "ada", password: "secret")
      }
      let pieces = AsyncStream<Data> {
        $0.yield(Data(repeating: 1, count: 100_000))
        $0.finish()
      }

      let again = try await lane.client(change: configure).put(
        "http://nowhere.example/", body: .data(Data(repeating: 1, count: 100_000)))
      let once = await #expect(throws: HTTPError.self) {
        try await lane.client(change: configure).put("http://nowhere.example/", body: .stream(pieces))
      }

      #expect(again.text == "100000")
      #expect(once?.kind == .bodyNotReplayable && once?.message.contains(proxy.url) == true)
    }

    // MARK: Digest

    @Test(arguments: Lane.engines)
    func `answers Digest for CONNECT and absolute-form targets, and increments the nonce count`(lane: Lane) async throws
    {
      let counts = Shared<[String]>([])
      let proxy = try MockServer { request in
        let field = request.header("Proxy-Authorization")
        guard let field, let sent = Challenge.parse([field]).first?.parameters, let uri = sent["uri"],
          uri == request.target
        else {
          return .status(
            407, headers: ["Proxy-Authenticate": #"Basic realm="p", Digest realm="p", nonce="n", qop="auth""#])
        }
        let hash = DigestAlgorithm.md5.hash
        let subject = hash("\(request.method):\(uri)")
        let expected = hash(
          "\(hash("ada:p:secret")):n:\(sent["nc"] ?? ""):\(sent["cnonce"] ?? ""):auth:\(subject)")
        guard sent["response"] == expected else { return .status(400) }
        counts.withLock { $0.append("\(request.method) \(sent["nc"] ?? "")") }
        return request.method == "CONNECT" ? .status(502) : .ok("in")
      }
      let client = lane.client {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.authenticators[.proxy(proxy.url)] = .password(user: "ada", password: "secret")
      }

      let first = try await client.get("http://nowhere.example/a?b")
      _ = try? await client.get("https://nowhere.example/")
      let last = try await client.get("http://nowhere.example/")

      #expect(first.text == "in" && last.text == "in")
      #expect(counts.withLock { $0 } == ["GET 00000001", "CONNECT 00000002", "GET 00000003"])
      #expect(proxy.requests.count == 4)
      #expect(Self.values(proxy).allSatisfy { $0?.hasPrefix("Basic") != true })
    }
  }
#endif

#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  private let hasNTLM: ConditionTrait = .enabled(
    if: CurlLibrary.handshakeProblem(.ntlm) == nil, "this libcurl has no NTLM")
  private let hasNegotiate: ConditionTrait = .enabled(
    if: CurlLibrary.handshakeProblem(.negotiate) == nil, "this libcurl has no Negotiate")

  /// Schemes that authenticate a connection, over both transports.
  @Suite(.ownThreads, .hangLimit) struct HandshakeTests {
    private static func ada(_ password: String = "secret") -> Credential {
      .user("ada", password: password, domain: "CORP", isAllowedWithoutTLS: true)
    }

    private static func client(
      _ lane: Lane, _ url: String, _ credential: Credential, _ notes: StatusNotes = StatusNotes()
    ) -> HTTPClient {
      lane.client {
        $0.exchangeMiddleware = [notes]
        $0.authenticators[.origin(url)] = Authenticators.CredentialAuthenticator(credential)
      }
    }

    // MARK: NTLM

    /// The server sends extra bytes after its response to the first NTLM message, and a foreign response 4 ms later.
    @Test(hasNTLM, arguments: Lane.engines, ["Content-Length: 5", "Content-Length: 0", "Transfer-Encoding: chunked"])
    func `extra bytes after a step's response end the authentication`(lane: Lane, framing: String) async throws {
      let body = framing.hasSuffix("5") ? "go on" : framing.hasSuffix("0") ? "" : "1\r\nx\r\n0\r\n\r\n"
      let head = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: NTLM"
      let foreign = Array("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforeign".utf8)
      for stray in ["", "X", "\r\n", "HTTP/1.1 200 OK\r\n"] {
        let asked = Shared(0)
        let server = try ByteServer { _ in
          switch asked.withLock({
            $0 += 1; return $0
          }) {
          case 1: return DeliveryPlan(pieces: [Array("\(head)\r\nContent-Length: 0\r\n\r\n".utf8)], end: .keep)
          case 2:
            let text = "\(head) \(NTLMServer.challenge.base64EncodedString())\r\n\(framing)\r\n\r\n\(body)\(stray)"
            let plan = DeliveryPlan(pieces: [Array(text.utf8)], end: .keep)
            if stray.isEmpty { return plan }
            var followed = plan.followed(by: foreign, after: .milliseconds(4))
            followed.outlivesRequests = true
            return followed
          default: return DeliveryLine.good(0)
          }
        }
        defer { server.stop() }
        let client = Self.client(lane, server.url, Self.ada())

        let result = await Result { try await client.get(server.url(0)) }

        if stray.isEmpty {
          #expect(try result.get().text == DeliveryLine.name(0))
        } else {
          let error = #expect(throws: HTTPError.self) { try result.get() }
          #expect(error?.kind == .protocolViolation && asked.value == 2, "\(stray): \(error?.message ?? "")")
        }
      }
    }

    @Test(hasNTLM, arguments: Lane.engines)
    func `authenticates each request on its own connection`(lane: Lane) async throws {
      let server = try NTLMServer()
      let notes = StatusNotes()
      let client = Self.client(lane, server.url, Self.ada(), notes)

      let first = try await client.get(RequestTarget(server.url))
      let second = try await client.get(RequestTarget(server.url))

      #expect(first.text == "CORP|ada|0" && second.text == "CORP|ada|0")
      // The challenge inside the handshake is not reported as a response. Later requests start with the handshake, so
      // there is only one 401.
      #expect(notes.all == [401, 200, 200])
      let requests = server.server.requests
      #expect(requests.map { $0.header("Authorization") == nil } == [true, false, false, false, false])
      #expect(Set(requests.map(\.connection)).count == 3)
      #expect(Set(server.logins.map(\.connection)).count == 2 && server.misplaced == 0)
      #expect(await server.server.waitForOpenConnections(atMost: 1))
    }

    @Test(hasNTLM, arguments: Lane.engines)
    func `sends the body only with the last NTLM message`(lane: Lane) async throws {
      let server = try NTLMServer()
      let client = Self.client(lane, server.url, Self.ada())
      let body = Data(repeating: 1, count: 300_000)
      let pieces = AsyncStream<Data> {
        for _ in 0..<10 { $0.yield(Data(repeating: 1, count: 30_000)) }
        $0.finish()
      }

      let first = try await client.post(RequestTarget(server.url), body: .data(body))
      let second = try await client.put(RequestTarget(server.url), body: .data(body))
      // By now the client knows that this server requires NTLM, so the body need not be replayable.
      let third = try await client.post(RequestTarget(server.url), body: .stream(pieces))

      #expect([first, second, third].map(\.text) == Array(repeating: "CORP|ada|300000", count: 3))
      #expect(server.server.requests.map(\.bodyLength) == [300_000, 0, 300_000, 0, 300_000, 0, 300_000])
      #expect(server.misplaced == 0)
    }

    @Test(hasNTLM, arguments: Lane.engines) func `returns the 401 if the account is rejected`(lane: Lane) async throws {
      let server = try NTLMServer()
      let notes = StatusNotes()
      let client = Self.client(
        lane, server.url, .user("eve", password: "x", domain: "", isAllowedWithoutTLS: true), notes)

      let response = try await client.get(RequestTarget(server.url))
      let head = try await client.head(RequestTarget(server.url))

      #expect(response.status == .unauthorized && response.text == "who are you?")
      #expect(head.status == .unauthorized)
      #expect(notes.all == [401, 401, 401, 401])
      #expect(server.logins.allSatisfy { $0.domain == "" && $0.user == "eve" } && server.misplaced == 0)
    }

    @Test(hasNTLM, arguments: Lane.engines) func `never shares a connection between two accounts`(lane: Lane)
      async throws
    {
      let server = try NTLMServer()
      let client = lane.client()

      let texts = try await withThrowingTaskGroup { group in
        for number in 0..<24 {
          group.addTask {
            let user = ["ada", "bob", "cyd"][number % 3]
            let credential = Credential.user(user, password: "p", domain: "D", isAllowedWithoutTLS: true)
            // Every third request has no credentials.
            let options = user == "cyd" ? RequestOptions() : RequestOptions.credential(credential)
            let response = try await client.get(RequestTarget(server.url), options: options)
            return "\(user) \(response.status.rawValue) \(response.text)"
          }
        }
        return try await group.reduce(into: Set<String>()) { $0.insert($1) }
      }

      #expect(texts == ["ada 200 D|ada|0", "bob 200 D|bob|0", "cyd 401 who are you?"])
      #expect(server.logins.count == 16 && Set(server.logins.map(\.connection)).count == 16)
      #expect(server.misplaced == 0)
    }

    @Test(hasNTLM, arguments: Lane.engines)
    func `cancellation ends an unfinished NTLM exchange and closes its connection`(lane: Lane) async throws {
      let server = try NTLMServer(second: .hang)
      let client = Self.client(lane, server.url, Self.ada())
      let task = Task { try await client.get(RequestTarget(server.url)) }
      #expect(await server.server.waitForRequests(2))

      task.cancel()

      await #expect(throws: CancellationError.self) { try await task.joined }
      #expect(await server.server.waitForOpenConnections(atMost: 1))
      #expect(server.logins.isEmpty)
    }

    @Test(
      hasNTLM, arguments: Lane.engines,
      [
        ("NTLM !", true), ("NTLM TlRMTVNTUAACAAAA", true), ("NTLM TlRMTVNTUAADAAAA", true), ("Basic realm=\"x\"", true),
        ("NTLM", true), ("NTLM TlRMTVNTUAACAAAAAAAAADAAAAABAogAAQIDBAUGBwgAAAAAAAAAAAQABAAwAAAAAAAAAA==", false),
      ])
    func `returns the 401 if the NTLM challenge is invalid or its connection closes`(
      lane: Lane, broken: (value: String, keeps: Bool)
    ) async throws {
      var headers: KeyValuePairs = ["WWW-Authenticate": broken.value]
      if !broken.keeps { headers = ["WWW-Authenticate": broken.value, "Connection": "close"] }
      let server = try NTLMServer(second: .status(401, headers: headers, body: "broken"))
      let client = Self.client(lane, server.url, Self.ada())

      // The request has no timeout, because a timeout would hide a hang.
      let response = try await client.get(RequestTarget(server.url), options: .timeout(.unlimited))

      #expect(response.status == .unauthorized)
      #expect(server.server.requests.count <= 4 && server.logins.isEmpty)
    }

    @Test(.needs(.reportedRequests), hasNTLM, arguments: Lane.engines)
    func `stops after repeated NTLM challenges and returns the 401`(lane: Lane)
      async throws
    {
      let headers: KeyValuePairs = [
        "WWW-Authenticate": "NTLM TlRMTVNTUAACAAAAAAAAADAAAAABAogAAQIDBAUGBwgAAAAAAAAAAAQABAAwAAAAAAAAAA=="
      ]
      let server = try MockServer(.status(401, headers: headers, body: "more"))
      let client = Self.client(lane, server.url, Self.ada())

      let response = try await client.get(RequestTarget(server.url), options: .timeout(.unlimited))

      #expect(response.status == .unauthorized)
      #expect((2...5).contains(server.requests.count), "\(server.requests.count)")
    }

    @Test(hasNTLM, arguments: Lane.engines)
    func `returns the final 401 while the upload is still running`(lane: Lane) async throws {
      let challenge = "NTLM TlRMTVNTUAACAAAAAAAAADAAAAABAogAAQIDBAUGBwgAAAAAAAAAAAQABAAwAAAAAAAAAA=="
      func refusal(_ value: String) -> String {
        "HTTP/1.1 401 No\r\nWWW-Authenticate: \(value)\r\nContent-Length: 0\r\n\r\n"
      }
      let server = try SteppedServer()
      let client = Self.client(lane, server.url, Self.ada()).derived { $0.timeout = .unlimited }
      async let known = client.get(server.target)
      try await server.request()
      try await server.send(refusal("NTLM"))
      try await server.request()
      try await server.send(refusal(challenge))
      try await server.nextRequest()
      try await server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      #expect(try await known.status == .ok)
      let (body, isGone) = UploadPieces.endless()

      async let refused = client.post(server.target, body: body)
      try await server.request()
      try await server.send(refusal(challenge))
      try await server.nextRequest()
      try await server.waitForBytes("begin")
      try await server.send(refusal("NTLM"))

      #expect(try await refused.status == .unauthorized)
      #expect(await becomes(isGone))
    }

    /// Returns a server whose challenge has an endless body.
    private static func endless(_ body: MockResponse.Step) throws -> NTLMServer {
      let value = "NTLM TlRMTVNTUAACAAAAAAAAADAAAAABAogAAQIDBAUGBwgAAAAAAAAAAAQABAAwAAAAAAAAAA=="
      let head = "HTTP/1.1 401 No\r\nWWW-Authenticate: \(value)\r\nContent-Length: 1000000000000\r\n\r\n"
      return try NTLMServer(second: .steps([.text(head), body]))
    }

    @Test(hasNTLM, arguments: Lane.engines)
    func `the total timeout ends an NTLM challenge with an endless body`(lane: Lane) async throws {
      let server = try Self.endless(.drip(Data(repeating: 0x62, count: 1 << 20), chunk: 1, every: .milliseconds(2)))
      defer { server.server.stop() }
      let clock = TestClock(advancing: .manually)
      let client = Self.client(lane, server.url, Self.ada()).derived { $0.clock = clock }
      let options = RequestOptions.timeout(TimeoutPolicy(connect: nil, idle: nil, total: .seconds(600)))
      let asking = Task { try await client.get(RequestTarget(server.url), options: options) }

      // Other requests succeed in the meantime.
      #expect(await server.server.waitForRequests(2))
      let other = try MockServer(.ok("other"))
      #expect(try await client.get(RequestTarget(other.url)).text == "other")
      let end = await clock.pass(.seconds(601), until: asking)
      let error = #expect(throws: HTTPError.self) { try end.get() }

      #expect(error?.kind == .timedOut)
      #expect(await server.server.waitForOpenConnections(atMost: 1))
    }

    @Test(.needs(.proc), hasNTLM, arguments: Lane.engines)
    func `an NTLM challenge with an endless body uses bounded memory and blocks no other request`(lane: Lane)
      async throws
    {
      await #expect(processExitsWith: .success) { [lane = lane as Lane] in
        let server = try Self.endless(.repeating(Data(repeating: 0x62, count: 16_000), count: 1 << 20))
        let client = Self.client(lane, server.url, Self.ada())
        let other = try MockServer(.ok("other"))
        _ = try await client.get(RequestTarget(other.url))
        let more = try await ProcessFacts.peakGrowth {
          let asking = Task { try await client.get(RequestTarget(server.url), options: .timeout(.unlimited)) }
          #expect(await server.server.waitForRequests(2))
          #expect(try await client.get(RequestTarget(other.url)).text == "other")
          try await Task.sleep(for: .milliseconds(300))
          asking.cancel()
          await #expect(throws: CancellationError.self) { try await asking.joined }
        }
        #expect(isSanitized || more < 50 << 20)
        server.server.stop()
      }
    }

    @Test(.needs(.reportedRequests), hasNTLM, arguments: Lane.engines, [HTTPMethod.get, .post])
    func `a request is not retried if the connection is lost after the NTLM challenge`(lane: Lane, method: HTTPMethod)
      async throws
    {
      let value = "NTLM TlRMTVNTUAACAAAAAAAAADAAAAABAogAAQIDBAUGBwgAAAAAAAAAAAQABAAwAAAAAAAAAA=="
      let types = Shared<[Int]>([])
      let server = try MockServer { request in
        guard let field = request.header("Authorization") else {
          return .status(401, headers: ["WWW-Authenticate": "NTLM"])
        }
        let type = Data(base64Encoded: String(field.dropFirst(5))).map { Int($0[8]) } ?? 0
        types.withLock { $0.append(type) }
        return type == 1 ? .status(401, headers: ["WWW-Authenticate": value]) : .steps([.cut])
      }
      let client = Self.client(lane, server.url, Self.ada())

      let error = await #expect(throws: HTTPError.self) {
        var request = HTTPRequest(method, RequestTarget(server.url))
        if method == .post { request.body = .text("body") }
        return try await client.send(request)
      }

      #expect(error?.kind == .connectionLost)
      #expect(types.withLock { $0 } == [1, 3])
    }

    // MARK: Credentials that are not sent

    @Test(arguments: Lane.engines, [AuthenticationScheme.ntlm, .negotiate])
    func `sends no credentials over plain HTTP by default, and none without a challenge`(
      lane: Lane, scheme: AuthenticationScheme
    ) async throws {
      let server = try NTLMServer(offers: "\(scheme)")
      let open = try MockServer(.ok())
      let credential: Credential = scheme == .ntlm ? .user("ada", password: "p", domain: "D") : .ticket()
      let client = Self.client(lane, server.url, credential)

      let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(server.url)) }
      try await Self.client(lane, open.url, credential).get(RequestTarget(open.url))

      #expect(error?.kind == .authenticationFailed && error?.message.contains("TLS") == true)
      #expect(server.server.requests.count == 1)
      #expect((server.server.requests + open.requests).allSatisfy { $0.header("Authorization") == nil })
    }

    @Test(arguments: Lane.engines)
    func `a domain account is never used for Basic, nor a plain password for NTLM or Negotiate`(lane: Lane) async throws
    {
      let basic = try MockServer(.status(401, headers: ["WWW-Authenticate": "Basic realm=\"r\""]))
      let ntlm = try NTLMServer(offers: "NTLM, Negotiate")
      let confused = lane.client { $0.authenticators[.everywhere] = .ask { _ in Self.ada() } }

      let first = try await Self.client(lane, basic.url, Self.ada()).get(RequestTarget(basic.url))
      let second = try await Self.client(lane, ntlm.url, .user("ada", password: "secret")).get(RequestTarget(ntlm.url))
      let error = await #expect(throws: HTTPError.self) { try await confused.get(RequestTarget(basic.url)) }

      #expect(first.status == .unauthorized && second.status == .unauthorized)
      #expect(error?.kind == .authenticationFailed)
      #expect((basic.requests + ntlm.server.requests).allSatisfy { $0.header("Authorization") == nil })
    }

    @Test(hasNTLM, arguments: Lane.engines)
    func `does not fall back from NTLM to Basic, and refuses NTLM through a plain HTTP proxy`(lane: Lane) async throws {
      let handshakes = try NTLMServer()
      let proxy = try MockServer(.status(401, headers: ["WWW-Authenticate": "NTLM"]))
      let weak = try MockServer(.status(401, headers: ["WWW-Authenticate": "NTLM, Basic realm=\"r\""]))
      let ask = Authenticators.CredentialAuthenticator.ask(schemes: [.ntlm, .basic]) { challenge in
        challenge.scheme == .ntlm ? Self.ada() : .user("ada", password: "secret")
      }
      let client = lane.client {
        $0.authenticators[.everywhere] = ask
        $0.redirects = .off
      }
      let through = lane.client {
        $0.proxy = .proxy(Proxy(proxy.url))
        $0.authenticators[.everywhere] = ask
      }

      #expect(try await client.get(RequestTarget(handshakes.url)).text == "CORP|ada|0")
      let refused = try await client.get(RequestTarget(weak.url))
      let error = await #expect(throws: HTTPError.self) { try await through.get("http://nowhere.example/") }

      // The server offered Basic as well.
      #expect(refused.status == .unauthorized)
      #expect(weak.requests.allSatisfy { $0.header("Authorization")?.hasPrefix("Basic") != true })
      #expect(error?.kind == .unsupported && error?.message.contains(proxy.url) == true)
      #expect(proxy.requests.count == 1)
    }

    @Test(hasNTLM, arguments: Lane.engines)
    func `refuses Basic after the origin has accepted NTLM`(lane: Lane) async throws {
      let ntlm = try NTLMServer()
      let isWeak = Shared(false)
      let client = lane.client {
        $0.exchangeMiddleware = [
          // Simulates a server that offers only Basic.
          .closure { request, _, next in
            guard isWeak.withLock({ $0 }) else { return try await next(request) }
            return StreamedResponse(
              status: .unauthorized, headers: ["WWW-Authenticate": "Basic realm=\"r\""], request: request)
          }
        ]
        $0.authenticators[.origin(ntlm.url)] = .ask(schemes: [.ntlm, .basic]) { challenge in
          challenge.scheme == .ntlm ? Self.ada() : .user("ada", password: "secret")
        }
      }
      try await client.get(RequestTarget(ntlm.url))
      isWeak.withLock { $0 = true }

      let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(ntlm.url)) }

      #expect(error?.kind == .authenticationFailed && error?.message.contains("stronger") == true)
    }

    // MARK: Negotiate

    @Test(hasNegotiate, arguments: Lane.engines)
    func `Negotiate without a ticket returns the 401`(lane: Lane) async throws {
      let server = try NTLMServer(offers: "Negotiate")
      let client = Self.client(lane, server.url, .ticket(isAllowedWithoutTLS: true))

      let response = try await client.get(RequestTarget(server.url), options: .timeout(.unlimited))

      #expect(response.status == .unauthorized && response.text == "who are you?")
      #expect(server.server.requests.count <= 3)
    }

    // MARK: Supported transports

    @Test func `transports without NTLM fail with an error that names .curl`() async throws {
      let server = try NTLMServer()
      let stub = StubTransport { _ in .status(.unauthorized, headers: ["WWW-Authenticate": "NTLM"]) }
      var others: [(any Transport, String)] = [(stub, "http://a.example")]
      #if URLSession
        others.append((.systemLoader, server.url))
      #endif
      for (transport, origin) in others {
        let client = HTTPClient {
          $0.transport = transport
          $0.retry = .off
          $0.authenticators[.origin(origin)] = Authenticators.CredentialAuthenticator(Self.ada())
        }
        let error = await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(origin)) }
        #expect(error?.kind == .unsupported && error?.message.contains(".curl") == true)
      }
      #expect(server.server.requests.allSatisfy { $0.header("Authorization") == nil })
    }

    @Test func `reports the schemes that libcurl was built without`() {
      #expect(CurlLibrary.handshakeProblem(.ntlm, features: 1 << 8)?.contains("NTLM") == true)
      #expect(CurlLibrary.handshakeProblem(.negotiate, features: 1 << 4)?.contains("Negotiate") == true)
      #expect(CurlLibrary.handshakeProblem(.ntlm, features: 1 << 4) == nil)
      #expect(CurlLibrary.handshakeProblem(.negotiate, features: 1 << 8) == nil)
    }
  }
#endif

import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct AuthStageTests {
  private static let basic = #"Basic realm="b""#

  private static let settings: ClientSetting = [.baseURL("http://a.test"), .accepts(.any)]

  // MARK: Basic and Bearer

  /// RFC 7617 §2 and §2.1.
  @Test(arguments: [
    ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
    ("test", "123\u{A3}", "Basic dGVzdDoxMjPCow=="),
    ("u\u{308}", "", "Basic w7w6"),
  ]) func `encodes Basic credentials as in RFC 7617, and then sends them preemptively`(
    user: String, password: String, expected: String
  ) async throws {
    let transport = AuthServer.accepting(expected, challenge: #"Basic realm="foo", charset="UTF-8""#)
    let client = HTTPClient.onTestClock(
      transport, Self.settings, .authenticator(.basic(user: user, password: password)))

    let first = try await client.get("/1")
    let second = try await client.get("/2")

    #expect(first.status == .ok && second.status == .ok)
    #expect(transport.authorizations == [nil, expected, expected])
    #expect(first.attempts.count == 1)
    #expect(first.finalRequest.headers["Authorization"] == expected)
    #expect(first.request.headers["Authorization"] == nil)
  }

  @Test func `sends preemptive and bearer credentials before any challenge`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock(
      transport, Self.settings, .authenticator(.basic(user: "u", password: "p", isPreemptive: true)))
    let bearer = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.bearer("mF_9.B5f-4.1JqM")))

    try await client.get("/")
    try await bearer.get("/")

    #expect(transport.authorizations == [AuthServer.basic("u", "p"), "Bearer mF_9.B5f-4.1JqM"])
  }

  @Test func `returns the 401 after one try with a wrong password`() async throws {
    let transport = AuthServer.accepting(challenge: Self.basic)
    let client = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.basic(user: "u", password: "wrong")))

    let response = try await client.get("/")
    let again = try await client.get("/")

    #expect(response.status == .unauthorized && response.text == "who are you?")
    #expect(again.status == .unauthorized)
    #expect(transport.authorizations == [nil, AuthServer.basic("u", "wrong"), nil, AuthServer.basic("u", "wrong")])
  }

  @Test func `does not replace an Authorization field set by the caller`() async throws {
    let transport = AuthServer.accepting(challenge: Self.basic)
    let client = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.basic(user: "u", password: "p")))

    let response = try await client.get("/", headers: ["authorization": "mine"])

    #expect(response.status == .unauthorized)
    #expect(transport.authorizations == ["mine"])
  }

  @Test(arguments: [
    Authenticators.CredentialAuthenticator(.user("a:b", password: "p", isPreemptive: true)),
    Authenticators.CredentialAuthenticator(.user("a\n", password: "p", isPreemptive: true)),
    Authenticators.CredentialAuthenticator(.token("a b")), Authenticators.CredentialAuthenticator(.token("a\r\nX: b")),
    Authenticators.CredentialAuthenticator(.token("")),
  ]) func `rejects malformed credentials before sending`(authenticator: Authenticators.CredentialAuthenticator)
    async throws
  {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock(transport, Self.settings, .authenticator(authenticator))

    let error = try await #require(throws: HTTPError.self) { try await client.get("/") }

    #expect(error.kind == .invalidRequest)
    #expect(transport.requests.isEmpty)
  }

  // MARK: Digest

  @Test func `authenticates with Digest after a single challenge`() async throws {
    let counts = Log<String>()
    let transport = StubTransport { request in
      let isIn = AuthServer.checkDigest(request, user: "u", password: "p", nonce: "n", counts: counts)
      return isIn ? .text("in") : AuthServer.refusal(Self.basic, AuthServer.digest(nonce: "n"))
    }
    let client = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.password(user: "u", password: "p")))

    for path in ["/1", "/2?a=b", "/3"] as [RequestTarget] {
      let response = try await client.get(path)
      #expect(response.status == .ok)
    }

    #expect(counts.elements == ["n 00000001", "n 00000002", "n 00000003"])
    #expect(transport.requests.count == 4)
  }

  @Test(arguments: [", stale=true", ", stale=TRUE", ""])
  func `uses a new nonce without calling the credential closure again`(
    stale: String
  ) async throws {
    let counts = Log<String>()
    let nonce = Shared("one")
    let transport = StubTransport { request in
      let nonce = nonce.value
      let isIn = AuthServer.checkDigest(request, user: "u", password: "p", nonce: nonce, counts: counts)
      return isIn ? .text("in") : AuthServer.refusal(AuthServer.digest(nonce: nonce, stale))
    }
    let questions = Log<Int>()
    let client = HTTPClient.onTestClock(
      transport, Self.settings,
      .authenticator(
        .ask {
          questions.add($0.previousFailures)
          return .user("u", password: "p")
        }))

    try await client.get("/1")
    nonce.withLock { $0 = "two" }
    let response = try await client.get("/2")

    #expect(response.status == .ok)
    #expect(questions.elements == [0])
    #expect(counts.elements == ["one 00000001", "two 00000001"])
    #expect(transport.requests.count == 4)
  }

  @Test func `counts the uses of a new nonce across concurrent requests`() async throws {
    let counts = Log<String>()
    let nonce = Shared("one")
    let late = Shared(0)
    let transport = StubTransport { request in
      let nonce = nonce.value
      if AuthServer.checkDigest(request, user: "u", password: "p", nonce: nonce, counts: counts) { return .text("in") }
      if nonce == "two" {
        late.withLock { $0 += 1 }
        await late.wait { $0 >= 10 }
      }
      return AuthServer.refusal(AuthServer.digest(nonce: nonce, ", stale=true"))
    }
    let client = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.digest(user: "u", password: "p")))
    try await client.get("/")
    nonce.withLock { $0 = "two" }

    try await withThrowingTaskGroup { group in
      for _ in 0..<10 { group.addTask { try await client.get("/").status } }
      for try await status in group { #expect(status == .ok) }
    }

    #expect(counts.elements.count == 11 && Set(counts.elements).count == 11, "\(counts.elements)")
  }

  @Test func `uses a new nonce if the first one is stale at its first use`() async throws {
    let counts = Log<String>()
    let transport = StubTransport { request in
      if request.headers["Authorization"] == nil { return AuthServer.refusal(AuthServer.digest(nonce: "one")) }
      let isIn = AuthServer.checkDigest(request, user: "u", password: "p", nonce: "two", counts: counts)
      return isIn ? .text("in") : AuthServer.refusal(AuthServer.digest(nonce: "two", ", stale=true"))
    }
    let client = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.digest(user: "u", password: "p")))

    let response = try await client.get("/")

    #expect(response.status == .ok && transport.requests.count == 3)
  }

  @Test func `gives up if every nonce is stale`() async throws {
    let number = Shared(0)
    let transport = StubTransport { _ in
      let nonce = number.withLock {
        $0 += 1
        return $0
      }
      return AuthServer.refusal(AuthServer.digest(nonce: "\(nonce)", ", stale=true"))
    }
    let client = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.digest(user: "u", password: "p")))

    let response = try await client.get("/")

    #expect(response.status == .unauthorized)
    #expect(transport.requests.count == 3)
  }

  @Test func `does not fall back from Digest to Basic`() async throws {
    let counts = Log<String>()
    let isTrue = Shared(true)
    let transport = StubTransport { request in
      guard isTrue.value else { return AuthServer.refusal(#"Basic realm="d""#) }
      let isIn = AuthServer.checkDigest(request, user: "u", password: "p", nonce: "n", counts: counts)
      return isIn ? .text("in") : AuthServer.refusal(AuthServer.digest(nonce: "n"))
    }
    let client = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.password(user: "u", password: "p")))
    try await client.get("/")

    isTrue.withLock { $0 = false }
    let error = try await #require(throws: HTTPError.self) { try await client.get("/") }

    #expect(error.kind == .authenticationFailed && error.status == .unauthorized)
    #expect(!transport.authorizations.contains { $0?.hasPrefix("Basic") ?? false })
  }

  @Test func `does not answer a Basic challenge with a Digest credential`() async throws {
    let transport = AuthServer.accepting(challenge: Self.basic)
    let client = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.digest(user: "u", password: "p")))

    let response = try await client.get("/")

    #expect(response.status == .unauthorized)
    #expect(transport.authorizations == [nil])
  }

  // MARK: Per-request credentials

  @Test func `answers a Digest challenge with the credentials of the URL`() async throws {
    let counts = Log<String>()
    let transport = StubTransport { request in
      let isIn = AuthServer.checkDigest(request, user: "u", password: "p", nonce: "n", counts: counts)
      return isIn ? .text("in") : AuthServer.refusal(AuthServer.digest(nonce: "n"))
    }
    let client = HTTPClient.onTestClock { $0.transport = transport }

    try await client.get("http://u:p@a.test/1")
    let second = try await client.get("http://u:p@a.test/2")

    #expect(transport.authorizations.first == AuthServer.basic("u", "p"))
    #expect(counts.elements == ["n 00000001", "n 00000002"])
    #expect(transport.requests.count == 3)
    #expect(transport.requests.allSatisfy { $0.url?.user() == nil })
    #expect(!"\(second.request) \(second.url)".contains("u:p"))
  }

  @Test func `prefers the field, then the URL, the option, the default field, the authenticator`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.bearer("authenticator"))) {
      $0.headers["Authorization"] = "default"
    }
    let plain = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.bearer("authenticator")))
    let option = RequestOptions.credential(.token("option"))

    try await client.get("http://u:p@a.test/", options: option)
    try await client.get("/", options: option)
    try await client.get("/")
    try await plain.get("/")
    try await client.get("http://u:p@a.test/", headers: ["Authorization": "field"], options: option)

    #expect(
      transport.authorizations == [
        AuthServer.basic("u", "p"), "Bearer option", "default", "Bearer authenticator", "field",
      ])
  }

  @Test func `drops the credential of a call once a redirect leaves its origin`() async throws {
    let transport = StubTransport { request in
      switch request.url?.absoluteString {
      case "http://a.test/": .redirect(to: "/same")
      case "http://a.test/same": .redirect(to: "http://b.test/")
      case "http://b.test/": .redirect(to: "http://a.test/back")
      default: .text("x")
      }
    }
    let client = HTTPClient.onTestClock { $0.transport = transport }

    try await client.get("http://a.test/", options: .credential(.token("t")))

    #expect(transport.authorizations == ["Bearer t", "Bearer t", nil, nil])
  }

  @Test func `binds the credential of a client to its base URL`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock(transport, Self.settings) { $0.options.credential = .token("t") }
    let loose = HTTPClient.onTestClock {
      $0.transport = transport
      $0.options.credential = .token("t")
    }

    try await client.get("/")
    try await client.get("http://a.test:81/")
    try await client.get("http://b.test/", options: .credential(.token("own")))
    let error = try await #require(throws: HTTPError.self) { try await loose.get("http://a.test/") }

    #expect(transport.authorizations == ["Bearer t", nil, "Bearer own"])
    #expect(error.kind == .invalidRequest)
  }

  // MARK: Credential closures

  @Test func `calls the credential closure at most twice per request`() async throws {
    let transport = AuthServer.accepting(AuthServer.basic("u", "3"), challenge: Self.basic)
    let challenges = Log<AuthenticationChallenge>()
    let client = HTTPClient.onTestClock(
      transport, Self.settings,
      .authenticator(
        .ask {
          challenges.add($0)
          return .user("u", password: "\(challenges.elements.count)")
        }))

    let response = try await client.get("/")
    let second = try await client.get("/")

    #expect(response.status == .unauthorized && second.status == .ok)
    #expect(challenges.elements.map(\.previousFailures) == [0, 1, 1])
    #expect(challenges.elements.map { $0.rejected?.password } == [nil, "1", nil])
    let first = try #require(challenges.elements.first)
    #expect(first.host == "a.test" && first.realm == "b" && first.scheme == .basic)
    #expect(first.isSentInClear && !first.isProxy)
  }

  /// Sends requests at the same time and opens the gate when all of them wait for the credential.
  private static func statuses(_ count: Int, _ client: HTTPClient, _ question: Gate) async throws -> [HTTPStatus] {
    try await withThrowingTaskGroup { group in
      for _ in 0..<count { group.addTask { try await client.get("/").status } }
      await client.wait(until: { client.activity.current.waiting.count { $0.reason == .credential } == count })
      question.open()
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test func `calls the credential closure once for twenty concurrent requests`() async throws {
    let transport = AuthServer.accepting(AuthServer.basic("u", "p"), challenge: Self.basic)
    let question = Gate()
    let client = HTTPClient.onTestClock(
      transport, Self.settings,
      .authenticator(
        .ask { _ in
          await question.pass()
          return .user("u", password: "p")
        }))

    let statuses = try await Self.statuses(20, client, question)

    #expect(statuses.count == 20 && statuses.allSatisfy { $0 == .ok })
    #expect(question.arrivals == 1)
    #expect(transport.requests.count == 40)
  }

  @Test func `returns the 401 to all waiting requests if the closure returns nil`() async throws {
    let transport = AuthServer.accepting(challenge: Self.basic)
    let question = Gate()
    let client = HTTPClient.onTestClock(
      transport, Self.settings,
      .authenticator(
        .ask { _ in
          await question.pass()
          return nil
        }))

    let statuses = try await Self.statuses(5, client, question)

    #expect(statuses.allSatisfy { $0 == .unauthorized } && statuses.count == 5)
    #expect(question.arrivals == 1)
    #expect(transport.requests.count == 5)
  }

  @Test func `calls the credential closure once per realm`() async throws {
    let transport = StubTransport { request in
      let realm = request.url?.path() == "/a" ? "a" : "b"
      let isIn = request.headers["Authorization"] == AuthServer.basic("u", realm)
      return isIn ? .text("in") : AuthServer.refusal(#"Basic realm="\#(realm)""#)
    }
    let realms = Log<String?>()
    let client = HTTPClient.onTestClock(
      transport, Self.settings,
      .authenticator(
        .ask {
          realms.add($0.realm)
          #expect($0.previousFailures == 0)
          return .user("u", password: $0.realm ?? "")
        }))

    let a = try await client.get("/a")
    let b = try await client.get("/b")

    #expect(a.status == .ok && b.status == .ok)
    #expect(realms.elements == ["a", "b"])
  }

  @Test func `emits events while it waits for a credential and authenticates`() async throws {
    let transport = AuthServer.accepting(AuthServer.basic("u", "p"), challenge: Self.basic)
    let seen = Log<String>()
    let client = HTTPClient.onTestClock(transport, Self.settings) {
      $0.authenticators[.baseURL] = .ask { _ in .user("u", password: "p") }
    }

    let handle = client.start(.get("/"))
    for await event in handle.events {
      switch event {
      case .waiting(.credential): seen.add("waiting")
      case .authenticating(let scheme, let realm): seen.add("\(scheme) \(realm ?? "")")
      case .head(let status): seen.add("\(status.rawValue)")
      default: break
      }
    }

    #expect(seen.elements == ["401", "waiting", "Basic b", "200"])
  }

  // MARK: Bad input

  @Test(arguments: [
    nil, "", "garbage", "Basic", "Negotiate", "Digest", #"Digest realm="x""#, "=,=,=", "\u{0}",
    #"Digest realm="a", nonce="n", algorithm=none"#,
  ]) func `does not answer a malformed or unsupported challenge`(challenge: String?) async throws {
    let transport = AuthServer.accepting(challenge: challenge)
    let client = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.password(user: "u", password: "p")))

    let response = try await client.get("/")

    #expect(response.status == .unauthorized)
    // `Basic` works even without a realm.
    #expect(transport.requests.count == (challenge == "Basic" ? 2 : 1))
  }

  @Test func `gives up if the realm keeps changing`() async throws {
    let number = Shared(0)
    let transport = StubTransport { _ in
      let realm = number.withLock {
        $0 += 1
        return $0
      }
      return AuthServer.refusal(AuthServer.digest(nonce: "n\(realm)", realm: "\(realm)"), #"Basic realm="\#(realm)""#)
    }
    let client = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.password(user: "u", password: "p")))
    let asking = HTTPClient.onTestClock(
      transport, Self.settings, .authenticator(.ask { _ in .user("u", password: "p") }))

    let statuses = [try await client.get("/").status, try await asking.get("/").status]

    #expect(statuses == [.unauthorized, .unauthorized])
    #expect(transport.requests.count == 6)
    #expect(transport.authorizations.compactMap { $0 }.allSatisfy { $0.hasPrefix("Digest") })
  }

  @Test func `repeats a request after a 401 only if its body is replayable`() async throws {
    let transport = AuthServer.accepting(AuthServer.basic("u", "p"), challenge: Self.basic)
    let client = HTTPClient.onTestClock(transport, Self.settings, .authenticator(.basic(user: "u", password: "p")))
    let pieces = AsyncStream<Data> {
      $0.yield(Data("once".utf8))
      $0.finish()
    }

    let error = try await #require(throws: HTTPError.self) {
      try await client.put("/", body: .stream(pieces))
    }
    let response = try await client.post("/", body: .text("again"))
    let rest = transport.requests.dropFirst().map { $0.body?.content }

    #expect(error.kind == .bodyNotReplayable && error.status == .unauthorized)
    #expect(response.status == .ok)
    #expect(rest == [.data(Data("again".utf8)), .data(Data("again".utf8))])
  }

  // MARK: Cost

  @Test func `is omitted without credentials, authenticators and a credential store`() throws {
    let plain = HTTPClient.onTestClock { $0.transport = .stub { _ in .text("x") } }
    let keeping = plain.derived { $0.credentialStore = .memory }
    let configured = plain.derived { $0.authenticators[.origin("http://a.test")] = .bearer("t") }
    func hasStage(_ client: HTTPClient, _ target: RequestTarget) throws -> Bool {
      let call = try client.core.begin(.get(target), options: RequestOptions(), isManaged: false)
      defer { call.cancel() }
      return call.settings.stages(call.options, hasCredential: call.credential != nil, .whole)
        .contains { $0 is AuthStage }
    }

    #expect(try !hasStage(plain, "http://a.test/"))
    #expect(try hasStage(plain, "http://u:p@a.test/"))
    #expect(try hasStage(configured, "http://a.test/"))
    #expect(try hasStage(keeping, "http://a.test/"))
  }
}

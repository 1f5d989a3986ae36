import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct TokenAuthenticatorTests {
  private static let challenge = #"Bearer realm="api", error="invalid_token""#

  /// A server that accepts one token and serves `/token` without any.
  private static func server(_ valid: Shared<String>, _ challenge: String? = TokenAuthenticatorTests.challenge)
    -> StubTransport
  {
    StubTransport { request in
      if request.url?.path() == "/token" {
        #expect(request.headers["Authorization"] == nil)
        return .text("new")
      }
      let isIn = request.headers["Authorization"] == "Bearer \(valid.value)"
      return isIn ? .text("in") : AuthServer.refusal(challenge)
    }
  }

  /// A server that accepts `new` and rejects other tokens only after `count` requests have arrived.
  private static func server(refusingWhenAreThere count: Int) -> StubTransport {
    let arrived = Shared(0)
    return StubTransport { request in
      if request.headers["Authorization"] == "Bearer new" { return .text("in") }
      arrived.withLock { $0 += 1 }
      await arrived.wait { $0 >= count }
      return AuthServer.refusal(challenge)
    }
  }

  private static func client(
    _ transport: any Transport, _ token: Credential? = .token("old"), refreshLimit: Duration = .seconds(30),
    clock: TestClock = TestClock(advancing: .manually), refresh: @escaping Authenticators.TokenAuthenticator.Refresh
  ) -> HTTPClient {
    HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://a.test"
      $0.clock = clock
      $0.authenticators[.baseURL] = .oauth2(token, refreshLimit: refreshLimit, refresh: refresh)
    }
  }

  private static func results(_ count: Int, _ client: HTTPClient) async -> [Result<HTTPStatus, any Error>] {
    await withTaskGroup(of: Result<HTTPStatus, any Error>.self) { group in
      for number in 0..<count {
        group.addTask {
          do { return .success(try await client.get("/\(number)").status) } catch { return .failure(error) }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  /// Waits until `count` requests are waiting for a token.
  private static func waitForWaiting(_ count: Int, _ client: HTTPClient) async {
    await client.wait(until: { client.activity.current.waiting.count { $0.reason == .credential } == count })
  }

  @Test func `refreshes once for a hundred concurrent 401 responses`() async throws {
    let transport = Self.server(refusingWhenAreThere: 100)
    let refreshes = Log<Credential?>()
    let client = Self.client(transport, .token("old", refreshToken: "r")) { old in
      refreshes.add(old)
      return .token("new")
    }

    let results = await Self.results(100, client)
    let later = try await client.get("/later")

    #expect(results.allSatisfy { (try? $0.get()) == .ok } && results.count == 100)
    #expect(refreshes.elements == [.token("old", refreshToken: "r")])
    #expect(later.status == .ok && transport.requests.count == 201)
  }

  @Test func `one failed refresh fails a hundred waiting requests`() async throws {
    struct Broken: Error {}
    let transport = Self.server(refusingWhenAreThere: 100)
    let refreshes = Log<String>()
    let client = Self.client(transport) { _ in
      refreshes.add("?")
      throw Broken()
    }

    let results = await Self.results(100, client)

    #expect(refreshes.elements.count == 1 && results.count == 100)
    for result in results {
      let error = #expect(throws: HTTPError.self) { try result.get() }
      #expect(error?.kind == .authenticationFailed && error?.underlying is Broken)
      #expect(error?.status == .unauthorized && error?.url?.host() == "a.test")
    }
  }

  @Test func `delays requests while a refresh is running`() async throws {
    let transport = Self.server(Shared("new"))
    let refreshes = Gate()
    let client = Self.client(transport) { _ in
      await refreshes.pass()
      return .token("new")
    }
    async let first = client.get("/1")
    await refreshes.waitForArrivals(1)

    let second = client.start(.get("/2"))
    await Self.waitForWaiting(2, client)
    refreshes.open()
    let statuses = [try await first.status, try await second.value.status]

    #expect(statuses == [.ok, .ok])
    #expect(transport.authorizations.compactMap { $0 }.sorted() == ["Bearer new", "Bearer new", "Bearer old"])
  }

  @Test func `tries a failed refresh again for the next request`() async throws {
    struct Broken: Error {}
    let transport = Self.server(Shared("new"))
    let refreshes = Log<String>()
    let client = Self.client(transport) { _ in
      refreshes.add("?")
      if refreshes.elements.count == 1 { throw Broken() }
      return .token("new")
    }

    await #expect(throws: HTTPError.self) { try await client.get("/1") }
    let second = try await client.get("/2")

    #expect(second.status == .ok && refreshes.elements.count == 2)
  }

  @Test func `does not refresh after a late 401 for an already replaced token`() async throws {
    let valid = Shared("old")
    let gate = Gate()
    let refreshes = Log<String>()
    let transport = StubTransport { request in
      let field = request.headers["Authorization"]
      if request.url?.path() == "/slow", field == "Bearer old" {
        await gate.pass()
        return AuthServer.refusal(Self.challenge)
      }
      return field == "Bearer \(valid.value)" ? .text("in") : AuthServer.refusal(Self.challenge)
    }
    let client = Self.client(transport) { _ in
      refreshes.add("?")
      return .token("new")
    }

    async let slow = client.get("/slow")
    await gate.waitForArrivals(1)
    valid.withLock { $0 = "new" }
    let quick = try await client.get("/quick")
    gate.open()
    let late = try await slow

    #expect(quick.status == .ok && late.status == .ok)
    #expect(refreshes.elements.count == 1)
    #expect(transport.requests.filter { $0.url?.path() == "/slow" }.count == 2)
  }

  @Test(
    arguments: [
      nil, "", "garbage", TokenAuthenticatorTests.challenge, #"Basic realm="b""#,
      #"Digest realm="d", nonce="n""#, "Negotiate",
    ] as [String?])
  func `treats every 401 as a rejected token, whatever the challenge`(
    challenge: String?
  ) async throws {
    let transport = Self.server(Shared("new"), challenge)
    let client = Self.client(transport) { _ in .token("new") }

    let response = try await client.get("/")

    #expect(response.status == .ok && transport.requests.count == 2)
  }

  @Test func `sends a request at most twice`() async throws {
    let transport = Self.server(Shared("none"))
    let count = Shared(0)
    let client = Self.client(transport) { _ in
      let number = count.withLock {
        $0 += 1
        return $0
      }
      return .token("t\(number)")
    }

    let error = try await #require(throws: HTTPError.self) { try await client.get("/") }

    #expect(error.kind == .status && error.status == .unauthorized)
    #expect(transport.authorizations == ["Bearer old", "Bearer t1"])
  }

  @Test func `refreshes a token that is about to expire before sending it`() async throws {
    let now = Date(timeIntervalSince1970: 1000)
    let transport = Self.server(Shared("new"))
    let refreshes = Log<String?>()
    let client = Self.client(transport, .token("old", expires: now + 9)) { old in
      refreshes.add(old?.token)
      return .token("new", expires: now + 11)
    }
    await client.update { $0.now = { now } }

    try await client.get("/1")
    try await client.get("/2")

    #expect(transport.authorizations == ["Bearer new", "Bearer new"])
    #expect(refreshes.elements == ["old"])
  }

  @Test func `obtains the first token after a 401`() async throws {
    let transport = Self.server(Shared("new"))
    let client = Self.client(transport, nil) { old in
      #expect(old == nil)
      return .token("new")
    }

    try await client.get("/1")
    try await client.get("/2")

    #expect(transport.authorizations == [nil, "Bearer new", "Bearer new"])
  }

  @Test func `lets the refresh use the same client`() async throws {
    let transport = Self.server(Shared("new"))
    let box = Shared<HTTPClient?>(nil)
    let client = Self.client(transport) { _ in
      let client = box.value
      return .token(try await client?.post("/token").text ?? "none")
    }
    box.withLock { $0 = client }

    let response = try await client.get("/")

    #expect(response.status == .ok)
    #expect(transport.requests.map { $0.url?.path() } == ["/", "/token", "/"])
    box.withLock { $0 = nil }
  }

  @Test func `continues a refresh after the request that started it is cancelled`() async throws {
    let transport = Self.server(Shared("new"))
    let refreshes = Gate()
    let client = Self.client(transport) { _ in
      await refreshes.pass()
      try Task.checkCancellation()
      return .token("new")
    }
    let first = Task { try await client.get("/1") }
    await refreshes.waitForArrivals(1)
    let second = Task { try await client.get("/2") }
    await Self.waitForWaiting(2, client)

    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    refreshes.open()
    let response = try await second.value

    #expect(response.status == .ok && refreshes.arrivals == 1)
  }

  @Test func `ends a refresh at its own time limit`() async throws {
    let clock = TestClock(advancing: .manually)
    let transport = Self.server(Shared("new"))
    let refreshes = Gate()
    let client = Self.client(transport, refreshLimit: .seconds(20), clock: clock) { _ in
      // This refresh ignores cancellation.
      await refreshes.wait()
      return .token("new")
    }
    let waiting = Task { try await client.get("/") }
    await refreshes.waitForArrivals(1)

    await clock.wait(forSleepers: 2)
    clock.advance(by: .seconds(21))
    let error = await #expect(throws: HTTPError.self) { try await waiting.value }
    refreshes.open()

    #expect(error?.kind == .authenticationFailed)
    #expect(error?.message.contains("20.0 s") == true, "\(error?.message ?? "")")
  }

  @Test func `a call stops waiting for a refresh at its own time limit`() async throws {
    let clock = TestClock(advancing: .manually)
    let transport = Self.server(Shared("new"))
    let refreshes = Gate()
    let client = Self.client(transport, clock: clock) { _ in
      await refreshes.pass()
      return .token("new")
    }
    let waiting = Task { try await client.get("/", options: .timeout(.seconds(5))) }
    await refreshes.waitForArrivals(1)

    await clock.wait(forSleepers: 2)
    clock.advance(by: .seconds(6))
    let error = await #expect(throws: HTTPError.self) { try await waiting.value }
    refreshes.open()
    let next = try await client.get("/")

    #expect(error?.kind == .timedOut)
    #expect(next.status == .ok && refreshes.arrivals == 1)
  }

  @Test func `shares one token among all hosts of a pattern`() async throws {
    let transport = Self.server(Shared("new"))
    let refreshes = Log<String>()
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.authenticators[.host("*.example.test")] = .oauth2(.token("old")) { _ in
        refreshes.add("?")
        return .token("new")
      }
    }

    try await client.get("https://a.example.test/")
    try await client.get("https://b.c.example.test/")
    for other in ["https://example.test/", "http://a.example.test/", "https://a.example.test:444/"] {
      _ = try? await client.get(RequestTarget(other))
    }

    #expect(
      transport.authorizations == ["Bearer old", "Bearer new", "Bearer new", nil, nil, nil])
    #expect(refreshes.elements.count == 1)
  }

  @Test func `discards the token at sign-out`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = Self.client(transport) { _ in nil }

    try await client.get("/1")
    try await client.signOut()
    try await client.get("/2")

    #expect(transport.authorizations == ["Bearer old", nil])
  }

  @Test func `requests in flight at sign-out do not restore the token`() async throws {
    let gate = Gate()
    let transport = StubTransport { request in
      if request.url?.path() == "/slow" { await gate.pass() }
      return .text("x")
    }
    let client = Self.client(transport) { _ in nil }
    async let slow = client.get("/slow")
    await gate.waitForArrivals(1)

    try await client.signOut()
    gate.open()
    _ = try await slow
    try await client.get("/2")

    #expect(transport.authorizations == ["Bearer old", nil])
  }

  @Test func `signing out fails requests that wait for a refresh`() async throws {
    let transport = Self.server(Shared("new"))
    let refreshes = Gate()
    let client = Self.client(transport) { _ in
      await refreshes.wait()
      return .token("new")
    }
    let waiting = Task { try await client.get("/") }
    await refreshes.waitForArrivals(1)

    try await client.signOut()
    let error = await #expect(throws: HTTPError.self) { try await waiting.value }
    refreshes.open()

    #expect(error?.kind == .authenticationFailed)
  }
}

import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletBase

/// A cluster in the pipeline: the choice of a server, what it receives, and repetition at another one.
@Suite(.hangLimit) struct ClusterTests {
  private static let ab: [RequestTarget] = ["http://a.test", "http://b.test:8080"]

  /// A client of `http://example.test` whose first server is the first of the list.
  private static func client(
    _ cluster: Cluster, clock: TestClock = TestClock(),
    _ change: @escaping @Sendable (inout HTTPClient.Configuration) -> Void = { _ in },
    respond: @escaping @Sendable (HTTPRequest) throws -> StubResponse = { .text($0.host) }
  ) -> (HTTPClient, StubTransport) {
    let transport = StubTransport { try respond($0) }
    let client = HTTPClient.stubbed(transport, clock: clock) {
      $0.random = { 0 }
      $0.cluster = cluster
      change(&$0)
    }
    return (client, transport)
  }

  private static func urls(_ transport: StubTransport) -> [String] {
    transport.requests.map { $0.url?.absoluteString ?? "" }
  }

  // MARK: Bad input

  @Test(arguments: [
    ([], "cluster has no servers: list at least one URL"),
    (["a.test"], "server 1 of the cluster: "),
    (["https://a.test", "http://b.test"], "server 2 of the cluster (http://b.test) uses http, and baseURL uses https"),
    (["https://a.test", "https://A.test:443/"], "is the same as server 1: remove one of them"),
    (["https://a.test/v1"], "server 1 of the cluster (https://a.test/v1) has a path"),
    (["https://a.test/?x=1"], "has a query: write only its scheme, host and port"),
    (["https://a.test/#x"], "has a fragment"),
    (["https://me:secret@a.test"], "has a user name or a password"),
  ])
  func `rejects bad servers before anything is sent`(_ servers: [String], _ message: String) async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.stubbed(transport) {
      $0.baseURL = "https://api.test"
      $0.cluster = .roundRobin(servers.map { RequestTarget(text: $0) })
    }

    let error = await #expect(throws: HTTPError.self) { try await client.get("/") }

    #expect(error?.kind == .invalidRequest && error?.message.contains(message) == true, "\(error?.message ?? "")")
    #expect(error?.message.contains("secret") == false)
    #expect(transport.requests.isEmpty)
  }

  @Test func `rejects a cluster without a base URL, and an illegal health`() async throws {
    let (bare, _) = Self.client(.roundRobin(Self.ab)) { $0.baseURL = nil }
    let (ill, transport) = Self.client(.roundRobin(Self.ab)) { $0.cluster?.health = .afterFailures(0) }

    let first = await #expect(throws: HTTPError.self) { try await bare.get("http://x.test/") }
    let second = await #expect(throws: HTTPError.self) { try await ill.get("/") }

    #expect(first?.message == "cluster needs baseURL: set baseURL to the URL of the service")
    #expect(second?.message == "cluster: the circuit breaker must allow at least 1 failure")
    #expect(transport.requests.isEmpty)
  }

  // MARK: The choice

  @Test func `requests to the base URL take turns, and others are sent as usual`() async throws {
    let (client, transport) = Self.client(.roundRobin(Self.ab)) { $0.baseURL = "http://example.test/v1" }

    for target: RequestTarget in ["/x?q=1", "/y", "http://other.test/z", "http://example.test/outside", "/x"] {
      _ = try await client.get(target, options: .cache(.off))
    }

    #expect(
      Self.urls(transport) == [
        "http://a.test/v1/x?q=1", "http://b.test:8080/v1/y", "http://other.test/z", "http://a.test/outside",
        "http://b.test:8080/v1/x",
      ])
    #expect(client.core.settings.servers?.inFlight == [0, 0])
  }

  @Test func `derived clients share the turn and the numbers in progress`() async throws {
    let (client, transport) = Self.client(.roundRobin(Self.ab))
    let derived = client.derived { $0.headers["X"] = "y" }

    _ = try await client.get("/1")
    _ = try await derived.get("/2")

    #expect(Self.urls(transport) == ["http://a.test/1", "http://b.test:8080/2"])
    #expect(client.core.settings.servers === derived.core.settings.servers)
  }

  @Test(arguments: [false, true])
  func `a streamed response is in progress until its body ends`(_ isOneService: Bool) async throws {
    let gate = Gate()
    let (client, _) = Self.client(.leastInFlight(Self.ab, isOneService: isOneService)) { _ in
    } respond: { request in
      let isDone = Shared(false)
      return .streamed {
        if isDone.withLock({ exchange(&$0, with: true) }) { return nil }
        await gate.pass()
        return Data("x".utf8)
      }
    }

    let response = try await client.stream("/")
    #expect(client.core.settings.servers?.inFlight == [1, 0])
    gate.open()
    for try await _ in response.body {}

    #expect(client.core.settings.servers?.inFlight == [0, 0])
  }

  @Test func `no stage is added without a cluster`() throws {
    let client = HTTPClient.onTestClock()
    let names = Pipeline.stages(client.core.settings, client.core.settings.features, .whole)
      .map { String(describing: type(of: $0)) }

    #expect(client.core.settings.servers == nil && !names.contains("ClusterStage") && !names.contains("ServerStage"))
  }

  // MARK: Fields and stored state

  /// A field, and whether servers receive it: one at the base URL's origin, another one, and one of one service.
  struct Row: Sendable, CustomTestStringConvertible {
    let field: String
    var isInConfiguration = false
    let own: Bool
    let other: Bool
    let oneService: Bool
    var testDescription: String { "\(field)\(isInConfiguration ? " of the client" : "")" }
  }

  @Test(arguments: [
    Row(field: "Authorization", own: true, other: false, oneService: true),
    Row(field: "Authorization", isInConfiguration: true, own: true, other: false, oneService: true),
    Row(field: "X-Api-Key", own: true, other: false, oneService: true),
    Row(field: "X-Api-Key", isInConfiguration: true, own: true, other: false, oneService: true),
    Row(field: "Cookie", own: true, other: false, oneService: true),
    Row(field: "Host", own: true, other: false, oneService: true),
    Row(field: "Sec-WebSocket-Protocol", own: true, other: true, oneService: true),
    Row(field: "X-Tenant", own: true, other: true, oneService: true),
    Row(field: "X-Tenant", isInConfiguration: true, own: true, other: true, oneService: true),
    Row(field: "Accept", own: true, other: true, oneService: true),
  ])
  func `the table of fields`(_ row: Row) async throws {
    for isOneService in [false, true] {
      let (client, transport) = Self.client(
        .inOrder(["http://example.test", "http://b.test"], isOneService: isOneService)
      ) {
        if row.isInConfiguration { $0.headers[row.field] = "value" }
      } respond: { request in
        if request.host == "example.test" { throw HTTPError(.cannotConnect, "refused", phase: .connecting) }
        return .text("x")
      }
      var request = HTTPRequest.get("/")
      if !row.isInConfiguration { request.headers[row.field] = "value" }

      _ = try await client.send(request)

      let received = transport.requests.map { $0.headers[row.field] == "value" }
      #expect(received == [row.own, isOneService ? row.oneService : row.other], "one service: \(isOneService)")
    }
  }

  @Test func `credentials, cookies and stored responses are a server's own`() async throws {
    let (client, transport) = Self.client(.roundRobin(["http://example.test", "http://b.test"])) {
      $0.authenticators[.origin("http://b.test")] = .bearer("for-b")
    } respond: { request in
      let headers: HTTPHeaders = [
        "Set-Cookie": "at=\(request.host)", "Cache-Control": "max-age=60", "Vary": "X-None",
      ]
      return .text(request.host, headers: headers)
    }
    let token = RequestOptions.credential(.token("for-base"))

    var texts: [String] = []
    for _ in 0..<2 { texts.append(try await client.get("/1", options: token).text) }
    for _ in 0..<2 { texts.append(try await client.get("/2", options: token).text) }
    for _ in 0..<2 { texts.append(try await client.get("/1", options: token).text) }

    #expect(texts == ["example.test", "b.test", "example.test", "b.test", "example.test", "b.test"])
    #expect(transport.requests.count == 4, "the last two are served from the cache")
    #expect(
      transport.requests.map { $0.headers["Authorization"] ?? "" } == [
        "Bearer for-base", "Bearer for-b", "Bearer for-base", "Bearer for-b",
      ])
    #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, nil, "at=example.test", "at=b.test"])
  }

  @Test func `credentials, cookies and stored responses of one service belong to the base URL`() async throws {
    let (client, transport) = Self.client(.roundRobin(Self.ab, isOneService: true)) {
      $0.authenticators[.origin("http://a.test")] = .bearer("never")
      $0.exchangeMiddleware = [
        .closure { request, _, next in
          var request = request
          request.headers["X-Seen"] = request.url?.host()
          return try await next(request)
        }
      ]
    } respond: { request in
      let cookie = "at=\(request.host); Domain=example.test"
      return .text(request.host, headers: ["Set-Cookie": cookie, "Cache-Control": "max-age=60"])
    }
    let token = RequestOptions.credential(.token("for-base"))

    let first = try await client.get("/1", options: token)
    let second = try await client.get("/2", options: token)
    let third = try await client.get("/1", options: token)

    #expect([first, second, third].map(\.text) == ["a.test", "b.test", "a.test"])
    #expect(third.source == .cache)
    #expect(Self.urls(transport) == ["http://a.test/1", "http://b.test:8080/2"])
    #expect(transport.requests.allSatisfy { $0.headers["Authorization"] == "Bearer for-base" })
    #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, "at=a.test"])
    #expect(transport.requests.map { $0.headers["X-Seen"] } == ["a.test", "b.test"])
    #expect([first, second].map(\.url.absoluteString) == ["http://example.test/1", "http://example.test/2"])
    #expect(first.attempts.map(\.server) == ["http://a.test:80"])
  }

  @Test func `the repetition after a 401 is sent to the same server`() async throws {
    for isOneService in [false, true] {
      let (client, transport) = Self.client(
        .roundRobin(["http://example.test", "http://b.test"], isOneService: isOneService)
      ) { _ in
      } respond: { request in
        request.headers["Authorization"] == nil
          ? .status(401, headers: ["WWW-Authenticate": "Digest realm=\"r\", nonce=\"n\", qop=\"auth\""]) : .text("x")
      }

      _ = try await client.get("/x", options: .credential(.user("me", password: "secret")))

      #expect(Self.urls(transport) == ["http://example.test/x", "http://example.test/x"])
      #expect(client.core.settings.servers?.inFlight == [0, 0])
    }
  }

  @Test func `HSTS belongs to the server, and applies to the scheme of the wire`() async throws {
    let (client, transport) = Self.client(.inOrder(Self.ab, isOneService: true)) {
      $0.guards = [.hsts]
      $0.baseURL = "https://example.test"
      $0.cluster = .inOrder(["https://a.test"], isOneService: true)
    } respond: { _ in
      .text("x", headers: ["Strict-Transport-Security": "max-age=600"])
    }

    _ = try await client.get("/")
    _ = try await client.get("http://a.test/other")
    _ = try await client.get("http://example.test/other")

    #expect(Self.urls(transport) == ["https://a.test/", "https://a.test/other", "http://example.test/other"])
  }

  @Test func `the guards see the server`() async throws {
    for isOneService in [false, true] {
      let (client, transport) = Self.client(.roundRobin(Self.ab, isOneService: isOneService)) {
        $0.guards = [.allowedHosts(["example.test", "b.test:8080"])]
      }

      let error = await #expect(throws: HTTPError.self) { try await client.get("/") }

      #expect(error?.kind == .refusedByGuard)
      #expect(transport.requests.isEmpty)
    }
  }

  // MARK: Redirects

  @Test(arguments: [
    (false, "/b", "http://a.test/b"), (true, "/b", "http://b.test:8080/b"),
    (false, "http://a.test/b", "http://a.test/b"), (true, "http://a.test/b", "http://a.test/b"),
    (false, "http://example.test/b", "http://b.test:8080/b"), (true, "http://example.test/b", "http://b.test:8080/b"),
    (false, "http://other.test/b", "http://other.test/b"), (true, "http://other.test/b", "http://other.test/b"),
  ])
  func `a redirect stays at its server, or at the service`(
    _ isOneService: Bool, _ location: String, _ url: String
  ) async throws {
    let (client, transport) = Self.client(.roundRobin(Self.ab, isOneService: isOneService)) { _ in
    } respond: { request in
      request.url?.path() == "/a" ? .redirect(to: location) : .text("x")
    }

    _ = try await client.get("/a", options: .credential(.token("token")))

    #expect(Self.urls(transport) == ["http://a.test/a", url])
    let isService = isOneService && !url.contains("other")
    #expect(transport.requests.last?.headers["Authorization"] == (isService ? "Bearer token" : nil))
  }

  // MARK: Another server

  @Test(arguments: [HTTPMethod.get, .post])
  func `a server that refuses connections is replaced at once, whatever the method`(_ method: HTTPMethod) async throws {
    let clock = TestClock()
    let (client, transport) = Self.client(.roundRobin(Self.ab, isOneService: true), clock: clock) { _ in
    } respond: { request in
      if request.host == "a.test" { throw HTTPError(.cannotConnect, "refused", phase: .connecting) }
      return .text(request.host)
    }

    let first = try await client.send(HTTPRequest(method, "/1", body: method == .post ? .text("x") : nil))
    let second = try await client.send(HTTPRequest(method, "/2", body: method == .post ? .text("x") : nil))

    #expect(first.text == "b.test" && second.text == "b.test")
    #expect(first.attempts.map(\.server) == ["http://a.test:80", "http://b.test:8080"])
    #expect(first.explanation.entries.contains { $0.code == "retry.repeated.otherServer" })
    #expect(first.explanation.entries.contains { $0.code == "cluster.leftOut" })
    #expect(Self.urls(transport).map { $0.suffix(2) } == ["/1", "/1", "/2"])
    #expect(clock.now.offset == .zero)
  }

  @Test func `all servers are tried once, and the error names the last one`() async throws {
    let (client, transport) = Self.client(
      .roundRobin(["http://a.test", "http://b.test", "http://c.test"], isOneService: true)
    ) { _ in
    } respond: { _ in
      throw HTTPError(.cannotConnect, "refused", phase: .connecting)
    }

    let error = await #expect(throws: HTTPError.self) { try await client.get("/1") }
    let next = await #expect(throws: HTTPError.self) { try await client.get("/2") }

    #expect(error?.attempts.map(\.server) == ["http://a.test:80", "http://b.test:80", "http://c.test:80"])
    #expect(error?.description.contains("http://c.test/1") == true, "\(error?.description ?? "")")
    // All are left out: two are tried nevertheless.
    #expect(next?.kind == .cannotConnect && next?.attempts.count == 2)
    #expect(transport.requests.count == 5)
  }

  @Test func `no server is tried again with retries off`() async throws {
    let (client, transport) = Self.client(.roundRobin(Self.ab, isOneService: true)) {
      $0.retry = .off
    } respond: { _ in
      throw HTTPError(.cannotConnect, "refused", phase: .connecting)
    }

    await #expect(throws: HTTPError.self) { try await client.get("/1") }

    #expect(transport.requests.count == 1)
  }

  @Test func `a lost POST is not repeated, and a lost GET is repeated elsewhere without a delay`() async throws {
    let clock = TestClock()
    let (client, transport) = Self.client(.roundRobin(Self.ab, isOneService: true), clock: clock) {
      $0.random = { 0.5 }
      $0.retry = .backoff(attempts: 3, initialDelay: .seconds(10))
    } respond: { request in
      if request.host == "b.test" { throw HTTPError(.timedOut, "lost", phase: .waiting) }
      return .text(request.host)
    }

    await #expect(throws: HTTPError.self) { try await client.post("/1", body: .text("x")) }
    _ = try await client.get("/2")
    let response = try await client.get("/3")

    #expect(response.attempts.map(\.server) == ["http://b.test:8080", "http://a.test:80"])
    #expect(Self.urls(transport).filter { $0.hasSuffix("/1") }.count == 1)
    #expect(clock.now.offset == .zero)
  }

  @Test func `a status is repeated elsewhere after its delay`() async throws {
    let clock = TestClock()
    let (client, _) = Self.client(.roundRobin(Self.ab), clock: clock) {
      $0.retry = .backoff(attempts: 3, initialDelay: .seconds(10))
      $0.random = { 0.25 }
    } respond: { request in
      request.host == "a.test" ? .status(503) : .text(request.host)
    }

    let response = try await client.get("/1")

    #expect(response.text == "b.test")
    #expect(clock.now.offset == .seconds(2.5))
  }

  @Test func `a server is left out for its pause, and then tried again`() async throws {
    let clock = TestClock()
    let isDown = Shared(true)
    let (client, transport) = Self.client(.inOrder(Self.ab), clock: clock) { _ in
    } respond: { request in
      if request.host == "a.test", isDown.value { throw HTTPError(.cannotConnect, "refused", phase: .connecting) }
      return .text(request.host)
    }

    var hosts: [String] = []
    for _ in 0..<2 { hosts.append(try await client.get("/", options: .cache(.off)).text) }
    isDown.withLock { $0 = false }
    clock.advance(by: .seconds(1))
    for _ in 0..<2 { hosts.append(try await client.get("/", options: .cache(.off)).text) }

    #expect(hosts == ["b.test", "b.test", "a.test", "a.test"])
    #expect(transport.requests.count == 5)
  }

  @Test func `a hedge of one service is sent to another server`() async throws {
    let (gate, arrivals) = (Gate(), Log<String>())
    let clock = TestClock(advancing: .manually)
    let transport = StubTransport { request in
      arrivals.add(request.host)
      if request.host == "a.test" { await gate.pass() }
      return .text(request.host)
    }
    let client = HTTPClient.stubbed(transport, clock: clock) {
      $0.random = { 0 }
      $0.cluster = .roundRobin(Self.ab, isOneService: true)
    }

    let request = Task { try await client.get("/", options: .hedging(.after(.milliseconds(80)))) }
    await arrivals.wait(for: 1)
    await clock.waitForSleepers(1)
    clock.advance(by: .milliseconds(80))
    let response = try await request.value
    gate.open()

    #expect(response.text == "b.test" && arrivals.elements == ["a.test", "b.test"])
    #expect(response.attempts.map(\.server) == ["http://b.test:8080"])
    await client.waitUntilEmpty()
  }
}

extension HTTPRequest {
  var host: String { url?.host() ?? "" }
}

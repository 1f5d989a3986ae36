import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite struct GuardStageTests {
  /// Redirects `/to?url` to that URL and sends text for any other path.
  static func transport(_ headers: HTTPHeaders = [:]) -> StubTransport {
    StubTransport { request in
      guard request.url?.path() == "/to" else { return .text("x", headers: headers) }
      return .redirect(to: request.url?.query(percentEncoded: false) ?? "", status: 307)
    }
  }

  private static let settings: ClientSetting = [.now(Date(timeIntervalSince1970: 1_700_000_000)), .allowsDowngrade]

  private func refusal(_ client: HTTPClient, _ url: String) async -> HTTPError? {
    await #expect(throws: HTTPError.self) { try await client.get(RequestTarget(url)) }
  }

  // MARK: Rejected requests

  static let refusing: [(RequestGuard, url: String, name: String)] = [
    (.httpsOnly, "http://b.test/", "httpsOnly refuses b.test"),
    (.allowedHosts(["a.test"]), "https://b.test:81/", "allowedHosts refuses b.test at port 81"),
  ]

  @Test(arguments: refusing)
  func `rejects a disallowed URL in requests, redirects and middleware before sending`(
    _ rule: RequestGuard, _ url: String, _ name: String
  ) async throws {
    let transport = Self.transport()
    let client = HTTPClient.onTestClock(transport, .guards([rule]), Self.settings)
    func expectRefusal(_ error: HTTPError?, sent: Int, _ place: String) {
      #expect(error?.kind == .refusedByGuard, "\(place)")
      #expect(error?.message.contains(name) == true, "\(place): \(error?.message ?? "")")
      #expect(error?.url?.host() == "b.test", "\(place)")
      #expect(error?.mayHaveReachedServer == false && error?.isTransient == false, "\(place)")
      #expect(transport.requests.count == sent, "\(place)")
    }

    expectRefusal(await refusal(client, url), sent: 0, "first")
    expectRefusal(await refusal(client, "https://a.test/to?\(url)"), sent: 1, "redirect")
    await client.update { $0.middleware = [.changing { $0.target = RequestTarget(url) }] }
    expectRefusal(await refusal(client, "https://a.test/"), sent: 1, "middleware")
    await client.update {
      $0.middleware = []
      $0.exchangeMiddleware = [.changing { $0.target = RequestTarget(url) }]
    }
    expectRefusal(await refusal(client, "https://a.test/"), sent: 1, "exchange middleware")
    await client.update {
      $0.exchangeMiddleware = []
      $0.redirects.ask = { hop in
        var next = hop.next
        next.target = RequestTarget(url)
        return .replace(next)
      }
    }
    expectRefusal(await refusal(client, "https://a.test/to?https://a.test/"), sent: 2, "replaced redirect")
    #expect(try await client.get("https://a.test/").text == "x")
  }

  @Test func `a request must pass all guards`() async throws {
    let transport = Self.transport()
    let client = HTTPClient.onTestClock(
      transport, .guards([.allowedHosts(["a.test", "b.test"]), .httpsOnly, .allowedHosts(["b.test", "c.test"])]),
      Self.settings)

    #expect(try await client.get("https://b.test/").text == "x")
    for url in ["https://a.test/", "https://c.test/", "http://b.test/"] {
      #expect(await refusal(client, url)?.kind == .refusedByGuard, "\(url)")
    }
    #expect(transport.requests.count == 1)
  }

  @Test func `does not repeat a rejected request`() async throws {
    let client = HTTPClient.onTestClock(Self.transport(), .guards([.httpsOnly]), Self.settings) {
      $0.retry = .backoff(attempts: 5)
    }

    #expect(await refusal(client, "http://b.test/")?.attempts.count == 1)
  }

  @Test(arguments: [
    (RequestGuard.allowedHosts(["a.*"]), "\"a.*\""), (.publicAddressesOnly(except: ["10.0.0.0/99"]), "\"10.0.0.0/99\""),
  ])
  func `rejects a malformed guard before sending, and names the value`(_ rule: RequestGuard, _ value: String) async {
    let transport = Self.transport()

    let error = await refusal(
      HTTPClient.onTestClock(transport, .guards([.httpsOnly, rule]), Self.settings), "https://a.test/")

    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains(value) == true, "\(error?.message ?? "")")
    #expect(transport.requests.isEmpty)
  }

  @Test func `rejects conflicting guards`() async {
    let stores = [RequestGuard.hsts, .hsts(.file(URL(filePath: "/none/hosts")))]
    let lists = [RequestGuard.publicAddressesOnly, .publicAddressesOnly(except: ["::1"])]

    for guards in [stores, lists] {
      #expect(
        await refusal(HTTPClient.onTestClock(Self.transport(), .guards(guards), Self.settings), "https://a.test/")?.kind
          == .invalidRequest)
    }
    let twice = HTTPClient.onTestClock(
      Self.transport(), .guards([.hsts, .hsts(.memory), .publicAddressesOnly, .publicAddressesOnly]), Self.settings)
    await #expect(throws: Never.self) { try await twice.get("https://a.test/") }
  }

  @Test func `publicAddressesOnly rejects Unix sockets and custom transports`() async {
    let socket = HTTPClient.onTestClock(Self.transport(), .guards([.publicAddressesOnly]), Self.settings) {
      $0.unixSocket = "/tmp/a"
    }
    struct Foreign: Transport {
      func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
        StreamedResponse(status: 200, request: request)
      }
    }
    let foreign = HTTPClient.onTestClock(Foreign(), .guards([.publicAddressesOnly]), Self.settings)

    let first = await refusal(socket, "https://a.test/")
    let second = await refusal(foreign, "https://a.test/")

    #expect(first?.kind == .invalidRequest && first?.message.contains("unixSocket") == true)
    #expect(second?.kind == .unsupported && second?.message.contains(".curl") == true)
    await #expect(throws: Never.self) {
      try await HTTPClient.onTestClock(Foreign(), .guards([.httpsOnly]), Self.settings).get("https://a.test/")
    }
  }

  // MARK: HSTS

  static let wish: HTTPHeaders = ["Strict-Transport-Security": "max-age=100; includeSubDomains"]

  private func sent(_ transport: StubTransport) -> [String] { transport.requests.compactMap { $0.url?.absoluteString } }

  @Test func `upgrades requests for HSTS hosts to https, and the port with it`() async throws {
    let transport = Self.transport(Self.wish)
    let client = HTTPClient.onTestClock(transport, .guards([.hsts]), Self.settings)

    _ = try await client.get("http://a.test/")
    _ = try await client.get("http://a.test/")
    _ = try await client.get("https://a.test/")
    let response = try await client.get("http://a.test/x?y=1#z")
    for url in ["http://b.a.test:80/", "http://A.TEST.:8080/", "http://a.test:443/", "http://other.test/"] {
      _ = try await client.get(RequestTarget(url))
    }

    #expect(
      sent(transport) == [
        // The field is ignored over plain HTTP.
        "http://a.test/", "http://a.test/", "https://a.test/", "https://a.test/x?y=1#z", "https://b.a.test/",
        "https://a.test.:8080/", "https://a.test/", "http://other.test/",
      ])
    #expect(response.url.absoluteString == "https://a.test/x?y=1#z")
    #expect(response.request.url?.scheme == "http")
  }

  @Test func `trusts only the first HSTS field, and none without verified certificates`() async throws {
    let first = Self.transport([
      "Strict-Transport-Security": "max-age=x", "strict-transport-security": "max-age=100",
    ])
    let client = HTTPClient.onTestClock(first, .guards([.hsts]), Self.settings)
    let insecure = Self.transport(Self.wish)
    let trusting = HTTPClient.onTestClock(insecure, .guards([.hsts]), Self.settings) { $0.tls = .insecureTrustAnything }
    let address = Self.transport(Self.wish)
    let numbered = HTTPClient.onTestClock(address, .guards([.hsts]), Self.settings)

    for client in [client, trusting] {
      _ = try await client.get("https://a.test/")
      _ = try await client.get("http://a.test/")
    }
    for url in ["https://127.0.0.1/", "http://127.0.0.1/", "https://[::1]/", "http://[::1]/"] {
      _ = try await numbered.get(RequestTarget(url))
    }

    #expect(sent(first) == ["https://a.test/", "http://a.test/"])
    #expect(sent(insecure) == ["https://a.test/", "http://a.test/"])
    #expect(sent(address).map { $0.prefix(5) } == ["https", "http:", "https", "http:"])
  }

  @Test func `remembers an HSTS host for max-age, separately for each client`() async throws {
    let transport = Self.transport(Self.wish)
    let now = Locked(Date(timeIntervalSince1970: 1_000_000))
    let client = HTTPClient.onTestClock(transport, .guards([.hsts]), Self.settings) { $0.now = { now.withLock { $0 } } }
    _ = try await client.get("https://a.test/")

    _ = try await client.derived { $0.guards.append(.allowedHosts(["a.test"])) }.get("http://a.test/")
    _ = try await HTTPClient.onTestClock(transport, .guards([.hsts]), Self.settings).get("http://a.test/")
    await client.update { $0.guards = [.httpsOnly, .hsts] }
    _ = try await client.get("http://a.test/")
    await client.update { $0.guards = [.hsts] }
    now.withLock { $0 += 200 }
    _ = try await client.get("http://a.test/")

    #expect(sent(transport).map { $0.prefix(5) } == ["https", "https", "http:", "https", "http:"])
  }

  @Test func `chooses cookies and credentials for the upgraded URL`() async throws {
    let transport = Self.transport(Self.wish)
    let client = HTTPClient.onTestClock(transport, .guards([.hsts]), Self.settings) {
      $0.baseURL = "http://a.test"
      $0.authenticators[.baseURL] = .bearer("base")
    }
    _ = try await client.get("https://a.test/")
    await client.cookies.set(Cookie("safe", "1", domain: "a.test", isSecure: true))

    _ = try await client.get("/x")
    _ = try await client.get("http://ada:secret@a.test/")
    _ = try await client.get("/", options: .cookies(.only([Cookie("own", "1")])))

    #expect(sent(transport) == ["https://a.test/", "https://a.test/x", "https://a.test/", "https://a.test/"])
    #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, "safe=1", "safe=1", "own=1"])
    let fields = transport.requests.map { $0.headers["Authorization"] }
    #expect(fields[1] == "Bearer base" && fields[2]?.hasPrefix("Basic ") == true && fields[3] == "Bearer base")
  }

  @Test func `checks redirects for downgrades and origin changes after the HSTS upgrade`() async throws {
    let transport = StubTransport { request in
      switch request.url?.path() {
      case "/slash": .redirect(to: "http://a.test/slash/", status: 308)
      case "/away": .redirect(to: "http://b.test/")
      case "/back": .redirect(to: "http://a.test/back")
      default: .text("x", headers: Self.wish)
      }
    }
    let client = HTTPClient.onTestClock(transport, .guards([.hsts]), Self.settings) {
      $0.redirects.allowsDowngrade = false
    }
    _ = try await client.get("https://a.test/")

    // The host is known to require HTTPS, so the redirect is not a downgrade and keeps the credentials.
    let response = try await client.get("https://a.test/slash", headers: ["Authorization": "mine"])
    // This request was upgraded to HTTPS, so its redirect to HTTP is a downgrade.
    let away = await refusal(client, "http://a.test/away")
    let loop = await refusal(client, "http://a.test/back")

    #expect(response.url.absoluteString == "https://a.test/slash/")
    #expect(response.redirects.map(\.to.absoluteString) == ["https://a.test/slash/"])
    #expect(transport.requests.map { $0.headers["Authorization"] ?? "" }.filter { !$0.isEmpty } == ["mine", "mine"])
    #expect(transport.requests.count == 4 + 11)
    #expect(away?.kind == .redirectRefused)
    #expect(loop?.kind == .tooManyRedirects)
  }

  @Test func `emits an event for an upgrade, and HSTS hosts pass httpsOnly`() async throws {
    let transport = Self.transport(Self.wish)
    let client = HTTPClient.onTestClock(transport, .guards([.httpsOnly, .hsts]), Self.settings)
    _ = try await client.get("https://a.test/")

    let handle = client.start(.get("http://b.a.test/"))
    _ = try await handle.value
    var hosts: [String] = []
    for await event in handle.events { if case .upgraded(let host) = event { hosts.append(host) } }

    #expect(hosts == ["b.a.test"])
    #expect(await refusal(client, "http://c.test/")?.kind == .refusedByGuard)
  }

  @Test func `rejects http requests while the HSTS file is unreadable`() async throws {
    let transport = Self.transport(Self.wish)
    let client = HTTPClient.onTestClock(transport, .guards([.hsts(.file(URL(filePath: "/")))]), Self.settings)

    let error = await refusal(client, "http://a.test/")
    _ = try await client.get("https://a.test/")

    #expect(error?.kind == .fileFailed)
    #expect(sent(transport) == ["https://a.test/"])
  }

  @Test func `upgrades requests that exchange middleware has changed`() async throws {
    let transport = Self.transport(Self.wish)
    let client = HTTPClient.onTestClock(transport, .guards([.hsts]), Self.settings) {
      $0.exchangeMiddleware = [.changing { $0.target = "http://a.test/" }]
    }

    _ = try await client.get("https://a.test/")
    await client.update { $0.exchangeMiddleware = [] }
    _ = try await client.get("https://a.test/")
    await client.update { $0.exchangeMiddleware = [.changing { $0.target = "http://a.test/" }] }
    _ = try await client.get("https://b.test/")

    #expect(sent(transport) == ["http://a.test/", "https://a.test/", "https://a.test/"])
  }

  // MARK: Position in the pipeline

  @Test func `runs before authentication and again after exchange middleware`() throws {
    func names(_ configure: (inout HTTPClient.Configuration) -> Void) -> [String] {
      var configuration = HTTPClient.Configuration()
      configuration.transport = Self.transport()
      configuration.authenticators[.origin("http://a.test")] = .bearer("token")
      configure(&configuration)
      let settings = ClientSettings(configuration)
      return settings.stages(settings.options, .whole).map { String(describing: type(of: $0)) }
    }

    #expect(
      names { $0.guards = [.httpsOnly] } == [
        "RedirectStage", "FallbackStage", "RetryStage", "CollectStage", "GuardStage",
        "AuthStage", "CookieStage", "CacheStage", "ExchangeStage",
      ])
    #expect(
      names {
        $0.guards = [.httpsOnly]
        $0.exchangeMiddleware = [.changing { $0.target = "/" }]
      }.suffix(3) == ["MiddlewareStage", "GuardStage", "ExchangeStage"])
    #expect(!names { $0.guards = [] }.contains("GuardStage"))
  }

  @Test func `only publicAddressesOnly changes the settings of the transport`() {
    var configuration = HTTPClient.Configuration()
    let first = configuration.transportSettings

    configuration.guards = [.httpsOnly, .hsts, .allowedHosts([])]
    #expect(configuration.transportSettings.isSame(as: first))
    configuration.guards.append(.publicAddressesOnly)
    let second = configuration.transportSettings
    #expect(!second.isSame(as: first))
    configuration.guards.append(.httpsOnly)
    #expect(configuration.transportSettings.isSame(as: second))
    configuration.guards = [.publicAddressesOnly(except: ["::1"])]
    #expect(!configuration.transportSettings.isSame(as: second))
  }
}

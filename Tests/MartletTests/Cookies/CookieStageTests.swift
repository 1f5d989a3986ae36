import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite struct CookieStageTests {
  /// Responds according to the path: `/set?a=1` sets a cookie, `/to?url` redirects.
  static func transport() -> StubTransport {
    StubTransport { request in
      let query = request.url?.query(percentEncoded: false) ?? ""
      switch request.url?.path() {
      case "/set": return .status(.ok, headers: ["Set-Cookie": query])
      case "/login": return .status(.found, headers: ["Set-Cookie": query, "Location": "/home"])
      case "/to": return .redirect(to: query, status: 307)
      default: return .text("x")
      }
    }
  }

  private func sent(_ transport: StubTransport) -> [String?] { transport.requests.map { $0.headers["Cookie"] } }

  @Test func `each client sends back only the cookies that its own responses set`() async throws {
    let transport = Self.transport()
    let client = HTTPClient.stubbed(transport, .allowsDowngrade)

    let response = try await client.get("http://a.test/set?a=1")
    _ = try await client.get("http://a.test/")
    _ = try await client.get("http://b.test/")
    _ = try await HTTPClient.stubbed(transport, .allowsDowngrade).get("http://a.test/")

    #expect(sent(transport) == [nil, "a=1", nil, nil])
    #expect(response.cookies.map(\.name) == ["a"])
    #expect(response.cookies.first?.domain == "a.test")
    #expect(await client.cookies.all.map(\.value) == ["1"])
  }

  @Test func `stores and sends cookies at every hop of a redirect`() async throws {
    let transport = Self.transport()
    let client = HTTPClient.stubbed(transport, .allowsDowngrade)

    let response = try await client.get("http://a.test/login?sid=1")

    #expect(sent(transport) == [nil, "sid=1"])
    #expect(response.cookies.isEmpty)
    #expect(response.finalRequest.headers["Cookie"] == "sid=1")
    // Fields that the jar added are not part of the caller's request.
    #expect(response.request.headers["Cookie"] == nil)
  }

  @Test(arguments: ["http://b.test/", "http://www.a.test/", "http://a.test.b.test/", "http://127.0.0.1/"])
  func `a redirect to another host sends no cookies of the first host`(other: String) async throws {
    let transport = Self.transport()
    let client = HTTPClient.stubbed(transport, .allowsDowngrade)
    _ = try await client.get("http://a.test/set?a=1")
    _ = try await client.get("\(raw: other)set?b=2")

    _ = try await client.get("http://a.test/to?\(raw: other)")

    #expect(sent(transport).suffix(2) == ["a=1", "b=2"])
  }

  @Test func `a redirect to http sends no Secure cookies`() async throws {
    let transport = Self.transport()
    let client = HTTPClient.stubbed(transport, .allowsDowngrade)
    _ = try await client.get("https://a.test/set?a=1;Secure")
    _ = try await client.get("https://a.test/set?b=2")

    _ = try await client.get("https://a.test/to?http://a.test/")

    #expect(sent(transport).suffix(2) == ["a=1; b=2", "b=2"])
  }

  @Test(arguments: [
    (HTTPMethod.get, "lax=1; plain=1; none=1"), (.head, "lax=1; plain=1; none=1"), (.post, "none=1"), (.put, "none=1"),
  ]) func `redirects from another site honor SameSite`(method: HTTPMethod, expected: String) async throws {
    let transport = Self.transport()
    let client = HTTPClient.stubbed(transport, .allowsDowngrade)
    for line in ["strict=1;SameSite=Strict", "lax=1;SameSite=Lax", "plain=1", "none=1;SameSite=None;Secure"] {
      _ = try await client.get("https://a.test/set?\(raw: line)")
    }

    _ = try await client.send(HTTPRequest(method, "https://b.test/to?https://a.test/"))
    _ = try await client.send(HTTPRequest(method, "https://a.test/to?https://a.test/"))

    let all = "strict=1; lax=1; plain=1; none=1"
    #expect(sent(transport).suffix(4) == [nil, expected, all, all])
  }

  @Test func `sends the caller's Cookie field unchanged, and only to its origin`() async throws {
    let transport = Self.transport()
    let client = HTTPClient.stubbed(transport, .allowsDowngrade)
    for host in ["a.test", "b.test"] { _ = try await client.get("http://\(raw: host)/set?jar=1") }

    let response = try await client.get("http://a.test/to?http://b.test/", headers: ["cookie": "own=1"])
    _ = try await client.get("http://a.test/set?jar=2", headers: ["Cookie": "own=1"])
    _ = try await client.get("http://a.test/")

    #expect(sent(transport).suffix(4) == ["own=1", "jar=1", "own=1", "jar=2"])
    #expect(response.request.headers[all: "Cookie"] == ["own=1"])
  }

  @Test func `can be disabled for a client and for a request`() async throws {
    let transport = Self.transport()
    let off = HTTPClient.stubbed(transport, .allowsDowngrade) { $0.cookies = .off }
    let on = HTTPClient.stubbed(transport, .allowsDowngrade)

    _ = try await off.get("http://a.test/set?a=1")
    _ = try await off.get("http://a.test/")
    _ = try await on.get("http://a.test/set?a=1", options: .cookies(.off))
    _ = try await on.get("http://a.test/")
    _ = try await on.get("http://a.test/set?b=1")
    _ = try await on.get("http://a.test/", options: .cookies(.off))
    _ = try await on.get("http://a.test/")

    #expect(sent(transport) == [nil, nil, nil, nil, nil, nil, "b=1"])
  }

  @Test func `uses another jar for a request`() async throws {
    let transport = Self.transport()
    let off = HTTPClient.stubbed(transport, .allowsDowngrade) { $0.cookies = .off }
    let ada = CookieJar()
    let bob = CookieJar()

    _ = try await off.get("http://a.test/set?who=ada", options: .cookies(.jar(ada)))
    _ = try await off.get("http://a.test/set?who=bob", options: .cookies(.jar(bob)))
    _ = try await off.get("http://a.test/", options: .cookies(.jar(ada)))
    _ = try await off.get("http://a.test/")

    #expect(sent(transport) == [nil, nil, "who=ada", nil])
    #expect(await bob.all.map(\.value) == ["bob"])
  }

  @Test func `sends only the cookies chosen for a request`() async throws {
    let transport = Self.transport()
    let client = HTTPClient.stubbed(transport, .allowsDowngrade)
    _ = try await client.get("http://a.test/set?jar=1")
    let only = RequestOptions.cookies(
      .only([
        Cookie("own", "1"), Cookie("b", "1", domain: "b.test"), Cookie("s", "1", isSecure: true),
        Cookie("p", "1", path: "/other"), Cookie("sub", "1", domain: "a.test", isHostOnly: false),
      ]))

    _ = try await client.get("http://a.test/to?http://b.test/", options: only)
    _ = try await client.get("http://a.test/to?http://a.test:8080/", options: only)
    _ = try await client.get("http://www.a.test/set?c=1", options: only)

    #expect(sent(transport).dropFirst() == ["own=1; sub=1", "b=1", "own=1; sub=1", "sub=1", "own=1; sub=1"])
    #expect(await client.cookies.all.map(\.name) == ["jar"])
  }

  @Test(arguments: [
    Cookie("a;b", "1"), Cookie("a", "1\r\nX: y"), Cookie("", ""), Cookie("a", "1", domain: "com", isHostOnly: false),
  ]) func `rejects a request with an invalid chosen cookie`(cookie: Cookie) async throws {
    let transport = Self.transport()

    let error = await #expect(throws: HTTPError.self) {
      try await HTTPClient.stubbed(transport, .allowsDowngrade).get(
        "http://a.test/", options: .cookies(.only([cookie])))
    }

    #expect(error?.kind == .invalidRequest)
    #expect(error?.description.contains("\n") == false)
    #expect(transport.requests.isEmpty)
  }

  @Test func `selects cookies again for each attempt`() async throws {
    let transport = StubTransport(script: [
      .status(503, headers: ["Set-Cookie": "node=2", "Retry-After": "0"]), .text("x"),
    ])
    let client = HTTPClient {
      $0.clock = TestClock()
      $0.transport = transport
      $0.retry = .backoff()
    }

    _ = try await client.get("http://a.test/")

    #expect(sent(transport) == [nil, "node=2"])
  }

  @Test func `reads at most 50 Set-Cookie lines of a response`() async throws {
    let lines = (0..<100).map { HTTPHeaders.Field(name: "Set-Cookie", value: "c\($0)=1") }
    let client = HTTPClient.stubbed(.status(.ok, headers: HTTPHeaders(lines)))

    let response = try await client.get("http://a.test/")

    #expect(await client.cookies.all.count == 50)
    #expect(await client.cookies.all.last?.name == "c49")
    #expect(response.cookies.count == 50)
  }

  @Test func `stores cookies of error responses, and does not split fields at commas`() async throws {
    let headers: HTTPHeaders = [
      "Set-Cookie": "a=1; Expires=Fri, 31 Dec 9999 23:59:59 GMT",
      "set-cookie": "b=2; Expires=Sun, 06 Nov 1994 08:49:37 GMT",
      "SET-COOKIE": "c=3, d=4",
    ]
    let client = HTTPClient.stubbed(.status(404, headers: headers))

    let response = try await client.get("http://a.test/", options: .accepts(.any))

    #expect(response.cookies.map(\.name) == ["a", "b", "c"])
    #expect(await client.cookies.all.map { "\($0.name)=\($0.value)" } == ["a=1", "c=3, d=4"])
  }

  @Test(arguments: [(HTTPResponse.Source.network, 1), (.revalidated, 1), (.cache, 0), (.fallback, 0)])
  func `stores cookies from the network, but not from cached responses`(source: HTTPResponse.Source, count: Int)
    async throws
  {
    let client = HTTPClient {
      $0.exchangeMiddleware = [
        .closure { request, _, _ in
          var response = StreamedResponse(status: .ok, headers: ["Set-Cookie": "a=1"], request: request)
          response.source = source
          return response
        }
      ]
    }

    _ = try await client.get("http://a.test/")

    #expect(await client.cookies.all.count == count)
  }

  @Test func `a client shares its jar with derived clients unless they set another`() async throws {
    let transport = Self.transport()
    let client = HTTPClient.stubbed(transport, .allowsDowngrade)
    let derived = client.derived { $0.headers["X-A"] = "b" }
    let other = client.derived { $0.cookies = .memory }
    let shared = CookieJar()
    let first = HTTPClient.stubbed(transport, .allowsDowngrade) { $0.cookies = .jar(shared) }
    let second = HTTPClient.stubbed(transport, .allowsDowngrade) { $0.cookies = .jar(shared) }

    await client.update { $0.headers["X-B"] = "c" }

    #expect(client.cookies === derived.cookies)
    #expect(client.cookies !== other.cookies)
    #expect(first.cookies === second.cookies && first.cookies === shared)
  }

  @Test func `the jar is emptied at sign-out`() async throws {
    let transport = Self.transport()
    let client = HTTPClient.stubbed(transport, .allowsDowngrade)
    _ = try await client.get("http://a.test/set?a=1")

    try await client.signOut()
    _ = try await client.get("http://a.test/")

    #expect(sent(transport) == [nil, nil])
  }

  @Test func `expires cookies by the client's date`() async throws {
    let transport = Self.transport()
    let date = Log<Date>()
    date.add(Date(timeIntervalSince1970: 1_700_000_000))
    let client = HTTPClient.stubbed(transport, .allowsDowngrade) { $0.now = { date.elements.last ?? .distantPast } }
    _ = try await client.get("http://a.test/set?a=1;Max-Age=60")

    _ = try await client.get("http://a.test/")
    date.add(Date(timeIntervalSince1970: 1_700_000_061))
    _ = try await client.get("http://a.test/")

    #expect(sent(transport) == [nil, "a=1", nil])
  }
}

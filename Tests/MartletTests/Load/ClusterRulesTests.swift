import Foundation
import MartletTesting
import MartletWebSocket
import TestSupport
import Testing

@testable import Martlet
@testable import MartletBase

/// A cluster together with redirects, the cache, HSTS, WebSockets and connections that are opened in advance.
@Suite(.hangLimit) struct ClusterRulesTests {
  private static let abc: [RequestTarget] = ["http://a.test", "http://b.test", "http://c.test"]

  private static func client(
    _ transport: any Transport, _ cluster: Cluster,
    _ change: @escaping @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
  ) -> HTTPClient {
    HTTPClient.stubbed(transport) {
      $0.random = { 0 }
      $0.cluster = cluster
      change(&$0)
    }
  }

  private static func urls(_ transport: StubTransport) -> [String] {
    transport.requests.map { $0.url?.absoluteString ?? "" }
  }

  // MARK: Redirects

  @Test(arguments: [Cluster.inOrder(abc, isOneService: true), .roundRobin(abc, isOneService: true)])
  func `a redirect of one service reaches its server with the credential`(_ cluster: Cluster) async throws {
    let transport = StubTransport {
      $0.host == "c.test" ? .text("leader") : .redirect(to: "http://c.test/x", status: .temporaryRedirect)
    }

    let response = try await Self.client(transport, cluster).post(
      "/x", body: .text("x"), options: .credential(.token("token")))

    #expect(response.text == "leader" && response.url.absoluteString == "http://example.test/x")
    #expect(Self.urls(transport) == ["http://a.test/x", "http://c.test/x"])
    #expect(transport.requests.allSatisfy { $0.headers["Authorization"] == "Bearer token" })
  }

  @Test func `a redirect to a server that refuses connections continues at another one`() async throws {
    let transport = StubTransport { request in
      if request.host == "c.test" { throw HTTPError(.cannotConnect, "refused", phase: .connecting) }
      return request.url?.path() == "/1" ? .redirect(to: "http://c.test/2") : .text("x")
    }

    _ = try await Self.client(transport, .inOrder(Self.abc, isOneService: true)).get("/1")

    #expect(Self.urls(transport) == ["http://a.test/1", "http://c.test/2", "http://a.test/2"])
  }

  @Test func `a full URL of a server is not moved into the cluster by its redirect`() async throws {
    let transport = StubTransport { $0.url?.path() == "/1" ? .redirect(to: "/2") : .text("x") }

    _ = try await Self.client(transport, .inOrder(Self.abc, isOneService: true)).get("http://b.test/1")

    #expect(Self.urls(transport) == ["http://b.test/1", "http://b.test/2"])
  }

  @Test func `a relative redirect stays at the server that a redirect to the base URL has reached`() async throws {
    let transport = StubTransport { request in
      switch request.url?.path() {
      case "/1": .redirect(to: "http://example.test/2")
      case "/2": .redirect(to: "/3")
      default: .text("x")
      }
    }

    _ = try await Self.client(transport, .roundRobin(Self.abc)).get("/1")

    #expect(Self.urls(transport) == ["http://a.test/1", "http://b.test/2", "http://b.test/3"])
  }

  @Test(arguments: [(false, "http://example.test/2"), (true, "http://b.test/2")])
  func `the base URL's own server may be listed`(_ isOneService: Bool, _ url: String) async throws {
    let transport = StubTransport { $0.url?.path() == "/1" ? .redirect(to: "/2") : .text("x") }
    let cluster = Cluster.roundRobin(["http://example.test", "http://b.test"], isOneService: isOneService)

    _ = try await Self.client(transport, cluster).get("/1")

    #expect(Self.urls(transport) == ["http://example.test/1", url])
  }

  @Test func `the response of one service has its URL after HSTS has changed the scheme`() async throws {
    let transport = StubTransport { _ in .text("x", headers: ["Strict-Transport-Security": "max-age=600"]) }
    let client = Self.client(transport, .inOrder(Self.abc, isOneService: true)) { $0.guards = [.hsts] }

    _ = try await client.get("https://a.test/")
    let response = try await client.get("/1")

    #expect(Self.urls(transport) == ["https://a.test/", "https://a.test/1"])
    #expect(response.url.absoluteString == "http://example.test/1")
  }

  // MARK: Delays

  @Test func `a failure of the client itself keeps its delay`() async throws {
    let clock = TestClock()
    let count = Shared(0)
    let transport = StubTransport { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number == 1 {
        var error = HTTPError(.fileFailed, "no descriptor is left")
        error.isExhaustion = true
        throw error
      }
      return .text("x")
    }
    let client = HTTPClient.stubbed(transport, clock: clock) {
      $0.random = { 0.25 }
      $0.cluster = .roundRobin(Self.abc)
      $0.retry = .backoff(attempts: 2, initialDelay: .seconds(10))
    }

    _ = try await client.get("/")

    #expect(clock.now.offset == .seconds(2.5))
  }

  // MARK: Other features

  @Test func `a background revalidation is sent to the server of the stored response`() async throws {
    let day = Day()
    let transport = StubTransport { _ in
      .text("x", headers: ["Cache-Control": "max-age=60, stale-while-revalidate=60"])
    }
    let client = Self.client(transport, .roundRobin(["http://a.test", "http://b.test"])) { $0.now = { day.now } }

    _ = try await client.get("/x")
    _ = try await client.get("/x")
    day.pass(90)
    let stale = try await client.get("/x")
    await client.activity.waitUntilIdle()

    #expect(stale.source == .cache)
    #expect(Self.urls(transport) == ["http://a.test/x", "http://b.test/x", "http://a.test/x"])
  }

  @Test func `a server that is not the base URL's receives the subprotocols of a WebSocket`() async throws {
    let transport = StubTransport { _ in .webSocket([.echo], subprotocols: ["b"]) }

    try await Self.client(transport, .roundRobin(Self.abc)).webSocket(
      "/", options: WebSocketOptions { $0.subprotocols = ["a", "b"] }
    ) { #expect($0.subprotocol == "b") }

    #expect(transport.requests.map(\.host) == ["a.test"])
  }

  @Test(arguments: [(false, false), (true, true)])
  func `the deadline header of the base URL is for every server of one service`(
    _ isOneService: Bool, _ isSent: Bool
  ) async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = Self.client(transport, .roundRobin(Self.abc, isOneService: isOneService)) {
      $0.deadlineHeader = .grpcTimeout(to: ["http://example.test"])
      $0.timeout.total = .seconds(120)
    }

    _ = try await client.get("/x")

    #expect(transport.requests.map { $0.headers.contains("grpc-timeout") } == [isSent])
  }

  /// Records the hosts that connections are opened to; some refuse them.
  private struct Preconnects: PreconnectingTransport {
    let hosts = Log<String>()
    let refusing: Set<String>

    func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
      throw HTTPError(.unsupported, "x")
    }

    func preconnect(for request: HTTPRequest, count: Int, context: RequestContext) async throws {
      hosts.add("\(request.host) \(count)")
      if refusing.contains(request.host) { throw HTTPError(.cannotConnect, "refused", phase: .connecting) }
    }
  }

  @Test func `connections are opened to each server, and one that refuses them does not matter`() async throws {
    let transport = Preconnects(refusing: ["b.test"])
    let client = Self.client(transport, .roundRobin(Self.abc))

    try await client.preconnect(to: "/", count: 2)
    try await client.preconnect(to: "http://other.test")

    #expect(transport.hosts.elements.sorted() == ["a.test 2", "b.test 2", "c.test 2", "other.test 1"])
  }

  @Test func `opening connections fails if no server can be reached`() async throws {
    let client = Self.client(Preconnects(refusing: ["a.test", "b.test", "c.test"]), .roundRobin(Self.abc))

    let error = await #expect(throws: HTTPError.self) { try await client.preconnect(to: "/") }

    #expect(error?.kind == .cannotConnect)
  }
}

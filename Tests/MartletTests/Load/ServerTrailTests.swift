import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletBase

/// The servers of one request: moves, and the outcomes that they depend on.
@Suite(.hangLimit) struct ServerTrailTests {
  private static let refused = HTTPError(.cannotConnect, "refused", phase: .connecting)

  private static func settings(_ isOneService: Bool = true) -> ClientSettings {
    let client = HTTPClient.stubbed(.text("x")) {
      $0.random = { 0 }
      $0.cluster = .inOrder(["http://a.test", "http://b.test:8080", "http://c.test"], isOneService: isOneService)
    }
    return client.core.settings
  }

  private static func pool(_ isOneService: Bool = true) throws -> ServerPool {
    try #require(settings(isOneService).servers)
  }

  private static func error(
    _ kind: HTTPError.Kind, _ phase: HTTPError.Phase?, isExhaustion: Bool = false, code: UInt32? = nil
  ) -> HTTPError {
    var error = HTTPError(kind, "x", phase: phase)
    error.isExhaustion = isExhaustion
    error.http2ErrorCode = code
    return error
  }

  @Test(arguments: [
    (refused, true, true), (error(.circuitOpen, .queued), true, true), (error(.connectionLost, .waiting), true, false),
    (error(.timedOut, .waiting), true, false), (error(.timedOut, .queued), false, false),
    (error(.overloaded, .queued), false, false), (error(.fileFailed, nil, isExhaustion: true), false, false),
    (error(.cannotConnect, .connecting, isExhaustion: true), false, false),
    (error(.connectionLost, .waiting, code: HTTPError.enhanceYourCalm), false, false),
  ])
  func `failures of the client itself are not failures of a server`(
    _ error: HTTPError, _ hasFailed: Bool, _ isUnreached: Bool
  ) {
    var exchanges = ServerTrail.Exchanges()
    exchanges.add(error)

    #expect(exchanges.hasFailed == hasFailed && exchanges.isUnreached == isUnreached)
    #expect(exchanges.mayBeProcessed == error.mayHaveReachedServer)
  }

  @Test(arguments: [(HTTPStatus.ok, false), (500, false), (401, true), (407, true)])
  func `a request that a server may have processed does not move`(_ status: HTTPStatus, _ moves: Bool) throws {
    let trail = ServerTrail(try Self.pool(), first: nil)
    trail.begin(1)
    trail.use(for: 1, isHedge: false).end()

    trail.record(status, attempt: 1)
    trail.record(Self.refused, attempt: 1)

    #expect(trail.takeMove(after: Self.refused) == moves)
  }

  @Test func `the failure of an attempt does not move a later one`() throws {
    let trail = ServerTrail(try Self.pool(), first: nil)
    trail.begin(1)
    trail.use(for: 1, isHedge: false).end()
    trail.record(Self.refused, attempt: 1)
    #expect(trail.hasOtherServer && trail.takeMove(after: Self.refused))

    trail.begin(2)
    // An exchange of the first attempt that ends late.
    trail.record(Self.refused, attempt: 1)

    #expect(!trail.hasOtherServer && !trail.takeMove(after: Self.refused) && trail.server == nil)
  }

  @Test func `the first attempt uses the server of a redirect, and the policy chooses the next one`() throws {
    let trail = ServerTrail(try Self.pool(), first: 2)
    var hosts: [String] = []
    for attempt in 1...3 {
      trail.begin(attempt)
      let use = trail.use(for: attempt, isHedge: false)
      hosts.append(use.url.host)
      use.end()
    }

    #expect(hosts == ["c.test", "a.test", "b.test"])
  }

  @Test(arguments: [
    ("http://a.test/x", 0), ("http://b.test:8080/x", 1), ("http://b.test/x", nil), ("https://a.test/x", nil),
    ("http://example.test/x", nil),
  ])
  func `a redirect leads to the server with its scheme, host and port`(_ text: String, _ index: Int?) throws {
    let url = try AbsoluteURL.parse(text)
    let (service, servers) = (Self.settings(), Self.settings(false))

    #expect(service.redirected(url, isRelative: false).server == index)
    #expect(service.redirected(url, isRelative: true).server == nil)
    #expect(service.redirected(url, isRelative: true).target.string == (index == nil ? text : "http://example.test/x"))
    #expect(servers.redirected(url, isRelative: true).server == index)
  }

  @Test(arguments: [
    ("http://a.test/", "http://a.test", true), ("https://a.test/", "http://a.test", true),
    ("http://a.test/", "https://a.test", false), ("http://a.test:8080/", "http://a.test", false),
    ("https://a.test:8080/", "http://a.test:8080", true), ("https://a.test:8443/", "http://a.test", false),
  ])
  func `a URL is located at its server, even after HSTS has changed its scheme`(
    _ url: String, _ server: String, _ isThere: Bool
  ) throws {
    #expect(try AbsoluteURL.parse(url).isLocated(at: AbsoluteURL.parse(server)) == isThere)
  }

  @Test func `a server of another origin receives neither the path of a Referer nor the client's secrets`() throws {
    let pool = try Self.pool(false)
    let headers: HTTPHeaders = [
      "Referer": "http://example.test/secret?x", "Authorization": "Bearer x", "Sec-WebSocket-Protocol": "chat",
    ]
    let url = try AbsoluteURL.parse("http://example.test/y")

    let placed = try pool.cluster.place(
      Hop(.get("/y", headers: headers), at: url), at: pool.urls[0], OriginFields())

    #expect(placed.hop.url.string == "http://a.test/y" && placed.dropped == ["Authorization"])
    #expect(placed.hop.headers["Referer"] == "http://example.test/")
    #expect(placed.hop.headers["Sec-WebSocket-Protocol"] == "chat")
  }
}

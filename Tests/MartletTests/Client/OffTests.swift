import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// `.off` turns a feature off even for optional properties, because it never means `Optional.none`.
@Suite(.hangLimit) struct OffTests {
  /// Sends a page twice, then a request that is redirected and a request that fails.
  private static func requests(_ options: RequestOptions) async throws -> [HTTPRequest] {
    let transport = StubTransport { request in
      switch request.url?.path {
      case "/start": .redirect(to: "/next")
      case "/flaky": .failure(HTTPError(.connectionLost, "x"))
      default: .status(200, headers: ["Set-Cookie": "a=b", "Cache-Control": "max-age=60"], body: Data("x".utf8))
      }
    }
    let client = HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://example.test"
      $0.retry = .backoff(attempts: 3, initialDelay: .zero)
    }
    for path in ["/page", "/page", "/start", "/flaky"] {
      _ = try? await client.get(RequestTarget(path), options: options.accepts(.any))
    }
    return transport.requests
  }

  private static func paths(_ requests: [HTTPRequest]) -> [String] { requests.compactMap(\.url?.path) }

  @Test func `retries, redirects, cookies and the cache are active unless turned off`() async throws {
    let requests = try await Self.requests(RequestOptions())

    #expect(Self.paths(requests) == ["/page", "/start", "/next", "/flaky", "/flaky", "/flaky"])
    #expect(requests.contains { $0.headers.contains("Cookie") })
  }

  @Test func `off disables retries`() async throws {
    var options = RequestOptions()
    let off: RetryPolicy? = .off
    options.retry = off
    #expect(Self.paths(try await Self.requests(options)) == ["/page", "/start", "/next", "/flaky"])
    options.retry = .off
    #expect(Self.paths(try await Self.requests(options)) == ["/page", "/start", "/next", "/flaky"])
  }

  @Test func `off disables redirects`() async throws {
    let off: RedirectPolicy? = .off
    let requests = try await Self.requests(RequestOptions { $0.redirects = off })
    #expect(!Self.paths(requests).contains("/next"))
    #expect(!Self.paths(try await Self.requests(RequestOptions { $0.redirects = .off })).contains("/next"))
  }

  @Test func `logging needs no task that ends a wait early, but other middleware does`() {
    var configuration = HTTPClient.Configuration()
    #expect(ClientSettings(configuration).isAbortAware)
    configuration.middleware = [LoggingMiddleware(to: LogSink { _ in })]
    configuration.exchangeMiddleware = configuration.middleware
    #expect(ClientSettings(configuration).isAbortAware)
    configuration.exchangeMiddleware.append(.passingOn)
    #expect(!ClientSettings(configuration).isAbortAware)
  }

  @Test func `off disables cookies`() async throws {
    let off: CookiePolicy? = .off
    #expect(try await Self.requests(RequestOptions { $0.cookies = off }).allSatisfy { !$0.headers.contains("Cookie") })
    let requests = try await Self.requests(RequestOptions { $0.cookies = .off })
    #expect(requests.allSatisfy { !$0.headers.contains("Cookie") })
  }

  @Test func `off disables the cache`() async throws {
    let off: CachePolicy? = .off
    for options in [RequestOptions { $0.cache = off }, RequestOptions { $0.cache = .off }] {
      #expect(Self.paths(try await Self.requests(options)).prefix(2) == ["/page", "/page"])
    }
  }

  @Test func `off disables server load limits, hedging and the data budget`() throws {
    let (hedging, rate): (HedgingPolicy?, RateLimit?) = (.off, .off)
    let breaker: CircuitBreaker? = .off
    let budget: DataBudget? = .off
    let client = HTTPClient {
      $0.options = .hedging(.after(.seconds(1))).rate(.server)
      $0.circuitBreaker = breaker ?? .afterFailures(1)
      $0.dataBudget = budget ?? .perDay(1)
    }
    let options = RequestOptions {
      $0.hedging = hedging
      $0.rate = rate
    }
    let configuration = client.configuration
    let settings = client.core.settings
    let features = settings.features(of: ResolvedOptions(options.over(configuration.options)))
    #expect(features.isHedging == false)
    #expect(features.isLimited == false)
    #expect(configuration.dataLedger == nil)
    #expect(settings.features.isHedging)
  }

  @Test func `a client's cache and cookies can be off, and its proxy direct`() async throws {
    let transport = StubTransport { _ in
      .status(200, headers: ["Set-Cookie": "a=b", "Cache-Control": "max-age=60"], body: Data("x".utf8))
    }
    let cache: ResponseCache? = .off
    let cookies: CookieStore? = .off
    let proxy: ProxySettings? = .direct
    let client = HTTPClient {
      $0.transport = transport
      $0.cache = cache ?? .automatic
      $0.cookies = cookies ?? .memory
      $0.proxy = proxy ?? .environment
    }
    for _ in 1...2 { _ = try await client.get("http://example.test/") }

    #expect(transport.requests.count == 2)
    #expect(transport.requests.allSatisfy { !$0.headers.contains("Cookie") })
    #expect(client.configuration.proxy.description == ProxySettings.direct.description)
  }
}

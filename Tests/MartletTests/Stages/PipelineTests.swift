import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// The stages and their order (decision 0003).
@Suite(.hangLimit) struct PipelineTests {
  /// Logs requests on the way down, and responses and errors on the way up.
  private struct Noting: Middleware {
    let name: String
    let log: Log<String>

    func intercept(
      _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
    ) async throws -> StreamedResponse {
      let place = "\(name) \(request.url?.path() ?? "") attempt \(context.attempt) hop \(context.hop)"
      log.add("> \(place)")
      do {
        let response = try await next(request)
        log.add("< \(place) \(response.status.rawValue)")
        return response
      } catch {
        log.add("! \(place) \((error as? HTTPError)?.kind.description ?? "\(error)")")
        throw error
      }
    }
  }

  @Test func `calls middleware once per call and exchange middleware once per exchange`() async throws {
    let log = Log<String>()
    let transport = StubTransport(script: [
      .failure(HTTPError(.connectionLost, "lost")), .redirect(to: "/b"), .text("x"),
    ])
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.middleware = [Noting(name: "outer", log: log), Noting(name: "inner", log: log)]
      $0.exchangeMiddleware = [Noting(name: "attempt", log: log), Noting(name: "wire", log: log)]
    }

    _ = try await client.get("http://example.test/a")

    #expect(
      log.elements == [
        "> outer /a attempt 1 hop 0", "> inner /a attempt 1 hop 0",
        "> attempt /a attempt 1 hop 0", "> wire /a attempt 1 hop 0",
        "! wire /a attempt 1 hop 0 connectionLost", "! attempt /a attempt 1 hop 0 connectionLost",
        "> attempt /a attempt 2 hop 0", "> wire /a attempt 2 hop 0",
        "< wire /a attempt 2 hop 0 302", "< attempt /a attempt 2 hop 0 302",
        "> attempt /b attempt 1 hop 1", "> wire /b attempt 1 hop 1",
        "< wire /b attempt 1 hop 1 200", "< attempt /b attempt 1 hop 1 200",
        "< inner /a attempt 1 hop 0 200", "< outer /a attempt 1 hop 0 200",
      ])
  }

  @Test func `has its stages in a fixed order`() throws {
    let log = Log<String>()
    let client = HTTPClient.onTestClock {
      $0.transport = .stub { _ in .text("x") }
      $0.middleware = [Noting(name: "call", log: log)]
      $0.exchangeMiddleware = [Noting(name: "attempt", log: log)]
      $0.authenticators[.origin("http://example.test")] = .bearer("token")
    }
    let call = try client.core.begin(.get("http://example.test/"), options: RequestOptions(), isManaged: false)
    defer { call.cancel() }

    let names = call.settings.stages(call.options, .whole).map { String(describing: type(of: $0)) }

    #expect(
      names == [
        "MiddlewareStage", "RedirectStage", "FallbackStage", "RetryStage", "CollectStage",
        "AuthStage", "CookieStage", "CacheStage", "MiddlewareStage", "ExchangeStage",
      ])
  }

  @Test func `omits stages that are off`() throws {
    let client = HTTPClient.onTestClock {
      $0.transport = .stub { _ in .text("x") }
      $0.cache = .off
    }
    let options = RequestOptions.redirects(.off).retry(.off).cookies(.off)
    let call = try client.core.begin(.get("http://example.test/"), options: options, isManaged: false)
    defer { call.cancel() }

    let names = call.settings.stages(call.options, .whole).map { String(describing: type(of: $0)) }

    #expect(names == ["RetryStage", "CollectStage", "ExchangeStage"])
  }

  @Test func `an optional option set to off is disabled, not inherited`() throws {
    let client = HTTPClient.onTestClock {
      $0.transport = .stub { _ in .text("x") }
      $0.options = .redirects(.follow).retry(.standard).cookies(.automatic).cache(.standard)
    }
    var options = RequestOptions()
    options.redirects = .off
    options.retry = .off
    options.cookies = .off
    options.cache = .off
    let call = try client.core.begin(.get("http://example.test/"), options: options, isManaged: false)
    defer { call.cancel() }

    let names = call.settings.stages(call.options, .whole).map { String(describing: type(of: $0)) }

    #expect(!names.contains("RedirectStage") && !names.contains("CookieStage"))
    #expect(call.options.cache == .off)
    #expect(!call.options.retry.repeatsRefusals)
    let other = HTTPClient.onTestClock {
      $0.cache = .off
      $0.cookies = .off
      $0.proxy = .direct
    }
    #expect(other.core.settings.cache === ResponseCache.off)
    if case .own(.nowhere) = other.configuration.cookies.kind {} else { Issue.record("cookies are on") }
    if case .none = other.configuration.proxy.rule {} else { Issue.record("\(other.configuration.proxy)") }
    let plain = try other.core.begin(.get("http://example.test/"), options: RequestOptions(), isManaged: false)
    defer { plain.cancel() }
    let stages = plain.settings.stages(plain.options, .whole).map { String(describing: type(of: $0)) }
    #expect(!stages.contains("CookieStage") && !stages.contains("ProxyAuthStage"))
  }

  @Test func `lets middleware change the request and the response`() async throws {
    let transport = StubTransport { request in .text(request.headers["X-A"] ?? "none") }
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.middleware = [
        .closure { request, _, next in
          var request = request
          request.headers["X-A"] = "changed"
          var response = try await next(request)
          response.headers["X-B"] = "added"
          response.status = 299
          return response
        }
      ]
    }

    let response = try await client.get("http://example.test/")

    #expect(response.text == "changed")
    #expect(response.headers["X-B"] == "added")
    #expect(response.status == 299)
  }

  @Test func `lets middleware respond without sending`() async throws {
    let transport = StubTransport { _ in .text("x") }
    for isAttempt in [false, true] {
      let own = ClosureMiddleware { request, _, _ in
        StreamedResponse(status: 200, body: ResponseBody(Data("own".utf8)), request: request)
      }
      let client = HTTPClient.onTestClock {
        $0.transport = transport
        if isAttempt { $0.exchangeMiddleware = [own] } else { $0.middleware = [own] }
      }

      #expect(try await client.get("http://example.test/").text == "own")
      #expect(client.core.entryCount == 0)
    }
    #expect(transport.requests.isEmpty)
  }

  @Test func `lets middleware send twice`() async throws {
    let transport = StubTransport(script: [.status(401), .text("x")])
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.middleware = [
        .closure { request, _, next in
          let response = try await next(request)
          guard response.status == 401 else { return response }
          var request = request
          request.headers["Authorization"] = "again"
          return try await next(request)
        }
      ]
    }

    let response = try await client.get("http://example.test/")

    #expect(response.text == "x")
    #expect(transport.requests.map { $0.headers["Authorization"] } == [nil, "again"])
    #expect(client.core.entryCount == 0)
  }

  @Test func `passes on errors from middleware unchanged`() async throws {
    struct Own: Error, Equatable { var number: Int }
    for isAttempt in [false, true] {
      let failing = ClosureMiddleware { _, _, _ in throw Own(number: 7) }
      let client = HTTPClient.onTestClock {
        $0.transport = .stub { _ in .text("x") }
        $0.retry = .backoff()
        if isAttempt { $0.exchangeMiddleware = [failing] } else { $0.middleware = [failing] }
      }

      await #expect(throws: Own(number: 7)) { try await client.get("http://example.test/") }
      #expect(client.core.entryCount == 0)
    }
  }

  @Test func `gives middleware the ID and the options of the call`() async throws {
    let ids = Log<RequestID>()
    let tags = Log<String?>()
    let noting = ClosureMiddleware { request, context, next in
      ids.add(context.id)
      tags.add(context.options.tag)
      return try await next(request)
    }
    let client = HTTPClient.onTestClock {
      $0.transport = StubTransport(script: [.redirect(to: "/b"), .text("x")])
      $0.middleware = [noting]
      $0.exchangeMiddleware = [noting]
    }

    _ = try await client.get("http://example.test/", options: .tag("mine"))

    #expect(ids.elements.count == 3 && Set(ids.elements).count == 1)
    #expect(tags.elements == ["mine", "mine", "mine"])
  }

  // MARK: Many calls

  private static func request(_ number: Int) -> HTTPRequest {
    let text = "http://example.test/" + String(repeating: "a", count: number % 7)
    return .get(RequestTarget(text))
  }

  private static func crowded() -> HTTPClient {
    HTTPClient {
      $0.clock = TestClock()
      $0.random = { 0.5 }
      $0.transport = .stub { request in
        switch (request.url?.path().utf8.count ?? 0) % 4 {
        case 0: .text("x")
        case 1: .status(404)
        case 2: .failure(HTTPError(.connectionLost, "lost"))
        default:
          request.url?.query() == nil ? .redirect(to: "?r") : .streamed { nil }
        }
      }
    }
  }

  private static let crowd = Stress.count(500, full: 10_000)

  @Test func `retains no state after many sequential calls`() async throws {
    let client = Self.crowded()

    for number in 0..<Self.crowd { _ = try? await client.send(Self.request(number)) }

    #expect(client.core.entryCount == 0)
    #expect(client.activity.current.totals.started == Self.crowd)
    #expect(client.activity.current.totals.succeeded + client.activity.current.totals.failed == Self.crowd)
  }

  @Test func `retains no state after many concurrent calls`() async throws {
    let client = Self.crowded()

    await withTaskGroup(of: Void.self) { group in
      for number in 0..<Self.crowd {
        group.addTask {
          let request = Self.request(number)
          if number % 3 == 0 {
            _ = try? await client.start(request).value
          } else {
            _ = try? await client.send(request)
          }
        }
      }
    }

    await client.waitUntilEmpty()
    #expect(client.core.watchdog.count == 0)
    #expect(client.activity.current.totals.started == Self.crowd)
  }
}

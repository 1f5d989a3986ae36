import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Tests single stages, without a client or other stages.
@Suite(.hangLimit) struct StageTests {
  @Test func `RetryStage repeats a safe request, and records each attempt`() async throws {
    let stage = try StageCase(.get("http://a.test/"), options: .retry(.backoff(attempts: 3)))

    let (response, passed) = try await stage.run(RetryStage()) { _, number in (number < 3 ? 503 : 200, [:]) }

    #expect(response.status == .ok && passed.count == 3)
    #expect(stage.call.attempts.map(\.number) == [1, 2, 3])
  }

  @Test func `RetryStage does not repeat a POST`() async throws {
    let stage = try StageCase(.post("http://a.test/", body: .text("x")), options: .retry(.backoff(attempts: 3)))

    let (response, passed) = try await stage.run(RetryStage()) { _, _ in (503, [:]) }

    #expect(response.status.rawValue == 503 && passed.count == 1)
  }

  @Test func `RedirectStage drops Authorization when the origin changes`() async throws {
    let stage = try StageCase(.get("http://a.test/one", headers: ["Authorization": "Bearer t", "X-Own": "1"]))

    let (_, passed) = try await stage.run(RedirectStage()) { hop, number in
      number == 1 ? (302, ["Location": "http://b.test/two"]) : (200, [:])
    }

    #expect(passed.map(\.url.string) == ["http://a.test/one", "http://b.test/two"])
    #expect(passed.map { $0.headers.contains("Authorization") } == [true, false])
    #expect(stage.call.redirects.map(\.to.absoluteString) == ["http://b.test/two"])
  }

  @Test func `GuardStage changes the URL of an HSTS host, and refuses others`() async throws {
    let stage = try StageCase(.get("http://a.test/")) { $0.guards = [.hsts, .httpsOnly] }
    let guards = try #require(stage.call.settings.guards)
    let now = stage.call.settings.configuration.now()
    _ = guards.hosts?.receive("max-age=100", from: try AbsoluteURL.parse("https://a.test/"), now: now)

    let (_, passed) = try await stage.run(GuardStage(guards: guards))

    #expect(passed.map(\.url.string) == ["https://a.test/"])
    #expect(passed.first?.request.url?.scheme == "https")
    let other = try StageCase(.get("http://b.test/"))
    let error = await #expect(throws: HTTPError.self) { try await other.run(GuardStage(guards: guards)) }
    #expect(error?.kind == .refusedByGuard)
  }

  @Test func `CookieStage stores cookies for the URL of the request, and sends them`() async throws {
    let jar = CookieJar()
    let stage = try StageCase(.get("http://a.test/x"))

    let (_, first) = try await stage.run(CookieStage(jar: jar)) { _, _ in (.ok, ["Set-Cookie": "a=1"]) }
    let (_, second) = try await stage.run(CookieStage(jar: jar))

    #expect(first.map { $0.headers["Cookie"] } == [nil])
    #expect(second.map { $0.headers["Cookie"] } == ["a=1"])
  }

  @Test func `AuthStage answers a challenge once`() async throws {
    let stage = try StageCase(.get("http://a.test/"), options: .credential(.user("u", password: "p")))

    let (response, passed) = try await stage.run(AuthStage()) { hop, _ in
      (hop.headers.contains("Authorization") ? 200 : 401, ["WWW-Authenticate": "Basic realm=\"r\""])
    }

    #expect(response.status == .ok)
    #expect(passed.map { $0.headers["Authorization"] } == [nil, "Basic dTpw"])
  }

  @Test func `a stage changes the fields of a hop, but not its URL`() throws {
    let url = try AbsoluteURL.parse("http://a.test/x?y=1")
    var hop = Hop(.get("/other", query: ["z": 2], headers: ["A": "1"]), at: url)
    hop.headers["B"] = "2"

    #expect(hop.request.url == url.url && hop.request.query.isEmpty && hop.url === url)
    #expect(hop.request.headers == ["A": "1", "B": "2"])
  }

  /// The example of Docs/Architecture.md: a stage that refuses requests at night.
  private struct NightStage: Stage {
    func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
      let hour = Calendar(identifier: .iso8601).dateComponents(in: .gmt, from: context.now).hour ?? 0
      guard 6..<22 ~= hour else {
        context.call.decided("guards.night", "requests are not sent at night")
        throw HTTPError(.refusedByGuard, "requests to \(hop.url.host) are not sent at night", request: hop.request)
      }
      return try await next(hop, context)
    }
  }

  @Test(arguments: [(3, false), (12, true)]) func `a stage can refuse requests at night`(
    hour: Int, isSent: Bool
  ) async throws {
    let stage = try StageCase(.get("http://a.test/")) {
      $0.now = { Date(timeIntervalSince1970: TimeInterval(hour * 3600)) }
    }

    let passed = try? await stage.run(NightStage()).passed.count

    #expect(passed == (isSent ? 1 : nil))
  }
}

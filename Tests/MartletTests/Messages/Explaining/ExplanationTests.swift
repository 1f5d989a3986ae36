import Foundation
import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import Martlet

/// An explanation lists the decisions that were made for a request.
@Suite(.hangLimit) struct ExplanationTests {
  /// Requests to a stub, and the expected sentences about the last request.
  struct Situation: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var script: [StubResponse] = [.text("x")]
    /// The requests; all but the last one only prepare the client.
    var requests: [HTTPRequest] = [.get("http://a.test/x")]
    var options = RequestOptions()
    /// The seconds that pass before the last request.
    var pause = 0.0
    var change: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
    let expected: [String]

    func explanation() async -> Explanation {
      let seconds = Shared(1_700_000_000.0)
      let transport = StubTransport(script: script)
      let client = HTTPClient.stubbed(transport) {
        $0.now = { Date(timeIntervalSince1970: seconds.withLock { $0 }) }
        $0.baseURL = nil
        $0.cache = .off
        change(&$0)
      }
      for request in requests.dropLast() { _ = try? await client.send(request, options: options) }
      seconds.withLock { $0 += pause }
      do {
        return try await client.send(requests[requests.count - 1], options: options.explains()).explanation
      } catch {
        return (error as? HTTPError)?.explanation ?? Explanation()
      }
    }
  }

  static let accepted = "the status 200 is accepted"
  static let date = HTTPDate(Date(timeIntervalSince1970: 1_700_000_000)).description
  static func reply(
    _ headers: HTTPHeaders, _ status: HTTPStatus = .ok, _ text: String = "x"
  ) -> StubResponse { .status(status, headers: headers, body: Data(text.utf8)) }

  static let redirects: [Situation] = [
    Situation(
      testDescription: "followed", script: [.redirect(to: "/y"), .text("x")],
      expected: ["the redirect (302) to http://a.test/y was followed", accepted]),
    Situation(
      testDescription: "POST becomes GET", script: [.redirect(to: "/y?token=1", status: .seeOther), .text("x")],
      requests: [.post("http://a.test/x", body: .text("b"))],
      expected: [
        "the redirect (303) to http://a.test/y?token=*** was followed",
        "after 303, the request is a GET without a body instead of a POST", accepted,
      ]),
    Situation(
      testDescription: "another origin", script: [.redirect(to: "http://b.test/"), .text("x")],
      requests: [HTTPRequest(.get, "http://a.test/x", headers: ["Authorization": "Bearer 1", "Cookie": "a=1"])],
      expected: [
        "no cookies were added: the request has a Cookie field already",
        "the redirect (302) to http://b.test/ was followed",
        "Authorization and Cookie were removed, because the redirect leads from http://a.test:80 to http://b.test:80",
        accepted,
      ]),
    Situation(
      testDescription: "off", script: [.redirect(to: "/y")], options: .accepts(.any).redirects(.off),
      expected: ["the redirect (302) was not followed: the policy follows no redirects", "the status 302 is accepted"]),
    Situation(
      testDescription: "no Location", script: [.status(.found)], options: .accepts(.any),
      expected: ["the redirect (302) was not followed: the response has no Location", "the status 302 is accepted"]),
    Situation(
      testDescription: "different locations", script: [reply(["Location": "/y", "location": "/z"], .found)],
      expected: [
        "the redirect (302) was not followed: it has Location fields with different values"
      ]),
    Situation(
      testDescription: "https to http", script: [.redirect(to: "http://a.test/y", status: .movedPermanently)],
      requests: [.get("https://a.test/x")],
      expected: [
        "the redirect (301) was not followed: it leads from https to http (http://a.test/y)"
      ]),
    Situation(
      testDescription: "an unusable URL", script: [.redirect(to: "mailto:a@a.test")],
      expected: [
        "the redirect (302) was not followed: unsupported scheme \"mailto\": only http and https are supported"
      ]),
    Situation(
      testDescription: "too many", script: [.redirect(to: "/y"), .redirect(to: "/z")],
      options: .redirects(.follow(upTo: 1)),
      expected: [
        "the redirect (302) to http://a.test/y was followed",
        "the redirect (302) was not followed: the maximum of 1 is reached",
      ]),
    Situation(
      testDescription: "stopped by the closure", script: [.redirect(to: "/y")],
      options: .accepts(.any).redirects(.ask { _ in .stop }),
      expected: [
        "the redirect (302) was not followed: the redirect policy's closure stopped here", "the status 302 is accepted",
      ]),
    Situation(
      testDescription: "replaced by the closure", script: [.redirect(to: "/y"), .text("x")],
      options: .redirects(.ask { _ in .replace(.get("http://a.test/other")) }),
      expected: ["the redirect policy's closure sent the request to http://a.test/other instead", accepted]),
    Situation(
      testDescription: "a body that can be sent once", script: [.redirect(to: "/y", status: .temporaryRedirect)],
      requests: [.post("http://a.test/x", body: .stream(AsyncStream<Data> { $0.finish() }))],
      expected: [
        "the redirect (307) was not followed: it needs the body again, which can be sent only once"
      ]),
  ]

  private static let lost = StubResponse.failure(HTTPError(.connectionLost, "cut"))
  private static let attempts = "the request is not repeated: the maximum number of attempts (2) is reached"

  static let retries: [Situation] = [
    Situation(
      testDescription: "a stale connection", script: [lost, .text("x")],
      expected: [
        "the request is repeated at once: the reused connection ended before a response began", accepted,
      ]),
    Situation(
      testDescription: "twice", script: [lost, lost],
      expected: [
        "the request is repeated at once: the reused connection ended before a response began", attempts,
      ]),
    Situation(
      testDescription: "off", script: [lost], options: .retry(.off),
      expected: ["the request is not repeated: the policy is off"]),
    Situation(
      testDescription: "an outcome that the policy does not repeat", script: [.status(.notFound)],
      options: .retry(.backoff()),
      expected: [
        "the request is not repeated: the retry policy does not repeat it after this outcome",
        "the status 404 is an error",
      ]),
    Situation(
      testDescription: "POST", script: [.status(.serviceUnavailable)], requests: [.post("http://a.test/x")],
      options: .retry(.backoff()),
      expected: [
        "the request is not repeated: POST is not idempotent and may have reached the server; if it may be sent "
          + "twice, set an Idempotency-Key field or RequestOptions.isIdempotent",
        "the status 503 is an error",
      ]),
    Situation(
      testDescription: "Retry-After", script: [reply(["Retry-After": "7"], .serviceUnavailable), .text("x")],
      options: .retry(.backoff()),
      expected: ["the request is repeated after 7.0 s: the server requested this delay (Retry-After)", accepted]),
    Situation(
      testDescription: "a long Retry-After", script: [reply(["Retry-After": "3600"], .serviceUnavailable)],
      options: .retry(.backoff()),
      expected: [
        "the request is not repeated: the server requested a delay of 3600.0 s; the policy waits at most 60.0 s",
        "the status 503 is an error",
      ]),
    Situation(
      testDescription: "backoff", script: [.status(.serviceUnavailable), .text("x")], options: .retry(.backoff()),
      change: { $0.random = { 0.5 } },
      expected: ["the request is repeated after 100.0 ms: the failure may be temporary", accepted]),
    Situation(
      testDescription: "a closure", script: [.status(.notFound), .text("x")],
      options: .retry(.custom { _, _ in .seconds(1) }),
      expected: ["the request is repeated after 1.0 s: the retry policy's closure decided this", accepted]),
    Situation(
      testDescription: "a closure that gives up", script: [.status(.notFound)],
      options: .retry(.custom { _, _ in nil }),
      expected: [
        "the request is not repeated: the retry policy's closure decided this", "the status 404 is an error",
      ]),
    Situation(
      testDescription: "a timeout",
      script: [.failure(HTTPError(.timedOut, "the idle limit of 1.0 s was exceeded")), .text("x")],
      options: .retry(.timeouts(1)), expected: ["the request is repeated at once: the attempt timed out", accepted]),
    Situation(
      testDescription: "a delay beyond the total limit", script: [reply(["Retry-After": "20"], .serviceUnavailable)],
      options: .retry(.backoff()).timeout(.seconds(10)),
      expected: [
        "the request is not repeated: a delay of 20.0 s would exceed the total limit of 10.0 s",
        "the status 503 is an error",
      ]),
    Situation(
      testDescription: "a body that can be sent once", script: [.status(.serviceUnavailable)],
      requests: [.put("http://a.test/x", body: .stream(AsyncStream<Data> { $0.finish() }))],
      options: .retry(.backoff()),
      expected: [
        "the request is not repeated: the body can be sent only once; HTTPBody.spooled keeps a copy",
        "the status 503 is an error",
      ]),
  ]

  static let guards: [Situation] = [
    Situation(
      testDescription: "admitted", requests: [.get("https://a.test/x")], change: { $0.guards = [.httpsOnly] },
      expected: ["the guards admit a.test", accepted]),
    Situation(
      testDescription: "refused", change: { $0.guards = [.httpsOnly] },
      expected: [
        "httpsOnly refuses a.test: the URL is not https",
        "the request is not repeated: the retry policy does not repeat it after this outcome",
      ]),
    Situation(
      testDescription: "upgraded",
      script: [reply(["Strict-Transport-Security": "max-age=100"]), .text("x")],
      requests: [.get("https://a.test/x"), .get("http://a.test/y")], change: { $0.guards = [.hsts] },
      expected: [
        "the URL was changed to https, because a.test is a known HSTS host", "the guards admit a.test", accepted,
      ]),
    Situation(
      testDescription: "noted", script: [reply(["Strict-Transport-Security": "max-age=9; includeSubDomains"])],
      requests: [.get("https://a.test/x")], change: { $0.guards = [.hsts] },
      expected: ["the guards admit a.test", "a.test and its subdomains require https for 9 s", accepted]),
    Situation(
      testDescription: "forgotten", script: [reply(["Strict-Transport-Security": "max-age=0"])],
      requests: [.get("https://a.test/x")], change: { $0.guards = [.hsts] },
      expected: ["the guards admit a.test", "a.test is no longer an HSTS host (max-age=0)", accepted]),
    Situation(
      testDescription: "ignored over http", script: [reply(["Strict-Transport-Security": "max-age=9"])],
      change: { $0.guards = [.hsts] },
      expected: [
        "the guards admit a.test",
        "Strict-Transport-Security of a.test was ignored: the response was not received over https", accepted,
      ]),
    Situation(
      testDescription: "malformed", script: [reply(["Strict-Transport-Security": "max-age=x"])],
      requests: [.get("https://a.test/x")], change: { $0.guards = [.hsts] },
      expected: [
        "the guards admit a.test", "Strict-Transport-Security of a.test was ignored: the value is malformed", accepted,
      ]),
    Situation(
      testDescription: "default fields for another server",
      change: {
        $0.baseURL = "http://own.test"
        $0.headers["Authorization"] = "Bearer 1"
      },
      expected: [
        "the client's Authorization is for the server of its base URL only, and is not sent to a.test", accepted,
      ]),
    Situation(
      testDescription: "credentials in the URL", requests: [.get("http://u:p@a.test/x")],
      expected: [
        "the user name and the password of the URL are a credential for a.test, and are not sent in the URL",
        "a credential for the server was added to the request (Basic)", accepted,
      ]),
  ]

  @Test func `each decision has the numbers of its redirect and attempt`() async throws {
    let situation = Situation(
      testDescription: "", script: [.redirect(to: "/y"), .status(.serviceUnavailable), .text("x")],
      options: .retry(.backoff()), change: { $0.random = { 0 } }, expected: [])

    let explanation = await situation.explanation()

    #expect(explanation.entries.map(\.hop) == [0, 1, 1])
    #expect(explanation.entries.map(\.attempt) == [1, 1, 2])
    #expect(explanation.description.contains("redirect 1, attempt 2: the status 200 is accepted"))
    #expect(
      explanation.entries[0].description.hasSuffix(
        ": the redirect (302) to http://a.test/y was followed (RFC 9110 §15.4.3)"))
  }

  @Test func `a failed request includes its last decisions by default`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in .redirect(to: "/y") }) {
      $0.redirects = .follow(upTo: 40)
      $0.cache = .off
    }

    let error = try await #require(throws: HTTPError.self) { try await client.get("/x") }

    #expect(error.explanation.entries.count == Explanation.ownLimit && error.explanation.droppedCount == 9)
    #expect(error.explanation.entries.last?.code == "redirect.notFollowed.tooMany")
    #expect(
      error.explanation.decisions.last?.sentence == "the redirect (302) was not followed: the maximum of 40 is reached")
    #expect(error.explanation.description.hasPrefix("9 earlier decisions were dropped\n"))
  }

  @Test(arguments: [String(repeating: "a", count: 5000), "a" + String(repeating: "\u{301}", count: 5000), "short"])
  func `truncates texts from servers`(text: String) {
    #expect(Explanation.short(text).utf8.count <= 303)
    #expect(Explanation.short(text).unicodeScalars.starts(with: text.unicodeScalars.prefix(5)))
  }

  @Test func `a request that succeeds at once records nothing by default`() async throws {
    let response = try await HTTPClient.stubbed(.text("x")).get("/x")

    #expect(response.explanation.isEmpty && response.explanation.description.isEmpty)
  }

  @Test(arguments: redirects + retries + guards)
  func `each decision about a request is explained in a sentence`(_ situation: Situation) async {
    let explanation = await situation.explanation()

    #expect(explanation.decisions.map(\.sentence) == situation.expected)
  }
}

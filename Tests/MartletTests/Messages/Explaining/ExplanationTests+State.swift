import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Decisions that depend on earlier responses.
extension ExplanationTests {
  private static let basic: HTTPHeaders = ["WWW-Authenticate": "Basic realm=\"r\""]
  private static let refused = StubResponse.status(.unauthorized, headers: basic)

  @Sendable private static func withPassword(_ configuration: inout HTTPClient.Configuration) {
    configuration.authenticators[.origin("http://a.test")] = .password(user: "u", password: "p")
  }

  static let credentials: [Situation] = [
    Situation(
      testDescription: "answered", script: [refused, .text("x")], change: withPassword,
      expected: ["the challenge of the server was answered (Basic, realm \"r\")", accepted]),
    Situation(
      testDescription: "sent at once after it was accepted", script: [refused, .text("x"), .text("x")],
      requests: [.get("http://a.test/x"), .get("http://a.test/x")], change: withPassword,
      expected: ["a credential for the server was added to the request (Basic)", accepted]),
    Situation(
      testDescription: "rejected", script: [refused, refused], change: withPassword,
      expected: [
        "the challenge of the server was answered (Basic, realm \"r\")",
        "the challenge of the server was not answered: the only credential was rejected (Basic)",
        "the request is not repeated: the retry policy does not repeat it after this outcome",
        "the status 401 is an error",
      ]),
    Situation(
      testDescription: "no credential", script: [refused],
      expected: [
        "the request is not repeated: the retry policy does not repeat it after this outcome",
        "the status 401 is an error",
        "the challenge of the server was not answered: no credential is configured",
      ]),
    Situation(
      testDescription: "a field of its own", script: [refused],
      requests: [HTTPRequest(.get, "http://a.test/x", headers: ["Authorization": "Bearer 1"])], change: withPassword,
      expected: [
        "the challenge of the server was not answered: the request has an Authorization field already",
        "the request is not repeated: the retry policy does not repeat it after this outcome",
        "the status 401 is an error",
      ]),
    Situation(
      testDescription: "another origin", script: [refused], requests: [.get("http://b.test/x")], change: withPassword,
      expected: [
        "the challenge of the server was not answered: no credential is configured",
        "the request is not repeated: the retry policy does not repeat it after this outcome",
        "the status 401 is an error",
      ]),
    Situation(
      testDescription: "a scheme that cannot be used",
      script: [.status(.unauthorized, headers: ["WWW-Authenticate": "OAuth realm=\"r\""])], change: withPassword,
      expected: [
        "the challenge of the server was not answered: oauth cannot be used, or was tried before",
        "the request is not repeated: the retry policy does not repeat it after this outcome",
        "the status 401 is an error",
      ]),
  ]

  private static func setting(_ lines: String...) -> StubResponse { setting(lines) }

  private static func setting(_ lines: [String]) -> StubResponse {
    var headers: HTTPHeaders = [:]
    headers[all: "Set-Cookie"] = lines
    return .status(.ok, headers: headers)
  }

  private static let host = "https://www.a.test"

  /// A situation in which the first response sets a cookie and a second request follows.
  private static func cookie(
    _ line: String, then url: String, at first: String = host + "/x", _ name: String, _ expected: String...
  ) -> Situation {
    Situation(
      testDescription: name, script: [setting(line), .text("x")],
      requests: [HTTPRequest(.get, RequestTarget(first)), HTTPRequest(.get, RequestTarget(url))],
      expected: expected + [accepted])
  }

  static let cookies: [Situation] = [
    cookie("a=1", then: host + "/x", "sent", "cookies were added to the request: a"),
    cookie("a=1; Secure", then: "http://www.a.test/x", "secure", "the cookie 'a' was omitted: it is for https only"),
    cookie(
      "a=1; Path=/y", then: host + "/x", "path", "the cookie 'a' was omitted: it is for paths below /y"),
    cookie(
      "a=1", then: "https://b.www.a.test/x", "host only", "the cookie 'a' was omitted: it is for www.a.test only"),
    Situation(
      testDescription: "stored, removed and refused",
      script: [
        setting(
          "a=1", "b=; Max-Age=0", "c=1; Domain=b.test", "d=1; Domain=test", "e=1; SameSite=None", "__Host-f=1", "",
          "g=1; Secure")
      ],
      requests: [.get("http://www.a.test/x")],
      expected: [
        "cookies were stored: a", "cookies were removed: b",
        "the cookie 'c' was refused: its domain b.test is not that of the host",
        "the cookie 'd' was refused: others can register names below its domain test",
        "the cookie 'e' was refused: it has SameSite=None, but not Secure",
        "the cookie '__Host-f' was refused: its name begins with __Secure- or __Host-, but it lacks what that requires",
        "the cookie 'g' was refused: it has Secure, but was not received over https",
        "a cookie was refused: the line is malformed or too long", accepted,
      ]),
    Situation(
      testDescription: "a secure cookie is not replaced", script: [setting("a=1; Secure"), setting("a=2")],
      requests: [.get("https://www.a.test/x"), .get("http://www.a.test/x")],
      expected: [
        "the cookie 'a' was omitted: it is for https only",
        "the cookie 'a' was refused: it would replace a secure cookie, but was not received over https", accepted,
      ]),
    Situation(
      testDescription: "too many", script: [setting((0..<51).map { "c\($0)=1" })],
      expected: [
        "cookies were stored: " + (0..<49).map { "c\($0)" }.joined(separator: ", ") + " and c49",
        "a cookie was refused: only 50 cookies of a response are processed", accepted,
      ]),
    Situation(
      testDescription: "SameSite after a redirect from another site or scheme",
      script: [setting("a=1; SameSite=Strict"), .redirect(to: "http://www.a.test/x"), .text("x")],
      requests: [.get("http://www.a.test/x"), .get("http://b.test/")],
      expected: [
        "the redirect (302) to http://www.a.test/x was followed",
        "the cookie 'a' was omitted: SameSite forbids it after a redirect from another site or scheme", accepted,
      ]),
    Situation(
      testDescription: "off", script: [setting("a=1")], options: .cookies(.off),
      expected: ["the cookie jar is not used: the policy is off", accepted]),
    Situation(
      testDescription: "a full field",
      script: [
        setting("a=\(String(repeating: "1", count: 4000))"),
        setting("b=\(String(repeating: "1", count: 4000))"), setting("c=\(String(repeating: "1", count: 4000))"),
        .text("x"),
      ],
      requests: Array(repeating: .get("http://a.test/x"), count: 4),
      expected: [
        "cookies were added to the request: a and b",
        "the cookie 'c' was omitted: the Cookie field would be longer than 8190 bytes",
        accepted,
      ]),
  ]

  private static func fields(_ control: String, _ more: HTTPHeaders = [:]) -> HTTPHeaders {
    var headers: HTTPHeaders = ["Cache-Control": control, "Date": date]
    for field in more { headers[field.name] = field.value }
    return headers
  }

  /// A situation with two equal requests and a pause in seconds between them.
  private static func twice(
    _ name: String, _ first: StubResponse, then second: StubResponse = .text("y"), after pause: Double = 0,
    _ options: RequestOptions = RequestOptions(), _ headers: HTTPHeaders = [:], _ expected: String...
  ) -> Situation {
    Situation(
      testDescription: name, script: [first, second],
      requests: [.get("http://a.test/x"), HTTPRequest(.get, "http://a.test/x", headers: headers)], options: options,
      pause: pause, change: { $0.cache = .memory() }, expected: expected + [accepted])
  }

  static let caching: [Situation] = [
    Situation(
      testDescription: "stored", script: [reply(fields("max-age=60"))], change: { $0.cache = .memory() },
      expected: [
        "the request was sent to the server: nothing is stored",
        "the response is stored with its body, until the process ends; it is fresh for 60 s: max-age=60, age 0",
        accepted,
      ]),
    twice(
      "fresh", reply(fields("max-age=60")), after: 12, RequestOptions(), [:],
      "the stored response was used: it is fresh for 48 s: max-age=60, age 12"),
    twice(
      "stale and replaced", reply(fields("max-age=60", ["ETag": "\"1\""])), then: reply(fields("no-store")), after: 72,
      RequestOptions(), [:],
      "the stored response was revalidated: it is stale by 12 s: max-age=60, age 72",
      "the server sent a new response in place of the stored one", "the response was not stored: it has no-store"),
    twice(
      "stale and confirmed", reply(fields("max-age=60", ["ETag": "\"1\""])),
      then: .status(.notModified, headers: fields("max-age=60")), after: 60, RequestOptions(), [:],
      "the stored response was revalidated: it is stale by 0 s: max-age=60, age 60",
      "the server confirmed the stored response (304)"),
    twice(
      "no lifetime", reply(["ETag": "\"1\"", "Date": date]), then: .status(.notModified), after: 5, RequestOptions(),
      [:],
      "the stored response was revalidated: it is to be revalidated each time: it has no lifetime, age 5",
      "the server confirmed the stored response (304)"),
    twice(
      "max-age of the request", reply(fields("max-age=60", ["ETag": "\"1\""])), then: .status(.notModified), after: 30,
      RequestOptions(), ["Cache-Control": "max-age=10"],
      "the stored response was revalidated: it is older than the request allows (max-age); "
        + "it is fresh for 30 s: max-age=60, age 30", "the server confirmed the stored response (304)"),
    twice(
      "preferCached", reply(fields("max-age=1")), after: 100, .cache(.preferCached), [:],
      "the stored response was used: the policy prefers it regardless of its age; "
        + "it is stale by 99 s: max-age=1, age 100"
    ),
    twice(
      "max-stale", reply(fields("max-age=60")), after: 70, RequestOptions(), ["Cache-Control": "max-stale=30"],
      "the stored response was used: it is stale, which the request allows (max-stale); "
        + "it is stale by 10 s: max-age=60, age 70"),
    twice(
      "heuristic",
      reply(["Last-Modified": HTTPDate(Date(timeIntervalSince1970: 1_699_999_000)).description, "Date": date]),
      after: 40, RequestOptions(), [:],
      "the stored response was used: it is fresh for 60 s: its lifetime is estimated from Last-Modified as 100 s, age 40"
    ),
    twice(
      "cacheFor", reply(["Date": date]), after: 40, .cacheFor(.seconds(100)), [:],
      "the stored response was used: it is fresh for 60 s: the program's lifetime is 100 s, age 40"),
    twice(
      "nothing to store", reply(["Date": date]), then: reply(["Date": date]), RequestOptions(), [:],
      "the request was sent to the server: nothing is stored",
      "the response was not stored: it has neither a lifetime nor a validator"),
    twice(
      "off", reply(fields("max-age=60")), then: .text("y"), .cache(.off), [:],
      "the cache is not used: the policy is off"),
    Situation(
      testDescription: "onlyCached", script: [], options: .cache(.onlyCached), change: { $0.cache = .memory() },
      expected: [
        "the request failed without being sent: only a stored response was allowed, and none can be used",
        "the request is not repeated: the retry policy does not repeat it after this outcome",
      ]),
    twice(
      "a fallback", reply(fields("max-age=1, stale-if-error=100")), then: .failure(HTTPError(.cannotConnect, "down")),
      after: 10, .retry(.off), [:],
      "the request was sent to the server: the stored response is stale by 9 s: max-age=1, age 10",
      "the request is not repeated: the policy is off",
      "the stored response was used instead of the failure; it is stale by 9 s: max-age=1, age 10"),
  ]

  @Test(arguments: credentials + cookies + caching)
  func `each decision that depends on earlier responses is explained in a sentence`(_ situation: Situation) async {
    let explanation = await situation.explanation()

    #expect(explanation.decisions.map(\.sentence) == situation.expected)
  }
}

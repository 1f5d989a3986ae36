import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletHAR

/// Secrets in every place, in every simple failure, must not appear in anything that can be printed.
@Suite struct CanaryTests {
  /// The responses and failures of the exchanges, by name.
  private static let answers: [(String, @Sendable (HTTPRequest) throws -> StubResponse)] = [
    (
      "ok",
      { _ in .json(#"{"token":"canary"}"#, headers: ["Set-Cookie": "sid=canary", "Authentication-Info": "canary"]) }
    ),
    ("404", { _ in .text("canary", status: 404, headers: ["Set-Cookie": "sid=canary"]) }),
    ("401", { _ in .status(401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth""#]) }),
    ("refused", { _ in .failure(HTTPError(.cannotConnect, "refused", phase: .connecting)) }),
    ("lost", { _ in .failure(HTTPError(.connectionLost, "lost", phase: .waiting)) }),
    ("timeout", { _ in .failure(HTTPError(.timedOut, "too long", phase: .waiting)) }),
    ("tls", { _ in .failure(HTTPError(.tls, "untrusted", phase: .connecting)) }),
    (
      "redirect",
      { request in
        request.url?.path() == "/end"
          ? .text("x") : .redirect(to: "http://canary:canary@b.test/end?token=canary#canary")
      }
    ),
    ("downgrade", { _ in .redirect(to: "http://canary:canary@b.test/?token=canary") }),
    ("bad redirect", { _ in .redirect(to: "ftp://canary:canary@b.test/?token=canary") }),
    ("loop", { request in .redirect(to: "/?token=canary&n=\(request.url?.query()?.count ?? 0)") }),
    ("cut", { _ in .streamed { throw HTTPError(.connectionLost, "cut", phase: .receiving) } }),
  ]

  private static let encoded = Data("canary:canary".utf8).base64EncodedString()

  /// Returns the representations of a value that contain the canary.
  private static func leaks(_ value: Any) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    let views = ["description": "\(value)", "reflecting": String(reflecting: value), "dump": dumped]
    return views.filter { $0.value.contains("canary") || $0.value.contains(encoded) }.map { name, text in
      let line = text.split(separator: "\n").first { $0.contains("canary") || $0.contains(encoded) } ?? ""
      return "\(name) of \(type(of: value)): \(line)"
    }
  }

  private static func client(
    _ recorder: LogRecorder, _ answer: @escaping @Sendable (HTTPRequest) throws -> StubResponse
  ) -> HTTPClient {
    HTTPClient {
      $0.transport = StubTransport { try answer($0) }
      $0.clock = TestClock()
      $0.baseURL = "https://canary:canary@a.test/?api_key=canary"
      $0.headers = ["X-Api-Key": "canary", "Authorization": "Bearer canary", "Cookie": "sid=canary"]
      $0.proxy = .proxy(Proxy("http://canary:canary@p.test:1"))
      $0.tls.clientCertificate = .pkcs12(Data([0x30, 0x00]), password: "canary")
      $0.options.credential = .user("canary", password: "canary")
      $0.authenticators[.origin("http://b.test")] = .oauth2(.token("canary", refreshToken: "canary")) { _ in nil }
      $0.authenticators[.origin("http://c.test")] = .basic(user: "canary", password: "canary")
      // Logs at both levels, with every detail except bodies.
      $0.middleware = [LoggingMiddleware([.headers, .auth, .connection], to: recorder.sink)]
      $0.exchangeMiddleware = [LoggingMiddleware([.headers, .auth, .connection], to: recorder.sink)]
    }
  }

  private static func request(_ target: RequestTarget) -> HTTPRequest {
    HTTPRequest(
      .post, target, query: ["access_token": "canary", "page": 2],
      headers: ["X-Auth-Token": "canary", "Referer": "https://canary:canary@a.test/?token=canary"],
      body: .json(["password": "canary"]))
  }

  @Test(arguments: answers.map(\.0))
  func `logs, errors, recordings and descriptions contain no secrets`(_ name: String) async throws {
    let recorder = LogRecorder()
    let answer = try #require(Self.answers.first { $0.0 == name }).1
    let client = Self.client(recorder, answer)
    let folder = try TemporaryFolder()
    let archive = try HARRecorder(to: URL(filePath: folder.path("x.har")))
    await client.update { $0.instruments = [archive] }
    await client.cookies.set(Cookie("jar", "canary", domain: "a.test"))
    var values: [Any] = [client, client.configuration, client.core.settings]

    for (number, target)
      in (["/x", "https://canary:canary@a.test/y?token=canary#canary", "http://c.test/"] as [RequestTarget])
      .enumerated()
    {
      let request = Self.request(target)
      let handle = client.start(request, options: .explains(number.isMultiple(of: 2)))
      values += [request, client.activity.current, handle]
      values += [try request.curlCommand(base: "https://a.test"), try client.curlCommand(for: request)]
      switch await handle.outcome() {
      case .success(let response):
        values += [response, response.headers, response.finalRequest, response.redirects]
        do { _ = try response.json(Int.self) } catch { values += [error] }
      case .failure(let error): values += [error, (error as? HTTPError)?.response as Any]
      }
      for await event in handle.events { values.append(event) }
      values += [handle.request, handle.finalRequest, handle.state, handle.explanation]
      try? await client.stream(request) { response in #expect(Self.leaks(response).isEmpty) }
    }
    values.append(client.activity.current)

    for value in values {
      let leaks = Self.leaks(value)
      #expect(leaks.isEmpty, "\(leaks)")
    }
    let lines = await recorder.lines
    #expect(lines.count > 30)
    let leaking = lines.filter { $0.contains("canary") || $0.contains(Self.encoded) }
    #expect(leaking.isEmpty, "\(leaking)")
    await client.drain()
    let recorded = try String(decoding: folder.contents("x.har"), as: UTF8.self).split(separator: "\n")
    #expect(recorded.count > 6)
    // Without a name, a text cannot be recognized as a secret.
    let shown = recorded.map { $0.replacing(#""text":"canary""#, with: "") }.filter {
      $0.contains("canary") || $0.contains(Self.encoded)
    }
    #expect(shown.isEmpty, "\(shown)")
  }

  @Test(arguments: [
    "http://canary:canary@a b/?token=canary", "http://a:canary@b:x/", "ftp://canary:canary@a.test/",
    "//canary:canary@a.test/", "http://canary:canary@a.test/\u{1}?token=canary", "https:/canary@a.test/",
  ])
  func `the error of an invalid request contains no secrets`(_ text: String) async throws {
    let recorder = LogRecorder()
    let client = Self.client(recorder) { _ in .text("x") }

    let error = try await #require(throws: HTTPError.self) { try await client.send(Self.request(RequestTarget(text))) }

    #expect(Self.leaks(error).isEmpty && Self.leaks(Self.request(RequestTarget(text))).isEmpty)
  }

  @Test func `revealingSecrets shows secrets in logs and errors`() async throws {
    let recorder = LogRecorder()
    let client = Self.client(recorder) { _ in .text("x", status: 404) }
    await client.update {
      $0.redaction = .revealingSecrets
      $0.options.credential = nil
    }

    let error = try await #require(throws: HTTPError.self) {
      try await client.get("https://a.test/?token=canary", headers: ["Authorization": "canary"])
    }

    #expect(await recorder.lines.contains { $0.hasSuffix("> Authorization: canary") })
    #expect(await recorder.lines.contains { $0.hasSuffix("> GET https://a.test/?token=canary") })
    #expect(error.redactedURL == "https://a.test/?token=canary" && error.description.contains("token=canary"))
  }

  @Test func `errors and snapshots follow the client's redaction`() async throws {
    let client = HTTPClient {
      $0.clock = TestClock()
      $0.transport = StubTransport { _ in .status(404) }
      $0.redaction = .standard.masking(queryItems: ["email"])
    }

    let handle = client.start(.get("http://a.test/?page=2&email=canary&token=canary"))
    let info = try #require(handle.call.map { ActivityMonitor.RequestInfo($0) })
    let error = try #require(await handle.outcome().failure as? HTTPError)

    #expect(error.redactedURL == "http://a.test/?page=2&email=***&token=***")
    #expect(error.description.contains(" http://a.test/?page=2&email=***&token=***: 404"))
    #expect(info.redactedURL == "http://a.test/?page=2&email=***&token=***")
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

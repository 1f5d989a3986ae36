import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite(.hangLimit) struct AuthenticatorsTests {
  @Test(arguments: [
    (Authenticators.OriginPattern.origin("https://a.test"), ["https://a.test", "https://A.test:443"]),
    (.origin("HTTPS://A.test:443/path?q"), ["https://a.test"]),
    (.origin("http://127.0.0.1:8080"), ["http://127.0.0.1:8080"]),
    (.host("a.test"), ["https://a.test", "https://A.test:443"]),
    (.host("*.a.test"), ["https://x.a.test", "https://x.y.a.test"]),
    (.baseURL, ["http://base.test:81"]),
  ]) func `a pattern matches only its own origins`(place: Authenticators.OriginPattern, own: [String]) throws {
    let base = try AbsoluteURL.parse("http://base.test:81").origin
    let all = [
      "https://a.test", "https://A.test:443", "http://a.test", "https://a.test:444", "http://127.0.0.1:8080",
      "http://127.0.0.1:8081", "http://localhost:8080", "https://127.0.0.1:8080", "https://x.a.test",
      "https://x.y.a.test", "http://x.a.test", "https://x.a.test:444", "https://xa.test", "https://a.test.evil.test",
      "https://evil.test", "http://base.test:81", "http://base.test", "https://base.test:81",
    ]

    let matching = try all.filter { place.exactness(for: try AbsoluteURL.parse($0).origin, base: base) > 0 }

    #expect(
      try Set(matching.map { try AbsoluteURL.parse($0).origin }) == Set(own.map { try AbsoluteURL.parse($0).origin }))
  }

  @Test(arguments: [
    "*", "*.com", "api.*", "*.*.test", "a*.test", "", "a.test:444", "a.test/x", "u@a.test", "*.", "a b",
  ])
  func `rejects a malformed or too broad host pattern`(pattern: String) async throws {
    let client = HTTPClient.onTestClock {
      $0.transport = .stub { _ in .text("x") }
      $0.authenticators[.host(pattern)] = .ask { _ in nil }
    }

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://a.test/") }

    #expect(error.kind == .invalidRequest)
  }

  @Test(arguments: [
    Authenticators.OriginPattern.proxy(""), .proxy("proxy.test"), .proxy("ftp://proxy.test"),
    .proxy("socks5://proxy.test"),
    .proxy("http://u:p@proxy.test"), .proxy("http://proxy.test/x"),
  ]) func `rejects a malformed or unsupported proxy URL`(place: Authenticators.OriginPattern) async throws {
    let client = HTTPClient.onTestClock {
      $0.transport = .stub { _ in .text("x") }
      $0.authenticators[place] = .ask { _ in nil }
    }

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://a.test/") }

    #expect(error.kind == .invalidRequest && !"\(error)".contains("u:p"))
  }

  @Test func `does not use proxy authenticators for servers, or server authenticators for proxies`() throws {
    var authenticators = Authenticators()
    authenticators[.proxy("http://a.test:81")] = .basic(user: "u", password: "p")
    authenticators[.origin("http://a.test:82")] = .basic(user: "u", password: "p")
    let (first, second) = (
      Origin(scheme: "http", host: "a.test", port: 81), Origin(scheme: "http", host: "a.test", port: 82)
    )

    #expect(authenticators.session(for: first, base: nil) == nil && authenticators.proxySession(for: second) == nil)
    #expect(authenticators.session(for: second, base: nil) != nil && authenticators.proxySession(for: first) != nil)

    authenticators[.everywhere] = .ask { _ in nil }
    let server = try #require(authenticators.session(for: first, base: nil))
    #expect(authenticators.proxySession(for: second) !== server)
    authenticators[.proxy("http://a.test:81")] = .oauth2 { _ in nil }
    #expect(authenticators.problem != nil)
  }

  @Test func `rejects a fixed credential or token authenticator for all hosts`() async throws {
    let authenticators: [any Authenticator] = [
      Authenticators.CredentialAuthenticator.basic(user: "u", password: "p"),
      Authenticators.CredentialAuthenticator.bearer("t"),
      Authenticators.TokenAuthenticator.oauth2 { _ in nil },
    ]
    for authenticator in authenticators {
      let client = HTTPClient.onTestClock {
        $0.transport = .stub { _ in .text("x") }
        $0.authenticators[.everywhere] = authenticator
      }

      let error = try await #require(throws: HTTPError.self) { try await client.get("http://a.test/") }

      #expect(error.kind == .invalidRequest)
    }
  }

  @Test func `uses the most specific matching pattern`() async throws {
    let transport = StubTransport { _ in AuthServer.refusal(#"Basic realm="b""#) }
    let asked = Log<String>()
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.accepts = .any
      $0.authenticators[.everywhere] = .ask {
        asked.add("everywhere \($0.host)"); return nil
      }
      $0.authenticators[.host("*.a.test")] = .ask {
        asked.add("pattern \($0.host)"); return nil
      }
      $0.authenticators[.host("x.a.test")] = .ask {
        asked.add("host \($0.host)"); return nil
      }
    }

    for url in ["https://x.a.test/", "https://y.a.test/", "https://a.test/"] {
      try await client.get(RequestTarget(url))
    }

    #expect(asked.elements == ["host x.a.test", "pattern y.a.test", "everywhere a.test"])
  }

  @Test func `can be set, replaced and removed`() throws {
    var authenticators = Authenticators()
    #expect(authenticators.isEmpty)

    authenticators[.baseURL] = .bearer("a")
    authenticators[.baseURL] = .basic(user: "u", password: "p")
    #expect(authenticators[.baseURL]?.schemes == [.basic])
    #expect(authenticators[.everywhere] == nil && !authenticators.isEmpty)

    authenticators[.baseURL] = nil
    #expect(authenticators.isEmpty)
  }

  @Test func `share their state with a derived client until they are set again`() async throws {
    let transport = AuthServer.accepting(AuthServer.basic("u", "p"), challenge: #"Basic realm="b""#)
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.baseURL = "http://a.test"
      $0.authenticators[.baseURL] = .basic(user: "u", password: "p")
    }
    try await client.get("/")

    try await client.derived { $0.timeout.total = .seconds(5) }.get("/")
    try await client.derived { $0.authenticators[.baseURL] = .basic(user: "u", password: "p") }.get("/")

    let field = AuthServer.basic("u", "p")
    #expect(transport.authorizations == [nil, field, field, nil, field])
  }

  @Test func `discard all credentials at sign-out, including configured ones`() async throws {
    let transport = AuthServer.accepting(AuthServer.basic("u", "p"), challenge: #"Basic realm="b""#)
    let questions = Log<String>()
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.baseURL = "http://a.test"
      $0.accepts = .any
      $0.credentialStore = .memory
      $0.authenticators[.origin("http://fixed.test")] = .basic(user: "u", password: "p", isPreemptive: true)
      $0.authenticators[.baseURL] = .ask { _ in
        questions.add("?")
        return .user("u", password: "p")
      }
    }
    try await client.get("/")
    try await client.get("http://fixed.test/")

    try await client.signOut()
    try await client.get("/")
    let refused = try await client.get("http://fixed.test/")

    let field = AuthServer.basic("u", "p")
    #expect(transport.authorizations == [nil, field, field, nil, field, nil])
    #expect(questions.elements.count == 2 && refused.status == .unauthorized)
  }
}

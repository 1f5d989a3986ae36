import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Which header fields another origin receives, after redirects and with full URLs.
@Suite(.hangLimit) struct OriginFieldsTests {
  private static let masksTenant = ClientSetting { $0.redaction = .standard.masking(headers: ["X-Tenant"]) }

  @Test(arguments: [
    ("X-Api-Key", false), ("x-auth-token", false), ("X-CSRF-Token", false), ("Session-Id", false), ("X-Tenant", false),
    ("Signature", false), ("X-Auth", false), ("X-Color", true), ("Accept-Language", true), ("If-Match", true),
    ("Idempotency-Key", true), ("Access-Control-Allow-Credentials", true),
  ]) func `a redirect to another origin drops secret fields`(name: String, isKept: Bool) async throws {
    for (location, isSame) in [("http://b.test/", false), ("http://a.test:81/", false), ("/b", true)] {
      let transport = StubTransport(script: [.redirect(to: location, status: 307), .text("x")])

      _ = try await HTTPClient.onTestClock(transport, Self.masksTenant).post(
        "http://a.test/", headers: [name: "v"], body: .text("b"))

      let next = try #require(transport.requests.last)
      #expect(next.headers[name] == (isKept || isSame ? "v" : nil), "\(location)")
      #expect(next.headers["Content-Type"] != nil)
    }
  }

  @Test func `the program can allow a name, but not Authorization`() async throws {
    let transport = StubTransport(script: [.redirect(to: "http://b.test/", status: 307), .text("x")])
    let client = HTTPClient.onTestClock(transport, Self.masksTenant) {
      $0.crossOriginHeaders = ["x-api-key", "X-TENANT", "Authorization", "Cookie"]
    }

    _ = try await client.get(
      "http://a.test/",
      headers: ["X-Api-Key": "1", "X-Tenant": "2", "Authorization": "3", "Cookie": "4", "X-Token": "5"]
    )

    #expect(transport.requests.last?.headers["X-Api-Key"] == "1")
    #expect(transport.requests.last?.headers["X-Tenant"] == "2")
    for name in ["Authorization", "Cookie", "X-Token"] { #expect(transport.requests.last?.headers[name] == nil) }
  }

  @Test(arguments: ["standard", "strict", "revealing"])
  func `the redaction of logs does not affect which fields are dropped`(redaction: String) async throws {
    let transport = StubTransport(script: [.redirect(to: "http://b.test/"), .text("x")])
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.redaction = ["standard": .standard, "strict": .strict][redaction] ?? .revealingSecrets
    }

    _ = try await client.get("http://a.test/", headers: ["X-Api-Key": "1", "X-Color": "blue"])

    #expect(transport.requests.last?.headers["X-Api-Key"] == nil)
    #expect(transport.requests.last?.headers["X-Color"] == "blue")
  }

  static let defaults: HTTPHeaders = [
    "X-Api-Key": "default", "X-Region": "default", "Authorization": "default", "Accept-Language": "de",
    "Cache-Control": "no-cache", "User-Agent": "own",
  ]

  @Test(arguments: [("/x", true), ("http://a.test/x", true), ("http://b.test/x", false), ("https://a.test/x", false)])
  func `default fields stay at the origin of the base URL`(target: String, isKept: Bool) async throws {
    for isRedirected in [false, true] {
      let script: [StubResponse] = isRedirected ? [.redirect(to: target, status: 307)] : []
      let transport = StubTransport(script: script + [.text("x")])
      let client = HTTPClient.onTestClock(transport, Self.masksTenant) {
        $0.baseURL = "http://a.test"
        $0.headers = Self.defaults
      }

      _ = try await client.get(isRedirected ? "/start" : RequestTarget(target))

      let fields = try #require(transport.requests.last?.headers)
      #expect(fields.count { $0.value == "default" } == (isKept ? 3 : 0), "\(isRedirected)")
      #expect(
        fields["Accept-Language"] == "de" && fields["Cache-Control"] == "no-cache" && fields["User-Agent"] == "own")
    }
  }

  @Test func `default fields are sent to other origins if they are allowed, or without a base URL`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let allowing = HTTPClient.onTestClock(transport, Self.masksTenant) {
      $0.baseURL = "http://a.test"
      $0.headers = Self.defaults
      $0.crossOriginHeaders = ["X-Api-Key", "X-Region"]
    }
    let free = HTTPClient.onTestClock(transport, Self.masksTenant) { $0.headers = Self.defaults }
    let own = HTTPClient.onTestClock(transport, Self.masksTenant) { $0.baseURL = "http://a.test" }

    try await allowing.get("http://b.test/")
    try await free.get("http://b.test/")
    try await own.get("http://b.test/", headers: ["X-Api-Key": "the request's"])

    #expect(transport.requests.map { $0.headers["X-Api-Key"] } == ["default", "default", "the request's"])
    #expect(transport.requests.map { $0.headers["X-Region"] } == ["default", "default", nil])
    #expect(transport.requests.map { $0.headers["Authorization"] } == [nil, "default", nil])
  }

  @Test func `a replacement drops inherited secrets, and keeps new ones`() async throws {
    let transport = StubTransport(script: [.redirect(to: "/b"), .text("x")])
    let client = HTTPClient.onTestClock(transport, Self.masksTenant) {
      $0.redirects = .ask { hop in
        var request = hop.request
        request.target = "http://other.test/c"
        request.headers["X-Auth-Token"] = "new"
        return .replace(request)
      }
    }

    _ = try await client.get("http://a.test/", headers: ["X-Api-Key": "old", "X-Auth-Token": "old", "X-Color": "blue"])

    let next = try #require(transport.requests.last)
    #expect(next.headers["X-Api-Key"] == nil && next.headers["X-Color"] == "blue")
    #expect(next.headers[all: "X-Auth-Token"] == ["new"])
  }

  @Test func `dropped fields are explained, and stored responses are separate by masked fields`() async throws {
    let transport = StubTransport { request in
      guard request.url?.path() == "/a" else {
        return .status(
          .ok, headers: ["Cache-Control": "max-age=60"], body: Data(request.headers["X-Tenant"]?.utf8 ?? "".utf8))
      }
      return .redirect(to: "http://b.test/")
    }
    let client = HTTPClient.onTestClock(transport, Self.masksTenant)

    let moved = try await client.get("http://a.test/a", headers: ["X-Api-Key": "1"], options: .explains())
    let first = try await client.get("http://c.test/", headers: ["X-Tenant": "one"]).text
    let second = try await client.get("http://c.test/", headers: ["X-Tenant": "two"]).text

    #expect("\(moved.explanation)".contains("X-Api-Key was removed, because the redirect leads from"))
    #expect(first == "one" && second == "two")
  }
}

import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Credentials belong to one origin: scheme, host and port (RFC 9110 §15.4).
@Suite(.hangLimit) struct RedirectCredentialsTests {
  static let names = ["authorization", "COOKIE", "Proxy-authorization", "Cookie2", "WWW-Authenticate"]

  static let secrets: HTTPHeaders = [
    "authorization": "secret", "COOKIE": "secret", "Proxy-authorization": "secret", "Cookie2": "secret",
    "WWW-Authenticate": "secret", "X-Kept": "1",
  ]

  @Test(arguments: [
    ("http://a.test/", "/x", true),
    ("http://a.test/", "http://a.test/x", true),
    ("http://a.test/", "http://A.TEST/x", true),
    ("http://A.test/", "HTTP://a.TEST:80/x", true),
    ("https://a.test/", "https://a.test:443/x", true),
    ("http://a.test:8080/", "http://a.test:8080/x", true),
    ("http://a.test/", "http://b.test@a.test/x", true),
    ("http://a.test/", "http://a.test:8080/x", false),
    ("http://a.test:8080/", "http://a.test/x", false),
    ("http://a.test:8080/", "http://a.test:8081/x", false),
    ("http://a.test/", "https://a.test/x", false),
    ("http://a.test/", "https://a.test:80/x", false),
    ("http://a.test:443/", "https://a.test/x", false),
    ("https://a.test/", "http://a.test/x", false),
    ("https://a.test/", "http://a.test:443/x", false),
    ("http://a.test/", "http://b.test/x", false),
    ("http://a.test/", "//b.test/x", false),
    ("http://a.test/", "http://www.a.test/x", false),
    ("http://www.a.test/", "http://a.test/x", false),
    ("http://a.test/", "http://a.test.evil.test/x", false),
    ("http://a.test/", "http://evila.test/x", false),
    ("http://a.test/", "http://a.test@b.test/x", false),
    ("http://127.0.0.1/", "http://localhost/x", false),
    ("http://127.0.0.1/", "http://[::1]/x", false),
  ]) func `are sent only to their origin`(from: String, location: String, isKept: Bool) async throws {
    let transport = StubTransport(script: [.redirect(to: location, status: 307), .text("x")])
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.redirects.allowsDowngrade = true
    }

    _ = try await client.get(RequestTarget(from), headers: Self.secrets)

    let next = try #require(transport.requests.dropFirst().first)
    for name in Self.names { #expect(next.headers.contains(name) == isKept, "\(name)") }
    #expect(next.headers["X-Kept"] == "1")
  }

  @Test func `belong to each redirect chain that middleware begins`() async throws {
    let transport = StubTransport(script: [.redirect(to: "http://b.test/1"), .text("x"), .text("y")])
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.middleware = [
        .closure { request, _, next in
          _ = try await next(request)
          return try await next(request)
        }
      ]
    }

    _ = try await client.get("http://a.test/", options: .credential(.user("u", password: "p", isPreemptive: true)))

    #expect(transport.requests.map { $0.headers.contains("Authorization") } == [true, false, true])
  }

  @Test func `are not restored when middleware repeats the request of a foreign redirect`() async throws {
    let transport = StubTransport(script: [
      .redirect(to: "http://b.test/1"), .redirect(to: "http://a.test/chosen"), .text("x"), .text("y"),
    ])
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.middleware = [.closure { request, _, next in try await next(try await next(request).request) }]
    }

    _ = try await client.get("http://a.test/", options: .credential(.user("u", password: "p", isPreemptive: true)))

    #expect(transport.requests.map { $0.headers.contains("Authorization") } == [true, false, false, false])
    #expect(transport.requests.last?.url?.absoluteString == "http://a.test/chosen")
  }

  @Test func `are not restored when a redirect returns to the origin`() async throws {
    let transport = StubTransport(script: [
      .redirect(to: "http://b.test/1"), .redirect(to: "http://a.test/2"), .redirect(to: "http://a.test/3"), .text("x"),
    ])
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.headers["Authorization"] = "the client's"
    }

    _ = try await client.get("http://a.test/", headers: ["Cookie": "a=b"])

    #expect(transport.requests.map { $0.headers["Authorization"] } == ["the client's", nil, nil, nil])
    #expect(transport.requests.map { $0.headers["Cookie"] } == ["a=b", nil, nil, nil])
  }

  @Test func `of a URL are sent only to its origin`() async throws {
    let transport = StubTransport(script: [.redirect(to: "/x"), .redirect(to: "http://b.test/"), .text("x")])
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let response = try await client.get("http://user:word@a.test/")

    #expect(
      transport.requests.map { $0.headers["Authorization"] } == ["Basic dXNlcjp3b3Jk", "Basic dXNlcjp3b3Jk", nil])
    #expect(response.redirects.first?.from.absoluteString == "http://a.test/")
  }

  @Test(arguments: ["http://user:word@a.test/x", "http://user:word@b.test/x", "//user:word@b.test/x"])
  func `of a Location are not used`(location: String) async throws {
    let transport = StubTransport(script: [.redirect(to: location), .text("x")])
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let response = try await client.get("http://a.test/")

    let next = try #require(transport.requests.last)
    #expect(!next.headers.contains("Authorization"))
    #expect(try next.target.resolve(against: nil).user == nil)
    #expect(try next.target.resolve(against: nil).password == nil)
    #expect(response.redirects.first?.to.user() == nil)
  }

  @Test func `of a rejected Location are not part of the error`() async throws {
    let client = HTTPClient.onTestClock {
      $0.transport = .stub { _ in .redirect(to: "http://user:word@a.test/?t=word") }
    }

    let error = try await #require(throws: HTTPError.self) { try await client.get("https://a.test/") }

    #expect(error.kind == .redirectRefused)
    #expect(!error.description.contains("word") && !error.description.contains("user"))
  }

  @Test func `added by middleware are dropped at another origin`() async throws {
    let transport = StubTransport(script: [.redirect(to: "http://b.test/"), .text("x")])
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.middleware = [.changing { $0.headers["Authorization"] = "signed" }]
    }

    _ = try await client.get("http://a.test/")

    #expect(transport.requests.map { $0.headers["Authorization"] } == ["signed", nil])
  }
}

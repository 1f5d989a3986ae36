import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// `Referer` is sent only if the caller sets it, without userinfo or fragment.
@Suite(.hangLimit) struct ReferrerTests {
  @Test func `is not sent by default`() async throws {
    let transport = StubTransport(script: [.redirect(to: "/b"), .redirect(to: "http://b.test/"), .text("x")])

    _ = try await HTTPClient.onTestClock { $0.transport = transport }.get("http://u:p@a.test/secret?token=1#f")

    #expect(transport.requests.count == 3)
    #expect(transport.requests.allSatisfy { !$0.headers.contains("Referer") })
  }

  @Test(
    arguments: [
      ("https://a.test/x?y=1", "https://a.test/x?y=1"), ("https://u:p@a.test/x", "https://a.test/x"),
      ("https://a.test/x#secret", "https://a.test/x"), ("HTTPS://u@A.test:443/#f", "https://a.test/"),
      ("http://b.test/", "http://b.test/"), ("/relative?x#f", "/relative?x"),
      ("/relative#\u{301}secret", "/relative"), ("//a.test/x", "//a.test/x"),
      ("about:blank", "about:blank"), ("android-app://com.example/", "android-app://com.example/"), ("", ""),
      ("#f", nil),
    ] as [(String, String?)]) func `is sent without userinfo or fragment`(value: String, sent: String?) async throws
  {
    let transport = StubTransport { _ in .text("x") }

    _ = try await HTTPClient.onTestClock { $0.transport = transport }.get(
      "https://h.test/", headers: ["referer": value])

    #expect(transport.requests.first?.headers["Referer"] == sent)
  }

  @Test(arguments: [
    "http://", "https:/a.test", "http://u:p@a b/", "https://[::1", "//u:p@a.test/", "x://u:p@a/", "\\\\u@a\\",
  ])
  func `is rejected if malformed, without revealing its userinfo`(value: String) async throws {
    let transport = StubTransport { _ in .text("x") }

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient.onTestClock { $0.transport = transport }.get("https://h.test/", headers: ["Referer": value])
    }

    #expect(error.kind == .invalidRequest)
    #expect(!error.description.contains("u:p"))
    #expect(transport.requests.isEmpty)
  }

  @Test func `of an https URL is not sent to an http URL`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.headers["Referer"] = "https://a.test/x"
    }

    _ = try await client.get("http://h.test/")
    _ = try await client.get("https://h.test/")

    #expect(transport.requests.map { $0.headers["Referer"] } == [nil, "https://a.test/x"])
  }

  @Test(
    arguments: [
      ("https://a.test/1", "/2", "https://r.test/p?q", "https://r.test/p?q"),
      ("https://a.test/1", "https://a.test:443/2", "/p", "/p"),
      ("https://a.test/1", "https://b.test/", "https://r.test/p?q", "https://r.test/"),
      ("https://a.test/1", "https://b.test/", "https://r.test:8443/p", "https://r.test:8443/"),
      ("https://a.test/1", "https://a.test:8443/", "http://r.test/p", "http://r.test/"),
      ("https://a.test/1", "https://b.test/", "/p?secret", nil),
      ("http://a.test/1", "https://a.test/", "http://r.test/p", "http://r.test/"),
      ("https://a.test/1", "http://a.test/", "https://r.test/p", nil),
      ("https://a.test/1", "http://a.test/", "http://r.test/p", nil),
      ("http://a.test/1", "http://b.test/", "http://r.test/p", "http://r.test/"),
    ] as [(String, String, String, String?)])
  func `is shortened to its origin or removed after a cross-origin redirect`(
    from: String, to: String, value: String, sent: String?
  ) async throws {
    let transport = StubTransport(script: [.redirect(to: to), .text("x")])
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.redirects.allowsDowngrade = true
    }

    _ = try await client.get(RequestTarget(from), headers: ["Referer": value])

    #expect(transport.requests.map { $0.headers["Referer"] } == [value, sent])
  }

  @Test func `is shortened if a redirect is replaced, unless the replacement sets it`() async throws {
    for anew in [nil, "https://r.test/new#f"] as [String?] {
      let transport = StubTransport(script: [.redirect(to: "/2"), .text("x")])
      let client = HTTPClient.onTestClock {
        $0.transport = transport
        $0.redirects = .ask { hop in
          var next = hop.request
          next.target = "https://b.test/"
          if let anew { next.headers["Referer"] = anew }
          return .replace(next)
        }
      }

      _ = try await client.get("https://a.test/", headers: ["Referer": "https://r.test/secret"])

      #expect(transport.requests.last?.headers["Referer"] == (anew == nil ? "https://r.test/" : "https://r.test/new"))
    }
  }
}

import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// Redirects to `ws` and `wss` URLs, which only requests for another protocol follow.
@Suite(.hangLimit) struct RedirectSchemeTests {
  private static func upgrade(_ client: HTTPClient, _ request: HTTPRequest) async throws -> StreamedResponse {
    guard case .response(let response) = try await client.upgrade(request, to: "websocket") else {
      throw HTTPError(.unsupported, "a stubbed response changed the protocol")
    }
    return response
  }

  @Test(arguments: [
    ("http://a.test/x", "ws://b.test/y?z", "http://b.test/y?z"),
    ("http://a.test/x", "wss://b.test/y", "https://b.test/y"),
    ("http://a.test/x", "WSS://A.test:443", "https://a.test/"),
    ("http://a.test/x", "Ws://a.test:80/", "http://a.test/"),
    ("https://a.test/x", "wss://user:secret@a.test:8443/", "https://a.test:8443/"),
    ("https://a.test/x", "//a.test/ws://y", "https://a.test/ws://y"),
    ("https://a.test/x", "wss", "https://a.test/wss"),
  ]) func `an upgrade follows ws as http and wss as https`(from: String, location: String, to: String) async throws {
    let transport = StubTransport(script: [.redirect(to: location, status: 307), .text("x")])
    let client = HTTPClient.onTestClock(transport)

    let response = try await Self.upgrade(client, .get(RequestTarget(from)))

    #expect(response.request.url?.absoluteString == to)
    #expect(transport.requests.map { $0.url?.absoluteString } == [from, to])
  }

  @Test(arguments: [
    ("http://a.test/", "ws://a.test/x", true),
    ("https://a.test/", "wss://a.test:443/x", true),
    ("http://a.test/", "wss://a.test/x", false),
    ("https://a.test/", "wss://b.test/x", false),
    ("https://a.test/", "wss://a.test:444/x", false),
  ]) func `credentials are sent only to their origin`(from: String, location: String, isKept: Bool) async throws {
    let transport = StubTransport(script: [.redirect(to: location), .text("x")])
    let client = HTTPClient.onTestClock(transport)

    _ = try await Self.upgrade(client, .get(RequestTarget(from), headers: RedirectCredentialsTests.secrets))

    let next = try #require(transport.requests.dropFirst().first)
    for name in RedirectCredentialsTests.names { #expect(next.headers.contains(name) == isKept, "\(name)") }
  }

  @Test(arguments: [false, true]) func `wss to ws is a downgrade`(isAllowed: Bool) async throws {
    let transport = StubTransport(script: [.redirect(to: "ws://a.test/x"), .text("x")])
    let client = HTTPClient.onTestClock(transport) { $0.redirects.allowsDowngrade = isAllowed }

    var failure: HTTPError?
    do {
      _ = try await Self.upgrade(client, .get("https://a.test/"))
    } catch let error as HTTPError {
      failure = error
    }

    #expect(failure?.kind == (isAllowed ? nil : .redirectRefused))
    #expect(transport.requests.count == (isAllowed ? 2 : 1))
  }

  @Test(arguments: ["ws:", "wss:///x", "wss:a.test", "ws://a.test:0/", "ws2://a.test/", "ftp://a.test/"])
  func `an upgrade rejects malformed URLs and other schemes`(location: String) async throws {
    let transport = StubTransport(script: [.redirect(to: location), .text("x")])
    let client = HTTPClient.onTestClock(transport)

    let error = await #expect(throws: HTTPError.self) { try await Self.upgrade(client, .get("http://a.test/")) }

    #expect(error?.kind == .redirectRefused)
    #expect(transport.requests.count == 1)
  }

  @Test(arguments: ["ws://a.test/x", "wss://a.test/x"])
  func `other requests refuse ws and wss`(location: String) async throws {
    let transport = StubTransport(script: [.redirect(to: location), .text("x")])
    let client = HTTPClient.onTestClock(transport)

    let error = await #expect(throws: HTTPError.self) { try await client.get("http://a.test/") }

    #expect(error?.kind == .redirectRefused)
    #expect(error?.message.contains("unsupported scheme \"\(location.prefix { $0 != ":" })\"") == true)
    #expect(transport.requests.count == 1)
  }

  @Test func `the closure of a policy may name a wss URL`() async throws {
    let transport = StubTransport(script: [.redirect(to: "/y"), .text("x")])
    let client = HTTPClient.onTestClock(transport) { $0.redirects = .ask { _ in .replace(.get("wss://b.test/z")) } }

    let response = try await Self.upgrade(client, .get("http://a.test/x"))

    #expect(response.request.url?.absoluteString == "https://b.test/z")
  }
}

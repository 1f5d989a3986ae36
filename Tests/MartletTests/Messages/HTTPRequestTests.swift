import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@Suite(.hangLimit) struct HTTPRequestTests {
  @Test func `has factories for GET, HEAD, DELETE, POST, PUT and PATCH`() {
    let requests: [HTTPRequest] = [
      .get("/a", query: ["q": 1], headers: ["X": "1"]), .head("/a", query: ["q": 1], headers: ["X": "1"]),
      .delete("/a", query: ["q": 1], headers: ["X": "1"]),
      .post("/a", query: ["q": 1], headers: ["X": "1"], body: .text("b")),
      .put("/a", query: ["q": 1], headers: ["X": "1"], body: .text("b")),
      .patch("/a", query: ["q": 1], headers: ["X": "1"], body: .text("b")),
    ]

    #expect(requests.map(\.method) == [.get, .head, .delete, .post, .put, .patch])
    #expect(requests.map(\.body) == [nil, nil, nil, .text("b"), .text("b"), .text("b")])
    #expect(requests.allSatisfy { $0.headers["x"] == "1" && $0.target == "/a" && $0.query == ["q": 1] })
    #expect(HTTPRequest(.get, "/a").method == .get)
  }

  @Test func `has value semantics`() {
    let original = HTTPRequest.post("http://example.test/", headers: ["X": "1"], body: .text("b"))
    var copy = original

    copy.headers["X"] = "2"
    let other = original.with(method: "REPORT")

    #expect(original.headers["X"] == "1")
    #expect(copy != original)
    #expect(original.method == .post)
    #expect(other.method.rawValue == "REPORT")
    #expect(other.with(method: .post) == original)
    #expect(Set([original, copy, original]).count == 2)
  }

  // N26
  @Test(
    arguments: [
      ("http://example.test/a", "http://example.test/a?q=1"),
      ("http://ada:pw@example.test/", "http://example.test/?q=1"),
      ("HTTP://Example.TEST:80/a?b=2", "http://example.test/a?b=2&q=1"), ("/a", nil), ("a", nil), ("ftp://x/", nil),
      ("example.test/a", nil),
    ] as [(String, String?)])
  func `url is absolute and without credentials, or nil`(target: String, expected: String?) {
    #expect(HTTPRequest.get(RequestTarget(target), query: ["q": 1]).url?.absoluteString == expected)
  }

  // N26
  @Test func `a relative target needs a base URL`() async throws {
    let transport = StubTransport { _ in .text("x") }

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient.onTestClock { $0.transport = transport }.get("mysite.com/api")
    }
    _ = try await HTTPClient.onTestClock {
      $0.transport = transport
      $0.baseURL = "https://example.test/v1"
    }.get("mysite.com/api")

    #expect(error.kind == .invalidRequest)
    #expect(error.message.contains("scheme") || error.message.contains("base"))
    #expect(transport.requests.map { $0.url?.absoluteString } == ["https://example.test/v1/mysite.com/api"])
  }

  @Test func `is idempotent by its method or its Idempotency-Key`() {
    #expect(HTTPRequest.put("/").isIdempotent)
    #expect(!HTTPRequest.post("/").isIdempotent)
    #expect(HTTPRequest.post("/", headers: ["idempotency-key": "1"]).isIdempotent)
    #expect(HTTPRequest.post("/", body: .text("x")).isReplayable)
    #expect(HTTPRequest.get("/").isReplayable)
  }

  @Test func `one request can be sent many times concurrently`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock { $0.transport = transport }
    let request = HTTPRequest.put("http://example.test/", body: .text("b"))

    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 { group.addTask { _ = try await client.send(request) } }
      try await group.waitForAll()
    }

    #expect(Set(transport.requests).count == 1)
    #expect(transport.requests.count == 20)
  }
}

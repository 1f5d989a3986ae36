import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct RedirectStageTests {
  /// One cell of the tables below: `GET-` means that the next request is a `GET` without the body.
  struct Cell: Sendable, CustomTestStringConvertible {
    let method: String
    let status: Int
    let isStrict: Bool
    let expected: String

    var testDescription: String { "\(method) \(status)\(isStrict ? " strict" : "") → \(expected)" }
  }

  /// RFC 9110 §15.4.
  static let cells: [Cell] =
    table(
      """
      GET     GET+     GET+     GET-   GET+     GET+
      POST    GET-     GET-     GET-   POST+    POST+
      PUT     PUT+     PUT+     GET-   PUT+     PUT+
      PATCH   PATCH+   PATCH+   GET-   PATCH+   PATCH+
      DELETE  DELETE+  DELETE+  GET-   DELETE+  DELETE+
      OPTIONS OPTIONS+ OPTIONS+ GET-   OPTIONS+ OPTIONS+
      PURGE   PURGE+   PURGE+   GET-   PURGE+   PURGE+
      """, isStrict: false)
    + table(
      """
      GET     GET+     GET+     GET-   GET+     GET+
      POST    POST+    POST+    GET-   POST+    POST+
      PUT     PUT+     PUT+     GET-   PUT+     PUT+
      PATCH   PATCH+   PATCH+   GET-   PATCH+   PATCH+
      DELETE  DELETE+  DELETE+  GET-   DELETE+  DELETE+
      """, isStrict: true)

  private static func table(_ text: String, isStrict: Bool) -> [Cell] {
    text.split(separator: "\n").flatMap { line in
      let words = line.split(separator: " ").map(String.init)
      return zip([301, 302, 303, 307, 308], words.dropFirst()).map {
        Cell(method: words[0], status: $0, isStrict: isStrict, expected: $1)
      }
    }
  }

  @Test(arguments: cells) func `status and policy determine the method and the body of the next request`(cell: Cell)
    async throws
  {
    let transport = StubTransport(script: [.redirect(to: "/b", status: HTTPStatus(rawValue: cell.status)), .text("x")])
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.redirects = cell.isStrict ? .strictMethods : .follow
    }
    let asked = HTTPRequest(
      HTTPMethod(cell.method), "http://example.test/a",
      headers: [
        "content-language": "en", "Content-Disposition": "inline", "Content-Range": "bytes 0-3/4", "Digest": "d",
        "X-Kept": "1",
      ],
      body: .text("body"))

    _ = try await client.send(asked)

    let next = try #require(transport.requests.dropFirst().first)
    let keepsBody = cell.expected.hasSuffix("+")
    #expect(next.method.rawValue + (next.body == nil ? "-" : "+") == cell.expected)
    #expect(next.headers["X-Kept"] == "1")
    #expect(next.headers.contains("Content-Type") == keepsBody)
    #expect(next.headers.contains { $0.name.lowercased().hasPrefix("content-") } == keepsBody)
    #expect(next.headers.contains("Digest") == keepsBody)
    #expect(next.body == (keepsBody ? .text("body") : nil))
  }

  @Test(arguments: [301, 302, 303, 307, 308], [false, true])
  func `a HEAD request stays a HEAD request`(status: Int, isStrict: Bool) async throws {
    let transport = StubTransport(script: [.redirect(to: "/b", status: HTTPStatus(rawValue: status)), .text("x")])
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.redirects = isStrict ? .strictMethods : .follow
    }

    _ = try await client.head("http://example.test/a")

    #expect(transport.requests.map(\.method) == [.head, .head])
  }

  @Test(arguments: [307, 308]) func `sends a file body again`(status: Int) async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let file = try folder.write(Data("contents".utf8), to: "file")
    let transport = StubTransport(script: [.redirect(to: "/b", status: HTTPStatus(rawValue: status)), .text("x")])
    let client = HTTPClient.onTestClock { $0.transport = transport }

    _ = try await client.put("http://example.test/a", body: .file(file))

    #expect(transport.requests.map(\.body) == [.file(file), .file(file)])
  }

  @Test func `fails if a body file was deleted before it is sent again`() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let file = try folder.write(Data("contents".utf8), to: "file")
    let transport = StubTransport { _ in
      try FileManager.default.removeItem(at: file)
      return .redirect(to: "/b", status: 307)
    }
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let error = try await #require(throws: HTTPError.self) {
      try await client.put("http://example.test/a", body: .file(file))
    }

    #expect(error.kind == .fileFailed)
    #expect(transport.requests.count == 1)
  }

  /// RFC 3986 §5, from `http://example.test/a/b?x=1#top`.
  @Test(arguments: [
    ("/c", "http://example.test/c#top"),
    ("c", "http://example.test/a/c#top"),
    ("../c", "http://example.test/c#top"),
    ("../../../c", "http://example.test/c#top"),
    ("./", "http://example.test/a/#top"),
    ("?y=2", "http://example.test/a/b?y=2#top"),
    ("#end", "http://example.test/a/b?x=1#end"),
    ("/c#end", "http://example.test/c#end"),
    ("/c/%2e%2e/d", "http://example.test/d#top"),
    ("//other.test/c", "http://other.test/c#top"),
    ("//other.test", "http://other.test/#top"),
    ("//other.test:8080?q", "http://other.test:8080/?q#top"),
    ("http://other.test/c?d#end", "http://other.test/c?d#end"),
    ("HTTP://OTHER.TEST:80/C", "http://other.test/C#top"),
    ("https://example.test/c", "https://example.test/c#top"),
    ("c d/ä", "http://example.test/a/c%20d/%C3%A4#top"),
  ]) func `resolves Location against the URL of the request`(location: String, expected: String) async throws {
    let transport = StubTransport(script: [.redirect(to: location), .text("x")])
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let response = try await client.get("http://example.test/a/b?x=1#top")

    #expect(response.url.absoluteString == expected)
    #expect(response.redirects.map(\.to.absoluteString) == [expected])
    #expect(response.request.url?.absoluteString == "http://example.test/a/b?x=1#top")
  }

  @Test(arguments: [
    "ftp://example.test/x", "file:///etc/passwd", "gopher://example.test/", "dict://example.test/", "unix:///run/x",
    "data:text/plain,x", "javascript:alert(1)", "mailto:a@example.test", "ws://example.test/", "http:", "http:///x",
    "http://", "https:example.test", "http://exa mple.test/", "http://example.test:0/", "http://example.test:99999/",
    "http://example.test:80x/", "http://[::1/", "//", "/a\u{0}b", "/a\r\nX: y", "/\u{7F}",
  ]) func `rejects other schemes and malformed Location values`(location: String) async throws {
    let transport = StubTransport(script: [
      .status(302, headers: ["Location": location], body: Data("moved".utf8)), .text("x"),
    ])
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/a") }

    #expect(error.kind == .redirectRefused)
    #expect(error.response?.status == 302)
    #expect(error.response?.text == "moved")
    #expect(!error.description.contains("\n") && !error.description.contains("\r"))
    #expect(transport.requests.count == 1)
  }

  @Test func `rejects a Location longer than 64 KiB`() async throws {
    let transport = StubTransport(script: [
      .redirect(to: "/" + String(repeating: "a", count: 64 << 10)), .text("x"),
    ])
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/a") }

    #expect(error.kind == .redirectRefused)
    #expect(error.description.utf8.count < 1000)
  }

  @Test(arguments: [300, 304, 305, 306, 399, 200, 201])
  func `does not follow Location if the status is not a redirect`(status: Int) async throws {
    let transport = StubTransport { _ in .redirect(to: "/b", status: HTTPStatus(rawValue: status)) }
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let response = try await client.get("http://example.test/a")

    #expect(response.status.rawValue == status)
    #expect(response.redirects.isEmpty)
    #expect(transport.requests.count == 1)
  }

  @Test func `rejects different Location fields, and accepts equal ones`() async throws {
    let transport = StubTransport { request in
      switch request.url?.path {
      case "/equal": .status(302, headers: ["Location": "/b", "location": "/b"])
      case "/different": .status(302, headers: ["Location": "/b", "location": "//evil.test/"])
      case "/empty": .status(302, headers: ["Location": "/b", "location": ""])
      case "/emptyFirst": .status(302, headers: ["Location": "", "location": "/b"])
      default: .text("there")
      }
    }
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let response = try await client.get("http://example.test/equal")
    let errors = [
      await #expect(throws: HTTPError.self) { try await client.get("http://example.test/different") },
      await #expect(throws: HTTPError.self) { try await client.get("http://example.test/empty") },
      await #expect(throws: HTTPError.self) { try await client.get("http://example.test/emptyFirst") },
    ]

    #expect(response.text == "there")
    for error in errors {
      #expect(error?.kind == .redirectRefused)
      #expect(error?.message == "the redirect (302) was not followed: it has Location fields with different values")
      #expect(error?.status == .found)
    }
    #expect(transport.requests.count == 5)
  }

  @Test(arguments: [301, 302, 303, 307, 308], [[:], ["Location": ""]] as [HTTPHeaders])
  func `returns a redirect without Location with its whole body`(status: Int, headers: HTTPHeaders) async throws {
    let body = Data(repeating: 65, count: 200_000)
    let client = HTTPClient.onTestClock {
      $0.transport = .stub { _ in .status(HTTPStatus(rawValue: status), headers: headers, body: body) }
    }

    let response = try await client.get("http://example.test/a")

    #expect(response.status.rawValue == status)
    #expect(response.body.count == body.count)
  }

  @Test(arguments: [301, 302, 303, 307, 308]) func `returns the redirect response if redirects are off`(status: Int)
    async throws
  {
    let transport = StubTransport { _ in .redirect(to: "file:///etc/passwd", status: HTTPStatus(rawValue: status)) }
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.redirects = .off
    }

    let response = try await client.get("http://example.test/a")

    #expect(response.status.rawValue == status)
    #expect(response.headers["Location"] == "file:///etc/passwd")
    #expect(transport.requests.count == 1)
  }

  /// Redirects `/0` to `/1` and so on; the last path responds with a text.
  private static func chain(_ count: Int) -> StubTransport {
    StubTransport { request in
      let number = Int(request.url?.path().dropFirst() ?? "") ?? 0
      return number < count ? .redirect(to: "/\(number + 1)") : .text("end")
    }
  }

  @Test func `follows ten redirects and lists them`() async throws {
    let transport = Self.chain(10)
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let response = try await client.get("http://example.test/0")

    #expect(response.text == "end")
    #expect(response.url.path() == "/10")
    #expect(response.redirects.map { $0.from.path() } == (0..<10).map { "/\($0)" })
    #expect(response.redirects.map { $0.to.path() } == (1...10).map { "/\($0)" })
    #expect(response.redirects.allSatisfy { $0.status == 302 && $0.method == .get })
  }

  @Test(arguments: [(RedirectPolicy.follow, 10), (.follow(upTo: 3), 3), (.follow(upTo: 0), 0)])
  func `fails after the maximum number of redirects`(policy: RedirectPolicy, limit: Int) async throws {
    let transport = Self.chain(limit + 1)
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.redirects = policy
    }

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/0") }

    #expect(error.kind == .tooManyRedirects)
    #expect(error.response?.status == 302)
    #expect(error.response?.redirects.count == limit)
    #expect(error.url?.path() == "/\(limit)")
    #expect(transport.requests.count == limit + 1)
  }

  @Test func `rejects a negative maximum of redirects`() async throws {
    let transport = Self.chain(0)
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let error = try await #require(throws: HTTPError.self) {
      try await client.get("http://example.test/0", options: .redirects(.follow(upTo: -1)))
    }

    #expect(error.kind == .invalidRequest)
    #expect(transport.requests.isEmpty)
  }

  @Test(arguments: ["/a", "/b"]) func `ends a redirect loop at the maximum`(other: String) async throws {
    let transport = StubTransport { $0.url?.path() == "/a" ? .redirect(to: other) : .redirect(to: "/a") }
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/a") }

    #expect(error.kind == .tooManyRedirects)
    #expect(error.message == "the redirect (302) was not followed: the maximum of 10 is reached")
    #expect(error.response?.redirects.count == 10)
    #expect(transport.requests.count == 11)
  }

  @Test func `follows a redirect back to the same URL`() async throws {
    let transport = StubTransport { request in
      if request.headers["Cookie"] == "pass=1" { return .text("in") }
      return .status(.found, headers: ["Location": "/gate", "Set-Cookie": "pass=1"])
    }
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let response = try await client.get("http://example.test/gate")

    #expect(response.text == "in" && response.redirects.count == 1)
  }

  @Test func `follows a 303 from a POST to the same URL`() async throws {
    let transport = StubTransport { $0.method == .post ? .redirect(to: "/form", status: 303) : .text("done") }
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let response = try await client.post("http://example.test/form", body: .form(["a": "b"]))

    #expect(response.text == "done")
  }

  @Test func `rejects a downgrade to http unless allowed`() async throws {
    let transport = StubTransport {
      $0.url?.scheme == "https" ? .redirect(to: "http://example.test/b") : .text("plain")
    }
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let error = try await #require(throws: HTTPError.self) { try await client.get("https://example.test/a") }
    let refused = transport.requests.count
    let response = try await client.get(
      "https://example.test/a", headers: ["Authorization": "secret"],
      options: .redirects(.follow(upTo: 10, allowingDowngrade: true)))

    #expect(error.kind == .redirectRefused)
    #expect(error.response?.headers["Location"] == "http://example.test/b")
    #expect(refused == 1)
    #expect(response.text == "plain")
    #expect(!response.finalRequest.headers.contains("Authorization"))
  }

  @Test(arguments: ["/b", "http://other.test/b"])
  func `drops the caller's Host field after a redirect`(location: String) async throws {
    let transport = StubTransport(script: [.redirect(to: location), .text("x")])
    let client = HTTPClient.onTestClock { $0.transport = transport }

    _ = try await client.get("http://example.test/a", headers: ["host": "virtual.test"])

    #expect(transport.requests.map { $0.headers["Host"] } == ["virtual.test", nil])
  }

  @Test func `counts attempts separately for each hop`() async throws {
    let transport = StubTransport(script: [
      .failure(HTTPError(.connectionLost, "lost")), .redirect(to: "/b"),
      .failure(HTTPError(.connectionLost, "lost")), .text("x"),
    ])
    let client = HTTPClient.onTestClock { $0.transport = transport }

    let response = try await client.get("http://example.test/a")

    #expect(response.attempts.map(\.number) == [1, 2])
    #expect(response.redirects.count == 1)
    #expect(transport.requests.map { $0.url?.path() } == ["/a", "/a", "/b", "/b"])
  }

  @Test func `the total limit covers the whole redirect chain`() async throws {
    let clock = TestClock(advancing: .manually)
    let transport = StubTransport { request in
      await clock.wait(forSleepers: 1)
      clock.advance(by: .seconds(4))
      // The third response is too late, so it is never sent.
      if clock.now.offset >= .seconds(10) { try await untilCancelled() }
      return .redirect(to: "\(request.url?.path() ?? "")x")
    }
    let client = HTTPClient {
      $0.transport = transport
      $0.clock = clock
      $0.timeout = TimeoutPolicy(connect: nil, idle: nil, total: .seconds(10))
    }

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/a") }

    #expect(error.kind == .timedOut)
    #expect(error.elapsed == .seconds(12))
    #expect(transport.requests.count == 3)
  }
}

import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// A rejected request sends no bytes.
@Suite(.hangLimit) struct RequestGateTests {
  /// The place where a request is changed.
  enum Way: CaseIterable, Sendable { case request, client, middleware, exchangeMiddleware, redirect }

  /// Sends a request with a change and returns whether the transport received it.
  private static func passes(
    _ way: Way = .request, _ change: @escaping @Sendable (inout HTTPRequest) -> Void
  ) async -> Bool {
    let plain = HTTPRequest.get("http://example.test/a")
    var changed = plain
    change(&changed)
    let transport = StubTransport { [way] request in
      way == .redirect && request.url?.path() == "/first" ? .redirect(to: "/next") : .text("x")
    }
    let client = HTTPClient.onTestClock { [changed] in
      $0.transport = transport
      switch way {
      case .client: $0.headers = changed.headers
      case .middleware: $0.middleware = [.changing(change)]
      case .exchangeMiddleware: $0.exchangeMiddleware = [.changing(change)]
      case .redirect: $0.redirects = .ask { _ in .replace(changed) }
      case .request: break
      }
    }
    let before = way == .redirect ? 1 : 0
    do {
      let asked = way == .redirect ? HTTPRequest.get("http://example.test/first") : plain
      _ = try await client.send(way == .request ? changed : asked)
      return transport.requests.count > before
    } catch {
      #expect((error as? HTTPError)?.kind == .invalidRequest)
      #expect((error as? HTTPError)?.description.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } == true)
      #expect(transport.requests.count == before)
      #expect(client.core.entryCount == 0)
      return false
    }
  }

  private static let scalars = (0..<256).filter { Stress.isOn || $0 <= 0x80 || $0 == 0xFF }
    .compactMap { Unicode.Scalar(UInt32($0)) }
  private static let tokenOctets = Set(
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".unicodeScalars)

  @Test(arguments: Way.allCases) func `checks every octet of a header name`(way: Way) async {
    for scalar in Self.scalars {
      for name in ["X\(scalar)Y", "\(scalar)X", "X\(scalar)"] {
        let passes = await Self.passes(way) { $0.headers.append("v", for: name) }
        #expect(passes == Self.tokenOctets.contains(scalar), "\(scalar.value)")
      }
    }
    #expect(await !Self.passes(way) { $0.headers.append("v", for: "") })
    #expect(await !Self.passes(way) { $0.headers.append("v", for: "X-A\r\nX-B") })
  }

  @Test(arguments: Way.allCases) func `checks every octet of a header value`(way: Way) async {
    for scalar in Self.scalars {
      let isLegal = scalar == "\t" || (scalar.value >= 0x20 && scalar.value != 0x7F)
      for value in ["a\(scalar)b", "\(scalar)a", "a\(scalar)"] {
        let passes = await Self.passes(way) { $0.headers["X-A"] = value }
        #expect(passes == isLegal, "\(scalar.value)")
      }
    }
    #expect(await !Self.passes(way) { $0.headers["X-A"] = "1\r\nX-B: 2" })
    #expect(await Self.passes(way) { $0.headers["X-A"] = "" })
  }

  @Test(arguments: [Way.request, .middleware, .exchangeMiddleware, .redirect])
  func `checks every octet of a method`(way: Way) async {
    for scalar in Self.scalars {
      let passes = await Self.passes(way) { $0.method = HTTPMethod("A\(scalar)B") }
      #expect(passes == Self.tokenOctets.contains(scalar), "\(scalar.value)")
    }
    for method in ["", " ", "GET ", "GET / HTTP/1.1\r\nX:", "CONNECT"] {
      #expect(await !Self.passes(way) { $0.method = HTTPMethod(method) })
    }
  }

  @Test(arguments: [Way.request, .middleware, .exchangeMiddleware, .redirect], ["/a", "/a?q=", "/a#f", ""])
  func `checks every octet of a URL`(way: Way, place: String) async {
    for scalar in Self.scalars where !place.isEmpty || scalar.value < 0x20 || scalar.value == 0x7F {
      let isControl = scalar.value < 0x20 || scalar.value == 0x7F
      let text = place.isEmpty ? "http://exam\(scalar)ple.test/" : "http://example.test\(place)\(scalar)b"
      let passes = await Self.passes(way) { $0.target = RequestTarget(text) }
      #expect(passes == !isControl, "\(scalar.value)")
    }
    #expect(await !Self.passes(way) { $0.target = "http://example.test/a HTTP/1.1\r\nX-B: 2" })
  }

  @Test func `sends only printable ASCII in a target`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock { $0.transport = transport }

    for scalar in Self.scalars {
      let text = String(scalar)
      _ = try? await client.get("http://example.test/\(text)x", query: ["q": text, text: "v"])
    }

    #expect(transport.requests.count == Self.scalars.count)
    for request in transport.requests {
      let url = try #require(request.url?.absoluteString)
      #expect(url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
    }
  }

  @Test func `checks the user agent, the base URL and the body's content type`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let agent = HTTPClient.onTestClock {
      $0.transport = transport
      $0.userAgent = "a\r\nX-B: 2"
    }
    let base = HTTPClient.onTestClock {
      $0.transport = transport
      $0.baseURL = "http://example.test/a\r\nX-B: 2"
    }

    let errors = [
      try await #require(throws: HTTPError.self) { try await agent.get("http://example.test/") },
      try await #require(throws: HTTPError.self) { try await base.get("/b") },
      try await #require(throws: HTTPError.self) {
        try await HTTPClient.onTestClock { $0.transport = transport }.post(
          "http://example.test/", body: .data(Data(), contentType: "a/b\r\nX-B: 2"))
      },
    ]

    #expect(errors.map(\.kind) == [.invalidRequest, .invalidRequest, .invalidRequest])
    #expect(transport.requests.isEmpty)
  }

  @Test(
    arguments: [
      "Content-Length", "content-length", "CONTENT-LENGTH", "Transfer-Encoding", "Connection", "TE", "te", "Trailer",
      "Upgrade", "Keep-Alive", "Proxy-Connection",
    ], Way.allCases) func `rejects framing and connection fields`(name: String, way: Way) async
  {
    #expect(await !Self.passes(way) { $0.headers[name] = "1" })
  }

  @Test(arguments: Way.allCases) func `accepts one Host field, but not two`(way: Way) async {
    #expect(await Self.passes(way) { $0.headers["Host"] = "virtual.test" })
    #expect(
      await !Self.passes(way) {
        $0.headers.append("a.test", for: "Host")
        $0.headers.append("b.test", for: "host")
      })
  }

  // MARK: Bodies

  @Test(arguments: Way.allCases.filter { $0 != .client })
  func `fails before connecting if a body file cannot be read`(way: Way) async throws {
    let folder = FileManager.default.temporaryDirectory
    let missing = folder.appending(path: "missing-\(UUID().uuidString)")
    let transport = StubTransport { request in
      request.url?.path() == "/a" && way == .redirect ? .redirect(to: "/b") : .text("x")
    }
    for file in [missing, folder] {
      let change: @Sendable (inout HTTPRequest) -> Void = { $0.body = .file(file) }
      let client = HTTPClient.onTestClock {
        $0.transport = transport
        switch way {
        case .middleware: $0.middleware = [.changing(change)]
        case .exchangeMiddleware: $0.exchangeMiddleware = [.changing(change)]
        case .redirect:
          $0.redirects = .ask {
            .replace(.put("http://example.test/b", headers: $0.request.headers, body: .file(file)))
          }
        case .request, .client: break
        }
      }
      let error = try await #require(throws: HTTPError.self) {
        try await client.put("http://example.test/a", body: way == .request ? .file(file) : nil)
      }
      #expect(error.kind == .fileFailed)
      #expect(error.message.contains(file.lastPathComponent))
      #expect(error.description.contains("PUT http://example.test/"))
    }
    #expect(transport.requests.count == (way == .redirect ? 2 : 0))
  }

  @Test func `rejects a body file with a remote URL`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let remote = try #require(URL(string: "http://example.test/file"))

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient.onTestClock { $0.transport = transport }.put("http://example.test/", body: .file(remote))
    }

    #expect(error.kind == .invalidRequest)
    #expect(transport.requests.isEmpty)
  }

  @Test func `rejects a body that cannot be encoded`() async throws {
    let transport = StubTransport { _ in .text("x") }

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient.onTestClock { $0.transport = transport }.post(
        "http://example.test/", body: .json(Double.nan))
    }

    #expect(error.kind == .invalidRequest)
    #expect(transport.requests.isEmpty)
  }

  @Test func `follows a symbolic link to a body file`() async throws {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    let file = try folder.write(Data("12345".utf8), to: "body")
    let link = folder.url.appending(path: "link")
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
    let transport = StubTransport { _ in .text("x") }

    _ = try await HTTPClient.onTestClock { $0.transport = transport }.put("http://example.test/", body: .file(link))

    #expect(transport.requests.first?.body?.length == 5)
    try FileManager.default.removeItem(at: file)
    #expect(HTTPBody.file(link).length == nil)
  }

  // MARK: Defaults and targets

  @Test(arguments: [Way.request, .middleware, .exchangeMiddleware])
  func `rejects a HEAD request with a body`(way: Way) async {
    #expect(await Self.passes(way) { $0.method = .head })
    #expect(await Self.passes(way) { ($0.method, $0.body) = (.post, .text("t")) })
    #expect(await !Self.passes(way) { ($0.method, $0.body) = (.head, .text("t")) })
    #expect(await !Self.passes(way) { ($0.method, $0.body) = (.head, .data(Data())) })
  }

  @Test func `combines default fields, request fields and the body's Content-Type`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.headers = ["accept": "text/plain", "X-A": "client", "X-B": "client"]
    }

    _ = try await client.post("http://example.test/", headers: ["x-a": "request"], body: .json(1))
    _ = try await client.post("http://example.test/", headers: ["content-type": "own/type"], body: .json(1))

    let first = try #require(transport.requests.first?.headers)
    #expect(first[all: "Accept"] == ["text/plain"])
    #expect(first[all: "X-A"] == ["request"])
    #expect(first[all: "X-B"] == ["client"])
    #expect(first[all: "User-Agent"] == ["Martlet/\(HTTPClient.Configuration.version)"])
    #expect(first[all: "Content-Type"] == ["application/json"])
    #expect(transport.requests.last?.headers[all: "Content-Type"] == ["own/type"])
  }

  @Test(arguments: [
    ("/x", true), ("x", true), ("https://a.test/x", true), ("https://A.TEST:443/x", true), ("https://b.test/x", false),
    ("http://a.test/x", false), ("https://a.test:8443/x", false), ("https://a.test@b.test/x", false),
  ]) func `sends default credential fields only to the origin of the base URL`(target: String, isKept: Bool)
    async throws
  {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.baseURL = "https://a.test/api"
      $0.headers = ["authorization": "secret", "Cookie": "secret", "Proxy-Authorization": "secret"]
    }

    _ = try await client.get(RequestTarget(target))

    let values = transport.requests.first?.headers.map(\.value) ?? []
    #expect(values.count { $0 == "secret" } == (isKept ? 3 : 0))
  }

  @Test(arguments: ["//b.test/x", "\\\\b.test\\x", "/\\b.test", "b.test:80/x"])
  func `does not let a relative reference change the host`(target: String) async {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.baseURL = "https://a.test/api"
    }

    _ = try? await client.get(RequestTarget(target))

    #expect(transport.requests.allSatisfy { $0.url?.host() == "a.test" })
  }

  @Test func `resolves a target changed by middleware`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.baseURL = "https://a.test/api"
      $0.middleware = [
        .changing {
          $0.target = "/other"
          $0.query = ["q": "1"]
        }
      ]
    }

    let response = try await client.get("/x")

    #expect(transport.requests.first?.url?.absoluteString == "https://a.test/api/other?q=1")
    #expect(response.finalRequest.url == transport.requests.first?.url)
    #expect(response.finalRequest.headers == transport.requests.first?.headers)
    #expect(response.request.url?.absoluteString == "https://a.test/api/x")
  }
}

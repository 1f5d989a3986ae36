import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// `QUERY` in the cache, in redirects and in retries (RFC 10008).
@Suite(.hangLimit) struct QueryMethodTests {
  private static func transport(_ headers: HTTPHeaders = ["Cache-Control": "max-age=60"]) -> StubTransport {
    let count = Shared(0)
    return StubTransport { request in
      let number = count.withLock { count in
        count += 1
        return count
      }
      if request.headers.contains("If-None-Match") { return .status(304, headers: headers) }
      return .text("\(request.method) \(number)", headers: headers)
    }
  }

  private static func request(
    _ body: HTTPBody?, _ headers: HTTPHeaders = [:], _ target: RequestTarget = "http://a.test/x"
  ) -> HTTPRequest {
    HTTPRequest(.query, target, headers: headers, body: body)
  }

  @Test func `serves a stored response for the same content only`() async throws {
    let transport = Self.transport()
    let client = HTTPClient.onTestClock(transport)
    let requests = [
      Self.request(.text("a")), Self.request(.text("b")), Self.request(nil),
      Self.request(.text("a"), ["Content-Language": "de"]),
      Self.request(.data(Data("a".utf8), contentType: "application/sql")),
      Self.request(.text("a"), [:], "http://a.test/y"), .get("http://a.test/x"),
    ]

    var first: [HTTPResponse] = []
    for request in requests { first.append(try await client.send(request)) }
    var second: [HTTPResponse] = []
    for request in requests { second.append(try await client.send(request)) }

    #expect(first.allSatisfy { $0.source == .network })
    #expect(second.allSatisfy { $0.source == .cache })
    #expect(second.map(\.text) == first.map(\.text))
    #expect(transport.requests.count == requests.count)
  }

  @Test func `a change of the URL invalidates its responses`() async throws {
    let transport = Self.transport()
    let client = HTTPClient.onTestClock(transport)

    try await client.send(Self.request(.text("a")))
    try await client.post("http://a.test/x", body: .text("change"))
    let second = try await client.send(Self.request(.text("a")))

    #expect(second.source == .network)
  }

  @Test func `revalidates a stale response with its content`() async throws {
    let day = Day()
    let transport = Self.transport(["Cache-Control": "max-age=60", "ETag": "\"1\"", "Date": day.text])
    let client = HTTPClient.onTestClock(transport, .now(day))

    try await client.send(Self.request(.text("a")))
    day.pass(100)
    let second = try await client.send(Self.request(.text("a")))

    #expect(second.source == .revalidated && second.text == "QUERY 1")
    #expect(transport.requests.map { $0.headers.contains("If-None-Match") } == [false, true])
    #expect(transport.requests.allSatisfy { $0.method == .query })
  }

  @Test func `sends a streamed, a large or a ranged query each time`() async throws {
    let transport = Self.transport()
    let client = HTTPClient.onTestClock(transport)

    for request in Self.uncached {
      for _ in 0..<2 { #expect(try await client.send(request).source == .network) }
    }

    #expect(transport.requests.count == Self.uncached.count * 2)
  }

  @Test func `a query that is not cached fails if only stored responses are allowed`() async throws {
    let transport = Self.transport()
    let client = HTTPClient.onTestClock(transport) { $0.accepts = .any }

    for var request in Self.uncached {
      let error = await #expect(throws: HTTPError.self) {
        try await client.send(request, options: .cache(.onlyCached))
      }
      request.headers["Cache-Control"] = "only-if-cached"
      let response = try await client.send(request)
      #expect(error?.kind == .notCached && response.status == .gatewayTimeout)
    }

    #expect(transport.requests.isEmpty)
  }

  /// Queries that are too large, even if compression makes them small; that are streamed; and for a range.
  private static var uncached: [HTTPRequest] {
    let large = HTTPBody.data(Data(repeating: 7, count: CacheContent.maximumBytes + 1))
    let stream = HTTPBody.stream { AsyncStream<Data> { $0.finish() } }
    return [large, large.gzipped(), stream].map { request($0) } + [request(.text("a"), ["Range": "bytes=0-1"])]
  }

  @Test func `keeps responses of the same content apart by Vary and by credentials`() async throws {
    let transport = Self.transport(["Cache-Control": "max-age=60", "Vary": "Accept"])
    let client = HTTPClient.onTestClock(transport)
    let requests = [
      Self.request(.text("a"), ["Accept": "text/plain"]), Self.request(.text("a"), ["Accept": "text/html"]),
      Self.request(.text("a"), ["Accept": "text/plain", "Authorization": "Bearer x"]),
    ]

    for request in requests { #expect(try await client.send(request).source == .network) }
    for request in requests { #expect(try await client.send(request).source == .cache) }
  }

  @Test func `a disk cache keeps the responses for another client`() async throws {
    let folder = try TemporaryFolder()
    let transport = Self.transport()
    for expected in [HTTPResponse.Source.network, .cache] {
      let client = HTTPClient.onTestClock(transport) { $0.cache = .disk(folder.url.appending(path: "c")) }
      #expect(try await client.send(Self.request(.text("a"))).source == expected)
    }
  }

  @Test(arguments: [(301, "QUERY"), (302, "QUERY"), (303, "GET"), (307, "QUERY"), (308, "QUERY")])
  func `follows a redirect`(status: Int, method: String) async throws {
    let transport = StubTransport(script: [.redirect(to: "/y", status: HTTPStatus(rawValue: status)), .text("done")])
    let client = HTTPClient.onTestClock(transport)

    try await client.send(Self.request(.text("a")))

    let last = try #require(transport.requests.last)
    #expect(last.method.rawValue == method)
    #expect(try await last.body?.bytes() == (method == "QUERY" ? Data("a".utf8) : nil))
  }

  @Test func `is repeated like other idempotent requests`() async throws {
    let transport = StubTransport(failing: 1, with: .connectionLost, then: .text("done"))
    let client = HTTPClient.onTestClock(transport) { $0.retry = .backoff() }

    let response = try await client.send(Self.request(.text("a")))

    #expect(response.text == "done" && response.attempts.count == 2)
  }
}

import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Every cache policy and option, with a real server: rows S93 to S113 of the feature list.
@Suite(.hangLimit) struct CacheRowsTests {
  let day = Day()

  /// Returns a server that responds with the number of requests so far, or with 304 if the entity tag matches.
  func server(_ control: String = "max-age=60", tag: String? = "\"1\"") throws -> MockServer {
    let count = Shared(0)
    return try MockServer(answering: { request in
      let number = count.withLock { count in
        count += 1
        return count
      }
      if let tag, request.header("If-None-Match") == tag {
        return .status(304, headers: ["Cache-Control": control, "ETag": tag, "X-Count": "\(number)"])
      }
      return .ok("body \(number)", headers: ["Cache-Control": control, tag == nil ? "X-None" : "ETag": tag ?? ""])
    })
  }

  @Test func `S93 the cache is in memory by default, and can be replaced or turned off`() async throws {
    let server = try server()
    defer { server.stop() }
    let shared = ResponseCache.memory(bytes: 1 << 20)
    let (usual, none) = (HTTPClient(.now(day), .retry(.off)), HTTPClient(.now(day), .retry(.off)) { $0.cache = .off })
    let (one, two) = (
      HTTPClient(.now(day), .retry(.off)) { $0.cache = shared },
      HTTPClient(.now(day), .retry(.off)) { $0.cache = shared }
    )

    for client in [usual, none, one] {
      #expect(try await client.get("\(raw: server.url)/x").source == .network)
    }
    #expect(try await usual.get("\(raw: server.url)/x").source == .cache)
    #expect(try await none.get("\(raw: server.url)/x").source == .network)
    #expect(try await two.get("\(raw: server.url)/x").source == .cache)
    // By default, each client has its own cache.
    #expect(try await HTTPClient(.now(day), .retry(.off)).get("\(raw: server.url)/x").source == .network)
    // A derived client shares the cache.
    #expect(try await usual.derived { $0.headers["X"] = "1" }.get("\(raw: server.url)/x").source == .cache)
  }

  @Test func `S96 a request's cache policy overrides the client's`() async throws {
    let server = try server()
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off)) { $0.options.cache = .off }

    for _ in 0..<2 { #expect(try await client.get("\(raw: server.url)/x").source == .network) }
    _ = try await client.get("\(raw: server.url)/x", options: .cache(.standard))
    #expect(try await client.get("\(raw: server.url)/x", options: .cache(.standard)).source == .cache)
    #expect(try await client.get("\(raw: server.url)/x").source == .network)
  }

  @Test func `S97 neverRead contacts the server and stores the response`() async throws {
    let server = try server()
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off))

    _ = try await client.get("\(raw: server.url)/x")
    let second = try await client.get("\(raw: server.url)/x", options: .cache(.neverRead))
    let third = try await client.get("\(raw: server.url)/x")

    #expect(second.source == .network && second.text == "body 2")
    #expect(third.source == .cache && third.text == "body 2")
  }

  @Test func `S98 neverWrite reads the cache without changing it`() async throws {
    let server = try server()
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off))

    _ = try await client.get("\(raw: server.url)/other", options: .cache([.neverWrite]))
    #expect(try await client.cache.usage.records == 0)
    _ = try await client.get("\(raw: server.url)/x")
    #expect(try await client.get("\(raw: server.url)/x", options: .cache([.neverWrite])).source == .cache)
    day.pass(100)
    let confirmed = try await client.get("\(raw: server.url)/x", options: .cache([.neverWrite]))
    #expect(confirmed.source == .revalidated)
    // The confirmation did not refresh the stored response.
    #expect(try await client.get("\(raw: server.url)/x").source == .revalidated)
  }

  @Test func `S99 revalidateWhenStale sends If-None-Match and updates the stored fields`() async throws {
    let server = try server()
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off))

    _ = try await client.get("\(raw: server.url)/x")
    #expect(try await client.get("\(raw: server.url)/x", options: .cache(.revalidateWhenStale)).source == .cache)
    day.pass(100)
    let stale = try await client.get("\(raw: server.url)/x", options: .cache(.revalidateWhenStale))

    #expect(stale.source == .revalidated && stale.text == "body 1" && stale.headers["X-Count"] == "2")
    #expect(server.requests.count == 2 && server.requests[1].header("If-None-Match") == "\"1\"")
    #expect(try await client.get("\(raw: server.url)/x").source == .cache)
  }

  @Test func `S100 alwaysRevalidate revalidates a stored response each time`() async throws {
    let server = try server()
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off))

    for _ in 0..<3 { _ = try await client.get("\(raw: server.url)/x", options: .cache(.alwaysRevalidate)) }

    #expect(server.requests.map { $0.header("If-None-Match") } == [nil, "\"1\"", "\"1\""])
  }

  @Test func `S101 preferCached uses a stored response of any age`() async throws {
    let server = try server("max-age=1")
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off))

    #expect(try await client.get("\(raw: server.url)/x", options: .cache(.preferCached)).source == .network)
    day.pass(1e6)
    let old = try await client.get("\(raw: server.url)/x", options: .cache(.preferCached))

    #expect(old.source == .cache && old.headers["Age"] == "1000000")
    #expect(server.requests.count == 1)
  }

  @Test func `S102 onlyCached sends no request, and throws if nothing is stored`() async throws {
    let server = try server("max-age=1")
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off))

    let error = try await #require(throws: HTTPError.self) {
      try await client.get("\(raw: server.url)/x", options: .cache(.onlyCached))
    }
    #expect(error.kind == .notCached)
    #expect(server.requests.isEmpty)
    _ = try await client.get("\(raw: server.url)/x")
    day.pass(1e6)
    #expect(try await client.get("\(raw: server.url)/x", options: .cache(.onlyCached)).source == .cache)
    #expect(server.requests.count == 1)
  }

  @Test(arguments: ["refused", "reset", "silent", "503"])
  func `S103 fallbackOnError serves the stored response after all attempts fail, with the reason`(how: String)
    async throws
  {
    let isBroken = Shared(false)
    let server = try MockServer(answering: { _ in
      guard isBroken.withLock({ $0 }) else { return .ok("x", headers: ["Cache-Control": "max-age=1"]) }
      switch how {
      case "reset": return .raw("")
      case "silent": return .hang
      default: return .status(503)
      }
    })
    defer { server.stop() }
    let limit = how == "silent" ? Duration.milliseconds(200) : nil
    let options = RequestOptions.cache([.revalidateWhenStale, .fallbackOnError])
      .retry(.backoff(attempts: 2, initialDelay: .milliseconds(1), maximumDelay: .milliseconds(2)))
    let client = HTTPClient(.now(day), .retry(.off))
    let url = "\(server.url)/x"

    _ = try await client.get("\(raw: url)", options: options)
    day.pass(100)
    isBroken.withLock { $0 = true }
    let held = how == "refused" ? server.stopAndHoldPort() : nil
    defer { withExtendedLifetime(held) {} }
    let response = try await client.get("\(raw: url)", options: options.timeout(idle: limit))

    #expect(response.source == .fallback && response.text == "x" && response.status == .ok)
    let reason = try #require(response.fallbackReason)
    switch how {
    case "silent": #expect(reason.kind == .timedOut)
    case "503": #expect(reason.kind == .status && reason.message.hasPrefix("503"))
    default: #expect(reason.isConnectivity)
    }
    if how == "503" { #expect(server.requests.count == 3) }
    // Without the policy, the request fails.
    await #expect(throws: HTTPError.self) {
      try await client.get("\(raw: url)", options: .timeout(idle: limit))
    }
  }

  @Test func `S103 a 404 or a cancellation causes no fallback`() async throws {
    let state = Shared(0)
    let server = try MockServer(answering: { _ in
      switch state.withLock({ $0 }) {
      case 0: .ok("x", headers: ["Cache-Control": "max-age=1"])
      case 1: .status(404)
      default: .hang
      }
    })
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off)) { $0.options.cache = [.revalidateWhenStale, .fallbackOnError] }
    let url = "\(server.url)/x"

    _ = try await client.get("\(raw: url)")
    day.pass(100)
    state.withLock { $0 = 1 }
    let error = try await #require(throws: HTTPError.self) { try await client.get("\(raw: url)") }
    #expect(error.status == .notFound)
    state.withLock { $0 = 2 }
    let task = Task { try await client.get("\(raw: url)") }
    let hasArrived = await server.waitForRequests(3)
    #expect(hasArrived)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `S105 and S106 session and permanent responses are stored and removed separately`() async throws {
    let server = try server()
    defer { server.stop() }
    // The two storages are separate, as in a cache on disk.
    let (lasting, session) = (MemoryStorage(limit: 1 << 20), MemoryStorage(limit: 1 << 20))
    let first = HTTPClient(.now(day), .retry(.off)) { $0.cache = ResponseCache(permanent: lasting, session: session) }

    _ = try await first.get("\(raw: server.url)/session", options: .cacheStorage(.session))
    _ = try await first.get("\(raw: server.url)/permanent", options: .cacheStorage(.permanent))
    // Simulates the next run of the program.
    let second = HTTPClient(.now(day), .retry(.off)) {
      $0.cache = ResponseCache(permanent: lasting, session: MemoryStorage(limit: 1 << 20))
    }
    #expect(try await second.get("\(raw: server.url)/session", options: .cache([.neverWrite])).source == .network)
    #expect(try await second.get("\(raw: server.url)/permanent").source == .cache)

    try await first.cache.removeAll(.session)
    #expect(try await first.get("\(raw: server.url)/session", options: .cache([.neverWrite])).source == .network)
    #expect(try await first.get("\(raw: server.url)/permanent").source == .cache)
    try await first.cache.removeAll(.permanent)
    #expect(try await first.get("\(raw: server.url)/permanent").source == .network)
  }

  @Test func `S106 responses are removed by URL and by a closure`() async throws {
    let server = try server()
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off))

    for path in ["a", "b", "c"] { _ = try await client.get("\(raw: server.url)/\(raw: path)") }
    #expect(try await client.cache.usage.records == 3)
    try await client.cache.remove("\(server.url)/a")
    try await client.cache.remove { $0.url.path() == "/b" && $0.status == .ok && $0.bodyBytes == 6 }

    #expect(try await client.cache.responses.map { $0.url.path() } == ["/c"])
    #expect(try await client.cache.responses.first?.expires == day.now + 60)
    try await client.cache.removeAll()
    #expect(try await client.cache.usage == ResponseCache.Usage(bytes: 0, records: 0))
    await #expect(throws: HTTPError.self) { try await client.cache.remove("no url") }
  }

  @Test func `S107 a no-store response is stored only with ignoreServerDirectives`() async throws {
    let server = try server("no-store", tag: nil)
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off))

    _ = try await client.get("\(raw: server.url)/x")
    #expect(try await client.cache.usage.records == 0)
    _ = try await client.get("\(raw: server.url)/x", options: .cache([.ignoreServerDirectives]))
    #expect(try await client.get("\(raw: server.url)/x", options: .cache(.preferCached)).source == .cache)
  }

  @Test func `S108 cacheFor sets how long a response is fresh`() async throws {
    let server = try server("no-cache, max-age=1", tag: nil)
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off))
    let options = RequestOptions.cacheFor(.seconds(2_592_000)).cache([.ignoreServerDirectives])

    _ = try await client.get("\(raw: server.url)/x", options: options)
    day.pass(2_591_999)
    #expect(try await client.get("\(raw: server.url)/x", options: options).source == .cache)
    day.pass(2)
    #expect(try await client.get("\(raw: server.url)/x", options: options).source == .network)
  }

  @Test func `S109 the source is network, cache, revalidated or fallback`() async throws {
    let server = try server()
    let client = HTTPClient(.now(day), .retry(.off)) { $0.options.cache = [.revalidateWhenStale, .fallbackOnError] }
    let url = "\(server.url)/x"

    var sources = [try await client.get("\(raw: url)").source, try await client.get("\(raw: url)").source]
    day.pass(100)
    sources.append(try await client.get("\(raw: url)").source)
    day.pass(100)
    let held = server.stopAndHoldPort()
    sources.append(try await client.get("\(raw: url)").source)
    withExtendedLifetime(held) {}

    #expect(sources == [.network, .cache, .revalidated, .fallback])
  }

  @Test func `S110 a large body is stored in its own file, which can be hard-linked`() async throws {
    let server = try MockServer(answering: { _ in
      .data(Data(repeating: 7, count: 3 << 20), headers: ["Cache-Control": "max-age=60"])
    })
    defer { server.stop() }
    let folder = try TemporaryFolder()
    let cache = ResponseCache.disk(URL(filePath: folder.path("cache")))
    let client = HTTPClient(.now(day), .retry(.off)) { $0.cache = cache }
    let copy = folder.path("copy")

    let first = try await client.get("\(raw: server.url)/x")
    let second = try await client.get("\(raw: server.url)/x")
    let file = try #require(second.bodyFile)

    #expect(first.bodyFile == nil && second.source == .cache && second.body == first.body)
    try FileManager.default.linkItem(atPath: file.path(percentEncoded: false), toPath: copy)
    func number(_ path: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    }
    #expect(try number(copy) == number(file.path(percentEncoded: false)))
    try await client.cache.removeAll()
    #expect(try Data(contentsOf: URL(filePath: copy)) == first.body)
    #expect(try await client.get("\(raw: server.url)/x").source == .network)
    // A short response is returned in memory, without a body file.
    let small = try await client.get("\(raw: server.url)/x", headers: ["Range": "bytes=0-9"])
    #expect(small.source == .cache && small.bodyFile == nil && small.body.count == 10)
  }

  @Test func `S112 the cache key includes the path and the query, and ignores the fragment`() async throws {
    let server = try server()
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off))

    for path in ["/a", "/a/", "/a?x=1", "/a?x=2"] {
      #expect(try await client.get("\(raw: server.url)\(raw: path)").source == .network, "\(path)")
    }
    #expect(try await client.get("\(raw: server.url)/a#f").source == .cache)
  }

  @Test func `S113 ignores s-maxage, prefers max-age to Expires, and obeys stale-if-error`() async throws {
    let isBroken = Shared(false)
    let server = try MockServer(answering: { request in
      if isBroken.withLock({ $0 }) { return .status(502) }
      return .ok(
        "x",
        headers: [
          "Cache-Control": request.path == "/s" ? "s-maxage=60" : "max-age=60, stale-if-error=60",
          "Expires": "Thu, 01 Jan 1970 00:00:00 GMT",
        ])
    })
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off))

    for _ in 0..<2 { #expect(try await client.get("\(raw: server.url)/s").source == .network) }
    _ = try await client.get("\(raw: server.url)/x")
    #expect(try await client.get("\(raw: server.url)/x").source == .cache)
    isBroken.withLock { $0 = true }
    day.pass(100)
    #expect(try await client.get("\(raw: server.url)/x").source == .fallback)
    day.pass(100)
    let error = try await #require(throws: HTTPError.self) { try await client.get("\(raw: server.url)/x") }
    #expect(error.status == .badGateway)
  }

  @Test func `a compressed body is stored decoded`() async throws {
    // The text "hello hello hello hello", compressed with gzip.
    let bytes = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJV8hAJwHjUT2NFwAAAA=="))
    let server = try MockServer(answering: { _ in
      .data(bytes, headers: ["Content-Encoding": "gzip", "Cache-Control": "max-age=60", "Vary": "Accept-Encoding"])
    })
    defer { server.stop() }
    let client = HTTPClient(.now(day), .retry(.off))

    let first = try await client.get("\(raw: server.url)/x")
    let second = try await client.get("\(raw: server.url)/x")

    #expect(first.text == "hello hello hello hello" && second.text == first.text)
    #expect(second.source == .cache && !second.headers.contains("Content-Encoding"))
  }
}

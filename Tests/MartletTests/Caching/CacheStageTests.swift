import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// The cache in the pipeline, with a stub transport and a date that the test controls.
@Suite(.hangLimit) struct CacheStageTests {
  let day = Day()

  /// Responds with a numbered body and the given fields; with 304 if `confirms` is set and the tag is still `"1"`.
  func transport(
    _ headers: HTTPHeaders, status: HTTPStatus = .ok, confirms: Bool = false,
    body: @escaping @Sendable (Int) -> String = { "body \($0)" }
  ) -> StubTransport {
    let count = Shared(0)
    return StubTransport { [day] request in
      let number = count.withLock { count in
        count += 1
        return count
      }
      var fields = headers
      fields["Date"] = day.text
      fields["X-Count"] = "\(number)"
      if confirms, request.headers.contains("If-None-Match") || request.headers.contains("If-Modified-Since") {
        return .status(.notModified, headers: fields)
      }
      return .status(status, headers: fields, body: Data(body(number).utf8))
    }
  }

  // MARK: RFC 9111

  @Test func `serves a fresh response with its Age and without a request`() async throws {
    let transport = transport(["Cache-Control": "max-age=60"])
    let client = HTTPClient.onTestClock(transport, .now(day))

    let first = try await client.get("http://a.test/x")
    day.pass(10)
    let second = try await client.get("http://a.test/x")

    #expect(first.source == .network && first.headers["Age"] == nil)
    #expect(first.cacheExplanation == "nothing is stored")
    #expect(second.source == .cache && second.headers["Age"] == "10")
    #expect(second.cacheExplanation == "the stored response is fresh")
    #expect(second.text == "body 1" && second.status == .ok)
    #expect(second.request.url == first.request.url)
    #expect(transport.requests.count == 1)
  }

  @Test func `a revalidated response does not retain its client`() async throws {
    let transport = transport(["Cache-Control": "max-age=60", "ETag": "\"1\""], confirms: true)
    let isGone = Shared(false)
    var client: HTTPClient? = HTTPClient.onTestClock(transport, .now(day)) {
      [day, signal = ReleaseSignal { isGone.withLock { $0 = true } }] in
      $0.now = {
        _ = signal
        return day.now
      }
    }
    weak let core = client?.core

    _ = try await client?.get("http://a.test/x")
    day.pass(100)
    let second = try await client?.get("http://a.test/x")
    client = nil

    #expect(second?.source == .revalidated)
    await isGone.wait { $0 }
    #expect(core == nil)
  }

  @Test func `revalidates a stale response, and a 304 makes it fresh again`() async throws {
    let transport = transport(
      ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Last-Modified": day.text], confirms: true)
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/x")
    day.pass(100)
    let second = try await client.get("http://a.test/x")
    day.pass(10)
    let third = try await client.get("http://a.test/x")

    #expect(transport.requests.count == 2)
    #expect(transport.requests[1].headers["If-None-Match"] == "\"1\"")
    #expect(transport.requests[1].headers["If-Modified-Since"] != nil)
    #expect(second.source == .revalidated && second.status == .ok && second.text == "body 1")
    #expect(second.headers["X-Count"] == "2")
    // Fields that the cache added are not part of the caller's request.
    #expect(!second.finalRequest.headers.contains("If-None-Match"))
    #expect(third.source == .cache && third.headers["X-Count"] == "2" && third.headers["Age"] == "10")
  }

  @Test func `a newer response replaces the stored one`() async throws {
    let transport = transport(["Cache-Control": "max-age=60", "ETag": "\"1\""])
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/x")
    day.pass(100)
    let second = try await client.get("http://a.test/x")
    let third = try await client.get("http://a.test/x")

    #expect(second.source == .network && second.text == "body 2")
    #expect(second.cacheExplanation == "the server sent a new response")
    #expect(third.source == .cache && third.text == "body 2")
  }

  @Test func `does not store no-store responses, or stale ones without a validator`() async throws {
    for control in ["no-store", "max-age=0"] {
      let transport = transport(["Cache-Control": control])
      let client = HTTPClient.onTestClock(transport, .now(day))

      for _ in 0..<2 { #expect(try await client.get("http://a.test/x").source == .network) }

      #expect(try await client.cache.usage.records == 0)
      #expect(transport.requests.count == 2)
    }
  }

  @Test func `stores several variants of one URL`() async throws {
    let transport = transport(["Cache-Control": "max-age=60", "Vary": "Foo"])
    let client = HTTPClient.onTestClock(transport, .now(day))

    for foo in ["1", "2", "1", "2", "3"] { _ = try await client.get("http://a.test/x", headers: ["Foo": foo]) }
    _ = try await client.get("http://a.test/x")
    let last = try await client.get("http://a.test/x", headers: ["foo": "2"])

    #expect(transport.requests.count == 4)
    #expect(last.text == "body 2")
  }

  @Test(arguments: [("/a", "/a/"), ("/a?x=1", "/a?x=2"), ("/a", "/A"), ("/a", "/a?")])
  func `does not share responses between different URLs`(first: String, second: String) async throws {
    let transport = transport(["Cache-Control": "max-age=60"])
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("\(raw: "http://a.test" + first)")
    _ = try await client.get("\(raw: "http://a.test" + second)")

    #expect(transport.requests.count == 2)
  }

  @Test func `ignores the fragment and equivalent spellings of a URL`() async throws {
    let transport = transport(["Cache-Control": "max-age=60"])
    let client = HTTPClient.onTestClock(transport, .now(day))

    for url in ["http://a.test/x#1", "HTTP://A.test:80/x", "http://a.test/./x#2"] {
      _ = try await client.get("\(raw: url)")
    }

    #expect(transport.requests.count == 1)
  }

  @Test(arguments: [
    (HTTPMethod.post, 200, true), (.put, 204, true), (.delete, 200, true), (.patch, 303, true), ("M-SEARCH", 200, true),
    (.post, 404, false), (.put, 500, false), (.options, 200, false),
  ]) func `a successful unsafe method invalidates the responses of its URL and Location`(
    method: HTTPMethod, status: Int, isRemoved: Bool
  )
    async throws
  {
    let transport = StubTransport { request in
      request.method == .get
        ? .status(.ok, headers: ["Cache-Control": "max-age=60"])
        : .status(HTTPStatus(rawValue: status), headers: ["Location": "/other"])
    }
    let client = HTTPClient.onTestClock(transport, .now(day))

    for path in ["x", "other", "third"] { _ = try await client.get("http://a.test/\(path)") }
    _ = try? await client.send(HTTPRequest(method, "http://a.test/x"), options: .redirects(.off).accepts(.any))
    let sources = try await [
      client.get("http://a.test/x").source, client.get("http://a.test/other").source,
      client.get("http://a.test/third").source,
    ]

    #expect(sources == (isRemoved ? [.network, .network, .cache] : [.cache, .cache, .cache]))
  }

  @Test func `a Location at another origin does not invalidate responses`() async throws {
    let transport = StubTransport { request in
      request.method == .get
        ? .status(.ok, headers: ["Cache-Control": "max-age=60"])
        : .status(.created, headers: ["Location": "http://b.test/x"])
    }
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://b.test/x")
    _ = try await client.post("http://a.test/x")

    #expect(try await client.get("http://b.test/x").source == .cache)
  }

  @Test func `serves HEAD from a stored GET response, and HEAD freshens it`() async throws {
    let transport = transport(["Cache-Control": "max-age=60", "ETag": "\"1\""])
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/x")
    let head = try await client.head("http://a.test/x")
    #expect(head.source == .cache && head.body.isEmpty && head.headers["X-Count"] == "1")
    day.pass(100)
    _ = try await client.head("http://a.test/x")
    let renewed = try await client.get("http://a.test/x")

    #expect(renewed.source == .cache && renewed.headers["X-Count"] == "2" && renewed.text == "body 1")
  }

  @Test func `stores each hop of a redirect separately`() async throws {
    let transport = StubTransport { request in
      request.url?.path() == "/a"
        ? .status(.found, headers: ["Location": "/b", "Cache-Control": "max-age=60"])
        : .status(.ok, headers: ["Cache-Control": "max-age=5"])
    }
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/a")
    day.pass(10)
    let second = try await client.get("http://a.test/a")

    #expect(transport.requests.map { $0.url?.path() } == ["/a", "/b", "/b"])
    #expect(second.redirects.count == 1 && second.source == .network)
  }

  @Test func `serves ranges, and stores and completes partial responses`() async throws {
    let text = "0123456789"
    let transport = StubTransport { request in
      let fields: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\""]
      guard let range = ByteRange(request.headers[all: "Range"]), let bytes = range.bytes(of: 10) else {
        return .status(.ok, headers: fields, body: Data(text.utf8))
      }
      let part = text.utf8.dropFirst(Int(bytes.lowerBound)).prefix(Int(bytes.upperBound - bytes.lowerBound) + 1)
      return .status(
        .partialContent,
        headers: fields.replacing(with: ["Content-Range": "bytes \(bytes.lowerBound)-\(bytes.upperBound)/10"]),
        body: Data(part))
    }
    let client = HTTPClient.onTestClock(transport, .now(day))

    let part = try await client.get("http://a.test/x", headers: ["Range": "bytes=0-4"])
    let inside = try await client.get("http://a.test/x", headers: ["Range": "bytes=1-2"])
    let whole = try await client.get("http://a.test/x")
    let tail = try await client.get("http://a.test/x", headers: ["Range": "bytes=-3"])
    let again = try await client.get("http://a.test/x")

    #expect(part.source == .network && inside.source == .cache)
    #expect(inside.status == .partialContent && inside.text == "12")
    #expect(inside.headers["Content-Range"] == "bytes 1-2/10" && inside.headers["Content-Length"] == "2")
    #expect(whole.status == .ok && whole.text == text && !whole.headers.contains("Content-Range"))
    #expect(tail.source == .cache && tail.text == "789" && tail.status == .partialContent)
    #expect(again.source == .cache && again.text == text)
    #expect(transport.requests.map { $0.headers["Range"] } == ["bytes=0-4", "bytes=5-"])
    #expect(transport.requests[1].headers["If-Range"] == "\"1\"")
  }

  @Test func `answers the caller's If-None-Match with 304 from a fresh response`() async throws {
    let transport = transport(["Cache-Control": "max-age=60", "ETag": "\"1\""])
    let client = HTTPClient.onTestClock(transport, .now(day)) { $0.accepts = .any }

    _ = try await client.get("http://a.test/x")
    let same = try await client.get("http://a.test/x", headers: ["If-None-Match": "\"0\", W/\"1\""])
    let other = try await client.get("http://a.test/x", headers: ["If-None-Match": "\"2\""])

    #expect(same.status == .notModified && same.body.isEmpty && same.source == .cache)
    #expect(other.status == .ok && other.text == "body 1")
    #expect(transport.requests.count == 1)
  }

  @Test func `only-if-cached without a stored response returns 504`() async throws {
    let transport = transport([:])
    let client = HTTPClient.onTestClock(transport, .now(day)) { $0.accepts = .any }

    let response = try await client.get("http://a.test/x", headers: ["Cache-Control": "only-if-cached"])

    #expect(response.status == .gatewayTimeout && response.source == .cache)
    #expect(transport.requests.isEmpty)
  }

  @Test func `does not store an incomplete body`() async throws {
    struct Broken: Error {}
    let isBroken = Shared(true)
    let transport = StubTransport { _ in
      let fields: HTTPHeaders = ["Cache-Control": "max-age=60", "Content-Length": "4"]
      let pieces = Shared<[Data]>([Data("ab".utf8), Data("cd".utf8)])
      return .streamed(headers: fields) {
        let next = pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if next == Data("cd".utf8), isBroken.withLock({ $0 }) { throw HTTPError(.connectionLost, "gone") }
        return next
      }
    }
    let client = HTTPClient.onTestClock(transport, .now(day)) { $0.retry = .off }

    await #expect(throws: HTTPError.self) { try await client.get("http://a.test/x") }
    #expect(try await client.cache.usage.records == 0)
    // A stream that is only partly read is not stored either.
    isBroken.withLock { $0 = false }
    _ = try await client.stream(.get("http://a.test/x")) { response in
      for try await _ in response.body { break }
    }
    #expect(try await client.cache.usage.records == 0)
    _ = try await client.stream(.get("http://a.test/x")) { try await $0.body.collect(upTo: 10) }
    #expect(try await client.get("http://a.test/x").source == .cache)
  }

  @Test func `does not store a body whose length differs from Content-Length`() async throws {
    let transport = transport(["Cache-Control": "max-age=60", "Content-Length": "999"])
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/x")

    #expect(try await client.cache.usage.records == 0)
  }

  // MARK: Isolation

  @Test func `serves a stored response only to requests with the same identity`() async throws {
    let transport = transport(["Cache-Control": "max-age=60"])
    let client = HTTPClient.onTestClock(transport, .now(day))
    func source(_ options: RequestOptions = RequestOptions(), _ headers: HTTPHeaders = [:]) async throws
      -> HTTPResponse.Source
    {
      try await client.get("http://a.test/x", headers: headers, options: options).source
    }
    let one = Credential.user("u", password: "1", isPreemptive: true)
    let two = Credential.user("u", password: "2", isPreemptive: true)

    #expect(try await source() == .network)
    #expect(try await source(.credential(one)) == .network)
    #expect(try await source(.credential(two)) == .network)
    #expect(try await source(.credential(.token("t"))) == .network)
    #expect(try await source(RequestOptions(), ["Authorization": "Bearer x"]) == .network)
    #expect(try await source(RequestOptions(), ["Cookie": "sid=1"]) == .network)
    #expect(try await source(RequestOptions(), ["X-Api-Key": "1"]) == .network)
    #expect(try await source(.cookies(.jar(CookieJar()))) == .network)
    #expect(try await source(.cachePartition("p")) == .network)
    let all = transport.requests.count

    #expect(try await source() == .cache)
    #expect(try await source(.credential(one)) == .cache)
    #expect(try await source(.credential(two)) == .cache)
    #expect(try await source(.credential(.token("t"))) == .cache)
    #expect(try await source(RequestOptions(), ["Authorization": "Bearer x"]) == .cache)
    #expect(try await source(RequestOptions(), ["Cookie": "sid=1"]) == .cache)
    #expect(try await source(RequestOptions(), ["Cookie": "sid=2"]) == .network)
    #expect(try await source(RequestOptions(), ["X-Api-Key": "1"]) == .cache)
    #expect(try await source(.cachePartition("p")) == .cache)
    #expect(try await source(.cookies(.jar(CookieJar()))) == .network)
    #expect(transport.requests.count == all + 2)
  }

  /// A partition named after another partition and its request fields must not get the same key.
  @Test func `no partition name gives access to another partition's responses`() async throws {
    let transport = StubTransport { request in
      var headers: HTTPHeaders = ["Cache-Control": "max-age=60"]
      if request.headers.contains("Accept-Language") { headers["Vary"] = "Accept-Language" }
      return .text("x", headers: headers)
    }
    let client = HTTPClient.onTestClock(transport, .now(day))
    func source(_ partition: String) async throws -> HTTPResponse.Source {
      try await client.get(
        "http://a.test/x", headers: ["Accept-Language": "de"], options: .cachePartition(partition)
      ).source
    }
    // Afterward, a response that depends on no request field can be stored.
    _ = try await client.get("http://a.test/x", options: .cachePartition("y"))

    #expect(try await source("x") == .network)
    for name in ["x\naccept-language:2:de", "1:x", "x\n", "", "-"] {
      #expect(try await source(name) == .network, "\(name)")
    }
    #expect(try await source("x") == .cache)
  }

  @Test func `the default Authorization field of a client separates stored responses`() async throws {
    let transport = transport(["Cache-Control": "max-age=60"])
    let shared = ResponseCache.memory()
    func client(_ token: String) -> HTTPClient {
      HTTPClient.onTestClock(transport, .now(day)) {
        $0.cache = shared
        $0.headers["Authorization"] = "Bearer \(token)"
      }
    }

    #expect(try await client("a").get("http://a.test/x").source == .network)
    #expect(try await client("b").get("http://a.test/x").source == .network)
    #expect(try await client("a").get("http://a.test/x").source == .cache)
  }

  @Test func `tolerates a record with a wrong length`() async throws {
    let shelf = MemoryStorage(limit: 1 << 20)
    var entry = FreshnessTests.entry(["Cache-Control": "max-age=60"])
    for (length, part) in [(Int64(100), nil), (3, "bytes 5-2/9"), (3, "bytes 5-9/20")] {
      (entry.bodyLength, entry.status) = (length, part == nil ? 200 : 206)
      entry.headers["Content-Range"] = part
      shelf.store(CacheRecord(entry: entry, body: .data(Data("abc".utf8))), CacheKey(url: "http://a.test/x"))
      let transport = transport([:])
      let client = HTTPClient.onTestClock(transport, .now(day)) {
        $0.cache = ResponseCache(permanent: shelf, session: shelf)
      }

      let response = try await client.get(
        "http://a.test/x", headers: ["Range": "bytes=50-60"], options: .accepts(.any))

      #expect(response.body.isEmpty || response.source == .network)
    }
  }

  @Test func `stored records contain no credentials`() async throws {
    let transport = transport(["Cache-Control": "max-age=60"])
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://u:secret@a.test/x", headers: ["X-Api-Key": "secret"])

    let contents = try await client.cache.session.contents()
    #expect(!contents.isEmpty)
    for (key, record) in contents { #expect(!"\(key)\(record)".contains("secret")) }
  }

  @Test func `writes no response with cookies or credentials to permanent storage`() async throws {
    let (lasting, session) = (MemoryStorage(limit: 1 << 20), MemoryStorage(limit: 1 << 20))
    let cache = ResponseCache(permanent: lasting, session: session)
    let transport = StubTransport { request in
      var fields: HTTPHeaders = ["Cache-Control": "max-age=60"]
      switch request.url?.path() {
      case "/sets": fields["Set-Cookie"] = "sid=secret; Path=/cookie"
      case "/cookie": fields["Vary"] = "Cookie"
      default: break
      }
      return .text("x", headers: fields)
    }
    let client = HTTPClient.onTestClock(transport, .now(day)) { $0.cache = cache }

    for path in ["sets", "cookie", "plain"] { _ = try await client.get("http://a.test/\(path)") }
    for path in ["sets", "cookie", "plain"] {
      #expect(try await client.get("http://a.test/\(path)").source == .cache, "\(path)")
    }
    _ = try await client.get("http://a.test/credential", options: .credential(.token("secret")))

    let written = try await (lasting as any CacheStorage).contents()
    #expect(written.map(\.key.url) == ["http://a.test/plain"])
    #expect(!"\(written)".contains("secret"))
  }

  @Test func `does not set the cookies of a stored response again`() async throws {
    let count = Shared(0)
    let transport = StubTransport { request in
      let number = count.withLock { count in
        count += 1
        return count
      }
      let fields: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\""]
      switch number {
      case 1: return .text("x", headers: fields.replacing(with: ["Set-Cookie": "sid=old"]))
      case 2: return .status(.notModified, headers: fields)
      default: return .status(.notModified, headers: fields.replacing(with: ["Set-Cookie": "sid=new"]))
      }
    }
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/x")
    await client.cookies.removeAll()
    _ = try await client.get("http://a.test/x")
    day.pass(100)
    let confirmed = try await client.get("http://a.test/x")
    #expect(confirmed.source == .revalidated && confirmed.cookies.isEmpty)
    #expect(await client.cookies.all.isEmpty)
    day.pass(100)
    _ = try await client.get("http://a.test/x")

    #expect(await client.cookies.all.map(\.value) == ["new"])
  }

  @Test func `signing out clears the session storage`() async throws {
    let transport = transport(["Cache-Control": "max-age=60"])
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/x")
    try await client.signOut()

    #expect(try await client.get("http://a.test/x").source == .network)
  }
}

extension Day {
  var text: String { HTTPDate(now).description }
}

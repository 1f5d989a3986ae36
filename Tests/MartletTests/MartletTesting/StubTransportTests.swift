import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@Suite(.hangLimit) struct StubTransportTests {
  private static let settings: ClientSetting = [.retry(.off), .accepts(.any)]

  @Test func `responds from its closure and records the requests`() async throws {
    let transport = StubTransport { request in .text("asked \(request.method) \(request.url?.path() ?? "")") }

    let response = try await HTTPClient.stubbed(transport, Self.settings).get("http://example.test/user")

    #expect(response.text == "asked GET /user")
    #expect(response.status == .ok)
    #expect(transport.requests.map { $0.url?.absoluteString } == ["http://example.test/user"])
    #expect(transport.requests.first?.headers["User-Agent"]?.hasPrefix("Martlet/") == true)
  }

  @Test func `recorded requests have the query of the target and the call`() async throws {
    let asked = Log<Query>()
    let transport = StubTransport { request in
      asked.add(request.query)
      return .text("ok")
    }
    let client = HTTPClient.stubbed(transport, Self.settings)

    let response = try await client.get("/search?page=2#top", query: ["q": "a b&c", "tag": ["x", "y"]])
    _ = try await client.get("/search?q=a:b+c", query: ["page": 1])
    _ = try await client.get("/search?")

    let first = try #require(transport.requests.first)
    #expect(first.query == ["page": 2, "q": "a b&c", "tag": ["x", "y"]])
    #expect("\(first.target)" == "http://example.test/search")
    #expect(first.url == response.request.url && response.url.query() == "page=2&q=a%20b%26c&tag=x&tag=y")
    #expect(transport.requests.map { $0.url?.query() } == [response.url.query(), "q=a:b+c&page=1", ""])
    #expect(asked.elements == [first.query, ["q": "a:b c", "page": 1], [:]])
    #expect(transport.requests.map(\.query) == asked.elements)
  }

  @Test(arguments: ["q=a:b+c", "%71=%61", "a&&b=", "=", "a=%zz"])
  func `a query is sent unchanged until its items are modified`(text: String) async throws {
    let transport = StubTransport { _ in .text("ok") }
    _ = try await HTTPClient.stubbed(transport, Self.settings).get(RequestTarget(text: "/search?\(text)"))
    var request = try #require(transport.requests.first)
    let url = request.url

    _ = try await HTTPClient.stubbed(transport, Self.settings).send(request)
    request.query.append("page", 2)

    #expect(transport.requests.map(\.url) == [url, url])
    #expect(transport.requests.allSatisfy { $0.query == Query(parsing: text) })
    #expect(request.url?.query() == (Query(parsing: text) + ["page": 2]).encoded)
  }

  @Test func `passes the context to its closure`() async throws {
    let transport = StubTransport(withContext: { _, context in
      .text("\(context.attempt) \(context.options.tag ?? "")")
    })

    let response = try await HTTPClient.stubbed(transport, Self.settings).get(
      "http://example.test/", options: .tag("mine"))

    #expect(response.text == "1 mine")
  }

  @Test func `plays a script and repeats its last response`() async throws {
    let transport = StubTransport(script: [.text("one"), .status(404), .text("three")])
    let client = HTTPClient.stubbed(transport, Self.settings)

    var texts: [String] = []
    for _ in 0..<4 { texts.append(try await client.get("http://example.test/").text) }

    #expect(texts == ["one", "", "three", "three"])
    #expect(transport.requests.count == 4)
  }

  @Test func `responds with 500 if the script is empty`() async throws {
    let response = try await HTTPClient.stubbed(StubTransport(script: []), Self.settings).get("http://example.test/")

    #expect(response.status == 500)
  }

  @Test func `fails a given number of times before it responds`() async throws {
    let transport = StubTransport(failing: 2, with: .connectionLost, then: .text("at last"))
    let client = HTTPClient.stubbed(transport, Self.settings)

    for _ in 0..<2 {
      let error = await #expect(throws: HTTPError.self) { try await client.get("http://example.test/") }
      #expect(error?.kind == .connectionLost)
    }

    #expect(try await client.get("http://example.test/").text == "at last")
  }

  @Test(arguments: [0, -1]) func `responds at once if the number of failures is not positive`(count: Int) async throws {
    let transport = StubTransport(failing: count, with: .connectionLost, then: .text("at once"))

    #expect(try await HTTPClient.stubbed(transport, Self.settings).get("http://example.test/").text == "at once")
  }

  @Test func `responds by method and path`() async throws {
    let client = HTTPClient.stubbed(
      StubTransport(routes: ["GET /a%20b": .text("got"), "POST /a%20b": .status(201)]), Self.settings)

    #expect(try await client.get("http://example.test/a%20b?c=d").text == "got")
    #expect(try await client.send(.post("http://example.test/a%20b")).status == 201)
  }

  @Test(
    arguments: [
      ([:], "there are none"), (["PUT /b": .status(201), "GET /a": .text("got")], "there are: GET /a, PUT /b"),
    ] as [([String: StubResponse], String)])
  func `the error for a missing route names the request`(routes: [String: StubResponse], text: String) async throws {
    let client = HTTPClient.stubbed(StubTransport(routes: routes), Self.settings)

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/other?q=1") }

    #expect(error.kind == .unsupported)
    #expect(error.message == "no stub route for 'GET /other'; \(text)")
  }

  @Test func `reads text, file, stream and concatenated request bodies`() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("file", to: "part")
    let transport = StubTransport { request in .text(String(decoding: try await request.bodyData(), as: UTF8.self)) }
    let client = HTTPClient.stubbed(transport, Self.settings)
    let stream = HTTPBody.stream(
      AsyncStream<Data> {
        $0.yield(Data("stream".utf8))
        $0.finish()
      })

    var texts: [String] = []
    for body in [nil, .text("text"), .file(file), stream, .concatenating([.text("a"), .file(file)])] as [HTTPBody?] {
      texts.append(try await client.send(.post("http://example.test/", body: body)).text)
    }

    #expect(texts == ["", "text", "file", "stream", "afile"])
  }

  /// A stream that yields half of its bytes, and ends without an error when its task is cancelled.
  private func half(_ isHalf: Shared<Bool>) -> HTTPBody {
    let pieces = Shared([Data("half".utf8)])
    return .stream(
      AsyncStream<Data> {
        if let piece = pieces.withLock({ $0.popLast() }) { return piece }
        isHalf.withLock { $0 = true }
        _ = try? await untilCancelled()
        return nil
      })
  }

  @Test func `does not respond to a request whose stream was cancelled halfway`() async throws {
    let transport = StubTransport { _ in .text("ok") }
    let client = HTTPClient.stubbed(transport, Self.settings)
    let isHalf = Shared(false)
    let body = half(isHalf)
    let task = Task { try await client.post("http://example.test/", body: body) }
    await isHalf.wait { $0 }

    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(transport.requests.isEmpty)
  }

  @Test func `bodyData throws if its stream was cancelled halfway`() async throws {
    let isHalf = Shared(false)
    let request = HTTPRequest.post("http://example.test/", body: half(isHalf))
    let task = Task { try await request.bodyData() }
    await isHalf.wait { $0 }

    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `reading a body beyond the limit throws`() async throws {
    let request = HTTPRequest.post("http://example.test/", body: .text("four"))

    #expect(try await request.bodyData(upTo: 4) == Data("four".utf8))
    let error = await #expect(throws: HTTPError.self) { try await request.bodyData(upTo: 3) }
    #expect(error?.kind == .bodyTooLarge)
  }

  @Test func `rethrows the errors of its closure`() async {
    struct Odd: Error {}
    let client = HTTPClient.stubbed(StubTransport { _ in throw Odd() }, Self.settings)

    await #expect(throws: Odd.self) { try await client.get("http://example.test/") }
  }

  @Test func `throws a failure of any type`() async {
    struct Odd: Error {}
    let client = HTTPClient.stubbed(StubTransport { _ in .failure(Odd()) }, Self.settings)

    await #expect(throws: Odd.self) { try await client.get("http://example.test/") }
  }

  @Test func `responds to HEAD without a body`() async throws {
    let transport = StubTransport { _ in .text("body", headers: ["X-A": "1"]) }

    let response = try await HTTPClient.stubbed(transport, Self.settings).head("http://example.test/")

    #expect(response.body.isEmpty)
    #expect(response.headers["X-A"] == "1")
  }

  @Test func `sets a default Content-Type that the caller can replace`() async throws {
    let transport = StubTransport(script: [
      .text("a"), .json("{}"), .json("{}", headers: ["content-type": "application/problem+json"]), .status(200),
    ])
    let client = HTTPClient.stubbed(transport, Self.settings)

    var types: [String?] = []
    for _ in 0..<4 { types.append(try await client.get("http://example.test/").headers["Content-Type"]) }

    #expect(types == ["text/plain; charset=utf-8", "application/json", "application/problem+json", nil])
  }

  @Test func `responds with a redirect`() async throws {
    let transport = StubTransport(routes: [
      "GET /old": .redirect(to: "/new", status: .movedPermanently), "GET /new": .text("new"),
    ])

    let response = try await HTTPClient.stubbed(transport, Self.settings).get("http://example.test/old")

    #expect(response.text == "new")
    #expect(transport.requests.count == 2)
  }

  @Test func `streams chunks until the closure returns nil`() async throws {
    let pieces = Log<Int>()
    let transport = StubTransport { _ in
      .streamed(headers: ["X-A": "1"]) {
        let count = pieces.count
        pieces.add(count)
        return count < 3 ? Data("\(count)".utf8) : nil
      }
    }

    let response = try await HTTPClient.stubbed(transport, Self.settings).get("http://example.test/")

    #expect(response.text == "012")
    #expect(response.headers["X-A"] == "1")
  }

  @Test func `an error in a streamed body reaches the caller`() async {
    let client = HTTPClient.stubbed(
      StubTransport { _ in .streamed { throw HTTPError(.connectionLost, "stubbed") } }, Self.settings)

    let error = await #expect(throws: HTTPError.self) { try await client.get("http://example.test/") }
    #expect(error?.kind == .connectionLost)
  }

  @Test func `a call can be cancelled while the closure waits`() async {
    let entered = Log<Bool>()
    let transport = StubTransport { _ in
      entered.add(true)
      try await untilCancelled()
    }
    let client = HTTPClient.stubbed(transport, Self.settings)

    let task = Task { try await client.get("http://example.test/") }
    await entered.wait(for: 1)
    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `serves several clients at once`() async throws {
    let transport = StubTransport.stub { request in .text(request.url?.path() ?? "") }
    let clients = (0..<4).map { _ in HTTPClient.stubbed(transport, Self.settings) }

    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for number in 0..<100 {
        group.addTask {
          let target = RequestTarget("http://example.test/\(number)")
          return try await clients[number % 4].get(target).text
        }
      }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }

    #expect(texts.count == 100)
    #expect(transport.requests.count == 100)
  }
}

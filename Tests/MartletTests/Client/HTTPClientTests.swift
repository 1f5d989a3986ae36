import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@Suite(.hangLimit) struct HTTPClientTests {
  struct User: Codable, Equatable, Sendable { var id: Int; var name: String }

  @Test func `decodes the JSON of a response`() async throws {
    let client = HTTPClient.stubbed(.json(#"{"id":1,"name":"Ada"}"#))

    let user = try await client.get("http://example.test/users/1", as: User.self)

    #expect(user == User(id: 1, name: "Ada"))
  }

  @Test func `sends each method with its query, body and Content-Type`() async throws {
    let transport = StubTransport { request in .text(request.method.rawValue) }
    let client = HTTPClient {
      $0.clock = TestClock()
      $0.transport = transport
      $0.baseURL = "http://example.test/api"
    }

    let texts = try await [
      client.get("/a", query: ["q": "x y"]).text, client.delete("/a").text,
      client.post("/a", body: .json([1])).text, client.put("/a", body: .text("t")).text,
      client.patch("/a", body: .form(["k": "v w"])).text,
    ]
    let head = try await client.head("/a")

    #expect(texts == ["GET", "DELETE", "POST", "PUT", "PATCH"])
    #expect(head.body.isEmpty)
    #expect(transport.requests.first?.url?.absoluteString == "http://example.test/api/a?q=x%20y")
    #expect(
      transport.requests.map { $0.headers["Content-Type"] } == [
        nil, nil, "application/json", "text/plain; charset=utf-8", "application/x-www-form-urlencoded", nil,
      ])
  }

  @Test(arguments: [200, 204, 304, 399]) func `accepts statuses below 400`(status: Int) async throws {
    let client = HTTPClient.stubbed(.status(HTTPStatus(rawValue: status)))

    let response = try await client.get("http://example.test/")

    #expect(response.status.rawValue == status)
  }

  @Test(arguments: [400, 404, 500, 599]) func `throws an error with the body for statuses from 400`(status: Int)
    async throws
  {
    let client = HTTPClient {
      $0.clock = TestClock()
      $0.transport = .stub { _ in .json(#"{"id":7,"name":"problem"}"#, status: HTTPStatus(rawValue: status)) }
    }

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/") }

    #expect(error.kind == .status)
    #expect(error.status?.rawValue == status)
    #expect(error.decoded(as: User.self) == User(id: 7, name: "problem"))
  }

  @Test func `limits the error body to maximumErrorBodyBytes`() async throws {
    let big = Data(repeating: 65, count: 1 << 20)
    let client = HTTPClient.stubbed(.status(500, body: big))

    let kept = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/") }
    let none = try await #require(throws: HTTPError.self) {
      try await client.get("http://example.test/", options: .maximumErrorBodyBytes(0))
    }

    #expect(kept.response?.body.count == 64 << 10)
    #expect(none.response?.body.isEmpty == true)
  }

  @Test func `a closure can reject a response by its body`() async throws {
    let client = HTTPClient.stubbed(.json(#"{"ok":false}"#))

    let error = try await #require(throws: HTTPError.self) {
      try await client.get("http://example.test/", options: .accepts(.when { !$0.text.contains("false") }))
    }

    #expect(error.kind == .status)
  }

  @Test func `rejects a body over the limit`() async throws {
    let client = HTTPClient.stubbed(.status(200, body: Data(count: 1001)))

    let error = try await #require(throws: HTTPError.self) {
      try await client.get("http://example.test/", options: .maximumBodyBytes(1000))
    }

    #expect(error.kind == .bodyTooLarge)
  }

  @Test func `stream does not call its closure for an error status`() async throws {
    let client = HTTPClient.stubbed(.text("no", status: 500))

    let error = try await #require(throws: HTTPError.self) {
      try await client.stream(.get("http://example.test/")) { _ in Issue.record("entered") }
    }

    #expect(error.response?.text == "no")
  }

  @Test func `streams the body chunk by chunk`() async throws {
    let pieces = Log<Int>()
    let client = HTTPClient {
      $0.clock = TestClock()
      $0.transport = .stub { _ in
        let source = Counter()
        return .streamed {
          let number = await source.next()
          return number <= 3 ? Data(repeating: 1, count: number) : nil
        }
      }
    }

    let sum = try await client.stream(.get("http://example.test/")) { response in
      var sum = 0
      for try await piece in response.body {
        pieces.add(piece.count)
        sum += piece.count
      }
      return sum
    }

    #expect(sum == 6)
    #expect(pieces.elements == [1, 2, 3])
  }

  @Test func `changes of the configuration affect later requests only`() async throws {
    let gate = Gate()
    let transport = StubTransport { request in
      if request.url?.path() == "/first" { await gate.pass() }
      return .text(request.headers["X-Version"] ?? "")
    }
    let client = HTTPClient {
      $0.clock = TestClock()
      $0.transport = transport
      $0.headers["X-Version"] = "1"
    }

    let first = client.start(.get("http://example.test/first"))
    await client.update { $0.headers["X-Version"] = "2" }
    let second = try await client.get("http://example.test/second").text
    gate.open()

    #expect(second == "2")
    #expect(try await first.value.text == "1")
  }

  @Test func `a derived client has its own policies and the same transport`() async throws {
    let transport = StubTransport { request in .text(request.headers["X-A"] ?? "none") }
    let client = HTTPClient.stubbed(transport)
    let derived = client.derived { $0.headers["X-A"] = "derived" }

    #expect(try await client.get("http://example.test/").text == "none")
    #expect(try await derived.get("http://example.test/").text == "derived")
    #expect(transport.requests.count == 2)
  }

  @Test func `rejects requests after drain`() async throws {
    let client = HTTPClient.stubbed(.text("x"))
    await client.drain()

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/") }

    #expect(error.kind == .clientClosed)
  }

  @Test func `drain waits for running requests and cancels them after its timeout`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = HTTPClient.stubbed(StubTransport { _ in try await untilCancelled() }, clock: clock) {
      $0.timeout = .unlimited
    }
    let handle = client.start(.get("/"))

    let draining = Task { await client.drain(timeout: .seconds(50)) }
    await clock.waitForSleepers(1)
    #expect(handle.isAlive)
    clock.advance(by: .seconds(50))
    await draining.value

    await #expect(throws: CancellationError.self) { try await handle.value }
    #expect(client.activity.current.totals.cancelled == 1)
  }

  @Test func `drain with a timeout cancels requests at once in a cancelled task`() async throws {
    let client = HTTPClient.stubbed(
      StubTransport { _ in try await untilCancelled() }, clock: TestClock(advancing: .manually)
    ) { $0.timeout = .unlimited }
    let handle = client.start(.get("/"))

    let gate = Gate()
    let draining = Task {
      // The gate also opens when its task is cancelled.
      await gate.pass()
      await client.drain(timeout: .seconds(50))
    }
    draining.cancel()
    await draining.value

    await #expect(throws: CancellationError.self) { try await handle.value }
  }
}

actor Counter {
  private var count = 0
  func next() -> Int {
    count += 1
    return count
  }
}

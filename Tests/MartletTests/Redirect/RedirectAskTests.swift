import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Redirects on which the program decides.
@Suite(.hangLimit) struct RedirectAskTests {
  private static func client(
    _ transport: StubTransport, allowingDowngrade: Bool = false,
    _ decide: @escaping @Sendable (RedirectPolicy.Hop) async throws -> RedirectPolicy.Decision
  ) -> HTTPClient {
    HTTPClient.onTestClock {
      $0.transport = transport
      $0.redirects = .ask(decide)
      $0.redirects.allowsDowngrade = allowingDowngrade
    }
  }

  @Test func `calls the closure with each hop, and follows it`() async throws {
    let hops = Log<RedirectPolicy.Hop>()
    let transport = StubTransport(script: [.redirect(to: "/b", status: 303), .redirect(to: "/c"), .text("x")])
    let client = Self.client(transport) {
      hops.add($0)
      return .follow
    }

    let response = try await client.post("http://example.test/a", body: .text("t"))

    #expect(response.text == "x")
    #expect(hops.elements.map(\.count) == [0, 1])
    #expect(hops.elements.map(\.status) == [303, 302])
    #expect(hops.elements.map { $0.headers["Location"] } == ["/b", "/c"])
    #expect(hops.elements.map(\.request.method) == [.post, .get])
    #expect(hops.elements.map(\.next.method) == [.get, .get])
    #expect(hops.elements.map { $0.next.url?.path() } == ["/b", "/c"])
  }

  @Test func `returns the redirect with its whole body when stopped`() async throws {
    let body = Data(repeating: 65, count: 200_000)
    let transport = StubTransport { _ in .status(302, headers: ["Location": "/b"], body: body) }
    let client = Self.client(transport) { _ in .stop }

    let response = try await client.get("http://example.test/a")

    #expect(response.status == 302)
    #expect(response.body.count == body.count)
    #expect(response.redirects.isEmpty)
    #expect(transport.requests.count == 1)
  }

  @Test func `sends a replacement instead of the redirect`() async throws {
    let transport = StubTransport(script: [.redirect(to: "/b"), .text("x")])
    let client = Self.client(transport) { _ in .replace(.put("http://example.test/c", body: .text("t"))) }

    let response = try await client.get("http://example.test/a")

    #expect(transport.requests.last?.method == .put)
    #expect(transport.requests.last?.body == .text("t"))
    #expect(response.redirects.map(\.to.absoluteString) == ["http://example.test/c"])
  }

  @Test func `a replacement for another origin drops inherited credentials, and keeps new ones`() async throws {
    let transport = StubTransport(script: [.redirect(to: "/b"), .text("x")])
    let client = Self.client(transport) { hop in
      var request = hop.request
      request.target = "http://other.test/c"
      request.headers["Cookie"] = "new=1"
      return .replace(request)
    }

    _ = try await client.get(
      "http://example.test/a",
      headers: [
        "Authorization": "old", "Cookie": "old=1", "Proxy-Authorization": "old", "Host": "old.test", "X-A": "1",
      ])

    let next = try #require(transport.requests.last)
    #expect(next.headers["Authorization"] == nil)
    #expect(next.headers["Proxy-Authorization"] == nil)
    #expect(next.headers["Host"] == nil)
    #expect(next.headers[all: "Cookie"] == ["new=1"])
    #expect(next.headers["X-A"] == "1")
  }

  @Test func `a replacement for the same origin keeps its credentials`() async throws {
    let transport = StubTransport(script: [.redirect(to: "http://other.test/"), .text("x")])
    let client = Self.client(transport) { hop in
      var request = hop.request
      request.target = "http://example.test/c"
      return .replace(request)
    }

    _ = try await client.get("http://example.test/a", headers: ["Authorization": "kept"])

    #expect(transport.requests.last?.headers["Authorization"] == "kept")
  }

  @Test func `validates a replacement like any request`() async throws {
    let transport = StubTransport(script: [.redirect(to: "/b"), .text("x")])
    let client = Self.client(transport) { _ in .replace(.get("http://example.test/", headers: ["X-A": "1\r\nX-B: 2"])) }

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/a") }

    #expect(error.kind == .invalidRequest)
    #expect(transport.requests.count == 1)
  }

  @Test(arguments: [false, true]) func `a replacement may downgrade to http only if allowed`(isAllowed: Bool)
    async throws
  {
    let transport = StubTransport(script: [.redirect(to: "/b"), .text("x")])
    let client = Self.client(transport, allowingDowngrade: isAllowed) { _ in .replace(.get("http://example.test/")) }

    let result = await Result { try await client.get("https://example.test/a") }

    #expect((try? result.get().text) == (isAllowed ? "x" : nil))
    if case .failure(let error) = result { #expect((error as? HTTPError)?.kind == .redirectRefused) }
  }

  @Test func `does not call the closure for a forbidden redirect`() async throws {
    let asked = Log<Int>()
    let transport = StubTransport { request in
      let path = request.url?.path() ?? ""
      if path == "/again" { return .redirect(to: "/b", status: 307) }
      return path.hasPrefix("/x") ? .redirect(to: path + "x") : .redirect(to: "file:///etc/passwd")
    }
    let client = Self.client(transport) {
      asked.add($0.count)
      return .follow
    }

    let refused = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/a") }
    let tooMany = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/x") }
    let used = try await #require(throws: HTTPError.self) {
      try await client.put("http://example.test/again", body: .stream(AsyncStream<Data> { $0.finish() }))
    }

    #expect(refused.kind == .redirectRefused)
    #expect(used.kind == .bodyNotReplayable && used.response?.status == 307)
    #expect(tooMany.kind == .tooManyRedirects)
    #expect(asked.elements == Array(0..<10))
  }

  @Test func `rethrows an error from the closure`() async throws {
    struct Own: Error {}
    let client = Self.client(StubTransport { _ in .redirect(to: "/b") }) { _ in throw Own() }

    await #expect(throws: Own.self) { try await client.get("http://example.test/a") }
  }

  @Test func `cancellation ends the wait for the closure`() async throws {
    let gate = Gate()
    let client = Self.client(StubTransport { _ in .redirect(to: "/b") }) { _ in
      await gate.wait()
      return .follow
    }
    let task = Task { try await client.get("http://example.test/a") }
    await gate.waitForArrivals(1)

    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(client.core.entryCount == 0)
    gate.open()
  }

  @Test func `the total limit ends the wait for the closure`() async throws {
    let clock = TestClock(advancing: .manually)
    let gate = Gate()
    let client = HTTPClient {
      $0.clock = clock
      $0.timeout = TimeoutPolicy(connect: nil, idle: nil, total: .seconds(10))
      $0.transport = .stub { _ in .redirect(to: "/b") }
      $0.redirects = .ask { _ in
        await gate.wait()
        return .follow
      }
    }
    let task = Task { try await client.get("http://example.test/a") }
    await gate.waitForArrivals(1)
    await clock.wait(forSleepers: 1)

    clock.advance(by: .seconds(10))

    let error = try await #require(throws: HTTPError.self) { try await task.value }
    #expect(error.kind == .timedOut)
    #expect(error.elapsed == .seconds(10))
    gate.open()
  }
}

extension Result where Failure == any Error {
  /// Creates a result from an asynchronous closure.
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}

import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet
@testable import MartletHAR
@testable import MartletBase

/// A single-use object either works the second time or reports a typed error.
///
/// `ResponseBodyReaderTests` covers response bodies, `HTTPBodyStreamTests` request bodies.
@Suite(.hangLimit) struct SecondUseTests {
  /// Keeps `next` and the request.
  private final class Keeping: Middleware {
    let kept = Locked<(next: MiddlewareNext, request: HTTPRequest)?>(nil)

    func intercept(
      _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
    ) async throws -> StreamedResponse {
      kept.withLock { $0 = (next, request) }
      return try await next(request)
    }
  }

  enum Way: CaseIterable {
    case awaited, started, streamed, failed

    func run(_ client: HTTPClient) async throws {
      switch self {
      case .awaited: _ = try await client.get("/")
      case .started: _ = try await client.start(.get("/")).value
      case .streamed: _ = try await client.stream(.get("/")) { try await $0.text }
      case .failed: _ = try? await client.get("/missing")
      }
    }
  }

  @Test(arguments: Way.allCases, [false, true])
  func `next throws after its request has ended, and sends nothing`(_ way: Way, isAttempt: Bool) async throws {
    let (transport, keeping) = (StubTransport { $0.url?.path() == "/" ? .text("x") : .status(404) }, Keeping())
    let client = HTTPClient.stubbed(transport) {
      if isAttempt { $0.exchangeMiddleware = [keeping] } else { $0.middleware = [keeping] }
    }
    try await way.run(client)
    let (next, request) = try #require(keeping.kept.withLock { $0 })

    let error = await #expect(throws: HTTPError.self) { _ = try await next(request) }

    #expect(error?.kind == (way == .failed ? .status : .unsupported))
    #expect(transport.requests.count == 1)
  }

  /// Returns its own response while a task is still waiting for the result of `next`.
  private final class Leaving: Middleware {
    let gate: Gate
    let left = Locked<Task<StreamedResponse, any Error>?>(nil)

    init(_ gate: Gate) { self.gate = gate }

    func intercept(
      _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
    ) async throws -> StreamedResponse {
      let task = Task { try await next(request) }
      left.withLock { $0 = task }
      await gate.waitForArrivals(1)
      return StreamedResponse(status: .ok, body: ResponseBody(Data("own".utf8)), request: request)
    }
  }

  @Test(arguments: [Way.awaited, .started, .streamed])
  func `a request that ends also ends the exchanges that its middleware left running`(_ way: Way) async throws {
    let gate = Gate()
    let leaving = Leaving(gate)
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        await gate.pass()
        return .text("x")
      }
    ) { $0.middleware = [leaving] }

    try await way.run(client)

    let left = try #require(leaving.left.withLock { $0 })
    let error = await #expect(throws: HTTPError.self) { _ = try await left.value }
    #expect(error?.kind == .unsupported)
    #expect(client.cancelAll() == 0)
    gate.open()
  }

  @Test func `next throws the reason after a cancellation`() async throws {
    let (gate, keeping) = (Gate(), Keeping())
    let transport = StubTransport { _ in
      await gate.pass()
      return .text("x")
    }
    let client = HTTPClient.stubbed(transport) { $0.middleware = [keeping] }
    let handle = client.start(.get("/"))
    await gate.waitForArrivals(1)
    handle.cancel()
    let (next, request) = try #require(keeping.kept.withLock { $0 })

    await #expect(throws: CancellationError.self) { _ = try await next(request) }

    #expect(transport.requests.count == 1)
    gate.open()
  }

  @Test func `each iteration of events has its own connection`() async throws {
    let transport = StubTransport { request in
      request.headers["Last-Event-ID"] == nil
        ? .text("id: 1\ndata: a\n\n", headers: ["Content-Type": "text/event-stream"]) : .status(.noContent)
    }
    let events = HTTPClient.stubbed(transport).serverSentEvents(.get("/"))

    for _ in 0..<2 {
      var texts: [String] = []
      for try await event in events { texts.append(event.data) }
      #expect(texts == ["a"])
    }

    #expect(transport.requests.count == 4)
  }

  @Test func `a scope that escapes its closure cancels the requests that it starts`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.stubbed(transport)
    let scope = await withRequestScope(client: client) { $0 }

    let handle = scope.start(.get("/"))

    await #expect(throws: CancellationError.self) { try await handle.value }
    #expect(scope.count == 0 && client.cancelAll() == 0)
  }

  @Test func `a handle keeps its result and ignores a cancellation after the end`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let handle = HTTPClient.stubbed(transport).start(.get("/"))

    #expect(try await handle.value.text == "x")
    handle.cancel()
    handle.cancel()

    #expect(try await handle.value.text == "x")
    for _ in 0..<2 {
      var last: RequestEvent?
      for await event in handle.events { last = event }
      if case .ended(.succeeded)? = last {} else { Issue.record("\(String(describing: last))") }
    }
    #expect(transport.requests.count == 1)
  }

  @Test func `each retry of a handle sends its request again`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let handle = HTTPClient.stubbed(transport).start(.get("/"))
    _ = try await handle.value

    let (first, second) = (handle.retry(), handle.retry())

    _ = try await (first.value, second.value)
    #expect(first.id != second.id && first.retryOf == handle.id && second.retryOf == handle.id)
    #expect(transport.requests.count == 3)
  }

  @Test func `clients and queues can be ended twice`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") })
    let queue = RequestQueue(client: client)
    let handle = queue.add(.get("/"))

    for _ in 0..<2 { #expect(await queue.finish().succeeded == 1) }
    for _ in 0..<2 { await client.drain() }

    #expect(try await handle.value.text == "x")
    let error = await #expect(throws: HTTPError.self) { try await client.get("/") }
    #expect(error != nil)
  }

  @Test func `a recorder can be closed twice, and its file remains`() async throws {
    let folder = try TemporaryFolder()
    let recorder = try HARRecorder(to: folder.url.appending(path: "a.har"))
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") }) { $0.instruments = [recorder] }
    _ = try await client.get("/")
    await client.drain()

    recorder.close()
    let data = try folder.contents("a.har")
    recorder.close()

    #expect(try folder.contents("a.har") == data)
    #expect(try HARFile(data, name: "a.har").entries.count == 1)
  }
}

import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// The table of lifetimes: what keeps a request alive, and what ends it.
@Suite(.hangLimit) struct LifetimeTests {
  /// A client whose server never responds; it logs which exchanges begin and which end.
  private static func hanging(begun: Log<String> = Log(), ended: Log<String> = Log()) -> HTTPClient {
    HTTPClient.stubbed(
      StubTransport { request in
        let path = request.url?.path() ?? ""
        begun.add(path)
        defer { ended.add(path) }
        try await untilCancelled()
      })
  }

  @Test func `cancelling the task cancels an awaited request`() async throws {
    let (begun, ended) = (Log<String>(), Log<String>())
    let client = Self.hanging(begun: begun, ended: ended)
    let task = Task { try await client.get("/a") }
    await begun.wait(for: 1)
    #expect(client.activity.current.running.count == 1)

    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
    await ended.wait(for: 1)
    #expect(ended.elements == ["/a"])
    #expect(client.activity.current.running.isEmpty)
  }

  @Test func `an already cancelled task sends nothing`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.stubbed(transport)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await client.get("/")
    }

    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(transport.requests.isEmpty)
  }

  @Test func `cancelAll ends awaited, managed and scoped requests`() async throws {
    let client = Self.hanging()
    let task = Task { try await client.get("/awaited") }
    let managed = client.start(.get("/managed"))
    let scope = RequestScope(client: client)
    let scoped = scope.start(.get("/scoped"))
    await client.wait { client.activity.current.running.count == 3 }

    let count = client.cancelAll()

    #expect(count == 3)
    await #expect(throws: CancellationError.self) { try await task.value }
    await #expect(throws: CancellationError.self) { try await managed.value }
    await #expect(throws: CancellationError.self) { try await scoped.value }
    #expect(!task.isCancelled)
  }

  @Test func `cancelAll ends the waits of attached work`() async throws {
    final class Work: ClientWork {
      let cancellations = Shared(0)
      var snapshot: any Sendable { "work" }
      func beginDraining() {}
      func finishDraining(within limit: Duration?) async {}
      func cancelWaits() { cancellations.withLock { $0 += 1 } }
    }
    let (client, work, detached) = (Self.hanging(), Work(), Work())
    try client.attach(work)
    try client.attach(detached)
    client.detach(detached)

    client.cancelAll()

    #expect(work.cancellations.value == 1 && detached.cancellations.value == 0)
    client.detach(work)
  }

  @Test func `a managed request outlives its handle and its client`() async throws {
    let gate = Gate()
    let done = Log<String>()
    var client: HTTPClient? = HTTPClient.stubbed(
      StubTransport { request in
        await gate.pass()
        done.add(request.url?.path() ?? "")
        return .text("x")
      })

    client?.start(.get("/a"))
    client = nil
    gate.open()

    await done.wait(for: 1)
    #expect(done.elements == ["/a"])
  }

  @Test func `cancelling a waiter does not cancel a managed request`() async throws {
    let gate = Gate()
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        await gate.pass()
        return .text("x")
      })
    let handle = client.start(.get("/"))
    let waiter = Task { try await handle.value }

    waiter.cancel()
    await #expect(throws: CancellationError.self) { try await waiter.value }
    #expect(handle.isAlive)
    gate.open()

    #expect(try await handle.value.text == "x")
  }

  @Test func `many tasks can await the value of one handle`() async throws {
    let gate = Gate()
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        await gate.pass()
        return .text("x")
      })
    let handle = client.start(.get("/"))

    let count = await withTaskGroup(of: String?.self) { group in
      for _ in 0..<50 { group.addTask { try? await handle.value.text } }
      gate.open()
      return await group.reduce(0) { $0 + ($1 == "x" ? 1 : 0) }
    }

    #expect(count == 50)
  }

  @Test func `a released scope cancels the requests that it started or that were added to it`() async throws {
    let client = Self.hanging()
    let adopted = client.start(.get("/adopted"))
    let other = client.start(.get("/other"))
    var scope: RequestScope? = RequestScope(client: client)
    let started = scope?.start(.get("/started"))
    scope?.add(adopted)

    scope = nil

    await #expect(throws: CancellationError.self) { try await started?.value }
    await #expect(throws: CancellationError.self) { try await adopted.value }
    #expect(other.isAlive)
    other.cancel()
  }

  @Test func `a request replaces the one with the same key`() async throws {
    let client = HTTPClient.stubbed(
      StubTransport { request in
        if request.url?.path() == "/1" { try await untilCancelled() }
        return .text("second")
      })
    let scope = RequestScope(client: client)

    let first = scope.start(.get("/1"), replacing: "search")
    let second = scope.start(.get("/2"), replacing: "search")

    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(try await second.value.text == "second")
    #expect(scope.count == 0)
  }

  @Test func `withRequestScope cancels requests that are still running when it returns`() async throws {
    let client = Self.hanging()

    let handle = await withRequestScope(client: client) { $0.start(.get("/")) }

    await #expect(throws: CancellationError.self) { try await handle.value }
  }

  @MainActor final class Model {
    var texts: [String] = []
    var errors: [HTTPError.Kind] = []
    let requests: RequestScope

    init(_ client: HTTPClient) { requests = RequestScope(client: client) }

    func load(_ target: RequestTarget) -> RequestHandle<HTTPResponse> {
      requests.start(
        .get(target), for: self,
        onSuccess: { model, response in model.texts.append(response.text) },
        onError: { model, error in model.errors.append(error.kind) })
    }
  }

  @MainActor @Test func `releasing the owner of a scope cancels its requests`() async throws {
    let client = Self.hanging()
    var model: Model? = Model(client)
    weak let reference = model
    let handle = model?.load("/")

    model = nil

    #expect(reference == nil)
    await #expect(throws: CancellationError.self) { try await handle?.value }
  }

  @MainActor @Test func `a live owner receives the response on its actor`() async throws {
    let client = HTTPClient.stubbed(.text("x"))
    let model = Model(client)

    _ = try await model.load("/").value

    await client.waitUntilEmpty()
    #expect(model.texts == ["x"])
    #expect(model.errors.isEmpty)
  }

  @Test func `a handle exposes its state, its requests and its response`() async throws {
    let client = HTTPClient.stubbed(.text("x")) { $0.headers["X-Default"] = "1" }
    let handle = client.start(.get("/a", query: ["q": "1"]))
    let response = try await handle.value

    #expect(!handle.isAlive)
    #expect(handle.request.url?.absoluteString == "http://example.test/a?q=1")
    #expect(handle.finalRequest.headers["X-Default"] == "1")
    #expect(handle.response?.text == response.text)
    guard case .ended(.succeeded(let status)) = handle.state else {
      Issue.record("not ended")
      return
    }
    #expect(status == .ok)
  }

  @Test func `every listener receives a handle's events from start to end`() async throws {
    let client = HTTPClient.stubbed(.text("x"))
    let handle = client.start(.get("/"))
    var early: [String] = []
    for await event in handle.events { early.append(name(event)) }
    var late: [String] = []
    for await event in handle.events { late.append(name(event)) }

    #expect(early == ["started", "attempt 1", "head 200", "succeeded"])
    #expect(late == early)
  }

  @Test func `retry repeats a request under a new ID`() async throws {
    let transport = StubTransport(failing: 1, with: .connectionLost, then: .text("again"))
    let client = HTTPClient.stubbed(transport) { $0.retry = .off }
    let first = client.start(.post("/a", body: .text("b")), options: .tag("t"))
    await #expect(throws: HTTPError.self) { try await first.value }

    let second = first.retry()

    #expect(try await second.value.text == "again")
    #expect(second.retryOf == first.id)
    #expect(second.id != first.id)
    #expect(transport.requests.count == 2)
    #expect(transport.requests.first == transport.requests.last)
  }

  @Test func `a retry of a scoped request is cancelled with the scope`() async throws {
    let transport = StubTransport { request in
      if request.headers["X-Once"] == nil { try await untilCancelled() }
      return .status(500)
    }
    let client = HTTPClient.stubbed(transport)
    var scope: RequestScope? = RequestScope(client: client)
    let first = scope?.start(.get("/"))
    first?.cancel()
    let second = first?.retry()
    #expect(second?.isAlive == true)

    scope = nil

    await #expect(throws: CancellationError.self) { try await second?.value }
    let third = first?.retry()
    await #expect(throws: CancellationError.self) { try await third?.value }
  }

  @Test func `the handle of an invalid request throws its error`() async throws {
    let client = HTTPClient()

    let handle = client.start(.get("no-scheme"))

    let error = try await #require(throws: HTTPError.self) { try await handle.value }
    #expect(error.kind == .invalidRequest)
    #expect(!handle.isAlive)
    #expect(client.activity.current.totals.started == 0)
  }

  private func name(_ event: RequestEvent) -> String {
    switch event {
    case .started: "started"
    case .waiting: "waiting"
    case .attempt(let number, _): "attempt \(number)"
    case .informational(let response): "informational \(response.status.rawValue)"
    case .head(let status): "head \(status.rawValue)"
    case .authenticating: "authenticating"
    case .upgraded: "upgraded"
    case .notCached: "notCached"
    case .credentialNotStored: "credentialNotStored"
    case .redirected: "redirected"
    case .retrying: "retrying"
    case .ended(.succeeded): "succeeded"
    case .ended(.failed): "failed"
    case .ended(.cancelled): "cancelled"
    }
  }
}

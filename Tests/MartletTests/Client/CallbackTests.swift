import Dispatch
import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

/// Callbacks: their order, their actor, and no calls after cancellation.
@Suite(.hangLimit) struct CallbackTests {
  /// State that is not Sendable, as applications capture it in closures.
  final class Box { var values: [String] = [] }

  @MainActor @Test func `calls onStart and then onSuccess on the main actor`() async throws {
    let client = HTTPClient.stubbed(.text("x"))
    let box = Box()

    client.get(
      "/",
      onStart: {
        MainActor.assertIsolated()
        box.values.append("start")
      },
      onSuccess: { response in
        MainActor.assertIsolated()
        box.values.append(response.text)
      }, onError: { _ in box.values.append("error") })

    await client.waitUntilEmpty()
    #expect(box.values == ["start", "x"])
  }

  @MainActor @Test func `get, head, delete, post, put and patch accept callbacks`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.stubbed(transport)
    let box = Box()
    let done: (HTTPResponse) -> Void = { _ in box.values.append("done") }

    client.get("/", onSuccess: done)
    client.head("/", onSuccess: done)
    client.delete("/", onSuccess: done)
    client.post("/", body: .text("b"), onSuccess: done)
    client.put("/", body: .text("b"), onSuccess: done)
    client.patch("/", body: .text("b"), onSuccess: done)

    await client.waitUntilEmpty()
    #expect(box.values.count == 6)
    #expect(Set(transport.requests.map(\.method.rawValue)) == ["GET", "HEAD", "DELETE", "POST", "PUT", "PATCH"])
  }

  @MainActor @Test func `get, delete, post, put and patch decode JSON for callbacks`() async throws {
    struct User: Codable { var name: String }
    let transport = StubTransport { _ in .text(#"{"name":"Ada"}"#) }
    let client = HTTPClient.stubbed(transport)
    let box = Box()
    let done: (User) -> Void = {
      MainActor.assertIsolated()
      box.values.append($0.name)
    }

    client.get("/", as: User.self, onSuccess: done)
    client.delete("/", as: User.self, onSuccess: done)
    client.post("/", body: .json(User(name: "b")), as: User.self, onSuccess: done)
    client.put("/", body: .json(User(name: "b")), as: User.self, onSuccess: done)
    client.patch("/", body: .json(User(name: "b")), as: User.self, onSuccess: done)

    await client.waitUntilEmpty()
    #expect(box.values == Array(repeating: "Ada", count: 5))
    #expect(Set(transport.requests.map(\.method.rawValue)) == ["GET", "DELETE", "POST", "PUT", "PATCH"])
  }

  @MainActor @Test func `reports JSON of another type as a decoding error`() async throws {
    let client = HTTPClient.stubbed(.text("[1]"))
    let box = Box()

    client.get(
      "/", as: [String: Int].self, onSuccess: { _ in box.values.append("success") },
      onError: { box.values.append("\($0.kind)") })

    await client.waitUntilEmpty()
    #expect(box.values == ["decoding"])
  }

  @MainActor @Test func `decodes actor-isolated types on their actor`() async throws {
    @MainActor struct Note: @MainActor Decodable { var text: String }
    let client = HTTPClient.stubbed(StubTransport { .text($0.url?.path == "/" ? #"{"text":"a"}"# : "[1]") })
    let box = Box()
    let done: (Note) -> Void = { box.values.append($0.text) }
    let failed: (HTTPError) -> Void = { box.values.append("\($0.kind) \($0.url?.path ?? "")") }

    client.get("/", as: Note.self, onSuccess: done)
    client.delete("/", as: Note.self, onSuccess: done)
    client.post("/", as: Note.self, onSuccess: done)
    client.put("/", as: Note.self, onSuccess: done)
    client.patch("/", as: Note.self, onSuccess: done)
    await client.waitUntilEmpty()
    #expect(box.values == Array(repeating: "a", count: 5))

    box.values = []
    client.get("/list", as: Note.self, onSuccess: done, onError: failed)
    await client.waitUntilEmpty()
    #expect(box.values.count == 1 && box.values[0].hasPrefix("decoding ") && box.values[0].contains("/list"))
  }

  @MainActor private struct Watched: @MainActor Decodable {
    static var onDecoding: () throws -> Void = {}

    init(from decoder: any Decoder) throws {
      MainActor.assertIsolated()
      try Self.onDecoding()
    }
  }

  @MainActor @Test func `a request that is cancelled while it is decoded does not call back`() async throws {
    let client = HTTPClient.stubbed(.text("{}"))
    let box = Box()
    var handle: RequestHandle<HTTPResponse>?

    for throwing in [false, true] {
      Watched.onDecoding = {
        handle?.cancel()
        if throwing { throw CancellationError() }
      }
      handle = client.get(
        "/", as: Watched.self, onSuccess: { _ in box.values.append("success") },
        onError: { _ in box.values.append("error") })
      await client.waitUntilEmpty()
    }

    #expect(box.values.isEmpty)
  }

  @Test func `reports a CancellationError of the transport if the request was not cancelled`() async {
    let client = HTTPClient.stubbed(StubTransport { _ in throw CancellationError() })
    let kinds = Shared<[HTTPError.Kind]>([])

    client.get("/", onSuccess: { _ in }, onError: { error in kinds.withLock { $0.append(error.kind) } })

    await client.waitUntilEmpty()
    #expect(kinds.value == [.middlewareFailed])
  }

  @Test func `repetitions without an actor call back one at a time`() async {
    let client = HTTPClient.stubbed(.text("x"))
    let counts = Shared((inside: 0, most: 0, calls: 0))

    let handle = client.get(
      "/",
      onSuccess: { _ in
        counts.withLock {
          $0.inside += 1
          $0.most = max($0.most, $0.inside)
          $0.calls += 1
        }
        for _ in 0..<5000 { sched_yield() }
        counts.withLock { $0.inside -= 1 }
      })
    for _ in 0..<8 { handle.retry() }

    await client.waitUntilEmpty()
    #expect(counts.value.most == 1)
    #expect(counts.value.calls == 9)
  }

  actor Screen {
    var texts: [String] = []

    func load(_ client: HTTPClient) {
      client.get(
        "/",
        onSuccess: { response in
          self.assertIsolated()
          self.texts.append(response.text)
        })
    }
  }

  @Test func `calls callbacks on the caller's actor`() async throws {
    let client = HTTPClient.stubbed(.text("x"))
    let screen = Screen()

    await screen.load(client)

    await client.waitUntilEmpty()
    #expect(await screen.texts == ["x"])
  }

  @Test func `calls callbacks in order without an actor`() async throws {
    let client = HTTPClient.stubbed(.text("x"))
    let log = Log<String>()

    client.get("/", onStart: { log.add("start") }, onSuccess: { _ in log.add("success") })

    await client.waitUntilEmpty()
    #expect(log.elements == ["start", "success"])
  }

  @MainActor @Test func `reports an error once`() async throws {
    let client = HTTPClient.stubbed(.status(404))
    var kinds: [HTTPError.Kind] = []

    client.get("/", onSuccess: { _ in Issue.record("success") }, onError: { kinds.append($0.kind) })

    await client.waitUntilEmpty()
    #expect(kinds == [.status])
  }

  @MainActor @Test func `reports an invalid request`() async throws {
    let kinds = Log<HTTPError.Kind>()

    HTTPClient().get("http://a b/", onSuccess: { _ in }, onError: { kinds.add($0.kind) })

    await kinds.wait(for: 1)
    #expect(kinds.elements == [.invalidRequest])
  }

  @MainActor @Test func `calls nothing more after a cancellation in onStart`() async throws {
    let client = HTTPClient.stubbed(.text("x"))
    var handle: RequestHandle<HTTPResponse>?
    var calls = 0

    handle = client.get(
      "/", onStart: { handle?.cancel() }, onSuccess: { _ in calls += 1 },
      onError: { _ in calls += 1 })

    await client.waitUntilEmpty()
    #expect(handle?.isAlive == false)
    #expect(calls == 0)
  }

  @MainActor @Test func `a cancellation after the response suppresses the pending callback`() async throws {
    let client = HTTPClient.stubbed(.text("x"))
    var calls = 0
    let handle = client.get("/", onSuccess: { _ in calls += 1 }, onError: { _ in calls += 1 })
    // The main actor is blocked, so the callback is due but cannot run.
    Self.blockThread { _ = try? await handle.value }
    #expect(!handle.isAlive)

    client.cancelAll()

    await client.waitUntilEmpty()
    #expect(calls == 0)
  }

  /// Blocks this thread, which is not in the cooperative pool, until the work is done.
  private static func blockThread(until work: @escaping @Sendable () async -> Void) {
    let isDone = DispatchSemaphore(value: 0)
    Task.detached {
      await work()
      isDone.signal()
    }
    isDone.wait()
  }

  @MainActor @Test func `reports a cancellation with reportsCancellation`() async throws {
    var kinds: [HTTPError.Kind] = []
    let client = HTTPClient.stubbed(StubTransport { _ in try await untilCancelled() })

    client.get(
      "/", options: .reportsCancellation(), onSuccess: { _ in }, onError: { kinds.append($0.kind) }
    ).cancel()

    await client.waitUntilEmpty()
    #expect(kinds == [.cancelled])
  }

  @MainActor @Test func `retry calls the same closures`() async throws {
    let transport = StubTransport(failing: 1, with: .cannotConnect, then: .text("x"))
    let client = HTTPClient.stubbed(transport)
    var calls: [String] = []
    let handle = client.get(
      "/", onSuccess: { _ in calls.append("success") }, onError: { _ in calls.append("error") })
    await client.waitUntilEmpty()
    #expect(calls == ["error"])

    handle.retry()

    await client.waitUntilEmpty()
    #expect(calls == ["error", "success"])
  }

  @MainActor @Test func `wraps a foreign error in an HTTPError of kind middleware`() async throws {
    struct Strange: Error {}
    var kinds: [HTTPError.Kind] = []
    let client = HTTPClient.stubbed(StubTransport { _ in throw Strange() })

    client.get("/", onSuccess: { _ in }, onError: { kinds.append($0.kind) })

    await client.waitUntilEmpty()
    #expect(kinds == [.middlewareFailed])
  }

  private struct GetNumber: Endpoint {
    typealias Output = Int
    var target: RequestTarget { "/number" }
  }

  @MainActor @Test func `the callback of an endpoint receives its typed output`() async throws {
    let client = HTTPClient.stubbed(.json("42"))
    var numbers: [Int] = []

    client.start(GetNumber(), onStart: { numbers.append(0) }, onSuccess: { numbers.append($0) })

    await client.waitUntilEmpty()
    #expect(numbers == [0, 42])
  }

  @MainActor @Test func `the callback of a scoped endpoint receives its owner`() async throws {
    let box = Box()
    let client = HTTPClient.stubbed(.json("42"))
    let scope = RequestScope(client: client)

    scope.start(GetNumber(), for: box, onSuccess: { box, number in box.values.append("\(number)") })

    await client.waitUntilEmpty()
    #expect(box.values == ["42"])
  }

  @MainActor @Test func `the callback, the events and the value agree on the outcome`() async throws {
    let client = HTTPClient.stubbed(.text("x"))
    var texts: [String] = []
    let handle = client.get("/", onSuccess: { texts.append($0.text) })
    var ends: [String] = []
    for await event in handle.events {
      if case .ended(.succeeded(let status)) = event { ends.append("\(status.rawValue)") }
    }

    #expect(try await handle.value.text == "x")
    #expect(ends == ["200"])
    await client.waitUntilEmpty()
    #expect(texts == ["x"])
  }
}

import Foundation
import Martlet
import MartletTesting
import Testing

/// The block style: order, actor, silence.
@Suite struct CallbackTests {
  /// State that is not Sendable, as a closure of an application has it.
  final class Box { var values: [String] = [] }

  private static func client(_ response: StubResponse = .text("x")) -> HTTPClient {
    HTTPClient { $0.transport = .stub { _ in response } }
  }

  @MainActor @Test func `calls start and then one of success and error on the main actor`() async throws {
    let box = Box()

    Self.client().get(
      "http://example.test/",
      onStart: {
        MainActor.assertIsolated()
        box.values.append("start")
      },
      onSuccess: { response in
        MainActor.assertIsolated()
        box.values.append(response.text)
      }, onError: { _ in box.values.append("error") })

    await eventually("called") { box.values.count == 2 }
    #expect(box.values == ["start", "x"])
  }

  @MainActor @Test func `each verb has a block style`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient { $0.transport = transport }
    let box = Box()
    let done: (HTTPResponse) -> Void = { _ in box.values.append("done") }

    client.get("http://example.test/", onSuccess: done)
    client.head("http://example.test/", onSuccess: done)
    client.delete("http://example.test/", onSuccess: done)
    client.post("http://example.test/", body: .text("b"), onSuccess: done)
    client.put("http://example.test/", body: .text("b"), onSuccess: done)
    client.patch("http://example.test/", body: .text("b"), onSuccess: done)

    await eventually("all called") { box.values.count == 6 }
    #expect(Set(transport.requests.map(\.method.rawValue)) == ["GET", "HEAD", "DELETE", "POST", "PUT", "PATCH"])
  }

  actor Screen {
    var texts: [String] = []

    func load(_ client: HTTPClient) {
      client.get(
        "http://example.test/",
        onSuccess: { response in
          self.assertIsolated()
          self.texts.append(response.text)
        })
    }
  }

  @Test func `calls on the caller's own actor`() async throws {
    let screen = Screen()

    await screen.load(Self.client())

    await eventually("called") { await screen.texts == ["x"] }
  }

  @Test func `calls from nowhere in particular are serial`() async throws {
    let log = Log<String>()

    Self.client().get(
      "http://example.test/", onStart: { log.add("start") }, onSuccess: { _ in log.add("success") })

    await eventually("called") { log.elements == ["start", "success"] }
  }

  @MainActor @Test func `reports an error once`() async throws {
    var kinds: [HTTPError.Kind] = []

    Self.client(.status(404)).get(
      "http://example.test/", onSuccess: { _ in Issue.record("success") }, onError: { kinds.append($0.kind) })

    await eventually("called") { kinds == [.status] }
  }

  @MainActor @Test func `reports an invalid request before anything is sent`() async throws {
    var kinds: [HTTPError.Kind] = []

    HTTPClient().get("http://a b/", onSuccess: { _ in }, onError: { kinds.append($0.kind) })

    await eventually("called") { kinds == [.invalidRequest] }
  }

  @MainActor @Test func `is silent after a cancellation in onStart`() async throws {
    let client = Self.client()
    var handle: RequestHandle<HTTPResponse>?
    var calls = 0

    handle = client.get(
      "http://example.test/", onStart: { handle?.cancel() }, onSuccess: { _ in calls += 1 },
      onError: { _ in calls += 1 })

    await eventually("ended") { handle?.isAlive == false && client.core.entryCount == 0 }
    #expect(calls == 0)
  }

  @MainActor @Test func `is silent when cancelled between the end and the callback`() async throws {
    let client = Self.client()
    var calls = 0
    let handle = client.get("http://example.test/", onSuccess: { _ in calls += 1 }, onError: { _ in calls += 1 })
    // The main actor is kept busy, so the callback is due but cannot run.
    while handle.isAlive { _ = handle.state }

    client.cancelAll()

    await eventually("delivered") { client.core.entryCount == 0 }
    #expect(calls == 0)
  }

  @MainActor @Test func `reports a cancellation where that is asked for`() async throws {
    var kinds: [HTTPError.Kind] = []
    let client = HTTPClient {
      $0.transport = .stub { _ in
        try await Task.sleep(for: .seconds(600))
        return .text("late")
      }
    }

    client.get(
      "http://example.test/", options: .reportsCancellation(), onSuccess: { _ in }, onError: { kinds.append($0.kind) }
    ).cancel()

    await eventually("called") { kinds == [.cancelled] }
  }

  @MainActor @Test func `retry calls the same closures`() async throws {
    let transport = StubTransport(failing: 1, with: .cannotConnect, then: .text("x"))
    let client = HTTPClient { $0.transport = transport }
    var calls: [String] = []
    let handle = client.get(
      "http://example.test/", onSuccess: { _ in calls.append("success") }, onError: { _ in calls.append("error") })
    await eventually("failed") { calls == ["error"] }

    handle.retry()

    await eventually("succeeded") { calls == ["error", "success"] }
  }

  @MainActor @Test func `wraps what middleware throws`() async throws {
    struct Strange: Error {}
    var kinds: [HTTPError.Kind] = []
    let client = HTTPClient { $0.transport = .stub { _ in throw Strange() } }

    client.get("http://example.test/", onSuccess: { _ in }, onError: { kinds.append($0.kind) })

    await eventually("called") { kinds == [.middleware] }
  }

  private struct GetNumber: Endpoint {
    typealias Output = Int
    var target: RequestTarget { "http://example.test/number" }
  }

  @MainActor @Test func `an endpoint calls back with its typed output`() async throws {
    let client = Self.client(.json("42"))
    var numbers: [Int] = []

    client.start(GetNumber(), onStart: { numbers.append(0) }, onSuccess: { numbers.append($0) })

    await eventually("called") { numbers == [0, 42] }
  }

  @MainActor @Test func `an endpoint in a scope calls back with its owner`() async throws {
    let box = Box()
    let scope = RequestScope(client: Self.client(.json("42")))

    scope.start(GetNumber(), for: box, onSuccess: { box, number in box.values.append("\(number)") })

    await eventually("called") { box.values == ["42"] }
  }

  @MainActor @Test func `callback, events and value see the same end`() async throws {
    let client = Self.client()
    var texts: [String] = []
    let handle = client.get("http://example.test/", onSuccess: { texts.append($0.text) })
    var ends: [String] = []
    for await event in handle.events {
      if case .ended(.succeeded(let status)) = event { ends.append("\(status.rawValue)") }
    }

    #expect(try await handle.value.text == "x")
    #expect(ends == ["200"])
    await eventually("called") { texts == ["x"] }
  }
}

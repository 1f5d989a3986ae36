import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Blocking calls on a thread, for code without `async`.
@Suite(.hangLimit) struct BlockingClientTests {
  private struct GetNumber: Endpoint {
    typealias Output = Int
    var target: RequestTarget { "http://example.test/number" }
  }

  /// Runs work on a plain thread and returns its result.
  private static func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
  }

  // S2
  @Test func `blocks a thread until the response and reports progress`() async throws {
    let progress = Log<Int64>()
    let client = HTTPClient.stubbed(
      StubTransport(withContext: { _, context in
        context.didReceive(2, of: 2)
        return .json("42")
      }))

    let (text, number) = try await Self.onThread {
      let request = HTTPRequest.get("http://example.test/number")
      let response = try client.blocking.send(request, options: .onProgress { progress.add($0.received) })
      return (response.text, try client.blocking.send(GetNumber()))
    }

    #expect(text == "42" && number == 42)
    #expect(progress.elements.last == 2)
    await client.waitUntilEmpty()
  }

  // S2
  @Test func `a timeout, cancelAll or an error ends the wait`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = HTTPClient.stubbed(
      StubTransport { request in
        if request.url?.path() == "/missing" { return .status(404) }
        try await untilCancelled()
      }, clock: clock
    ) { $0.timeout = .unlimited }

    let limited = Task {
      try await Self.onThread {
        try client.blocking.send(.get("http://example.test/"), options: .timeout(.seconds(20))).status
      }
    }
    await clock.waitForSleepers(1)
    clock.advance(by: .seconds(20))
    let late = await #expect(throws: HTTPError.self) { try await limited.value }
    let missing = await #expect(throws: HTTPError.self) {
      try await Self.onThread { try client.blocking.send(.get("http://example.test/missing")).status }
    }
    let cancelled = Task { try await Self.onThread { try client.blocking.send(.get("http://example.test/")).status } }
    await client.wait { client.activity.current.running.count == 1 }
    client.cancelAll()

    #expect(late?.kind == .timedOut && missing?.kind == .status)
    await #expect(throws: CancellationError.self) { try await cancelled.value }
  }

  // S2
  @Test func `rejects calls from the main thread, a task or the engine, and explains why`() async throws {
    func problem(_ isMainThread: Bool, _ isInTask: Bool, _ isInEngine: Bool) -> String? {
      HTTPClient.BlockingClient.problem(isMainThread: isMainThread, isInTask: isInTask, isInEngine: isInEngine)
    }
    #expect(problem(false, false, false) == nil)
    #expect(problem(true, false, false)?.contains("the main thread") == true)
    #expect(problem(true, true, false)?.contains("all tasks share") == true)
    #expect(problem(false, false, true)?.contains("your own thread") == true)

    let client = HTTPClient.stubbed(.text("x"))
    let error = await #expect(throws: HTTPError.self) {
      try await Task.detached { try client.blocking.send(.get("http://example.test/")) }.value
    }
    #expect(error?.kind == .unsupported && error?.message.contains("would block a thread") == true)
    #expect(client.activity.current.totals.started == 0)
  }
}

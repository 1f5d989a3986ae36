import Foundation
import MartletBase
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// How a call ends, and what its end does to callbacks and waiting tasks.
@Suite(.hangLimit) struct CallEndTests {
  private func call(_ client: HTTPClient) throws -> Call {
    try client.core.begin(.get("https://a.test/"), options: RequestOptions(), isManaged: true, isHeld: true)
  }

  private let client = HTTPClient { $0.transport = StubTransport { _ in .text("x") } }

  @Test func `a call settles only after its callbacks have run`() throws {
    let call = try call(client)
    let settled = Log<String>()
    call.onSettled { settled.add("early") }
    call.expectDelivery()

    call.abort(CancellationError())
    call.onSettled { settled.add("late") }
    #expect(settled.count == 0)
    call.delivered()

    #expect(settled.elements == ["early", "late"])
    call.onSettled { settled.add("after") }
    #expect(settled.elements == ["early", "late", "after"])
  }

  @Test func `a call aborted before its launch does not start`() throws {
    let call = try call(client)
    call.abort(CancellationError())

    #expect(!call.launch())

    #expect(call.stage.isEnded)
    #expect(client.core.entryCount == 0)
  }

  @MainActor @Test func `a cancelled task stops waiting for a result that other tasks still receive`() async throws {
    let result = Promise<Int>()
    let cancelled = Task { try await result.value() }
    let other = Task { try await result.value() }
    // Both tasks wait after the yield, because all of them run on the main actor.
    await Task.yield()

    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    result.resolve(.success(5))

    #expect(try await other.value == 5)
  }
}

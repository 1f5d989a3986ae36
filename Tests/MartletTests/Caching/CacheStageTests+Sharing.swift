import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

extension CacheStageTests {
  // MARK: Coalescing

  /// Responds once the gate is open; the response is fresh for a minute.
  private static func transport(_ gate: Gate) -> StubTransport {
    StubTransport { _ in
      await gate.pass()
      try Task.checkCancellation()
      return .text("x", headers: ["Cache-Control": "max-age=60"])
    }
  }

  private static func get(_ client: HTTPClient) -> Task<HTTPResponse, any Error> {
    Task { try await client.get("http://a.test/x") }
  }

  @Test func `coalesces concurrent equal GET requests`() async throws {
    let (gate, clock) = (Gate(), TestClock(advancing: .manually))
    let transport = Self.transport(gate)
    let client = HTTPClient.onTestClock(transport, .now(day), .clock(clock), .timeout(.unlimited))

    let all = (0..<20).map { _ in Self.get(client) }
    await clock.wait(forSleepers: 19)
    gate.open()

    for one in all { #expect(try await one.value.text == "x") }
    #expect(transport.requests.count == 1)
  }

  @Test func `waiting requests are sent after half a second without a head`() async throws {
    let (gate, clock) = (Gate(), TestClock(advancing: .manually))
    let transport = Self.transport(gate)
    let client = HTTPClient.onTestClock(transport, .now(day), .clock(clock), .timeout(.unlimited))

    let all = (0..<3).map { _ in Self.get(client) }
    await clock.wait(forSleepers: 2)
    clock.advance(by: .milliseconds(499))
    await clock.wait(forSleepers: 2)
    #expect(transport.requests.count == 1)
    clock.advance(by: .milliseconds(1))
    await gate.waitForArrivals(3)
    gate.open()

    for one in all { #expect(try await one.value.text == "x") }
    #expect(transport.requests.count == 3)
  }

  @Test func `waiting requests wait ten seconds for a body that will be stored`() async throws {
    let (head, end, clock) = (Gate(), Gate(), TestClock(advancing: .manually))
    let transport = StubTransport { _ in
      await head.pass()
      let rest = Shared(["x"])
      return .streamed(headers: ["Cache-Control": "max-age=60"]) {
        if let piece = rest.withLock({ $0.popLast() }) { return Data(piece.utf8) }
        await end.pass()
        return nil
      }
    }
    let client = HTTPClient.onTestClock(transport, .now(day), .clock(clock), .timeout(.unlimited))

    let all = (0..<3).map { _ in Self.get(client) }
    await clock.wait(forSleepers: 2)
    head.open()
    await end.waitForArrivals(1)
    clock.advance(by: .milliseconds(9_999))
    await clock.wait(forSleepers: 2)
    #expect(transport.requests.count == 1)
    clock.advance(by: .milliseconds(1))
    await end.waitForArrivals(3)
    end.open()

    for one in all { #expect(try await one.value.text == "x") }
    #expect(transport.requests.count == 3)
  }

  @Test func `sends a waiting request before its total limit expires`() async throws {
    let (gate, clock) = (Gate(), TestClock(advancing: .manually))
    let transport = Self.transport(gate)
    let client = HTTPClient.onTestClock(transport, .now(day), .clock(clock), .timeout(.unlimited))

    let leader = Self.get(client)
    await gate.waitForArrivals(1)
    let other = Task { try await client.get("http://a.test/x", options: .timeout(.milliseconds(600))) }
    // One sleeper is the limit itself, the other is the wait for half of it.
    await clock.wait(forSleepers: 2)
    clock.advance(by: .milliseconds(300))
    await gate.waitForArrivals(2)
    gate.open()

    #expect(try await other.value.text == "x")
    #expect(try await leader.value.text == "x")
    #expect(transport.requests.count == 2)
  }

  @Test func `cancelling the leader or a waiting request does not cancel the others`() async throws {
    let (gate, clock) = (Gate(), TestClock(advancing: .manually))
    let transport = Self.transport(gate)
    let client = HTTPClient.onTestClock(transport, .now(day), .clock(clock), .timeout(.unlimited))

    let leader = Self.get(client)
    await gate.waitForArrivals(1)
    let others = (0..<5).map { _ in Self.get(client) }
    await clock.wait(forSleepers: 5)
    others[4].cancel()
    leader.cancel()
    await #expect(throws: CancellationError.self) { try await leader.value }
    await #expect(throws: CancellationError.self) { try await others[4].value }
    await gate.waitForArrivals(2)
    gate.open()

    for other in others[..<4] { #expect(try await other.value.text == "x") }
    #expect(transport.requests.count == 2)
  }

  @Test func `after a response that is not stored, sends waiting and later requests separately`() async throws {
    let (gates, clock) = ([Gate(), Gate()], TestClock(advancing: .manually))
    let round = Shared(0)
    let transport = StubTransport { _ in
      await gates[round.value].pass()
      return .text("x")
    }
    let client = HTTPClient.onTestClock(transport, .now(day), .clock(clock), .timeout(.unlimited))

    let first = (0..<8).map { _ in Self.get(client) }
    await clock.wait(forSleepers: 7)
    #expect(transport.requests.count == 1)
    gates[0].open()
    for one in first { _ = try await one.value }
    #expect(transport.requests.count == 8)

    round.withLock { $0 = 1 }
    let second = (0..<8).map { _ in Self.get(client) }
    await gates[1].waitForArrivals(8)
    gates[1].open()
    for one in second { _ = try await one.value }
    #expect(transport.requests.count == 16)
  }

  @Test func `coalescing can be disabled`() async throws {
    let gate = Gate()
    let transport = Self.transport(gate)
    let client = HTTPClient.onTestClock(transport, .now(day)) { $0.options.coalesces = false }

    let all = (0..<8).map { _ in Self.get(client) }
    await gate.waitForArrivals(8)
    gate.open()

    for one in all { _ = try await one.value }
    #expect(transport.requests.count == 8)
  }

  // MARK: Background revalidation

  @Test func `serves a stale response while one tracked request revalidates it`() async throws {
    let transport = transport(["Cache-Control": "max-age=60, stale-while-revalidate=60"])
    let client = HTTPClient.onTestClock(transport, .now(day))

    _ = try await client.get("http://a.test/x")
    day.pass(90)
    let second = try await client.get("http://a.test/x")
    #expect(second.source == .cache && second.text == "body 1")
    await client.activity.waitUntilIdle()
    let third = try await client.get("http://a.test/x")

    #expect(third.source == .cache && third.text == "body 2")
    #expect(transport.requests.count == 2)
    #expect(client.activity.current.totals.started == 4)
  }
}

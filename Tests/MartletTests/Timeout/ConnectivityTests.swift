import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Waits for a network, as the system's loader reports them.
@Suite(.hangLimit) struct ConnectivityTests {
  private let clock = TestClock(advancing: .manually)
  private let contexts = Log<RequestContext>()
  private let gate = Gate()

  private func client(_ policy: TimeoutPolicy) -> HTTPClient {
    HTTPClient(
      StubTransport(withContext: { [contexts, gate] _, context in
        context.exchange.connectIsUnknown()
        context.exchange.enter(.connecting)
        context.exchange.waitForConnectivity()
        context.exchange.waitForConnectivity()
        contexts.add(context)
        await gate.pass()
        return .text("x")
      }), .clock(clock), .cache(.off), .retry(.off), .timeout(policy))
  }

  @Test func `no limit but the total one applies while waiting`() async throws {
    let client = client(TimeoutPolicy(connect: .seconds(1), idle: .seconds(1), firstByte: .seconds(1), total: nil))
    let handle = client.start(.get("https://a.test/"))
    await contexts.wait(for: 1)

    clock.advance(by: .seconds(3600))
    await letOthersRun()
    #expect(handle.isAlive)
    gate.open()

    #expect(try await handle.value.text == "x")
    await client.waitUntilEmpty()
  }

  @Test func `the total limit ends the wait`() async throws {
    let client = client(TimeoutPolicy(connect: .seconds(1), total: .seconds(60)))
    let handle = client.start(.get("https://a.test/"))
    await contexts.wait(for: 1)
    await clock.wait(forSleepers: 1)
    clock.advance(by: .seconds(60))

    let error = try await #require(throws: HTTPError.self) { try await handle.value }
    #expect(error.kind == .timedOut && error.phase == .connecting && error.message.contains("total limit"))
    gate.open()
    await client.waitUntilEmpty()
  }

  @Test func `the wait is reported once, and ends when the exchange progresses`() async throws {
    let client = client(.unlimited)
    let handle = client.start(.get("https://a.test/"))
    await contexts.wait(for: 1)
    #expect(client.activity.current.waiting.map(\.reason) == [.connectivity])

    contexts.elements[0].didSend(1, of: 10)
    #expect(client.activity.current.waiting.isEmpty)
    gate.open()

    var waits = 0
    for await event in handle.events { if case .waiting(.connectivity) = event { waits += 1 } }
    #expect(waits == 1)
  }

  @Test func `the limits apply again when the exchange has progressed`() async throws {
    let client = client(TimeoutPolicy(connect: nil, idle: .seconds(30), total: nil))
    let handle = client.start(.get("https://a.test/"))
    await contexts.wait(for: 1)
    clock.advance(by: .seconds(3600))
    contexts.elements[0].didSend(1, of: 10)
    await clock.wait(forSleepers: 1)
    clock.advance(by: .seconds(30))

    let error = try await #require(throws: HTTPError.self) { try await handle.value }
    #expect(error.kind == .timedOut && error.phase == .sending && error.message.contains("idle limit"))
    gate.open()
    await client.waitUntilEmpty()
  }

  @Test func `a wait that ends with its exchange is over`() async throws {
    let client = client(.unlimited)
    let handle = client.start(.get("https://a.test/"))
    await contexts.wait(for: 1)

    contexts.elements[0].exchange.end()

    #expect(client.activity.current.waiting.isEmpty)
    contexts.elements[0].exchange.waitForConnectivity()
    #expect(client.activity.current.waiting.isEmpty)
    gate.open()
    _ = try? await handle.value
  }
}

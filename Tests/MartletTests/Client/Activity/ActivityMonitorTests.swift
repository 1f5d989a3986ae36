import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct ActivityMonitorTests {
  struct Broken: Error, Equatable {}

  private static let settings: ClientSetting = [.clock(TestClock(advancing: .manually)), .retry(.off)]

  // MARK: Current state

  @Test func `is idle at first`() {
    let now = HTTPClient.stubbed(StubTransport { _ in .text("x") }, Self.settings).activity.current

    #expect(now.running.isEmpty && now.waiting.isEmpty && now.trackedWork.isEmpty && now.byHost.isEmpty)
    #expect(!now.isNetworkInUse)
    #expect(now.bytesPerSecond == TransferProgress.Bandwidth())
    #expect(now.totals == ActivityMonitor.Totals())
  }

  @Test func `counts started, succeeded, failed and cancelled requests`() async throws {
    let gate = Gate()
    let transport = StubTransport { request in
      switch request.url?.path() {
      case "/bad": return .status(500)
      case "/slow":
        await gate.pass()
        return .text("late")
      default: return .text("x")
      }
    }
    let client = HTTPClient.stubbed(transport, Self.settings)

    _ = try await client.get("/good")
    _ = try await client.start(.get("/good")).value
    _ = try? await client.get("/bad")
    _ = try? await client.send(Forge.GetUser())
    let cancelled = client.start(.get("/slow"))
    client.start(.get("/slow"))
    cancelled.cancel()

    let totals = client.activity.current.totals
    let counts: [Int] = [totals.started, totals.succeeded, totals.failed, totals.cancelled]
    #expect(counts == [6, 2, 2, 1])
    #expect(client.activity.current.running.count == 1)
    gate.open()
    await client.activity.waitUntilIdle()
    #expect(client.activity.current.totals.succeeded == 3)
  }

  @Test func `reports a retry delay as waiting, not as network use`() async throws {
    let clock = TestClock(advancing: .manually)
    let transport = StubTransport(script: [.status(503), .text("x")])
    let client = HTTPClient.stubbed(transport, clock: clock) {
      $0.timeout = .unlimited
      $0.retry = .custom { attempt, _ in attempt < 2 ? .seconds(3) : nil }
    }

    let handle = client.start(.get("/"))
    await clock.waitForSleepers(1)
    let during = client.activity.current
    clock.advance(by: .seconds(3))
    _ = try await handle.value

    #expect(during.running.isEmpty)
    #expect(during.waiting.map(\.reason) == [.retryDelay(.seconds(3))])
    #expect(during.waiting.first?.request.id == handle.id)
    #expect(during.waiting.first?.request.attempt == 2)
    #expect(!during.isNetworkInUse)
    #expect(during.byHost == ["example.test": 1])
    #expect(client.activity.current.byHost.isEmpty)
  }

  // S116
  @Test func `reports exact rates in both directions, which decay to zero`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = HTTPClient.stubbed(
      StubTransport(withContext: { _, context in
        context.didSend(100, of: 100)
        context.didReceive(1000)
        return .text("x")
      }), clock: clock)
    var rates: [[Double]] = []

    for _ in 0..<5 {
      _ = try await client.get("/")
      rates.append([client.activity.current.bytesPerSecond.received, client.activity.current.bytesPerSecond.sent])
      clock.advance(by: .seconds(1))
    }
    for _ in 0..<5 {
      rates.append([client.activity.current.bytesPerSecond.received, client.activity.current.bytesPerSecond.sent])
      clock.advance(by: .seconds(1))
    }

    #expect(rates.map { $0[0] } == [200, 400, 600, 800, 1000, 800, 600, 400, 200, 0])
    #expect(rates.map { $0[1] } == [20, 40, 60, 80, 100, 80, 60, 40, 20, 0])
    #expect(client.activity.current.totals.bytesReceived == 5000)
    #expect(client.activity.current.totals.bytesSent == 500)
  }

  // MARK: Tracked work

  // C8
  @Test func `counts tracked work while it runs, even if it throws`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") }, Self.settings)
    let monitor = client.activity

    let value = await monitor.track("upload") {
      #expect(monitor.current.isNetworkInUse)
      #expect(monitor.current.trackedWork == ["upload"])
      return 5
    }
    let between = monitor.current.isNetworkInUse
    await #expect(throws: Broken()) {
      try await monitor.track("other") {
        #expect(monitor.current.trackedWork == ["other"])
        throw Broken()
      }
    }

    #expect(value == 5)
    #expect(!between)
    #expect(!monitor.current.isNetworkInUse)
    #expect(monitor.current.trackedWork.isEmpty)
  }

  @MainActor @Test func `tracked work stays on its actor`() async {
    await HTTPClient.stubbed(StubTransport { _ in .text("x") }, Self.settings).activity.track("work") {
      MainActor.assertIsolated()
    }
  }

  // MARK: Waiting for completion

  @Test func `waits until requests and tracked work have ended`() async throws {
    let gates = [Gate(), Gate()]
    let transport = StubTransport { _ in
      await gates[0].pass()
      return .text("x")
    }
    let client = HTTPClient.stubbed(transport, Self.settings)
    let done = Log<String>()
    let handle = client.start(.get("/"))
    let foreign = Task { await client.activity.track("foreign") { await gates[1].pass() } }
    await client.wait { client.activity.current.trackedWork == ["foreign"] }
    let waiting = Task {
      await client.activity.waitUntilIdle()
      done.add("idle")
    }

    gates[0].open()
    _ = try await handle.value
    done.add("request")
    gates[1].open()
    await foreign.value
    await waiting.value

    #expect(done.elements == ["request", "idle"])
    await client.activity.waitUntilIdle()
  }

  @Test func `a cancelled task stops waiting`() async {
    let client = HTTPClient.stubbed(StubTransport { _ in try await untilCancelled() }, Self.settings)
    let handle = client.start(.get("/"))
    let waiting = Task { await client.activity.waitUntilIdle() }

    waiting.cancel()

    await waiting.value
    #expect(handle.isAlive)
    client.cancelAll()
  }

  // MARK: Registry

  // C12
  @Test(arguments: [1, 2, 3]) func `requests that end in any order leave no state behind`(seed: UInt64) async {
    var generator = SeededGenerator(seed: seed)
    let board = Board()
    let count = Stress.count(600, full: 2000)
    let client = HTTPClient.stubbed(StubTransport { try await board.answer(to: Forge.number($0)) }, Self.settings)
    let handles = (0..<count).map { client.start(Forge.GetItem(number: $0)) }
    var ends: [(Int, End)] = []
    for index in handles.indices { ends.append((index, End.allCases.randomElement(using: &generator) ?? .finish)) }
    let started = client.activity.current.byHost["example.test"]

    let shuffled = ends.shuffled(using: &generator)
    let act: @Sendable (Int, End) -> Void = { index, end in
      switch end {
      case .finish: board.resolve(index, .success(.text("x")))
      case .fail: board.resolve(index, .failure(Broken()))
      case .cancel: handles[index].cancel()
      }
    }
    await withTaskGroup(of: Void.self) { group in
      for part in 0..<4 {
        group.addTask {
          for (index, end) in shuffled[(part * count / 4)..<((part + 1) * count / 4)] { act(index, end) }
        }
      }
    }
    for handle in handles { _ = try? await handle.value }
    await client.activity.waitUntilIdle()
    for index in handles.indices { board.resolve(index, .failure(Broken())) }

    let now = client.activity.current
    #expect(started == count)
    await client.waitUntilEmpty()
    #expect(now.running.isEmpty && now.waiting.isEmpty && now.byHost.isEmpty)
    let expected: [Int] = End.allCases.map { kind in ends.count { $0.1 == kind } }
    let counts: [Int] = [now.totals.succeeded, now.totals.failed, now.totals.cancelled]
    #expect(counts == expected)
    #expect(handles.allSatisfy { !$0.isAlive })
  }

  enum End: CaseIterable { case finish, fail, cancel }
}

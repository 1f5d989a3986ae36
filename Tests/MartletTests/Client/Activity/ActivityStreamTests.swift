import Foundation
import MartletBase
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// `snapshots` and `indicator`, step by step, on a clock that the test advances.
@Suite(.hangLimit) struct ActivityStreamTests {
  // Timeouts and retries would add sleepers, which these tests count.
  private static let settings: ClientSetting = [.timeout(.unlimited), .retry(.off)]

  /// Advances the clock and waits until the streams sleep again.
  private static func move(_ clock: TestClock, by duration: Duration, sleepers: Int = 1) async {
    clock.advance(by: duration)
    await clock.waitForSleepers(sleepers)
  }

  // MARK: Snapshots

  @Test func `yields the current state at once, then at most one every 100 ms`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") }, Self.settings, clock: clock)
    let seen = Log<Int>()
    let reading = Task { for await now in client.activity.snapshots { seen.add(now.totals.succeeded) } }
    await seen.wait(for: 1)
    await clock.waitForSleepers(1)

    for _ in 0..<50 { _ = try await client.get("/") }
    clock.advance(by: .milliseconds(99))
    await letOthersRun()
    let early = seen.elements
    await Self.move(clock, by: .milliseconds(1))
    await seen.wait(for: 2)

    #expect(early == [0])
    #expect(seen.elements == [0, 50])
    reading.cancel()
    await reading.value
  }

  @Test func `keeps only the newest snapshot for a slow reader`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") }, Self.settings, clock: clock)
    var snapshots = client.activity.snapshots.makeAsyncIterator()
    let first = await snapshots.next()
    await clock.waitForSleepers(1)

    for _ in 0..<5 {
      _ = try await client.get("/")
      await Self.move(clock, by: .milliseconds(100))
    }
    let second = await snapshots.next()

    #expect(first?.totals.succeeded == 0)
    #expect(second?.totals.succeeded == 5)
  }

  @Test func `yields one snapshot a second while the rate decays, then none`() async throws {
    let clock = TestClock(advancing: .manually)
    let transport = StubTransport(withContext: { _, context in
      context.didReceive(1000)
      return .text("x")
    })
    let client = HTTPClient.stubbed(transport, Self.settings, clock: clock)
    _ = try await client.get("/")
    let rates = Log<Double>()
    let reading = Task { for await now in client.activity.snapshots { rates.add(now.bytesPerSecond.received) } }

    for _ in 0..<5 {
      await clock.waitForSleepers(1)
      await Self.move(clock, by: .milliseconds(100))
      await Self.move(clock, by: .milliseconds(900))
    }
    clock.advance(by: .milliseconds(100))
    await rates.wait(for: 6)

    await letOthersRun()
    #expect(rates.elements == [200, 200, 200, 200, 200, 0])
    #expect(clock.sleeperCount == 0)
    reading.cancel()
  }

  @Test func `reports a change at once even while the rate decays`() async throws {
    let clock = TestClock(advancing: .manually)
    let transport = StubTransport(withContext: { _, context in
      context.didReceive(1000)
      return .text("x")
    })
    let client = HTTPClient.stubbed(transport, Self.settings, clock: clock)
    _ = try await client.get("/")
    let seen = Log<Int>()
    let reading = Task { for await now in client.activity.snapshots { seen.add(now.trackedWork.count) } }
    await seen.wait(for: 1)
    await clock.waitForSleepers(1)
    await Self.move(clock, by: .milliseconds(100))

    await client.activity.track("work") { await seen.wait(for: 2) }

    #expect(seen.elements.prefix(2) == [0, 1])
    reading.cancel()
  }

  // MARK: Indicator

  // C7
  @Test func `two requests in quick succession turn the indicator on and off once`() async throws {
    let clock = TestClock(advancing: .manually)
    let board = Board()
    let client = HTTPClient.stubbed(
      StubTransport { try await board.answer(to: Forge.number($0)) }, Self.settings, clock: clock)
    let shown = Log<Bool>()
    let reading = Task {
      for await isOn in client.activity.indicator(hideAfter: .milliseconds(250)) { shown.add(isOn) }
    }
    await shown.wait(for: 1)

    for number in 1...2 {
      let handle = client.start(Forge.GetItem(number: number))
      await shown.wait(for: 2)
      board.resolve(number, .success(.text("x")))
      _ = try await handle.value
      await clock.waitForSleepers(1)
      if number == 1 { clock.advance(by: .milliseconds(100)) }
    }
    clock.advance(by: .milliseconds(249))
    await clock.waitForSleepers(1)
    let early = shown.elements
    clock.advance(by: .milliseconds(1))
    await shown.wait(for: 3)

    #expect(early == [false, true])
    #expect(shown.elements == [false, true, false])
    reading.cancel()
  }

  @Test func `requests further apart turn the indicator off in between`() async throws {
    let clock = TestClock(advancing: .manually)
    let board = Board()
    let client = HTTPClient.stubbed(
      StubTransport { try await board.answer(to: Forge.number($0)) }, Self.settings, clock: clock)
    let shown = Log<Bool>()
    let reading = Task {
      for await isOn in client.activity.indicator(hideAfter: .milliseconds(250)) { shown.add(isOn) }
    }
    await shown.wait(for: 1)

    for number in 1...2 {
      let handle = client.start(Forge.GetItem(number: number))
      await shown.wait(for: 2 * number)
      board.resolve(number, .success(.text("x")))
      _ = try await handle.value
      await clock.waitForSleepers(1)
      clock.advance(by: .milliseconds(250))
      await shown.wait(for: 2 * number + 1)
    }

    #expect(shown.elements == [false, true, false, true, false])
    reading.cancel()
  }

  @Test func `a short retry delay does not make the indicator flicker`() async throws {
    let clock = TestClock(advancing: .manually)
    let board = Board()
    let client = HTTPClient.stubbed(
      StubTransport(withContext: { _, context in try await board.answer(to: context.attempt) }), Self.settings,
      .retry(.custom { attempt, _ in attempt < 2 ? .milliseconds(100) : nil }), clock: clock)
    let shown = Log<Bool>()
    let reading = Task {
      for await isOn in client.activity.indicator(hideAfter: .milliseconds(250)) { shown.add(isOn) }
    }
    await shown.wait(for: 1)
    let handle = client.start(.get("/"))
    await shown.wait(for: 2)

    clock.advance(by: .seconds(10))
    board.resolve(1, .success(.status(503)))
    await clock.waitForSleepers(2)
    clock.advance(by: .milliseconds(100))
    board.resolve(2, .success(.text("x")))
    _ = try await handle.value
    await clock.waitForSleepers(1)
    let early = shown.elements
    clock.advance(by: .milliseconds(250))
    await shown.wait(for: 3)

    #expect(early == [false, true])
    #expect(shown.elements == [false, true, false])
    reading.cancel()
  }

  // C8
  @Test func `tracked work turns the indicator on`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") }, Self.settings, clock: clock)
    let shown = Log<Bool>()
    let reading = Task { for await isOn in client.activity.indicator(hideAfter: .zero) { shown.add(isOn) } }
    await shown.wait(for: 1)

    await client.activity.track("work") {
      await shown.wait(for: 2)
      #expect(shown.elements == [false, true])
    }

    await shown.wait(for: 3)
    #expect(shown.elements == [false, true, false])
    reading.cancel()
  }

  // MARK: Without listeners

  @Test func `does no work without listeners`() async throws {
    let client = HTTPClient.stubbed(
      StubTransport { _ in .text("x") }, Self.settings, clock: TestClock(advancing: .manually))
    let changes = client.core.changes

    _ = try await client.get("/")
    let before = changes.version
    do {
      var snapshots = client.activity.snapshots.makeAsyncIterator()
      _ = await snapshots.next()
      _ = try await client.get("/")
    }
    let during = changes.version
    changes.signal()

    #expect(before == 0)
    #expect(during > 0)
    #expect(changes.version == during, "the reader is forgotten")
  }
}

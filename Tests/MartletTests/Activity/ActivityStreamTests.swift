import Foundation
import MartletTesting
import Testing

@testable import Martlet

/// `snapshots` and `indicator`, step by step on a clock that the test moves.
@Suite(.timeLimit(.minutes(3))) struct ActivityStreamTests {
  private static func client(
    _ clock: TestClock, retry: RetryPolicy = .none, _ transport: StubTransport
  ) -> HTTPClient {
    Forge.client(transport) {
      $0.clock = clock
      $0.retry = retry
    }
  }

  /// Moves the time and waits until the streams sleep again.
  private static func move(_ clock: TestClock, by duration: Duration, sleepers: Int = 1) async {
    clock.advance(by: duration)
    await clock.waitForSleepers(sleepers)
  }

  // MARK: Snapshots

  @Test func `gives the state at once, then at most one a tenth of a second`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = Self.client(clock, StubTransport { _ in .text("x") })
    let seen = Log<Int>()
    let reading = Task { for await now in client.activity.snapshots { seen.add(now.totals.succeeded) } }
    await eventually("the first one is there") { seen.elements == [0] }
    await clock.waitForSleepers(1)

    for _ in 0..<50 { _ = try await client.get("/") }
    clock.advance(by: .milliseconds(99))
    for _ in 0..<50 { await Task.yield() }
    let early = seen.elements
    await Self.move(clock, by: .milliseconds(1))
    await eventually("the second one is there") { seen.elements.count == 2 }

    #expect(early == [0])
    #expect(seen.elements == [0, 50])
    reading.cancel()
    await reading.value
  }

  @Test func `keeps only the newest for a slow reader`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = Self.client(clock, StubTransport { _ in .text("x") })
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

  @Test func `gives one a second while the rate decays, and then none`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = Self.client(
      clock,
      StubTransport(withContext: { _, context in
        context.didReceive(1000)
        return .text("x")
      }))
    _ = try await client.get("/")
    let rates = Log<Double>()
    let reading = Task { for await now in client.activity.snapshots { rates.add(now.bytesPerSecond.received) } }

    for _ in 0..<5 {
      await clock.waitForSleepers(1)
      await Self.move(clock, by: .milliseconds(100))
      await Self.move(clock, by: .milliseconds(900))
    }
    clock.advance(by: .milliseconds(100))
    await eventually("it decayed") { rates.elements == [200, 200, 200, 200, 200, 0] }

    for _ in 0..<50 { await Task.yield() }
    #expect(clock.sleeperCount == 0)
    reading.cancel()
  }

  @Test func `shows a change at once also while the rate decays`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = Self.client(
      clock,
      StubTransport(withContext: { request, context in
        if request.url?.path() == "/loud" { context.didReceive(1000) }
        return .text("x")
      }))
    _ = try await client.get("/loud")
    let seen = Log<Int>()
    let reading = Task { for await now in client.activity.snapshots { seen.add(now.totals.succeeded) } }
    await eventually("the first one is there") { seen.elements == [1] }
    await clock.waitForSleepers(1)
    await Self.move(clock, by: .milliseconds(100))

    _ = try await client.get("/quiet")

    await eventually("the change is shown") { seen.elements.last == 2 }
    reading.cancel()
  }

  // MARK: The indicator

  // C7
  @Test func `two requests close to each other turn the indicator on and off once`() async throws {
    let clock = TestClock(advancing: .manually)
    let board = Board()
    let client = Self.client(clock, StubTransport { try await board.answer(to: Forge.number($0)) })
    let shown = Log<Bool>()
    let reading = Task {
      for await isOn in client.activity.indicator(hideAfter: .milliseconds(250)) { shown.add(isOn) }
    }
    await eventually("it is off") { shown.elements == [false] }

    for number in 1...2 {
      let handle = client.start(Forge.GetItem(number: number))
      await eventually("it is on") { shown.elements == [false, true] }
      board.resolve(number, .success(.text("x")))
      _ = try await handle.value
      await clock.waitForSleepers(1)
      if number == 1 { clock.advance(by: .milliseconds(100)) }
    }
    clock.advance(by: .milliseconds(249))
    await clock.waitForSleepers(1)
    let early = shown.elements
    clock.advance(by: .milliseconds(1))
    await eventually("it is off again") { shown.elements.count == 3 }

    #expect(early == [false, true])
    #expect(shown.elements == [false, true, false])
    reading.cancel()
  }

  @Test func `requests further apart turn the indicator off in between`() async throws {
    let clock = TestClock(advancing: .manually)
    let board = Board()
    let client = Self.client(clock, StubTransport { try await board.answer(to: Forge.number($0)) })
    let shown = Log<Bool>()
    let reading = Task {
      for await isOn in client.activity.indicator(hideAfter: .milliseconds(250)) { shown.add(isOn) }
    }
    await eventually("it is off") { shown.elements == [false] }

    for number in 1...2 {
      let handle = client.start(Forge.GetItem(number: number))
      await eventually("it is on") { shown.elements.count == 2 * number }
      board.resolve(number, .success(.text("x")))
      _ = try await handle.value
      await clock.waitForSleepers(1)
      clock.advance(by: .milliseconds(250))
      await eventually("it is off") { shown.elements.count == 2 * number + 1 }
    }

    #expect(shown.elements == [false, true, false, true, false])
    reading.cancel()
  }

  @Test func `a short pause of a long request does not make the indicator flicker`() async throws {
    let clock = TestClock(advancing: .manually)
    let board = Board()
    let client = Self.client(
      clock, retry: .custom { attempt, _ in attempt < 2 ? .milliseconds(100) : nil },
      StubTransport(withContext: { _, context in try await board.answer(to: context.attempt) }))
    let shown = Log<Bool>()
    let reading = Task {
      for await isOn in client.activity.indicator(hideAfter: .milliseconds(250)) { shown.add(isOn) }
    }
    await eventually("it is off") { shown.elements == [false] }
    let handle = client.start(.get("/"))
    await eventually("it is on") { shown.elements == [false, true] }

    clock.advance(by: .seconds(10))
    board.resolve(1, .success(.status(503)))
    await clock.waitForSleepers(2)
    clock.advance(by: .milliseconds(100))
    board.resolve(2, .success(.text("x")))
    _ = try await handle.value
    await clock.waitForSleepers(1)
    let early = shown.elements
    clock.advance(by: .milliseconds(250))
    await eventually("it is off again") { shown.elements.count == 3 }

    #expect(early == [false, true])
    #expect(shown.elements == [false, true, false])
    reading.cancel()
  }

  // C8
  @Test func `adopted work turns the indicator on`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = Self.client(clock, StubTransport { _ in .text("x") })
    let shown = Log<Bool>()
    let reading = Task { for await isOn in client.activity.indicator(hideAfter: .zero) { shown.add(isOn) } }
    await eventually("it is off") { shown.elements == [false] }

    await client.activity.adopt("work") {
      await eventually("it is on") { shown.elements == [false, true] }
    }

    await eventually("it is off again") { shown.elements == [false, true, false] }
    reading.cancel()
  }

  // MARK: Nobody listens

  @Test func `does no work while nobody listens`() async throws {
    let client = Self.client(TestClock(advancing: .manually), StubTransport { _ in .text("x") })
    let changes = client.core.changes

    _ = try await client.get("/")
    let before = changes.version
    do {
      var snapshots = client.activity.snapshots.makeAsyncIterator()
      _ = await snapshots.next()
      _ = try await client.get("/")
    }
    let during = changes.version
    await eventually("the reader is forgotten") {
      let version = changes.version
      changes.signal()
      return changes.version == version
    }

    #expect(before == 0)
    #expect(during > 0)
  }
}

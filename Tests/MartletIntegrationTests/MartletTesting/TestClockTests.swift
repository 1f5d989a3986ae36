import MartletTesting
import TestSupport
import Testing

@Suite(.hangLimit)
struct TestClockTests {
  @Test func `advances to the end of each sleep automatically`() async throws {
    let clock = TestClock()

    try await clock.sleep(for: .milliseconds(200))
    try await clock.sleep(for: .seconds(30))

    #expect(clock.sleeps == [.milliseconds(200), .seconds(30)])
    #expect(clock.now.offset == .milliseconds(30_200))
  }

  @Test func `wakes no sleeper before its deadline`() async throws {
    let clock = TestClock()

    let wasEarly = await withTaskGroup(of: Bool.self) { group in
      for seconds in [5, 3, 1, 4, 2] {
        let deadline = TestClock.Instant(offset: .seconds(seconds))
        group.addTask {
          try? await clock.sleep(until: deadline)
          return clock.now < deadline
        }
      }
      return await group.contains(true)
    }

    #expect(!wasEarly)
    #expect(clock.now.offset == .seconds(5))
  }

  @Test func `does not advance automatically to the end of a long sleep`() async throws {
    let clock = TestClock()
    let watchdog = Task { try await clock.sleep(for: .seconds(120)) }
    await clock.waitForSleepers(1)

    for _ in 0..<3 { try await clock.sleep(for: .seconds(30)) }

    #expect(clock.sleeperCount == 1)
    try await clock.sleep(for: .seconds(40))
    try await watchdog.value
    #expect(clock.sleeps == [.seconds(30), .seconds(30), .seconds(30), .seconds(120), .seconds(40)])
  }

  @Test func `does not record sleeps with a tolerance`() async throws {
    let clock = TestClock()
    let watch = Task { try await clock.sleep(until: .init(offset: .seconds(30)), tolerance: .milliseconds(5)) }
    await clock.wait(forSleepers: 1)

    try await clock.sleep(until: .init(offset: .seconds(40)))

    try await watch.value
    #expect(clock.sleeps == [.seconds(40)])
  }

  @Test func `a manual advance ends a long sleep`() async throws {
    let clock = TestClock(automaticLimit: .seconds(1))
    let sleeper = Task { try await clock.sleep(for: .seconds(2)) }
    await clock.waitForSleepers(1)

    clock.advance(by: .seconds(2))

    try await sleeper.value
    #expect(clock.sleeps == [.seconds(2)])
  }

  @Test func `advances only manually if configured`() async throws {
    let clock = TestClock(advancing: .manually)
    let sleepers = [3, 1, 2].map { seconds in Task { try await clock.sleep(for: .seconds(seconds)) } }
    #expect(await clock.waitForSleepers(3))

    clock.advance(by: .seconds(2))

    try await sleepers[1].value
    try await sleepers[2].value
    #expect(clock.sleeps == [.seconds(1), .seconds(2)])
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    try await sleepers[0].value
    #expect(clock.now.offset == .seconds(3))
  }

  @Test func `ends a cancelled sleep at once`() async throws {
    let clock = TestClock(advancing: .manually)
    let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.waitForSleepers(1)

    sleeper.cancel()

    await #expect(throws: CancellationError.self) { try await sleeper.value }
    #expect(clock.sleeps.isEmpty)
    #expect(clock.sleeperCount == 0)
  }

  @Test func `does not begin a sleep in a cancelled task`() async throws {
    let clock = TestClock(advancing: .manually)
    let sleepers = (0..<200).map { _ in Task { try await clock.sleep(for: .seconds(1)) } }

    for sleeper in sleepers { sleeper.cancel() }

    for sleeper in sleepers { await #expect(throws: CancellationError.self) { try await sleeper.value } }
    #expect(clock.sleeperCount == 0)
  }

  @Test func `returns at once for a deadline that has passed`() async throws {
    let clock = TestClock(advancing: .manually)

    try await clock.sleep(for: .zero)

    #expect(clock.sleeps.isEmpty)
    #expect(await clock.waitForSleepers(1, timeout: .milliseconds(5)) == false)
  }

  @Test func `can be used as an existential clock`() async throws {
    let clock = TestClock()
    let any: any Clock<Duration> = clock

    try await any.sleep(for: .milliseconds(400))

    #expect(clock.sleeps == [.milliseconds(400)])
  }
}

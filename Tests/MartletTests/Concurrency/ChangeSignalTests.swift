import MartletBase
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct ChangeSignalTests {
  @Test func `does nothing without watchers`() {
    let signal = ChangeSignal()

    for _ in 0..<1000 { signal.signal() }

    #expect(signal.version == 0)
  }

  @Test func `stops counting when the last watcher is removed`() {
    let signal = ChangeSignal()
    signal.addWatcher()
    signal.addWatcher()
    signal.removeWatcher()
    signal.signal()
    signal.removeWatcher()

    signal.signal()

    #expect(signal.version == 1)
  }

  @Test func `wakes all waiters, and a late waiter returns at once`() async {
    let signal = ChangeSignal()
    signal.addWatcher()
    let version = signal.version
    let waiting = (0..<10).map { _ in Task { await signal.wait(after: version) } }

    signal.signal()

    for task in waiting { await task.value }
    await signal.wait(after: version)
    #expect(signal.version == version + 1)
  }

  @Test func `a cancelled task does not wait`() async {
    let signal = ChangeSignal()
    let waiting = Task { await signal.wait(after: 0) }

    waiting.cancel()

    await waiting.value
  }

  @Test func `waits no longer than its limit`() async throws {
    let signal = ChangeSignal()
    let clock = TestClock(advancing: .manually)
    signal.addWatcher()
    let waiting = Task { try await signal.wait(after: 0, orFor: .seconds(1), Timeline(clock)) }
    await clock.waitForSleepers(1)

    clock.advance(by: .seconds(1))

    try await waiting.value
    #expect(signal.version == 0)
  }

  @Test func `a change ends a wait with a limit`() async throws {
    let signal = ChangeSignal()
    let clock = TestClock(advancing: .manually)
    signal.addWatcher()
    let waiting = Task { try await signal.wait(after: 0, orFor: .seconds(1), Timeline(clock)) }
    await clock.waitForSleepers(1)

    signal.signal()

    try await waiting.value
    #expect(clock.sleeperCount == 0)
  }
}

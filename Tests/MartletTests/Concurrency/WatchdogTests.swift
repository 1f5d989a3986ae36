import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite(.hangLimit) struct WatchdogTests {
  /// Checks one limit after the other and logs the times.
  fileprivate final class Probe: Watched {
    let name: Int
    let place = SlotIndex()
    private let log: Log<Look>
    private let limits: Locked<[Duration]>
    private let whileLooking: (@Sendable (Probe) -> Void)?

    init(_ name: Int, _ limits: [Duration], _ log: Log<Look>, whileLooking: (@Sendable (Probe) -> Void)? = nil) {
      self.name = name
      self.log = log
      self.limits = Locked(limits)
      self.whileLooking = whileLooking
    }

    func checkLimits(now: Duration) -> Duration? {
      whileLooking?(self)
      let (isPassed, next): (Bool, Duration?) = limits.withLock {
        guard let first = $0.first else { return (false, nil) }
        guard now >= first else { return (false, first) }
        $0.removeFirst()
        return (true, $0.first)
      }
      if isPassed { log.add(Look(name: name, time: now)) }
      return next
    }
  }

  fileprivate struct Look: Equatable, Sendable { var name: Int; var time: Duration }

  private let clock = TestClock(advancing: .manually)
  private let log = Log<Look>()
  private let changes = ChangeSignal()
  private let watchdog: Watchdog

  init() { watchdog = Watchdog(Timeline(clock), changes: changes) }

  private func watch(_ name: Int, _ limits: [Duration]) {
    guard let first = limits.first else { return }
    watchdog.watch(Probe(name, limits, log), next: first)
  }

  /// Advances the clock, then waits until `count` checks are logged and, if any limits remain, the timer is set again.
  private func advance(by duration: Duration, expecting count: Int, leaving left: Int) async {
    await clock.wait(forSleepers: 1)
    clock.advance(by: duration)
    await log.wait(for: count)
    await changes.wait { watchdog.count == left }
    if left > 0 { await clock.wait(forSleepers: 1) }
  }

  /// The pause for delayed events is as long as the standstill, at most ``Watchdog/grace``.
  @Test(arguments: [
    (Duration.seconds(70), Watchdog.grace), (.milliseconds(300), .milliseconds(300)), (.milliseconds(40), .zero),
  ])
  func `a late timer waits up to the grace period before it checks limits`(late: Duration, pause: Duration) async {
    let watchdog = Watchdog(Timeline(clock, knowsStandstill: true), changes: changes)
    watchdog.watch(Probe(1, [.seconds(30)], log), next: .seconds(30))
    await clock.wait(forSleepers: 1)

    clock.advance(by: .seconds(30) + late)
    if pause > .zero {
      await clock.wait { $0.sleeperCount == 1 || log.count > 0 }
      #expect(log.elements.isEmpty)
      clock.advance(by: pause)
    }
    await log.wait(for: 1)

    #expect(log.elements == [Look(name: 1, time: .seconds(30) + late + pause)])
  }

  @Test func `limits expire even if the timer is always late`() async {
    let watchdog = Watchdog(Timeline(clock, knowsStandstill: true), changes: changes)
    watchdog.watch(Probe(1, [.seconds(30)], log), next: .seconds(30))

    for _ in 0..<3 {
      await clock.wait(forSleepers: 1)
      clock.advance(by: .seconds(100))
    }

    await log.wait(for: 1)
    #expect(log.elements == [Look(name: 1, time: .seconds(300))])
  }

  @Test func `checks each limit on time, in any order of registration`() async {
    watch(3, [.seconds(3)])
    watch(1, [.seconds(1)])
    watch(2, [.seconds(2)])

    await advance(by: .milliseconds(999), expecting: 0, leaving: 3)
    #expect(log.elements.isEmpty)
    await advance(by: .milliseconds(1), expecting: 1, leaving: 2)
    await advance(by: .milliseconds(999), expecting: 1, leaving: 2)
    #expect(log.elements == [Look(name: 1, time: .seconds(1))])
    await advance(by: .milliseconds(1), expecting: 2, leaving: 1)
    await advance(by: .seconds(1), expecting: 3, leaving: 0)

    #expect(log.elements.map(\.name) == [1, 2, 3])
    #expect(log.elements.map(\.time) == [.seconds(1), .seconds(2), .seconds(3)])
    #expect(watchdog.count == 0)
  }

  @Test func `checks an object again at its next limit`() async {
    watch(1, [.seconds(1), .seconds(5)])

    await advance(by: .seconds(1), expecting: 1, leaving: 1)
    await advance(by: .milliseconds(3999), expecting: 1, leaving: 1)
    #expect(log.elements.count == 1)
    await advance(by: .milliseconds(1), expecting: 2, leaving: 0)

    #expect(log.elements.map(\.time) == [.seconds(1), .seconds(5)])
    #expect(watchdog.count == 0)
  }

  @Test func `does not check removed objects`() async {
    let removed = Probe(1, [.seconds(1)], log)
    watchdog.watch(removed, next: .seconds(1))
    watch(2, [.seconds(2)])
    watchdog.forget(removed)
    watchdog.forget(removed)
    #expect(watchdog.count == 1)

    await clock.wait(forSleepers: 1)
    clock.advance(by: .seconds(1))
    await clock.wait(forSleepers: 1)
    await advance(by: .seconds(1), expecting: 1, leaving: 0)

    #expect(log.elements == [Look(name: 2, time: .seconds(2))])
  }

  @Test func `removing a checked object does not remove the object in its place`() async {
    let checked = Probe(1, [.seconds(1)], log)
    watchdog.watch(checked, next: .seconds(1))
    await advance(by: .seconds(1), expecting: 1, leaving: 0)

    watch(2, [.seconds(2)])
    watchdog.forget(checked)
    #expect(watchdog.count == 1)
    watchdog.watch(checked, next: .seconds(3))
    #expect(watchdog.count == 2)
    await advance(by: .seconds(1), expecting: 2, leaving: 1)
    watchdog.forget(checked)

    #expect(watchdog.count == 0)
    #expect(log.elements.map(\.name) == [1, 2])
  }

  @Test func `releases removed objects`() {
    var object: Probe? = Probe(1, [.seconds(1)], log)
    weak let reference = object
    if let object {
      watchdog.watch(object, next: .seconds(1))
      watchdog.forget(object)
    }

    object = nil

    #expect(reference == nil)
  }

  @Test func `cancels its timer when it is released`() async {
    var watchdog: Watchdog? = Watchdog(Timeline(clock))
    weak let reference = watchdog
    watchdog?.watch(Probe(1, [.seconds(1000)], log), next: .seconds(1000))
    await clock.wait(forSleepers: 1)

    watchdog = nil

    #expect(reference == nil)
    #expect(clock.sleeperCount == 0)
  }

  @Test func `watches many objects with one timer`() async {
    var generator = SeededGenerator(seed: 3)
    let times = (0..<2000).map { _ in Int.random(in: 1...1000, using: &generator) }
    for (name, time) in times.enumerated() { watch(name, [.milliseconds(time * 10)]) }
    #expect(watchdog.count == 2000)
    await clock.wait(forSleepers: 1)
    #expect(clock.sleeperCount == 1)

    for step in 1...10 {
      let count = times.count { $0 <= step * 100 }
      await advance(by: .seconds(1), expecting: count, leaving: times.count - count)
      #expect(log.count == count)
    }

    #expect(Set(log.elements.map(\.name)).count == 2000)
    #expect(log.elements.allSatisfy { $0.time >= .milliseconds(times[$0.name] * 10) })
    #expect(watchdog.count == 0)
  }

  @Test func `keeps a limit that is set during a check`() async {
    let watchdog = watchdog
    let isFirst = Locked(true)
    let looks = Log<Int>()
    let probe = Probe(1, [.seconds(2), .seconds(50)], log) { probe in
      // This happens when an exchange enters its next phase on another thread.
      let isFirst = isFirst.withLock { first in
        defer { first = false }
        return first
      }
      if isFirst { watchdog.watch(probe, next: .seconds(2)) }
      looks.add(1)
    }
    watchdog.watch(probe, next: .seconds(1))
    let ending = Probe(2, [], log) { probe in
      if watchdog.count > 0 { watchdog.watch(probe, next: .seconds(60)) }
      looks.add(2)
    }
    watchdog.watch(ending, next: .seconds(1))

    await clock.wait(forSleepers: 1)
    clock.advance(by: .seconds(1))
    await looks.wait(for: 2)
    #expect(watchdog.count == 2)
    await advance(by: .seconds(1), expecting: 1, leaving: 2)

    #expect(log.elements == [Look(name: 1, time: .seconds(2))])
  }

  @Test func `accepts limits that are never reached`() async {
    watch(1, [.seconds(Int.max)])
    watch(2, [.seconds(1)])

    await advance(by: .seconds(1), expecting: 1, leaving: 1)
    for _ in 0..<3 { await advance(by: .seconds(400 * 86_400), expecting: 1, leaving: 1) }

    #expect(log.elements.map(\.name) == [2])
    #expect(watchdog.count == 1)
  }

  @Test func `checks limits in the past at once`() async {
    watch(1, [.seconds(-5)])
    watch(2, [.zero])

    await changes.wait { watchdog.count == 0 }
    #expect(log.elements.count == 2)
  }
}

extension Watchdog {
  fileprivate func watch(_ probe: WatchdogTests.Probe, next: Duration) { watch(probe, at: probe.place, next: next) }

  fileprivate func forget(_ probe: WatchdogTests.Probe) { forget(probe, at: probe.place) }
}

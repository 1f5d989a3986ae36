import Foundation
import TestSupport
import Testing

@testable import Martlet

/// The value types that make the decisions, without tasks and with explicit times.
@Suite(.hangLimit) struct AdmissionControllerTests {
  // MARK: Queue

  @Test func `admits the highest priority first, then one request per caller in turn, then the oldest`() {
    var queue = FairQueue()
    for id in 1...4 { queue.push(UInt64(id), priority: 0, caller: .tag("greedy")) }
    queue.push(5, priority: 0, caller: .tag("single"))
    queue.push(6, priority: 1, caller: .anybody)
    queue.push(7, priority: -1, caller: .tag("late"))
    queue.push(8, priority: .max, caller: .anybody)
    queue.push(9, priority: .min, caller: .anybody)

    #expect(queue.count == 9)
    let order = (0..<10).map { _ in queue.pop() }
    #expect(order == [8, 6, 1, 5, 2, 3, 4, 7, 9, nil])
    #expect(queue.isEmpty)
  }

  @Test func `a removed request does not cost its caller a turn`() {
    var queue = FairQueue()
    for id in 1...3 { queue.push(UInt64(id), priority: 0, caller: .tag("a")) }
    for id in 4...6 { queue.push(UInt64(id), priority: 0, caller: .tag("b")) }
    for id: UInt64 in [1, 2, 5, 1] { queue.remove(id) }

    let order = (0..<4).map { _ in queue.pop() }
    #expect(order == [3, 4, 6, nil])
  }

  @Test func `releases the entries of many removed requests`() {
    var queue = FairQueue()
    for id in 0..<10_000 {
      queue.push(UInt64(id), priority: id % 3, caller: .tag("\(id % 7)"))
      if id % 100 != 0 { queue.remove(UInt64(id)) }
    }
    #expect(queue.count == 100)
    #expect(Mirror(reflecting: queue).children.first { $0.label == "entries" }?.value as? Int ?? .max <= 400)
    var popped: [UInt64] = []
    while let id = queue.pop() { popped.append(id) }
    #expect(popped.count == 100)
    #expect(Set(popped).allSatisfy { $0 % 100 == 0 })
  }

  // MARK: Rates

  @Test func `a rate admits a burst, then one request per interval`() {
    var rules = AdmissionController.Rules()
    rules.rate = .perSecond(10, burst: 3)
    var gate = AdmissionController(rules)

    for id in 1...3 { #expect(gate.arrive(UInt64(id), now: .zero) == .goes(isProbe: false)) }
    #expect(gate.arrive(4, now: .zero) == .waits)
    #expect(gate.arrive(5, now: .milliseconds(50)) == .waits)
    #expect(gate.nextTime(now: .milliseconds(50)) == .milliseconds(100))
    #expect(gate.serve(now: .milliseconds(99)).isEmpty)
    #expect(gate.serve(now: .milliseconds(100)).map(\.id) == [4])
    #expect(gate.serve(now: .milliseconds(200)).map(\.id) == [5])
    #expect(gate.nextTime(now: .milliseconds(200)) == nil)
    #expect(gate.isIdle(now: .milliseconds(300)) == false)
    #expect(gate.isIdle(now: .seconds(1)))
  }

  @Test func `a clock that jumps admits no more than a burst and blocks nothing`() {
    var rules = AdmissionController.Rules()
    rules.rate = .perSecond(1, burst: 2)
    var gate = AdmissionController(rules)
    let times: [Duration] = [.seconds(1_000), .seconds(1_000), .seconds(5), .seconds(6), .seconds(1_000_000)]
    var went: [Bool] = []
    for (id, time) in times.enumerated() {
      went.append(gate.arrive(UInt64(id), now: time) == .goes(isProbe: false))
      gate.leave(UInt64(id))
    }
    #expect(went == [true, true, false, true, true])
  }

  @Test(
    arguments: [
      .perSecond(0), .perSecond(-1), .perSecond(.nan), .perSecond(.infinity), .perSecond(1e-9), .limit(1, per: .zero),
      .limit(1, per: .seconds(-1)),
      .perMinute(1, burst: 0), .perSecond(1, burst: .min),
    ] as [RateLimit])
  func `rejects invalid rates`(rate: RateLimit) { #expect(rate.problem != nil) }

  @Test func `accepts extreme rates`() {
    for rate in [
      RateLimit.perSecond(1e12, burst: .max), .perSecond(0.001), .limit(1, per: .seconds(86_400)),
    ] {
      #expect(rate.problem == nil)
      var rules = AdmissionController.Rules()
      rules.rate = rate
      var gate = AdmissionController(rules)
      for id: UInt64 in 0..<10 { _ = gate.arrive(id, now: .seconds(Int64(id))) }
      _ = gate.serve(now: .seconds(Int64(1) << 40))
      _ = gate.nextTime(now: .seconds(Int64(1) << 40))
    }
  }

  // MARK: Server limits

  @Test(
    arguments: [
      (429, ["Retry-After": "30"], .seconds(30)), (503, ["Retry-After": "0"], .zero), (200, ["Retry-After": "30"], nil),
      (429, ["Retry-After": "1000000000"], .seconds(1_000_000_000)), (429, ["Retry-After": "-5"], nil), (429, [:], nil),
      (429, ["Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"], .zero),
      (429, ["Retry-After": "99999999999999999999999"], .seconds(1 << 31)),
      (200, ["RateLimit": "\"default\";r=0;t=12"], .seconds(12)), (200, ["RateLimit": "\"default\";r=1;t=12"], nil),
      (200, ["RateLimit": "\"a\";r=0;t=5, \"b\";r=0;t=9, \"c\";r=7;t=99"], .seconds(9)),
      (200, ["RateLimit": ";;=,=;r=0"], nil),
      (200, ["RateLimit-Remaining": "0", "RateLimit-Reset": "7"], .seconds(7)),
      (200, ["RateLimit-Remaining": "3", "RateLimit-Reset": "7"], nil),
      (403, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000060"], .seconds(60)),
      (403, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1600000000"], .zero),
      (403, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "-1"], nil),
      (403, ["Retry-After": "60"], .seconds(60)), (500, ["Retry-After": "60"], .seconds(60)),
      (301, ["Retry-After": "60"], nil),
      (429, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000060000"], .seconds(60)),
      (429, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000060000000"], .seconds(60)),
      (429, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000000.5"], .milliseconds(500)),
      (429, ["X-RateLimit-Remaining": "0.0", "X-RateLimit-Reset": "2.5"], .milliseconds(2_500)),
      (429, ["X-RateLimit-Remaining": "0.5", "X-RateLimit-Reset": "2"], nil),
      (429, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1e3"], nil),
      (429, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "."], nil),
      (429, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999999999999999999999999"], .zero),
    ] as [(Int, HTTPHeaders, Duration?)])
  func `reads the limits that servers announce`(status: Int, headers: HTTPHeaders, pause: Duration?) {
    let now = Date(timeIntervalSince1970: 1_700_000_000)
    #expect(ServerLimits.pause(HTTPStatus(rawValue: status), headers, now: now) == pause)
  }

  @Test func `a pause delays requests and is bounded`() {
    var rules = AdmissionController.Rules()
    rules.rate = .server
    rules.maximumWait = .seconds(30)
    var gate = AdmissionController(rules)
    gate.pause(until: .seconds(20), now: .zero)

    #expect(gate.arrive(1, now: .zero) == .waits)
    #expect(gate.nextTime(now: .zero) == .seconds(20))
    #expect(gate.serve(now: .seconds(19)).isEmpty)
    #expect(gate.serve(now: .seconds(20)).map(\.id) == [1])
    gate.pause(until: .seconds(1_000_000), now: .seconds(21))
    #expect(gate.arrive(2, now: .seconds(21)) == .refused(.pause(.seconds(60), maximum: .seconds(30))))
    // The clock was set back.
    _ = gate.arrive(3, now: .seconds(-1_000_000))
    #expect(gate.pauseLeft(now: .seconds(-999_990)) == .seconds(50))

    rules.rate.maximumPause = .zero
    var unimpressed = AdmissionController(rules)
    unimpressed.pause(until: .seconds(9), now: .zero)
    #expect(unimpressed.pauseLeft(now: .zero) == nil)
    #expect(unimpressed.arrive(1, now: .zero) == .goes(isProbe: false))
  }

  // MARK: Circuit breaker

  private static let failure = AdmissionController.Outcome.failure(HTTPError(.cannotConnect, "refused"), after: .zero)

  private static func circuit(_ failures: Int) -> AdmissionController {
    var rules = AdmissionController.Rules()
    rules.breaker = .afterFailures(failures, pause: .seconds(10))
    return AdmissionController(rules)
  }

  @Test func `a circuit opens after consecutive failures, admits one probe, and closes after a response`() {
    var gate = Self.circuit(2)
    for (outcome, time) in [(Self.failure, 0), (.response(after: nil), 1), (Self.failure, 2)] {
      #expect(gate.arrive(1, now: .seconds(time)) == .goes(isProbe: false))
      _ = gate.respond(outcome, isProbe: false, now: .seconds(time))
      if gate.release() { _ = gate.serve(now: .seconds(time)) }
    }
    #expect(gate.circuit.state == .closed(failures: 1))
    _ = gate.respond(Self.failure, isProbe: false, now: .seconds(3))
    #expect(gate.circuit.state == .open(until: .seconds(13)))
    #expect(gate.arrive(2, now: .seconds(5)) == .refused(.circuitOpen(retryAfter: .seconds(8))))

    #expect(gate.arrive(3, now: .seconds(13)) == .goes(isProbe: true))
    #expect(gate.arrive(4, now: .seconds(13)) == .refused(.circuitOpen(retryAfter: .zero)))
    _ = gate.respond(Self.failure, isProbe: true, now: .seconds(14))
    #expect(gate.circuit.state == .open(until: .seconds(24)))

    #expect(gate.arrive(5, now: .seconds(24)) == .goes(isProbe: true))
    _ = gate.respond(.cancelled, isProbe: true, now: .seconds(25))
    #expect(gate.arrive(6, now: .seconds(25)) == .goes(isProbe: true))
    _ = gate.respond(.refusal, isProbe: true, now: .seconds(26))
    #expect(gate.circuit.state == .closed(failures: 0))
    #expect(gate.arrive(7, now: .seconds(26)) == .goes(isProbe: false))
  }

  @Test func `exchanges that began before the circuit opened do not prolong its pause`() {
    var gate = Self.circuit(1)
    _ = gate.respond(Self.failure, isProbe: false, now: .seconds(1))
    _ = gate.respond(Self.failure, isProbe: false, now: .seconds(9))
    #expect(gate.circuit.state == .open(until: .seconds(11)))
    #expect(gate.arrive(1, now: .seconds(11)) == .goes(isProbe: true))
    _ = gate.respond(Self.failure, isProbe: false, now: .seconds(12))
    #expect(gate.circuit.state == .probing)
  }

  @Test func `a circuit that opens ends all waits`() {
    var rules = AdmissionController.Rules()
    rules.breaker = .afterFailures(1)
    rules.bounds = 1...1
    var gate = AdmissionController(rules)
    #expect(gate.arrive(1, now: .zero) == .goes(isProbe: false))
    for id: UInt64 in 2...4 { #expect(gate.arrive(id, now: .zero) == .waits) }
    let served = gate.respond(Self.failure, isProbe: false, now: .seconds(1))
    #expect(served.map(\.id) == [2, 3, 4])
    #expect(gate.waiting == 0)
  }

  @Test(
    arguments: [
      .afterFailures(0), .afterFailures(-1), .afterFailures(1, pause: .zero),
      .afterFailures(1, pause: .seconds(1 << 40)),
    ] as [CircuitBreaker])
  func `rejects invalid circuit breakers`(breaker: CircuitBreaker) { #expect(breaker.problem != nil) }

  // MARK: Concurrency

  @Test(
    arguments: [.fixed(0), .fixed(.min), .adaptive(0...5), .adaptive(-3...3), .adaptive(1...10_001)]
      as [ConcurrencyPolicy])
  func `rejects invalid concurrency`(policy: ConcurrencyPolicy) { #expect(policy.problem != nil) }

  @Test func `a full queue refuses requests, and a request that would be too late is not sent`() {
    var rules = AdmissionController.Rules()
    rules.bounds = 1...1
    rules.maximumWaiting = 2
    var gate = AdmissionController(rules)
    var now = Duration.zero
    for _ in 0..<20 {
      _ = gate.arrive(0, now: now)
      now += .milliseconds(100)
      _ = gate.respond(.response(after: .milliseconds(100)), isProbe: false, now: now)
      if gate.release() { _ = gate.serve(now: now) }
    }
    #expect(gate.arrive(1, now: now) == .goes(isProbe: false))
    #expect(gate.arrive(2, end: now + .milliseconds(50), now: now) == .waits)
    #expect(gate.arrive(3, end: now + .seconds(5), now: now) == .waits)
    #expect(gate.arrive(4, now: now) == .refused(.queueFull(waiting: 2)))

    let served = gate.release() ? gate.serve(now: now) : []
    #expect(served.map(\.id) == [2, 3])
    #expect(served.map(\.refusal) == [.tooLate(latency: .milliseconds(100)), nil])
  }

  @Test func `the limit stays between its bounds for any measurements`() {
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<20 {
      var limit = AdaptiveLimit(3...40)
      var now = Duration.zero
      for _ in 0..<2_000 {
        let inFlight = Int.random(in: 0...100, using: &generator)
        let latency = Duration.seconds(pow(10, Double.random(in: -9...6, using: &generator)))
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: limit.dropped(now: now)
        case 1: limit.timedOut(after: latency, now: now)
        case 2: limit.began(inFlight: inFlight, now: now)
        case 3: now -= .seconds(Int.random(in: 0...100, using: &generator))
        default: limit.succeeded(after: latency, inFlight: inFlight, now: now)
        }
        now += .seconds(Double.random(in: 0...1, using: &generator))
        #expect((3...40).contains(limit.value))
      }
    }
  }

  // MARK: Hedging

  @Test func `learns a percentile to within 10 percent`() {
    var latencies = HedgeLatencies()
    for number in 1...19 { latencies.add(.milliseconds(number)) }
    #expect(latencies.delay(0.5) == nil)
    for number in 20...900 { latencies.add(.milliseconds(number)) }
    for share in [0.5, 0.9, 0.95, 0.99] {
      let delay = (latencies.delay(share) ?? .zero) / .milliseconds(1)
      #expect(delay >= 900 * share * 0.99 && delay <= 900 * share * 1.1)
    }
  }

  @Test func `counts extreme latencies and forgets old ones`() {
    var latencies = HedgeLatencies()
    for latency in [Duration.seconds(-5), .zero, .seconds(Int64.max), .nanoseconds(1)] { latencies.add(latency) }
    for _ in 0..<1_000 { latencies.add(.seconds(1)) }
    for _ in 0..<20_000 { latencies.add(.milliseconds(10)) }
    #expect(latencies.count <= 1_000)
    #expect((latencies.delay(0.999) ?? .zero) < .milliseconds(12))
  }

  @Test(
    arguments: [
      .after(.zero), .after(.seconds(-1)), .afterPercentile(.nan), .afterPercentile(0.4), .afterPercentile(1),
    ] as [HedgingPolicy])
  func `rejects invalid hedging`(policy: HedgingPolicy) { #expect(policy.problem != nil) }

  // MARK: Data budget

  @Test(
    arguments: [
      .perDay(0), .perDay(-1), .limit(1, per: .zero), .limit(1, per: .milliseconds(1_500)),
      .limit(1, per: .seconds(400 * 86_400)),
    ] as [DataBudget])
  func `rejects invalid data budgets`(budget: DataBudget) { #expect(budget.problem != nil) }

  @Test func `counts use per period, survives a clock that is set back, and saturates`() {
    var use = DataUse()
    use.enter(100)
    use.add(10, "")
    use.enter(101)
    #expect(use.used("") == 0)
    use.add(20, "")
    use.enter(100)
    #expect(use.used("") == 20)
    use.enter(101)
    #expect(use.used("") == 20)
    // The clock is set far ahead by mistake, then back.
    use.enter(99_999)
    use.add(5, "")
    use.enter(101)
    #expect(use.used("") == 5)
    use.enter(102)
    #expect(use.used("") == 0)
    use.add(.max, "")
    use.add(1, "")
    #expect(use.used("") == .max)
    for tag in 0..<5_000 { use.add(1, "\(tag)") }
    #expect(use.used.count <= 1_001)
  }
}

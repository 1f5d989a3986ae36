import Foundation
import MartletBase
import TestSupport

@testable import Martlet

/// Simulates clients and servers in virtual time, without tasks or sockets.
///
/// The value types that the stages use make every decision (`AdmissionController`, `HedgeLatencies`, `RetryPolicy`,
/// `RetryBudget`). The same seed produces the same run.
struct LoadSimulation {
  /// The simulated clients and servers; times are in seconds.
  struct Scenario {
    /// The number of programs, each with a client and its limits.
    var clients = 200
    /// The requests per second of all clients together, as a function of time.
    var rate: (Double) -> Double = { _ in 700 }
    /// The number of servers behind the origin; each request goes to a random one.
    var servers = 1
    /// The number of requests that a server handles at the same time.
    var workers = 20
    /// The mean time that a server works on a request, as a function of the server and the time.
    var service: (Int, Double) -> Double = { _, _ in 0.02 }
    /// The share of requests that take thirty times as long.
    var heavyShare = 0.0
    /// Whether the origin is reachable, as a function of time.
    var isUp: (Double) -> Bool = { _ in true }
    /// The time that a caller waits for a response.
    var patience = 1.0
    var length = 40.0
    /// The time span whose results count.
    var measured = 10.0..<30.0
    var seed: UInt64 = 1

    /// The number of requests that the servers can handle per second.
    var capacity: Double { Double(servers * workers) / service(0, 0) }
  }

  /// The policies of the clients.
  struct Policies {
    var retry = RetryPolicy.off
    /// Whether retries have a budget, unlike those of many other clients.
    var hasBudget = true
    var bounds: ClosedRange<Int>?
    var breaker = CircuitBreaker.off
    var hedging = HedgingPolicy.off
    var maximumWait = Duration.seconds(5)
  }

  struct Result {
    /// The number of calls that began in the measured span.
    var calls = 0
    var succeeded = 0
    /// The latencies of successful calls, in seconds, sorted.
    var latencies: [Double] = []
    /// The number of exchanges sent.
    var sent = 0
    /// The number of retries and hedges sent.
    var repeated = 0
    /// The number of exchanges sent while the origin was down.
    var sentInVain = 0
    /// The times that calls took to fail, in seconds, sorted.
    var failures: [Double] = []
    /// The number of successful calls, by the second in which they ended.
    var perSecond: [Int: Int] = [:]
    var started: [Int: Int] = [:]

    var repeatedShare: Double { sent == 0 ? 0 : Double(repeated) / Double(sent - repeated) }

    func percentile(_ share: Double) -> Double {
      latencies.isEmpty ? .infinity : latencies[min(latencies.count - 1, Int(Double(latencies.count) * share))]
    }

    /// Returns the successes per second in a span.
    func goodput(_ span: Range<Int>) -> Double {
      Double(span.reduce(0) { $0 + (perSecond[$1] ?? 0) }) / Double(span.count)
    }

    /// Returns how many seconds after `start` at least 90% of the calls succeed again.
    func recovery(after start: Int, until end: Int) -> Int? {
      (start..<end).first { second in Double(perSecond[second] ?? 0) >= 0.9 * Double(started[second] ?? 1) }
        .map { $0 - start + 1 }
    }
  }

  private enum Event {
    case begin
    /// The timer of a client's admission queue.
    case serve(client: Int, time: Duration)
    case retry(call: Int)
    case giveUp(call: Int)
    case waitedTooLong(call: Int, wait: Int)
    case hedge(exchange: Int)
    case served(server: Int, exchange: Int)
    case refused(exchange: Int)
  }

  private struct Exchange {
    let call: Int
    let start: Double
    let server: Int
    var isHedge = false
    var isProbe = false
    var isOver = false
  }

  private struct Call {
    let client: Int
    let start: Double
    var attempt = 1
    var exchanges: [Int] = []
    var isOver = false
    var wait: Int?
  }

  private struct Client {
    var gate: AdmissionController
    var budget = RetryBudget()
    var latencies = HedgeLatencies()
    var timer: Duration?
  }

  private struct Server {
    var busy = 0
    var queue = FirstInFirstOut<Int>()
  }

  private let scenario: Scenario
  private let policies: Policies
  private var random: SeededGenerator
  private var events = EventHeap()
  private var clients: [Client]
  private var servers: [Server]
  private var calls: [Call] = []
  private var exchanges: [Exchange] = []
  private var waiting: [Int: Int] = [:]
  private var nextWait = 0
  private var now = 0.0
  private var result = Result()

  static func run(_ scenario: Scenario, _ policies: Policies) -> Result {
    var simulation = LoadSimulation(scenario, policies)
    return simulation.run()
  }

  private init(_ scenario: Scenario, _ policies: Policies) {
    self.scenario = scenario
    self.policies = policies
    random = SeededGenerator(seed: scenario.seed)
    var rules = AdmissionController.Rules()
    rules.bounds = policies.bounds
    rules.breaker = policies.breaker
    rules.maximumWait = policies.maximumWait
    clients = (0..<scenario.clients).map { _ in Client(gate: AdmissionController(rules)) }
    servers = Array(repeating: Server(), count: scenario.servers)
  }

  private var time: Duration { .seconds(now) }

  private mutating func run() -> Result {
    events.push(at: 0, .begin)
    while let (at, event) = events.pop() {
      now = at
      handle(event)
    }
    result.latencies.sort()
    result.failures.sort()
    return result
  }

  private mutating func handle(_ event: Event) {
    switch event {
    case .begin: begin()
    case .serve(let client, let time):
      guard clients[client].timer == time else { return }
      clients[client].timer = nil
      hand(clients[client].gate.serve(now: self.time), client)
    case .retry(let call): if !calls[call].isOver { arrive(call) }
    case .giveUp(let call): giveUp(call)
    case .waitedTooLong(let call, let wait):
      guard calls[call].wait == wait else { return }
      clients[calls[call].client].gate.leave(UInt64(wait))
      calls[call].wait = nil
      fail(call)
    case .hedge(let exchange): hedge(exchange)
    case .served(let server, let exchange): served(server, exchange)
    case .refused(let exchange): refused(exchange)
    }
  }

  private mutating func exponential(_ mean: Double) -> Double {
    -mean * log(1 - Double.random(in: 0..<1, using: &random))
  }

  // MARK: Calls

  private mutating func begin() {
    guard now < scenario.length else { return }
    events.push(at: now + exponential(1 / scenario.rate(now)), .begin)
    let client = Int.random(in: clients.indices, using: &random)
    calls.append(Call(client: client, start: now))
    if scenario.measured.contains(now) { result.calls += 1 }
    result.started[Int(now), default: 0] += 1
    events.push(at: now + scenario.patience, .giveUp(call: calls.count - 1))
    clients[client].budget.countRequest(at: time)
    arrive(calls.count - 1)
  }

  private mutating func arrive(_ call: Int) {
    let client = calls[call].client
    nextWait += 1
    let end = Duration.seconds(calls[call].start + scenario.patience)
    switch clients[client].gate.arrive(UInt64(nextWait), end: end, now: time) {
    case .goes(let isProbe): send(call, isProbe: isProbe)
    case .refused: fail(call)
    case .waits:
      waiting[nextWait] = call
      calls[call].wait = nextWait
      events.push(
        at: now + clients[client].gate.rules.maximumWait / .seconds(1), .waitedTooLong(call: call, wait: nextWait))
      setTimer(client)
    }
  }

  private mutating func hand(_ served: [AdmissionController.Served], _ client: Int) {
    for one in served {
      guard let call = waiting.removeValue(forKey: Int(one.id)) else { continue }
      calls[call].wait = nil
      if one.refusal == nil { send(call, isProbe: false) } else { fail(call) }
    }
    setTimer(client)
  }

  private mutating func setTimer(_ client: Int) {
    guard let next = clients[client].gate.nextTime(now: time), clients[client].timer.map({ next < $0 }) ?? true else {
      return
    }
    clients[client].timer = next
    events.push(at: next / .seconds(1), .serve(client: client, time: next))
  }

  private mutating func giveUp(_ call: Int) {
    guard !calls[call].isOver else { return }
    calls[call].isOver = true
    let client = calls[call].client
    if let wait = calls[call].wait {
      clients[client].gate.leave(UInt64(wait))
      waiting[wait] = nil
      calls[call].wait = nil
    }
    let error = HTTPError(.timedOut, "the deadline passed")
    for exchange in calls[call].exchanges {
      end(exchange, .failure(error, after: .seconds(now - exchanges[exchange].start)))
    }
    count(call, isSuccess: false)
  }

  private mutating func fail(_ call: Int) {
    guard !calls[call].isOver else { return }
    calls[call].isOver = true
    count(call, isSuccess: false)
  }

  private mutating func count(_ call: Int, isSuccess: Bool) {
    let start = calls[call].start
    if isSuccess { result.perSecond[Int(now), default: 0] += 1 }
    guard scenario.measured.contains(start) else { return }
    if isSuccess {
      result.succeeded += 1
      result.latencies.append(now - start)
    } else {
      result.failures.append(now - start)
    }
  }

  // MARK: Exchanges

  private mutating func send(_ call: Int, isProbe: Bool, isHedge: Bool = false) {
    let server = Int.random(in: servers.indices, using: &random)
    exchanges.append(Exchange(call: call, start: now, server: server, isHedge: isHedge, isProbe: isProbe))
    let exchange = exchanges.count - 1
    calls[call].exchanges.append(exchange)
    if scenario.measured.contains(now) {
      result.sent += 1
      if isHedge || calls[call].attempt > 1 { result.repeated += 1 }
      if !scenario.isUp(now) { result.sentInVain += 1 }
    }
    guard scenario.isUp(now) else { return events.push(at: now + 0.001, .refused(exchange: exchange)) }
    if !isHedge, !policies.hedging.isOff, let delay = hedgeDelay(calls[call].client) {
      events.push(at: now + delay, .hedge(exchange: exchange))
    }
    if servers[server].busy < scenario.workers { work(exchange) } else { servers[server].queue.append(exchange) }
  }

  private func hedgeDelay(_ client: Int) -> Double? {
    switch policies.hedging.rule {
    case .off: nil
    case .after(let delay): delay / .seconds(1)
    case .percentile(let share): clients[client].latencies.delay(share).map { $0 / .seconds(1) }
    }
  }

  private mutating func hedge(_ exchange: Int) {
    let call = exchanges[exchange].call
    let client = calls[call].client
    guard !exchanges[exchange].isOver, !calls[call].isOver else { return }
    guard clients[client].budget.takeRetry(at: time), clients[client].gate.takeAtOnce(now: time) else { return }
    send(call, isProbe: false, isHedge: true)
  }

  private mutating func work(_ exchange: Int) {
    let server = exchanges[exchange].server
    servers[server].busy += 1
    // One half of the mean is fixed, the other half is random.
    let mean = scenario.service(server, now)
    let factor = scenario.heavyShare > 0 && Double.random(in: 0..<1, using: &random) < scenario.heavyShare ? 30.0 : 1
    events.push(at: now + factor * (mean / 2 + exponential(mean / 2)), .served(server: server, exchange: exchange))
  }

  private mutating func served(_ server: Int, _ exchange: Int) {
    servers[server].busy -= 1
    // Servers keep working on requests whose callers are gone, because they rarely notice.
    if let next = servers[server].queue.popFirst() { work(next) }
    guard !exchanges[exchange].isOver else { return }
    let call = exchanges[exchange].call
    let latency = now - exchanges[exchange].start
    end(exchange, .response(after: .seconds(latency)))
    guard !calls[call].isOver else { return }
    calls[call].isOver = true
    for other in calls[call].exchanges { end(other, .cancelled) }
    count(call, isSuccess: true)
  }

  private mutating func end(_ exchange: Int, _ outcome: AdmissionController.Outcome) {
    guard !exchanges[exchange].isOver else { return }
    exchanges[exchange].isOver = true
    let client = calls[exchanges[exchange].call].client
    if case .percentile = policies.hedging.rule, !exchanges[exchange].isHedge {
      clients[client].latencies.add(.seconds(now - exchanges[exchange].start))
    }
    let failed = clients[client].gate.respond(outcome, isProbe: exchanges[exchange].isProbe, now: time)
    hand(failed, client)
    if clients[client].gate.release() { hand(clients[client].gate.serve(now: time), client) }
  }

  private mutating func refused(_ exchange: Int) {
    guard !exchanges[exchange].isOver else { return }
    let call = exchanges[exchange].call
    let error = HTTPError(.cannotConnect, "the connection was refused")
    end(exchange, .failure(error, after: .zero))
    guard !calls[call].isOver else { return }
    let decision = policies.retry.decision(
      after: calls[call].attempt, of: HTTPRequest.get("/"), isIdempotent: true, outcome: .init(error: error),
      now: Date(timeIntervalSince1970: 0), random: Double.random(in: 0..<1, using: &random))
    guard case .repeated(let pause, _) = decision,
      !policies.hasBudget || clients[calls[call].client].budget.takeRetry(at: time)
    else { return fail(call) }
    calls[call].attempt += 1
    events.push(at: now + pause / .seconds(1), .retry(call: call))
  }

  /// A binary heap of the events, ordered by time.
  private struct EventHeap {
    private var entries: [(time: Double, number: Int, event: Event)] = []
    private var number = 0

    mutating func push(at time: Double, _ event: Event) {
      number += 1
      entries.append((time, number, event))
      var index = entries.count - 1
      while index > 0, isBefore(index, (index - 1) / 2) {
        entries.swapAt(index, (index - 1) / 2)
        index = (index - 1) / 2
      }
    }

    mutating func pop() -> (Double, Event)? {
      guard let first = entries.first else { return nil }
      let last = entries.removeLast()
      if !entries.isEmpty {
        entries[0] = last
        var index = 0
        while true {
          let children = [2 * index + 1, 2 * index + 2].filter { $0 < entries.count }
          guard let least = children.min(by: { isBefore($0, $1) }), isBefore(least, index) else { break }
          entries.swapAt(least, index)
          index = least
        }
      }
      return (first.time, first.event)
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
      (entries[left].time, entries[left].number) < (entries[right].time, entries[right].number)
    }
  }
}

import Foundation
import TestSupport
import Testing

@testable import Martlet

/// How the policies affect a whole service; `MARTLET_SIMULATION=1` prints the table of Docs/LoadSimulation.md.
@Suite(.hangLimit) struct LoadSimulationTests {
  private static let isPrinted = ProcessInfo.processInfo.environment["MARTLET_SIMULATION"] != nil

  /// The table and stress runs cover all three sizes, because a run takes seconds in a debug build.
  private static let crowds = Stress.isOn || isPrinted ? [1, 20, 200] : [20]

  private static func row(_ cells: [String]) { if isPrinted { print("| \(cells.joined(separator: " | ")) |") } }

  /// Plots the responses of each second as a column; eight steps are the server's capacity.
  private static func plot(_ series: [Int: Int], _ seconds: Range<Int>, full: Int) -> String {
    let steps = Array(" ▁▂▃▄▅▆▇█")
    return String(seconds.map { steps[min(max((series[$0] ?? 0) * 8 / full, 0), 8)] })
  }

  private static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }
  private static func ms(_ seconds: Double) -> String {
    seconds.isFinite ? "\(Int((seconds * 1000).rounded())) ms" : "–"
  }

  /// A scenario with twice as many requests as the server can handle, for 20 seconds.
  private static func overload(_ clients: Int, seed: UInt64 = 1) -> LoadSimulation.Scenario {
    var scenario = LoadSimulation.Scenario()
    scenario.clients = clients
    scenario.rate = { (10..<30).contains($0) ? 2_000 : 700 }
    scenario.seed = seed
    return scenario
  }

  @Test(arguments: crowds)
  func `an adaptive limit keeps the goodput of an overloaded server`(clients: Int) {
    // Two hundred programs with separate limits need some seconds to adapt to the overload.
    let start = clients == 200 ? 16 : 12
    let scenario = Self.overload(clients)
    var adaptive = LoadSimulation.Policies()
    adaptive.bounds = 1...200
    for (name, policies) in [("none", LoadSimulation.Policies()), ("adaptive", adaptive)] {
      let result = LoadSimulation.run(scenario, policies)
      let goodput = result.goodput(start..<30) / scenario.capacity
      let recovery = result.recovery(after: 30, until: 40)
      Self.row([
        "\(clients) clients", name, Self.percent(goodput), Self.ms(result.percentile(0.5)),
        Self.ms(result.percentile(0.99)), recovery.map { "\($0) s" } ?? "not within 10 s",
      ])
      if Self.isPrinted { print(Self.plot(result.perSecond, 0..<40, full: Int(scenario.capacity)), name) }
      if name == "none" {
        #expect(goodput < 0.1)
        #expect(recovery == nil)
      } else {
        #expect(goodput >= 0.9)
        #expect(recovery ?? .max <= 3)
      }
    }
  }

  @Test func `a long overload does not gradually raise the limit`() {
    for clients in Stress.isOn ? [1, 5, 20, 200] : [5] {
      var scenario = Self.overload(clients)
      scenario.rate = { (10..<100).contains($0) ? 2_000 : 700 }
      scenario.length = 110
      var policies = LoadSimulation.Policies()
      policies.bounds = 1...200
      let result = LoadSimulation.run(scenario, policies)
      #expect(result.goodput(20..<100) / scenario.capacity >= 0.85)
      #expect(result.goodput(80..<100) / scenario.capacity >= 0.85)
    }
  }

  @Test func `without overload, an adaptive limit costs almost nothing`() {
    var scenario = LoadSimulation.Scenario()
    scenario.clients = 1
    scenario.rate = { _ in 850 }
    scenario.patience = 5
    var policies = LoadSimulation.Policies()
    let plain = LoadSimulation.run(scenario, policies)
    policies.bounds = 1...200
    let limited = LoadSimulation.run(scenario, policies)
    #expect(limited.succeeded == limited.calls)
    #expect(limited.percentile(0.99) <= plain.percentile(0.99) * 1.5)
  }

  @Test func `a server that has become slower receives its requests again within seconds`() {
    var scenario = LoadSimulation.Scenario()
    scenario.clients = 1
    scenario.workers = 100
    scenario.service = { _, time in time < 10 ? 0.02 : 0.06 }
    scenario.rate = { _ in 1_300 }
    scenario.patience = 5
    var policies = LoadSimulation.Policies()
    policies.bounds = 1...200
    let result = LoadSimulation.run(scenario, policies)
    #expect(result.goodput(22..<40) >= 1_200)
  }

  @Test(arguments: crowds)
  func `hedging reduces the tail latency of a partial outage within the budget`(clients: Int) {
    var scenario = LoadSimulation.Scenario()
    scenario.clients = clients
    scenario.servers = 10
    scenario.workers = 10
    // One of ten servers takes fifty times as long, which is too long for its share of the requests.
    scenario.service = { server, time in server == 0 && (10..<30).contains(time) ? 1 : 0.02 }
    scenario.rate = { _ in 1_000 }
    scenario.patience = 10
    let plain = LoadSimulation.run(scenario, LoadSimulation.Policies())
    for policy in [HedgingPolicy.off, .after(.milliseconds(80)), .afterPercentile(0.9)] {
      var policies = LoadSimulation.Policies()
      policies.hedging = policy
      let result = LoadSimulation.run(scenario, policies)
      Self.row([
        "\(clients) clients", "\(policy.rule)", Self.ms(result.percentile(0.5)), Self.ms(result.percentile(0.99)),
        Self.percent(result.repeatedShare),
      ])
      guard !policy.isOff else { continue }
      #expect(result.percentile(0.99) <= plain.percentile(0.99) / 3)
      #expect(result.repeatedShare <= 0.2)
      // One percent of the requests hit the slow server twice.
      #expect(Double(result.succeeded) >= Double(result.calls) * 0.98)
    }
  }

  @Test func `a circuit breaker spares an origin that is down and saves its callers time`() {
    var scenario = LoadSimulation.Scenario()
    scenario.clients = 20
    scenario.isUp = { !(10..<30).contains($0) }
    var retry = LoadSimulation.Policies()
    retry.retry = .backoff(attempts: 3, initialDelay: .milliseconds(200))
    var unbounded = retry
    unbounded.hasBudget = false
    var broken = retry
    broken.breaker = .afterFailures(5, pause: .seconds(5))
    let results = [("retries without a budget", unbounded), ("retries", retry), ("circuit breaker", broken)].map {
      let result = LoadSimulation.run(scenario, $1)
      let failure = result.failures[result.failures.count / 2]
      let recovery = result.recovery(after: 30, until: 40)
      Self.row([
        $0, "\(result.sentInVain)", Self.percent(result.repeatedShare), Self.ms(failure),
        recovery.map { "\($0) s" } ?? "–",
      ])
      return result
    }
    #expect(results[2].sentInVain * 20 <= results[1].sentInVain)
    #expect(results[1].repeatedShare <= 0.45)
    #expect(results[2].recovery(after: 30, until: 40) ?? .max <= 6)
  }

  @Test func `the same seed produces the same run`() {
    var policies = LoadSimulation.Policies()
    policies.bounds = 1...200
    policies.hedging = .afterPercentile(0.95)
    let results = (0..<2).map { _ in LoadSimulation.run(Self.overload(20, seed: 5), policies) }
    #expect(results[0].latencies == results[1].latencies)
    #expect(results[0].sent == results[1].sent)
  }
}

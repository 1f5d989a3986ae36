import Martlet
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct RetryBudgetTests {
  /// Returns the number of retries that are available at one moment.
  private func available(_ budget: RetryBudget, at time: Duration) -> Int {
    var count = 0
    while count < 100_000, budget.takeRetry(at: time) { count += 1 }
    return count
  }

  @Test(arguments: [(0, 30), (1, 30), (4, 30), (5, 31), (100, 50), (1000, 230)])
  func `allows a fifth of the requests plus three retries per second`(requests: Int, expected: Int) {
    let budget = RetryBudget()
    for _ in 0..<requests { budget.countRequest(at: .seconds(5)) }

    #expect(available(budget, at: .seconds(5)) == expected)
    #expect(!budget.takeRetry(at: .seconds(5)))
  }

  @Test func `counts the last ten seconds`() {
    let budget = RetryBudget()
    for _ in 0..<100 { budget.countRequest(at: .zero) }
    #expect(available(budget, at: .seconds(9)) == 50)
    #expect(available(budget, at: .milliseconds(18_999)) == 0)
    #expect(available(budget, at: .seconds(19)) == 30)
  }

  @Test func `forgets old requests`() {
    let budget = RetryBudget()
    for second in 0..<10 { for _ in 0..<1000 { budget.countRequest(at: .seconds(second)) } }

    #expect(available(budget, at: .seconds(9)) == 2030)
    #expect(available(budget, at: .seconds(1_000_000)) == 30)
    #expect(available(budget, at: .seconds(Int64.max)) == 30)
  }

  @Test func `works with a time before its start`() {
    let budget = RetryBudget()

    #expect(available(budget, at: .seconds(-100)) == 30)
  }

  @Test func `counts correctly across concurrent tasks`() async {
    let budget = RetryBudget()
    for _ in 0..<1000 { budget.countRequest(at: .zero) }

    let taken = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 {
        group.addTask { (0..<1000).count { _ in budget.takeRetry(at: .zero) } }
      }
      return await group.reduce(0, +)
    }

    #expect(taken == 230)
  }

  /// 1,000 users send R requests per second to a server that is down for 30 s; each is retried twice on average if
  /// allowed.
  @Test(arguments: [1, 10, 100, 1000]) func `keeps the load on a failing server close to normal`(rate: Int) {
    let budget = RetryBudget()
    var generator = SeededGenerator(seed: UInt64(rate))
    var repetitions: [Int: Int] = [:]
    /// The retries that are due, by hundredths of a second.
    var due: [Int: Int] = [:]
    var sent = [Int](repeating: 0, count: 60)

    for tick in 0..<3000 {
      let time = Duration.milliseconds(tick * 10)
      let fresh = (tick + 1) * rate / 100 - tick * rate / 100
      for _ in 0..<fresh { budget.countRequest(at: time) }
      let repeated = due.removeValue(forKey: tick) ?? 0
      sent[tick / 100] += fresh + repeated
      repetitions[tick / 100, default: 0] += repeated
      for index in 0..<(fresh + repeated) where index < fresh || Bool.random(using: &generator) {
        guard budget.takeRetry(at: time) else { continue }
        due[tick + 1 + Int.random(in: 0..<40, using: &generator), default: 0] += 1
      }
    }

    for second in 9..<30 {
      let window = (second - 9)...second
      let load = window.map { sent[$0] }.reduce(0, +)
      // Retries that were allowed in one window may be sent in the next one.
      #expect(Double(load) <= 1.2 * Double(rate * 10) + 30 + Double(rate) * 0.1 + 3)
    }
    #expect(Double(sent.reduce(0, +)) <= 1.2 * Double(rate * 30) + 3 * 30 + 3)
  }

  @Test func `limits the retries of a client to a failing server`() async throws {
    let transport = StubTransport { _ in .status(503) }
    let client = HTTPClient {
      $0.transport = transport
      $0.clock = TestClock(advancing: .manually)
      $0.retry = .backoff(attempts: 3)
      $0.random = { 0 }
    }

    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<1000 { group.addTask { _ = try? await client.get("http://example.test/") } }
    }

    #expect(transport.requests.count <= 1230)
    #expect(transport.requests.count >= 1030)
  }

  @Test func `is shared by a client and its derived clients`() async throws {
    let clock = TestClock(advancing: .manually)
    let transport = StubTransport { _ in .status(503) }
    let client = HTTPClient {
      $0.transport = transport
      $0.clock = clock
      $0.retry = .backoff(attempts: 1000)
      $0.random = { 0 }
    }
    clock.advance(by: .seconds(1000))
    _ = try? await client.get("http://example.test/")
    let first = transport.requests.count
    // The derived client is created later, so its own time also begins later.
    clock.advance(by: .seconds(5))
    let derived = client.derived { _ in }
    _ = try? await derived.get("http://example.test/")
    let second = transport.requests.count - first
    clock.advance(by: .seconds(100))
    _ = try? await derived.get("http://example.test/")
    let third = transport.requests.count - first - second

    #expect(first == 31)
    #expect(second == 1)
    #expect(third == 31)
  }

  @Test func `does not limit retries after a stale connection`() async throws {
    let transport = StubTransport { _ in .failure(HTTPError(.connectionLost, "stale")) }
    let client = HTTPClient.onTestClock { $0.transport = transport }

    for _ in 0..<100 { _ = try? await client.get("http://example.test/") }

    #expect(transport.requests.count == 200)
  }
}

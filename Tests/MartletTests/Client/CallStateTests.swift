import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// The state that a handle reports while its request runs.
@Suite(.hangLimit) struct CallStateTests {
  /// A random scenario for one request.
  private struct Plan {
    enum Cancel {
      /// When the request reaches the server.
      case atServer
      /// From another task, after this many yields.
      case after(Int)
    }

    var answers: [StubResponse] = []
    var cancel: Cancel?

    init(_ generator: inout SeededGenerator) {
      for _ in 0..<Int.random(in: 0...2, using: &generator) {
        answers.append(.failure(HTTPError(.cannotConnect, "stubbed")))
      }
      if Bool.random(using: &generator) { answers.append(.redirect(to: "/next")) }
      answers.append(Bool.random(using: &generator) ? .text("x") : .status(404))
      if Bool.random(using: &generator) {
        let turns = Int.random(in: 0...60, using: &generator)
        cancel = turns < 20 ? .atServer : .after(turns)
      }
    }
  }

  // S19
  @Test(arguments: 0..<4) func `the state ends exactly once and agrees with the events`(block: Int) async throws {
    var ends: Set<String> = []
    for seed in (block * 1000)..<(block * 1000 + Stress.count(60, full: 250)) {
      var generator = SeededGenerator(seed: UInt64(seed))
      let plan = Plan(&generator)
      let gate = Gate()
      let asked = Shared(0)
      let transport = StubTransport { _ in
        if case .atServer = plan.cancel { await gate.pass() }
        let number = asked.withLock { count in
          defer { count += 1 }
          return count
        }
        return plan.answers[min(number, plan.answers.count - 1)]
      }
      let client = HTTPClient.stubbed(transport) {
        $0.retry = .backoff(attempts: 5)
        $0.cache = .off
      }
      let handle = client.start(.get("/"))
      let canceller = plan.cancel.map { cancel in
        Task {
          switch cancel {
          case .atServer: await gate.waitForArrivals(1)
          case .after(let turns): for _ in 0..<turns { await Task.yield() }
          }
          handle.cancel()
        }
      }

      var seen: [String] = []
      await client.wait {
        let name = Self.name(handle.state)
        if name != seen.last { seen.append(name) }
        return name.hasPrefix("ended")
      }
      _ = try? await handle.value
      await canceller?.value
      // Later calls must not end the request a second time.
      handle.cancel()
      handle.retry().cancel()
      var events: [String] = []
      for await event in handle.events { events.append(Self.name(event)) }

      let end = try #require(seen.last)
      #expect(seen.dropLast().allSatisfy { $0 == "running" || $0 == "waiting" }, "seed \(seed): \(seen)")
      #expect(Self.name(handle.state) == end && !handle.isAlive, "seed \(seed)")
      #expect(events.first == "started" && events.last == end, "seed \(seed): \(events), \(end)")
      #expect(events.count { $0.hasPrefix("ended") } == 1, "seed \(seed): \(events)")
      ends.insert(end)
    }
    #expect(ends == ["ended well", "ended badly", "ended cancelled"])
  }

  private static func name(_ state: RequestEvent.State) -> String {
    switch state {
    case .waiting: "waiting"
    case .running: "running"
    case .ended(let end): name(end)
    }
  }

  private static func name(_ event: RequestEvent) -> String {
    switch event {
    case .started: "started"
    case .ended(let end): name(end)
    default: "other"
    }
  }

  private static func name(_ end: RequestEvent.End) -> String {
    switch end {
    case .succeeded: "ended well"
    case .failed: "ended badly"
    case .cancelled: "ended cancelled"
    }
  }
}

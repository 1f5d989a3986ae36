import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite(.hangLimit) struct ConnectionLimiterTests {
  private struct Ended: Error {}

  private static let a = Origin(scheme: "http", host: "a.test", port: 80)
  private static let b = Origin(scheme: "http", host: "b.test", port: 80)

  @Test func `grants slots immediately while there is room`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 2, total: 3)

    let slots = [
      try await limiter.acquire(for: Self.a, abort: AbortSource()) { Issue.record("waited") },
      try await limiter.acquire(for: Self.a, abort: AbortSource()) { Issue.record("waited") },
      try await limiter.acquire(for: Self.b, abort: AbortSource()) { Issue.record("waited") },
    ]

    #expect(limiter.counts == (3, 0))
    for slot in slots { slot.release() }
    #expect(limiter.counts == (0, 0))
  }

  @Test func `serves one origin in the order of arrival`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 1, total: 10)
    let order = Log<Int>()
    let waiting = Log<Int>()
    let first = try await limiter.acquire(for: Self.a, abort: AbortSource())

    var tasks: [Task<Void, any Error>] = []
    for number in 0..<20 {
      tasks.append(
        Task {
          let slot = try await limiter.acquire(for: Self.a, abort: AbortSource()) { waiting.add(number) }
          order.add(number)
          slot.release()
        })
      await waiting.wait(for: number + 1)
    }
    first.release()
    for task in tasks { try await task.value }

    #expect(order.elements == Array(0..<20))
    #expect(limiter.counts == (0, 0))
  }

  @Test func `a waiting origin does not block another origin`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 1, total: 2)
    let held = try await limiter.acquire(for: Self.a, abort: AbortSource())
    let isWaiting = Shared(false)
    let waiting = Task {
      try await limiter.acquire(for: Self.a, abort: AbortSource()) { isWaiting.withLock { $0 = true } }
    }
    await isWaiting.wait { $0 }

    let other = try await limiter.acquire(for: Self.b, abort: AbortSource()) { Issue.record("waited") }

    #expect(limiter.counts == (2, 1))
    held.release()
    _ = try await waiting.value
    other.release()
  }

  @Test func `serves the longest wait across all origins when the total is reached`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 5, total: 1)
    let order = Log<String>()
    let waiting = Log<Int>()
    let held = try await limiter.acquire(for: Self.a, abort: AbortSource())

    var tasks: [Task<Void, any Error>] = []
    for (index, origin) in [Self.a, Self.b, Self.b, Self.a, Self.b].enumerated() {
      tasks.append(
        Task {
          let slot = try await limiter.acquire(for: origin, abort: AbortSource()) { waiting.add(index) }
          order.add("\(index) \(origin.host)")
          slot.release()
        })
      await waiting.wait(for: index + 1)
    }
    held.release()
    for task in tasks { try await task.value }

    #expect(order.elements == ["0 a.test", "1 b.test", "2 b.test", "3 a.test", "4 b.test"])
  }

  @Test func `ends an aborted wait and serves the next one`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 1, total: 1)
    let held = try await limiter.acquire(for: Self.a, abort: AbortSource())
    let source = AbortSource()
    let waiting = Log<Int>()
    let aborted = Task { try await limiter.acquire(for: Self.a, abort: source) { waiting.add(1) } }
    await waiting.wait(for: 1)
    let next = Task { try await limiter.acquire(for: Self.a, abort: AbortSource()) { waiting.add(2) } }
    await waiting.wait(for: 2)
    #expect(limiter.counts == (1, 2))

    source.abort(Ended())

    await #expect(throws: Ended.self) { try await aborted.value }
    #expect(limiter.counts == (1, 1))
    held.release()
    try await next.value.release()
    #expect(limiter.counts == (0, 0))
  }

  @Test func `rejects a wait that was aborted before it began`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 1, total: 1)
    let held = try await limiter.acquire(for: Self.a, abort: AbortSource())
    let source = AbortSource()
    source.abort(Ended())

    await #expect(throws: Ended.self) { try await limiter.acquire(for: Self.a, abort: source) }

    held.release()
    #expect(limiter.counts == (0, 0))
  }

  @Test func `reclaims a dropped slot, and a released slot only once`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 1, total: 1)

    _ = try await limiter.acquire(for: Self.a, abort: AbortSource())
    let slot = try await limiter.acquire(for: Self.a, abort: AbortSource()) { Issue.record("waited") }
    slot.release()
    slot.release()

    #expect(limiter.counts == (0, 0))
  }

  @Test func `loses no slot when releases and aborts race`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 3, total: 5)
    let origins = (0..<4).map { Origin(scheme: "http", host: "h\($0).test", port: 80) }
    let most = Shared((now: 0, most: 0))

    await withTaskGroup(of: Void.self) { group in
      for number in 0..<Stress.count(500, full: 2_000) {
        let source = AbortSource()
        group.addTask {
          guard let slot = try? await limiter.acquire(for: origins[number % 4], abort: source) else { return }
          most.withLock {
            $0.now += 1
            $0.most = max($0.most, $0.now)
          }
          await Task.yield()
          most.withLock { $0.now -= 1 }
          slot.release()
        }
        if number % 3 == 0 { group.addTask { source.abort(Ended()) } }
      }
    }

    #expect(limiter.counts == (0, 0))
    #expect(most.value.most <= 5)
  }
}

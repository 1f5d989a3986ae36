import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

/// A slot that is handed to a waiting request counts as taken.
@Suite(.hangLimit) struct ConnectionLimitTests {
  private static let a = Origin(scheme: "http", host: "a.test", port: 80)
  private static let b = Origin(scheme: "http", host: "b.test", port: 80)

  /// Waits for a slot in a task, and returns when the wait has begun.
  private func wait(for origin: Origin, _ limiter: ConnectionLimiter) async -> Task<ConnectionSlot, any Error> {
    let begun = Log<Void>()
    let task = Task { try await limiter.acquire(for: origin, abort: AbortSource()) { begun.add(()) } }
    await begun.wait(for: 1)
    return task
  }

  @Test func `a slot freed by another origin does not raise an origin's own limit`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 1, total: 2)
    let first = try #require(limiter.take(for: Self.a))
    let other = try #require(limiter.take(for: Self.b))
    let waiting = await wait(for: Self.a, limiter)

    other.release()

    #expect(limiter.counts == (1, 1))
    first.release()
    _ = try await waiting.value
  }

  @Test func `a slot handed to a waiting request counts as taken`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 1, total: 10)
    let first = try #require(limiter.take(for: Self.a))
    let waiting = await wait(for: Self.a, limiter)

    first.release()
    let second = try await waiting.value

    #expect(limiter.take(for: Self.a) == nil)
    second.release()
    #expect(limiter.take(for: Self.a) != nil)
  }

  @Test func `an aborted wait does not block later ones`() async throws {
    struct Ended: Error {}
    let limiter = ConnectionLimiter(perOrigin: 1, total: 10)
    let first = try #require(limiter.take(for: Self.a))
    let begun = Log<Void>()
    let source = AbortSource()
    let aborted = Task { try await limiter.acquire(for: Self.a, abort: source) { begun.add(()) } }
    await begun.wait(for: 1)
    let behind = await wait(for: Self.a, limiter)

    source.abort(Ended())
    await #expect(throws: Ended.self) { try await aborted.value }
    #expect(limiter.counts == (1, 1))
    first.release()

    #expect(limiter.counts == (1, 0))
    try await behind.value.release()
    #expect(limiter.counts == (0, 0))
  }
}

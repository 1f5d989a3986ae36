import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

/// That a slot which is given on counts as one that was taken.
@Suite(.hangLimit) struct ConnectionLimitTests {
  private static let a = Origin(scheme: "http", host: "a.test", port: 80)
  private static let b = Origin(scheme: "http", host: "b.test", port: 80)

  /// Waits for a slot, and has begun to when it returns.
  private func wait(for origin: Origin, _ limiter: ConnectionLimiter) async -> Task<ConnectionSlot, any Error> {
    let begun = Log<Void>()
    let task = Task { try await limiter.acquire(for: origin, abort: AbortSource()) { begun.add(()) } }
    await begun.wait(for: 1)
    return task
  }

  @Test func `a slot of another origin is none for one that has as many as it may`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 1, total: 2)
    let first = try #require(limiter.take(for: Self.a))
    let other = try #require(limiter.take(for: Self.b))
    let waiting = await wait(for: Self.a, limiter)

    other.release()

    #expect(limiter.counts == (1, 1))
    first.release()
    _ = try await waiting.value
  }

  @Test func `who was served has a slot that nobody else gets`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 1, total: 10)
    let first = try #require(limiter.take(for: Self.a))
    let waiting = await wait(for: Self.a, limiter)

    first.release()
    let second = try await waiting.value

    #expect(limiter.take(for: Self.a) == nil)
    second.release()
    #expect(limiter.take(for: Self.a) != nil)
  }

  @Test func `one that is aborted does not hold up those behind it`() async throws {
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

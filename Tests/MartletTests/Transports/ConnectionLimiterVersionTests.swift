import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

/// The limits on connections and on requests, which differ over HTTP/2.
@Suite(.hangLimit) struct ConnectionLimiterVersionTests {
  private static let a = Origin(scheme: "https", host: "a.test", port: 443)
  private static let b = Origin(scheme: "https", host: "b.test", port: 443)

  /// Acquires all available slots.
  private static func takeAll(
    _ limiter: ConnectionLimiter, _ origin: Origin = a, _ version: ConnectionLimiter.Version = .agreed
  ) -> [ConnectionSlot] {
    var slots: [ConnectionSlot] = []
    while slots.count < 2_000, let slot = limiter.take(for: origin, version) { slots.append(slot) }
    return slots
  }

  @Test func `over HTTP/1 each request needs a connection`() {
    let limiter = ConnectionLimiter(perOrigin: 6, total: 8)

    let first = Self.takeAll(limiter)
    let second = Self.takeAll(limiter, Self.b)

    #expect(first.count == 6 && second.count == 2)
    first[0].release()
    #expect(Self.takeAll(limiter, Self.b).count == 1)
    withExtendedLifetime((first, second)) {}
  }

  @Test func `over HTTP/2 a hundred requests need one connection`() {
    let limiter = ConnectionLimiter(perOrigin: 6, total: 8)
    let first = Self.takeAll(limiter)

    first[0].recordVersion(isMultiplexed: true)
    let more = Self.takeAll(limiter)
    let others = Self.takeAll(limiter, Self.b)

    #expect(first.count + more.count == 100)
    #expect(others.count == 6)
    // One of the eight connections is left for a third origin.
    #expect(Self.takeAll(limiter, Origin(scheme: "https", host: "c.test", port: 443)).count == 1)
    withExtendedLifetime((first, more, others)) {}
  }

  @Test func `waiting requests are served as soon as HTTP/2 is negotiated`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 1, total: 10)
    let first = try #require(limiter.take(for: Self.a))
    let waiting = Log<Void>()
    let tasks = (0..<5).map { _ in
      Task { try await limiter.acquire(for: Self.a, abort: AbortSource()) { waiting.add(()) } }
    }
    await waiting.wait(for: 5)
    #expect(limiter.counts == (1, 5))

    first.recordVersion(isMultiplexed: true)

    var slots: [ConnectionSlot] = []
    for task in tasks { slots.append(try await task.value) }
    #expect(limiter.counts == (6, 0))
    for slot in slots + [first] { slot.release() }
    #expect(limiter.counts == (0, 0))
  }

  @Test func `the negotiated version applies to later requests until it changes`() throws {
    let limiter = ConnectionLimiter(perOrigin: 2, total: 10)
    let first = try #require(limiter.take(for: Self.a))
    first.recordVersion(isMultiplexed: true)
    first.release()

    let many = Self.takeAll(limiter)
    #expect(many.count == 100)
    for slot in many[2...] { slot.release() }
    many[0].recordVersion(isMultiplexed: false)

    #expect(limiter.take(for: Self.a) == nil)
    many[0].release()
    #expect(Self.takeAll(limiter).count == 1)
    #expect(Self.takeAll(limiter, Self.b).count == 2)
    withExtendedLifetime(many) {}
  }

  @Test func `one server that negotiates HTTP/1 does not end HTTP/2 for its origin`() throws {
    let limiter = ConnectionLimiter(perOrigin: 3, total: 5)
    let first = try #require(limiter.take(for: Self.a))
    first.recordVersion(isMultiplexed: true)
    let many = Self.takeAll(limiter)

    many[0].recordVersion(isMultiplexed: false)
    // The first origin uses two of the five connections and has not opened its third one.
    #expect(Self.takeAll(limiter, Self.b).count == 3)
    many[1].release()
    #expect(Self.takeAll(limiter).count == 1)
    for slot in [first] + many { slot.release() }
    #expect(limiter.counts == (0, 0) && Self.takeAll(limiter, Self.b).count == 3)
    #expect(Self.takeAll(limiter).count == 100)
  }

  @Test func `a version recorded after the release is ignored`() throws {
    let limiter = ConnectionLimiter(perOrigin: 1, total: 1)
    let slot = try #require(limiter.take(for: Self.a))
    slot.release()
    slot.recordVersion(isMultiplexed: true)
    #expect(slot.handOn() == nil)

    #expect(Self.takeAll(limiter).count == 1)
  }

  @Test func `the request limit applies to every HTTP version`() {
    let limiter = ConnectionLimiter(perOrigin: 6, total: 20, requests: 3)
    let serial = Self.takeAll(limiter)
    #expect(serial.count == 3)
    serial[0].recordVersion(isMultiplexed: true)
    #expect(limiter.take(for: Self.a) == nil)
    let large = ConnectionLimiter(perOrigin: 6, total: 20, requests: 500)
    let first = Self.takeAll(large)
    first[0].recordVersion(isMultiplexed: true)
    #expect(first.count + Self.takeAll(large).count == 500)
    withExtendedLifetime((serial, first)) {}
  }

  @Test func `prior-knowledge requests count toward the request limit`() {
    let limiter = ConnectionLimiter(perOrigin: 6, total: 20, requests: 5)
    let clear = Self.takeAll(limiter, Self.a, .multiplexed)
    #expect(clear.count == 5 && limiter.take(for: Self.a) == nil)
    clear[0].release()
    #expect(Self.takeAll(limiter).count == 1)
    withExtendedLifetime(clear) {}
  }

  @Test func `exclusive requests keep waiting when HTTP/2 is negotiated`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 2, total: 20)
    let serial = try #require(limiter.take(for: Self.a, .exclusive))
    let first = try #require(limiter.take(for: Self.a))
    let waiting = Log<Void>()
    let next = Task { try await limiter.acquire(for: Self.a, .exclusive, abort: AbortSource()) { waiting.add(()) } }
    await waiting.wait(for: 1)

    first.recordVersion(isMultiplexed: true)

    #expect(limiter.counts == (2, 1))
    #expect(Self.takeAll(limiter).count == 98)
    serial.release()
    try await next.value.release()
    #expect(Self.takeAll(limiter, Self.a, .multiplexed).count == 100)
    withExtendedLifetime(first) {}
  }

  @Test func `a slot that outlives its exchange does not share its connection`() throws {
    let limiter = ConnectionLimiter(perOrigin: 1, total: 10)
    let slot = try #require(limiter.take(for: Self.a))
    slot.recordVersion(isMultiplexed: true)

    let kept = try #require(slot.handOn())

    #expect(limiter.take(for: Self.a) == nil)
    kept.release()
    #expect(limiter.counts == (0, 0))
  }

  @Test func `a slot that outlives its exchange does not affect the shared connection`() throws {
    let limiter = ConnectionLimiter(perOrigin: 3, total: 4)
    let first = try #require(limiter.take(for: Self.a))
    first.recordVersion(isMultiplexed: true)
    let many = Self.takeAll(limiter)

    let kept = try #require(many[0].handOn())

    #expect(Self.takeAll(limiter, Self.b).count == 2)
    kept.release()
    #expect(Self.takeAll(limiter, Self.b).count == 3 && Self.takeAll(limiter).count == 1)
    withExtendedLifetime((first, many)) {}
  }

  @Test func `each exclusive request counts as one connection`() throws {
    let limiter = ConnectionLimiter(perOrigin: 3, total: 10)
    let first = try #require(limiter.take(for: Self.a))
    first.recordVersion(isMultiplexed: true)

    let exclusive = Self.takeAll(limiter, Self.a, .exclusive)
    let shared = Self.takeAll(limiter)

    // An origin allows one hundred requests in total.
    #expect(exclusive.count == 2 && shared.count == 97)
    exclusive[0].release()
    #expect(Self.takeAll(limiter, Self.a, .exclusive).count == 1)
    for slot in [first] + shared { slot.release() }
    #expect(Self.takeAll(limiter, Self.a, .exclusive).count == 2)
    withExtendedLifetime(exclusive) {}
  }

  @Test func `over HTTP/1 exclusive requests count like all others`() {
    let limiter = ConnectionLimiter(perOrigin: 3, total: 10)
    let exclusive = limiter.take(for: Self.a, .exclusive)

    #expect(exclusive != nil && Self.takeAll(limiter).count == 2)
    #expect(limiter.counts.active == 1)
  }

  @Test func `shared requests overtake waiting exclusive requests`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 2, total: 10)
    let first = try #require(limiter.take(for: Self.a))
    first.recordVersion(isMultiplexed: true)
    let stream = try #require(limiter.take(for: Self.a, .exclusive))
    let waiting = Log<Void>()
    let next = Task {
      try await limiter.acquire(for: Self.a, .exclusive, abort: AbortSource()) { waiting.add(()) }
    }
    await waiting.wait(for: 1)

    let second = try #require(limiter.take(for: Self.a))
    #expect(limiter.counts == (3, 1))
    for slot in [first, second] { slot.release() }

    // The connection that both requests left serves the exclusive one; the next shared request waits its turn.
    let exclusive = try await next.value
    let last = Task { try await limiter.acquire(for: Self.a, abort: AbortSource()) { waiting.add(()) } }
    await waiting.wait(for: 2)
    stream.release()
    try await last.value.release()
    exclusive.release()
    #expect(limiter.counts == (0, 0))
  }

  @Test func `over HTTP/1 the longest wait is served first, exclusive or shared`() async throws {
    let limiter = ConnectionLimiter(perOrigin: 1, total: 10)
    let first = try #require(limiter.take(for: Self.a))
    let waiting = Log<Void>()
    let served = Log<Int>()
    var tasks: [Task<Void, any Error>] = []
    for number in 0..<4 {
      tasks.append(
        Task {
          let version: ConnectionLimiter.Version = number % 2 == 0 ? .exclusive : .agreed
          let slot = try await limiter.acquire(for: Self.a, version, abort: AbortSource()) { waiting.add(()) }
          served.add(number)
          slot.release()
        })
      await waiting.wait(for: number + 1)
    }

    first.release()
    for task in tasks { try await task.value }

    #expect(served.elements == [0, 1, 2, 3])
    #expect(limiter.counts == (0, 0))
  }
}

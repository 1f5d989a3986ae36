import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct DeadlineTests {
  private let clock = TestClock(advancing: .manually)

  // MARK: Values

  @Test func `counts down to zero on its clock`() {
    let deadline = Deadline(.seconds(2), name: "checkout", clock: clock)

    #expect(deadline.remaining == .seconds(2))
    clock.advance(by: .seconds(1.5))
    #expect(deadline.remaining == .seconds(0.5))
    #expect(!deadline.hasPassed)
    clock.advance(by: .seconds(5))
    #expect(deadline.remaining == .zero)
    #expect(deadline.hasPassed)
    #expect(deadline.limit == .seconds(2))
    #expect("\(deadline)" == "deadline 'checkout' of 2.0 s")
  }

  @Test(arguments: [
    Duration.zero, .seconds(-5), .seconds(Int64.max), Duration(secondsComponent: .min, attosecondsComponent: 0),
  ])
  func `bounds extreme limits`(limit: Duration) {
    for deadline in [Deadline(limit, clock: clock), Deadline(limit)] {
      #expect(deadline.limit >= .zero && deadline.limit <= Deadline.longest)
      #expect(deadline.remaining <= Deadline.longest)
    }
  }

  @Test func `nested deadlines only shorten the time, and the current deadline keeps its own name`() async {
    await withDeadline(.seconds(2), name: "outer", clock: clock) {
      await withDeadline(.seconds(5), name: "longer", clock: clock) {
        #expect(Deadline.current?.name == "outer")
      }
      await withDeadline(.seconds(1), name: "shorter", clock: clock) {
        #expect(Deadline.current?.name == "shorter")
        await withDeadline(nil) { #expect(Deadline.current?.name == "shorter") }
      }
      #expect(Deadline.current?.name == "outer")
    }
    #expect(Deadline.current == nil)
  }

  // MARK: Requests

  @Test func `ends a waiting request and names the deadline`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in try await untilCancelled() }, clock: clock)
    let request = Task { [clock] in
      try await withDeadline(.seconds(2), name: "checkout", clock: clock) { try await client.get("/slow") }
    }
    await clock.waitForSleepers(1)
    clock.advance(by: .milliseconds(1_999))
    await letOthersRun()
    #expect(!client.activity.current.running.isEmpty)
    clock.advance(by: .milliseconds(1))

    let error = try await #require(throws: HTTPError.self) { try await request.value }
    #expect(error.kind == .timedOut)
    #expect(error.deadline?.name == "checkout")
    #expect(error.message == "the deadline 'checkout' of 2.0 s passed")
    #expect(error.elapsed == .seconds(2))
  }

  @Test func `the total limit ends a request if it is shorter`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in try await untilCancelled() }, clock: clock)
    let request = Task { [clock] in
      try await withDeadline(.seconds(2), clock: clock) { try await client.get("/", options: .timeout(.seconds(1))) }
    }
    await clock.waitForSleepers(1)
    clock.advance(by: .seconds(1))

    let error = try await #require(throws: HTTPError.self) { try await request.value }
    #expect(error.deadline == nil)
    #expect(error.message == "the total limit of 1.0 s was exceeded")
  }

  @Test(arguments: [Duration.zero, .seconds(-1)])
  func `a deadline in the past fails a request before it is sent`(limit: Duration) async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.stubbed(transport, clock: clock)

    try await withDeadline(limit, clock: clock) {
      let error = try await #require(throws: HTTPError.self) { try await client.get("/") }
      #expect(error.kind == .timedOut)
      #expect(error.deadline != nil)
      #expect(error.phase == .queued)
      #expect(error.wasNotProcessed)
      await #expect(throws: HTTPError.self) { try await client.stream("/") { _ in } }
      await #expect(throws: HTTPError.self) { try await client.start("/").value }
    }
    #expect(transport.requests.isEmpty)
    #expect(client.core.entryCount == 0)
  }

  @Test func `does not retry if the delay would last until the deadline`() async throws {
    let transport = StubTransport { _ in .failure(HTTPError(.connectionLost, "x")) }
    let client = HTTPClient.stubbed(transport, clock: clock) { $0.retry = .custom { _, _ in .seconds(3) } }

    let error = try await withDeadline(.seconds(2), clock: clock) {
      try await #require(throws: HTTPError.self) { try await client.get("/") }
    }
    #expect(error.kind == .connectionLost)
    #expect(error.attempts.last?.retryRefusal == .exceedsDeadline(delay: .seconds(3), remaining: .seconds(2)))
    #expect(transport.requests.count == 1)
  }

  @Test func `ends a pause between attempts`() async throws {
    let transport = StubTransport { _ in .failure(HTTPError(.connectionLost, "x")) }
    let client = HTTPClient.stubbed(transport, clock: clock) { $0.retry = .custom { _, _ in .seconds(0.8) } }
    let request = Task { [clock] in
      try await withDeadline(.seconds(2), clock: clock) { try await client.get("/") }
    }
    for _ in 0..<2 {
      await clock.waitForSleepers(2)
      clock.advance(by: .seconds(0.8))
    }
    // The third attempt is sent at 1.6 s and leaves no time for another one.
    let error = try await #require(throws: HTTPError.self) { try await request.value }
    #expect(error.kind == .connectionLost)
    #expect(transport.requests.count == 3)
  }

  @Test func `the time in a queue counts toward the deadline`() async throws {
    let crowd = Crowd()
    let transport = StubTransport { request in
      await crowd.pass(request.url?.path ?? "")
      return .text("x")
    }
    let client = HTTPClient.stubbed(transport, clock: clock)
    let queue = RequestQueue(client: client, limits: .concurrent(1))
    queue.add("/first")
    await crowd.waitForArrivals(1)
    let late = await withDeadline(.seconds(2), clock: clock) { queue.add("/late") }
    let patient = queue.add("/patient", options: .timeout(.seconds(1)))
    await clock.waitForSleepers(1)
    clock.advance(by: .seconds(2))

    let error = try await #require(throws: HTTPError.self) { try await late.value }
    #expect(error.deadline?.limit == .seconds(2))
    #expect(error.phase == .queued)
    crowd.open()
    // The request's total limit counts from its start, not from its submission.
    #expect(try await patient.value.text == "x")
    #expect(crowd.names == ["/first", "/patient"])
  }

  @Test func `ends the body of a stream`() async throws {
    let client = HTTPClient.stubbed(
      StubTransport { _ in .streamed(.ok, headers: [:]) { try await untilCancelled() } }, clock: clock)
    let reader = Task { [clock] in
      try await withDeadline(.seconds(2), name: "page", clock: clock) {
        let response = try await client.stream("/")
        for try await _ in response.body {}
      }
    }
    await clock.waitForSleepers(1)
    clock.advance(by: .seconds(2))

    let error = try await #require(throws: HTTPError.self) { try await reader.value }
    #expect(error.deadline?.name == "page")
  }

  @Test func `an event stream does not reconnect after the deadline`() async throws {
    let arrivals = Shared(0)
    let transport = StubTransport { _ in
      arrivals.withLock { $0 += 1 }
      return .streamed(.ok, headers: ["Content-Type": "text/event-stream"]) { try await untilCancelled() }
    }
    let client = HTTPClient.stubbed(transport, clock: clock)
    let reader = Task { [clock] in
      try await withDeadline(.seconds(2), clock: clock) { for try await _ in client.serverSentEvents("/") {} }
    }
    await arrivals.wait { $0 == 1 }
    clock.advance(by: .seconds(2))

    let error = try await #require(throws: HTTPError.self) { try await reader.value }
    #expect(error.deadline != nil)
    #expect(transport.requests.count == 1)
  }

  @Test func `a shared credential request does not end with the first caller's deadline`() async throws {
    let seen = Shared<[String?]>([])
    let transport = StubTransport { request in
      request.headers.contains("Authorization")
        ? .text("x") : .status(401, headers: ["WWW-Authenticate": "Bearer realm=\"a\""])
    }
    let client = HTTPClient.stubbed(transport, clock: clock) {
      $0.authenticators[.everywhere] = .ask { _ in
        seen.withLock { $0.append(Deadline.current?.name) }
        return .token("x")
      }
    }
    try await withDeadline(.seconds(2), name: "caller", clock: clock) { _ = try await client.get("/") }

    #expect(seen.value == [nil])
  }

  @Test func `10,000 random nestings end exactly at the nearest deadline, and send nothing afterwards`() async throws {
    var generator = SeededGenerator(seed: 20)
    let times = Shared<[Duration]>([])
    let transport = StubTransport { [clock] _ in
      times.withLock { $0.append(clock.now.offset) }
      try await untilCancelled()
    }
    let client = HTTPClient.stubbed(transport, clock: clock)
    for _ in 0..<Stress.count(2_000, full: 10_000) {
      let limits = (0..<Int.random(in: 1...6, using: &generator)).map { _ in
        Duration.milliseconds(Int.random(in: 1...5_000, using: &generator))
      }
      let start = clock.now.offset
      let nearest = limits.min() ?? .zero
      let request = Task { [clock] in
        try await Self.nested(limits[...], clock) { try await client.get("/", options: .retry(.timeouts(3))) }
      }
      await times.wait { $0.count == 1 }
      clock.advance(by: nearest)
      let error = try await #require(throws: HTTPError.self) { try await request.value }
      #expect(error.elapsed == nearest)
      #expect(error.deadline?.limit == nearest)
      #expect(times.value.allSatisfy { $0 < start + nearest })
      times.withLock { $0 = [] }
    }
  }

  private static func nested<R: Sendable>(
    _ limits: ArraySlice<Duration>, _ clock: TestClock, _ work: () async throws -> R
  ) async throws -> R {
    guard let first = limits.first else { return try await work() }
    return try await withDeadline(first, clock: clock) { try await nested(limits.dropFirst(), clock, work) }
  }
}

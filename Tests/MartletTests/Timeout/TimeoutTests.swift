import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct TimeoutTests {
  /// A limit, the phase in which it applies, and the text of its error.
  struct Limit: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let policy: TimeoutPolicy
    let phase: HTTPError.Phase
    let text: String
    var enter: @Sendable (RequestContext) -> Void = { _ in }
  }

  static let limits = [
    Limit(
      testDescription: "connect", policy: TimeoutPolicy(connect: .seconds(7), idle: nil, total: nil),
      phase: .connecting, text: "connect limit of 7.0 s", enter: { $0.exchange.enter(.connecting) }),
    Limit(
      testDescription: "idle while waiting", policy: TimeoutPolicy(connect: nil, idle: .seconds(7), total: nil),
      phase: .waiting, text: "idle limit of 7.0 s"),
    Limit(
      testDescription: "first byte", policy: TimeoutPolicy(connect: nil, idle: nil, firstByte: .seconds(7), total: nil),
      phase: .waiting, text: "first byte limit of 7.0 s"),
    Limit(
      testDescription: "first byte before idle",
      policy: TimeoutPolicy(connect: nil, idle: .seconds(30), firstByte: .seconds(7), total: nil),
      phase: .waiting, text: "first byte limit of 7.0 s"),
    Limit(
      testDescription: "first byte instead of idle",
      policy: TimeoutPolicy(connect: nil, idle: .seconds(2), firstByte: .seconds(7), total: nil),
      phase: .waiting, text: "first byte limit of 7.0 s"),
    Limit(
      testDescription: "idle while sending",
      policy: TimeoutPolicy(connect: nil, idle: .seconds(7), firstByte: .seconds(2), total: nil),
      phase: .sending, text: "idle limit of 7.0 s", enter: { $0.didSend(1, of: 10) }),
    Limit(
      testDescription: "first byte once sent",
      policy: TimeoutPolicy(connect: nil, idle: .seconds(2), firstByte: .seconds(7), total: nil),
      phase: .waiting, text: "first byte limit of 7.0 s", enter: { $0.didSend(10, of: 10) }),
    Limit(
      testDescription: "total", policy: TimeoutPolicy(connect: nil, idle: nil, total: .seconds(7)),
      phase: .waiting, text: "total limit of 7.0 s"),
    Limit(
      testDescription: "total before the others",
      policy: TimeoutPolicy(connect: .seconds(10), idle: .seconds(8), firstByte: .seconds(9), total: .seconds(7)),
      phase: .waiting, text: "total limit of 7.0 s"),
    Limit(
      testDescription: "total while connecting",
      policy: TimeoutPolicy(connect: .seconds(10), idle: .seconds(1), total: .seconds(7)),
      phase: .connecting, text: "total limit of 7.0 s", enter: { $0.exchange.enter(.connecting) }),
  ]

  @Test(arguments: limits, [1, 10])
  func `ends a call at its limit and not before`(limit: Limit, rest: Int) async throws {
    let clock = TestClock(advancing: .manually)
    let entered = Log<Int>()
    let client = HTTPClient {
      $0.clock = clock
      $0.timeout = limit.policy
      $0.transport = StubTransport(withContext: { _, context in
        limit.enter(context)
        entered.add(1)
        try await untilCancelled()
      })
    }
    let handle = client.start(.get("http://example.test/a?token=secret"))
    await entered.wait(for: 1)
    await clock.wait(forSleepers: 1)

    clock.advance(by: .milliseconds(7000 - rest))
    await clock.wait(forSleepers: 1)
    await letOthersRun()
    #expect(handle.isAlive)
    // A limit that is at most 5 ms away is first checked too early, then again 5 ms later.
    let end = rest > 5 ? 7000 : 7005
    clock.advance(by: .milliseconds(end - 7000 + rest))

    let error = try await #require(throws: HTTPError.self) { try await handle.value }
    #expect(error.kind == .timedOut && error.isTimeout)
    #expect(error.phase == limit.phase)
    #expect(error.elapsed == .milliseconds(end))
    #expect(error.description.contains(limit.text))
    #expect(error.description.contains("while \(limit.phase.rawValue)"))
    #expect(error.description.contains("GET http://example.test/a"))
    #expect(error.description.hasSuffix("7.0 s)") || error.description.hasSuffix("7.01 s)"))
    #expect(!error.description.contains("secret"))
    await client.waitUntilEmpty()
  }

  @Test(arguments: [0, 1, 2, 3]) func `applies no limit if none is set`(index: Int) async throws {
    let clock = TestClock(advancing: .manually)
    let gate = Gate()
    let client = HTTPClient {
      $0.clock = clock
      $0.timeout = .unlimited
      $0.transport = StubTransport(withContext: { _, context in
        switch index {
        case 0: context.exchange.enter(.connecting)
        case 1: context.didSend(1, of: 10)
        case 2: context.didSend(10, of: 10)
        default: break
        }
        await gate.pass()
        return .text("late")
      })
    }
    let handle = client.start(.get("http://example.test/"))
    await gate.waitForArrivals(1)

    clock.advance(by: .seconds(1_000_000))
    #expect(client.core.watchdog.count == 0)
    gate.open()

    #expect(try await handle.value.text == "late")
  }

  /// A body whose chunks the test provides.
  private final class Pieces: Sendable {
    private let stream: AsyncStream<Data>
    private let source: AsyncStream<Data>.Continuation
    /// Counts the reads of the body.
    let asked = Log<Int>()

    init() { (stream, source) = AsyncStream.makeStream() }

    func add(_ count: Int) { source.yield(Data(count: count)) }
    func finish() { source.finish() }

    func response(_ context: RequestContext, reporting: Bool = true) -> StubResponse {
      .streamed {
        self.asked.add(1)
        var iterator = self.stream.makeAsyncIterator()
        guard let piece = await iterator.next(isolation: nil) else {
          try Task.checkCancellation()
          return nil
        }
        if reporting { context.didReceive(piece.count) }
        return piece
      }
    }
  }

  @Test(arguments: [true, false])
  func `restarts the idle limit with each chunk, reported or not`(isReported: Bool) async throws {
    let clock = TestClock(advancing: .manually)
    let pieces = Pieces()
    let client = HTTPClient {
      $0.clock = clock
      $0.timeout = TimeoutPolicy(connect: nil, idle: .seconds(30), total: nil)
      $0.transport = StubTransport(withContext: { _, context in pieces.response(context, reporting: isReported) })
    }
    let handle = client.start(.get("http://example.test/"))
    for number in 1...5 {
      pieces.add(10)
      await pieces.asked.wait(for: number + 1)
      await clock.wait(forSleepers: 1)
      clock.advance(by: .seconds(20))
      await clock.wait(forSleepers: 1)
    }
    #expect(handle.isAlive)

    clock.advance(by: .milliseconds(9_900))
    await clock.wait(forSleepers: 1)
    #expect(handle.isAlive)
    clock.advance(by: .milliseconds(100))

    let error = try await #require(throws: HTTPError.self) { try await handle.value }
    #expect(error.kind == .timedOut)
    #expect(error.phase == .receiving)
    #expect(error.elapsed == .seconds(110))
    await client.waitUntilEmpty()
  }

  @Test func `ends a body at the total limit even while chunks arrive`() async throws {
    let clock = TestClock(advancing: .manually)
    let pieces = Pieces()
    let client = HTTPClient {
      $0.clock = clock
      $0.timeout = TimeoutPolicy(connect: nil, idle: .seconds(30), total: .seconds(60))
      $0.transport = StubTransport(withContext: { _, context in pieces.response(context) })
    }
    let handle = client.start(.get("http://example.test/"))
    for number in 1...6 {
      pieces.add(10)
      await pieces.asked.wait(for: number + 1)
      await clock.wait(forSleepers: 1)
      clock.advance(by: .seconds(10))
      if number < 6 { await clock.wait(forSleepers: 1) }
    }

    let error = try await #require(throws: HTTPError.self) { try await handle.value }
    #expect(error.message.contains("total limit"))
    #expect(error.phase == .receiving)
    #expect(error.elapsed == .seconds(60))
  }

  @Test func `gives each attempt its own idle limit`() async throws {
    let clock = TestClock(advancing: .manually)
    let attempts = Log<Int>()
    let client = HTTPClient {
      $0.clock = clock
      $0.retry = .timeouts(2)
      $0.timeout = TimeoutPolicy(connect: nil, idle: .seconds(10), total: nil)
      $0.transport = StubTransport(withContext: { _, context in
        attempts.add(context.attempt)
        try await untilCancelled()
      })
    }
    let handle = client.start(.get("http://example.test/"))
    for number in 1...3 {
      await attempts.wait(for: number)
      await clock.wait(forSleepers: 1)
      clock.advance(by: .seconds(10))
    }

    let error = try await #require(throws: HTTPError.self) { try await handle.value }
    #expect(error.elapsed == .seconds(30))
    #expect(error.attempts.map(\.duration) == [.seconds(10), .seconds(10), .seconds(10)])
    #expect(attempts.elements == [1, 2, 3])
  }

  @Test(arguments: [Duration.milliseconds(1), .seconds(Int.max), .seconds(Int64.max / 2), .milliseconds(1.5)])
  func `accepts any limit of at least one millisecond`(limit: Duration) async throws {
    for policy in Self.policies(limit) {
      let client = HTTPClient {
        $0.clock = TestClock(advancing: .manually)
        $0.transport = .stub { _ in .text("x") }
        $0.timeout = policy
      }

      #expect(try await client.get("http://example.test/").text == "x")
      #expect(client.core.entryCount == 0)
    }
  }

  @Test func `accepts the largest value for all limits at once`() async throws {
    let limit = Duration.seconds(Int.max)
    let client = HTTPClient {
      $0.transport = StubTransport(withContext: { _, context in
        context.exchange.connectIsUnknown()
        context.exchange.enter(.connecting)
        return .text("x")
      })
      $0.timeout = TimeoutPolicy(connect: limit, idle: limit, firstByte: limit, total: limit)
    }

    #expect(try await client.get("http://example.test/").text == "x")
  }

  @Test(arguments: [
    Duration.zero, .microseconds(999), .nanoseconds(999_999), .milliseconds(-1), .seconds(-1), .seconds(Int.min),
  ]) func `rejects a limit below one millisecond`(limit: Duration) async throws {
    let transport = StubTransport { _ in .text("x") }
    let names = ["connect", "idle", "firstByte", "total"]

    for (name, policy) in zip(names, Self.policies(limit)) {
      let client = HTTPClient.onTestClock { $0.transport = transport }
      let error = try await #require(throws: HTTPError.self) {
        try await client.get("http://example.test/", options: .timeout(policy))
      }
      #expect(error.kind == .invalidRequest)
      #expect(error.message.contains("the \(name) limit"))
      #expect(client.core.entryCount == 0)
    }
    #expect(transport.requests.isEmpty)
  }

  /// Returns one policy for each limit, with only that limit set.
  private static func policies(_ limit: Duration) -> [TimeoutPolicy] {
    var policies = [TimeoutPolicy](repeating: .unlimited, count: 4)
    policies[0].connect = limit
    policies[1].idle = limit
    policies[2].firstByte = limit
    policies[3].total = limit
    return policies
  }

  enum Unbounded: CaseIterable, Sendable { case stream, download, startedDownload, queuedDownload }

  @Test(arguments: Unbounded.allCases)
  func `a total limit set on the client applies to streams and downloads`(_ way: Unbounded) async throws {
    let error = try await Self.error(way, after: .seconds(8)) { $0.timeout.total = .seconds(8) }

    #expect(error.message.contains("total limit of 8.0 s"))
  }

  @Test(arguments: Unbounded.allCases)
  func `the default total limit does not apply to streams and downloads`(_ way: Unbounded) async throws {
    let error = try await Self.error(way, after: .seconds(500)) { $0.timeout.idle = .seconds(500) }

    #expect(error.message.contains("idle limit of 500.0 s"))
  }

  /// Returns the error of a request that never receives a response.
  private static func error(
    _ way: Unbounded, after time: Duration, _ change: @Sendable (inout HTTPClient.Configuration) -> Void
  ) async throws -> HTTPError {
    let clock = TestClock(advancing: .manually)
    let entered = Log<Int>()
    let client = HTTPClient {
      $0.clock = clock
      $0.retry = .off
      $0.transport = StubTransport { _ in
        entered.add(1)
        try await untilCancelled()
      }
      change(&$0)
    }
    let asking = Task {
      switch way {
      case .stream: try await client.stream(.get("http://example.test/")) { _ in }
      case .download: _ = try await client.download("http://example.test/")
      case .startedDownload: _ = try await client.startDownload(.get("http://example.test/")).value
      case .queuedDownload: _ = try await RequestQueue(client: client).download(.get("http://example.test/")).value
      }
    }
    await entered.wait(for: 1)
    await clock.wait(forSleepers: 1)
    clock.advance(by: time)
    return try await #require(throws: HTTPError.self) { try await asking.value }
  }

  @Test func `has default limits`() {
    let policy = TimeoutPolicy()

    #expect(policy.connect == .seconds(10) && policy.idle == .seconds(30))
    #expect(policy.firstByte == nil && policy.total == .seconds(120))
  }

  // MARK: Code that ignores cancellation

  enum Place: CaseIterable, Sendable { case transport, body, middleware, exchangeMiddleware }
  enum Way: CaseIterable, Sendable { case awaited, managed, streamed }

  @Test(arguments: Place.allCases, Way.allCases)
  func `ends a call at its limit even if code ignores cancellation`(place: Place, way: Way) async throws {
    let clock = TestClock(advancing: .manually)
    let gate = Gate()
    let stubborn = ClosureMiddleware.changing { _ in await gate.wait() }
    let client = HTTPClient {
      $0.clock = clock
      $0.retry = .off
      switch place {
      case .transport:
        $0.transport = .stub { _ in
          await gate.wait()
          return .text("late")
        }
      case .body:
        $0.transport = .stub { _ in
          .streamed {
            await gate.wait()
            return nil
          }
        }
      case .middleware:
        $0.middleware = [stubborn]
        $0.transport = .stub { _ in .text("late") }
      case .exchangeMiddleware:
        $0.exchangeMiddleware = [stubborn]
        $0.transport = .stub { _ in .text("late") }
      }
    }
    let options = RequestOptions.timeout(TimeoutPolicy(connect: nil, idle: nil, total: .seconds(5)))
    let task = Task {
      switch way {
      case .awaited: try await client.get("http://example.test/", options: options).text
      case .managed: try await client.start(.get("http://example.test/"), options: options).value.text
      case .streamed:
        try await client.stream(.get("http://example.test/"), options: options) { response in
          for try await _ in response.body {}
          return "end"
        }
      }
    }
    await gate.waitForArrivals(1)
    await clock.wait(forSleepers: 1)

    clock.advance(by: .seconds(5))

    let error = try await #require(throws: HTTPError.self) { try await task.value }
    #expect(error.kind == .timedOut)
    #expect(gate.waitingCount == 1)
    #expect(client.core.calls.isEmpty)
    gate.open()
    await client.waitUntilEmpty()
  }

  @Test func `reports after the end of a call do not restart its limits`() async throws {
    let clock = TestClock(advancing: .manually)
    let gate = Gate()
    let reported = Shared(false)
    let client = HTTPClient {
      $0.clock = clock
      $0.transport = StubTransport(withContext: { _, context in
        await gate.wait()
        context.didSend(1, of: 10)
        context.exchange.enter(.waiting)
        reported.withLock { $0 = true }
        return .text("late")
      })
    }
    let handle = client.start(.get("http://example.test/"))
    await gate.waitForArrivals(1)

    handle.cancel()
    await #expect(throws: CancellationError.self) { try await handle.value }
    gate.open()
    await reported.wait { $0 }

    await client.waitUntilEmpty()
  }
}

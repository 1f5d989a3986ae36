import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite(.hangLimit) struct RetryStageTests {
  // Timeouts would add their sleeps to the recorded delays.
  private static let settings: ClientSetting = [.random(0.5), .now(RetryAfterTests.now), .timeout(.unlimited)]

  @Test(arguments: [(0.5, [100, 200, 400]), (0.25, [50, 100, 200]), (0, [])] as [(Double, [Int])])
  func `waits for the delays of the policy`(random: Double, milliseconds: [Int]) async throws {
    let clock = TestClock()
    let transport = StubTransport(failing: 3, with: .connectionLost, then: .text("x"))
    let client = HTTPClient.onTestClock(
      transport, .retry(.backoff(attempts: 4)), Self.settings, .clock(clock), .random(random))

    let response = try await client.get("http://example.test/")

    #expect(response.text == "x")
    #expect(clock.sleeps == milliseconds.map { .milliseconds($0) })
    #expect(response.attempts.count == 4)
  }

  @Test(arguments: ["30", "Sun, 06 Nov 1994 08:50:07 GMT"])
  func `waits for the delay in Retry-After`(value: String) async throws {
    let clock = TestClock()
    let transport = StubTransport(script: [.status(503, headers: ["Retry-After": value]), .text("x")])

    _ = try await HTTPClient.onTestClock(transport, .retry(.backoff()), Self.settings, .clock(clock)).get(
      "http://example.test/")

    #expect(clock.sleeps == [.seconds(30)])
  }

  @Test func `fails with the response if Retry-After is too long`() async throws {
    let clock = TestClock()
    let transport = StubTransport { _ in .text("later", status: 503, headers: ["Retry-After": "61"]) }

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient.onTestClock(transport, .retry(.backoff()), Self.settings, .clock(clock)).get(
        "http://example.test/")
    }

    #expect(error.kind == .status)
    #expect(error.response?.text == "later")
    #expect(transport.requests.count == 1)
    #expect(clock.sleeps.isEmpty)
  }

  @Test func `the body of a failed attempt is released before the delay`() async throws {
    final class Body: Sendable {}
    struct First { weak var body: Body? }
    let clock = TestClock(advancing: .manually)
    let first = Locked<First?>(nil)
    let transport = StubTransport { _ in
      let body = Body()
      let isFirst = first.withLock { first in
        defer { first = first ?? First(body: body) }
        return first == nil
      }
      return .streamed(isFirst ? 503 : 200) { withExtendedLifetime(body) { nil } }
    }
    let client = HTTPClient.onTestClock(transport, .retry(.backoff()), Self.settings, .clock(clock))

    async let status = client.stream(.get("http://example.test/"), options: .accepts(.any)) { $0.status }
    #expect(await clock.waitForSleepers(1))
    #expect(first.withLock { $0 != nil && $0?.body == nil })
    clock.advance(by: .seconds(60))

    #expect(try await status == 200)
  }

  @Test func `records each attempt in the response`() async throws {
    let clock = TestClock()
    let transport = StubTransport(script: [
      .status(503), .failure(HTTPError(.connectionLost, "gone")), .text("x"),
    ])

    let response = try await HTTPClient.onTestClock(transport, .retry(.backoff()), Self.settings, .clock(clock)).get(
      "http://example.test/")

    #expect(response.attempts.map(Self.text) == ["1 503 100 ms", "2 connectionLost gone 200 ms", "3 200 -"])
    #expect(response.timing.total == .milliseconds(300))
  }

  @Test func `records each attempt in the error`() async throws {
    let transport = StubTransport(script: [.status(503), .failure(HTTPError(.cannotConnect, "refused"))])

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient.onTestClock(transport, .retry(.backoff()), Self.settings).get("http://example.test/")
    }

    #expect(error.kind == .cannotConnect)
    #expect(
      error.attempts.map(Self.text) == ["1 503 100 ms", "2 cannotConnect refused 200 ms", "3 cannotConnect refused -"])
    #expect(error.description.contains("after 3 attempts"))
    #expect(error.elapsed == .milliseconds(300))
  }

  @Test func `records each attempt in a status error`() async throws {
    let transport = StubTransport { _ in .status(503) }

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient.onTestClock(transport, .retry(.backoff(attempts: 2)), Self.settings).get(
        "http://example.test/")
    }

    #expect(error.attempts.map(Self.text) == ["1 503 100 ms", "2 503 -"])
    #expect(error.response?.attempts.count == 2)
  }

  @Test func `records the only attempt of a call without retries`() async throws {
    let client = HTTPClient.onTestClock(StubTransport(script: [.text("x"), .status(500)]), .retry(.off), Self.settings)

    let response = try await client.get("http://example.test/")
    let error = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/") }

    #expect(response.attempts.map(Self.text) == ["1 200 -"])
    #expect(error.attempts.map(Self.text) == ["1 500 -"])
  }

  /// Formats the number, the outcome and the delay of an attempt.
  private static func text(_ attempt: HTTPResponse.Attempt) -> String {
    let outcome =
      switch attempt.outcome {
      case .status(let status): "\(status.rawValue)"
      case .failure(let kind, let message): "\(kind) \(message)"
      }
    let pause = attempt.delay.map { "\(Int($0 / .milliseconds(1))) ms" } ?? "-"
    return "\(attempt.number) \(outcome) \(pause)"
  }

  @Test(
    arguments: [
      StubResponse.status(503), .failure(HTTPError(.connectionLost, "lost")), .failure(HTTPError(.timedOut, "late")),
      .failure(HTTPError(.tls, "bad")),
    ], [RetryPolicy.standard, .timeouts(3), .backoff(), .custom { _, _ in .zero }])
  func `never repeats a POST that may have reached the server`(
    response: StubResponse, policy: RetryPolicy
  ) async throws {
    let transport = StubTransport { _ in response }
    let client = HTTPClient.onTestClock(transport, .retry(policy), Self.settings)

    _ = try? await client.post("http://example.test/", body: .text("t"))

    #expect(transport.requests.count == 1)
  }

  @Test(
    arguments: [StubResponse.status(429), .failure(HTTPError(.connectionLost, "lost"))],
    [RetryPolicy.backoff(), .custom { _, _ in .zero }]
  ) func `repeats a POST marked as idempotent`(response: StubResponse, policy: RetryPolicy) async throws {
    let transport = StubTransport(script: [response, .text("x")])
    let client = HTTPClient.onTestClock(transport, .retry(policy), Self.settings)

    let answer = try await client.post("http://example.test/", body: .text("t"), options: .isIdempotent())

    #expect(answer.text == "x")
    #expect(answer.attempts.map(\.retryRefusal) == [nil, nil])
  }

  @Test func `does not repeat a GET marked as not idempotent`() async throws {
    let transport = StubTransport { _ in .status(503) }
    let client = HTTPClient.onTestClock(transport, .retry(.backoff()), Self.settings)

    await #expect(throws: HTTPError.self) {
      try await client.get("http://example.test/", options: .isIdempotent(false))
    }

    #expect(transport.requests.count == 1)
  }

  @Test func `the error explains why a retry was refused`() async throws {
    let transport = StubTransport { _ in .status(429, headers: ["Retry-After": "5"]) }
    let client = HTTPClient.onTestClock(transport, .retry(.custom { _, _ in .zero }), Self.settings)

    let unsafe = try await #require(throws: HTTPError.self) { try await client.post("http://example.test/") }
    let late = try await #require(throws: HTTPError.self) {
      try await client.get("http://example.test/", options: .retry(.backoff()).timeout(.seconds(5)))
    }
    let wanted = try await #require(throws: HTTPError.self) {
      try await client.post("http://example.test/", options: .retry(.standard))
    }

    #expect(unsafe.description.contains("not repeated: POST is not idempotent"))
    #expect(unsafe.description.contains("RequestOptions.isIdempotent"))
    #expect(unsafe.attempts.last?.retryRefusal == .notIdempotent(.post))
    #expect(late.description.contains("not repeated: a delay of 5.0 s would exceed the total limit of 5.0 s"))
    #expect(!wanted.description.contains("not repeated") && wanted.attempts.map(\.retryRefusal) == [nil])
    #expect(transport.requests.count == 3)
  }

  @Test func `repeats a POST that cannot have reached the server`() async throws {
    let transport = StubTransport(failing: 2, with: .cannotConnect, then: .text("x"))

    let response = try await HTTPClient.onTestClock(transport, .retry(.backoff()), Self.settings).post(
      "http://example.test/", body: .text("t"))

    #expect(response.text == "x")
    #expect(transport.requests.map(\.body) == [.text("t"), .text("t"), .text("t")])
  }

  @Test func `repeats a POST with its Idempotency-Key`() async throws {
    let transport = StubTransport(failing: 2, with: .connectionLost, then: .text("x"))

    let response = try await HTTPClient.onTestClock(transport, .retry(.backoff()), Self.settings).post(
      "http://example.test/", headers: ["Idempotency-Key": "k"], body: .text("t"))

    #expect(response.text == "x")
    #expect(transport.requests.map { $0.headers["Idempotency-Key"] } == ["k", "k", "k"])
  }

  @Test func `judges idempotency by the request that exchange middleware sends`() async throws {
    let transport = StubTransport { _ in .failure(HTTPError(.connectionLost, "lost")) }
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.exchangeMiddleware = [.changing { $0 = $0.with(method: .post) }]
    }

    _ = try? await client.get("http://example.test/")

    #expect(transport.requests.count == 1)
  }

  @Test func `repeats after as many timeouts as configured`() async throws {
    let transport = StubTransport(failing: 2, with: .timedOut, then: .text("x"))
    let clock = TestClock()

    let response = try await HTTPClient.onTestClock(transport, .retry(.timeouts(2)), Self.settings, .clock(clock)).get(
      "http://example.test/")

    #expect(response.attempts.count == 3)
    #expect(clock.sleeps.isEmpty)
  }

  @Test func `repeats a GET whose response body was interrupted`() async throws {
    let transport = StubTransport(script: [Self.breaking(), .text("whole")])

    let response = try await HTTPClient.onTestClock(transport, .retry(.backoff()), Self.settings).get(
      "http://example.test/")

    #expect(response.text == "whole")
    #expect(response.attempts.map(Self.text) == ["1 connectionLost broke off 100 ms", "2 200 -"])
  }

  @Test func `does not repeat a POST whose response body was interrupted`() async throws {
    let transport = StubTransport { _ in Self.breaking() }

    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient.onTestClock(transport, .retry(.backoff()), Self.settings).post("http://example.test/")
    }

    #expect(error.kind == .connectionLost)
    #expect(transport.requests.count == 1)
  }

  /// A body that fails after its first chunk.
  private static func breaking() -> StubResponse {
    let pieces = Locked([Data("half".utf8)])
    return .streamed {
      if let piece = pieces.withLock({ $0.popLast() }) { return piece }
      throw HTTPError(.connectionLost, "broke off", phase: .receiving)
    }
  }

  @Test func `does not repeat after an error from middleware`() async throws {
    struct Own: Error {}
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock {
      $0.transport = transport
      $0.retry = .custom { _, _ in .zero }
      $0.exchangeMiddleware = [
        .closure { request, _, next in
          _ = try await next(request)
          throw Own()
        }
      ]
    }

    await #expect(throws: Own.self) { try await client.get("http://example.test/") }
    #expect(transport.requests.count == 1)
  }

  @Test func `a custom policy does not repeat after a success or a redirect`() async throws {
    let transport = StubTransport(script: [.redirect(to: "/b"), .text("x")])
    let client = HTTPClient.onTestClock(transport, .retry(.custom { _, _ in .zero }), Self.settings)

    _ = try await client.get("http://example.test/")

    #expect(transport.requests.count == 2)
  }

  @Test func `gives up at once if the delay would exceed the total limit`() async throws {
    let clock = TestClock()
    let transport = StubTransport { _ in .status(503, headers: ["Retry-After": "5"]) }
    let client = HTTPClient.onTestClock(transport, .retry(.backoff()), Self.settings, .clock(clock))

    let error = try await #require(throws: HTTPError.self) {
      try await client.get("http://example.test/", options: .timeout(.seconds(5)))
    }

    #expect(error.kind == .status)
    #expect(transport.requests.count == 1)
    #expect(clock.sleeps.isEmpty)
  }

  @Test func `cancelling the handle ends the delay at once`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = HTTPClient.onTestClock(
      StubTransport { _ in .status(503) }, .retry(.backoff()), Self.settings, .clock(clock))
    let handle = client.start(.get("http://example.test/"), options: .timeout(nil))
    await clock.wait(forSleepers: 1)
    guard case .waiting(.retryDelay(let pause)) = handle.state else {
      Issue.record("not waiting")
      return
    }

    handle.cancel()

    await #expect(throws: CancellationError.self) { try await handle.value }
    #expect(pause == .milliseconds(100))
    #expect(clock.sleeps.isEmpty)
    await clock.wait { $0.sleeperCount == 0 }
  }

  @Test(arguments: [(3, true, 4), (3, false, 1), (.max, true, 12)])
  func `the standard policy repeats a POST that the server did not process`(refusals: Int, isOn: Bool, sends: Int)
    async throws
  {
    let count = Shared(0)
    let transport = StubTransport { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      guard number <= refusals else { return .text("x") }
      var error = HTTPError(.connectionLost, "refused", phase: .waiting)
      error.mayHaveReachedServer = false
      throw error
    }
    let client = HTTPClient.onTestClock(transport, .retry(isOn ? .standard : .off), Self.settings)

    let response = try? await client.post("http://example.test/", body: .text("x"))

    #expect(response?.text == (sends == 4 ? "x" : nil))
    #expect(transport.requests.count == sends)
  }

  @Test func `cancelling the task ends the delay at once`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = HTTPClient.onTestClock(
      StubTransport { _ in .status(503) }, .retry(.backoff()), Self.settings, .clock(clock))
    let task = Task { try await client.get("http://example.test/", options: .timeout(nil)) }
    await clock.wait(forSleepers: 1)

    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(client.core.entryCount == 0)
  }

  @Test func `rejects an invalid policy before sending`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock(transport, .retry(.backoff(attempts: 0)), Self.settings)

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://example.test/") }

    #expect(error.kind == .invalidRequest)
    #expect(transport.requests.isEmpty)
  }
}

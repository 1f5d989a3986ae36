import Foundation
import TestSupport
import Testing

@testable import Martlet

@Suite struct RetryPolicyTests {
  static let get = HTTPRequest.get("http://example.test/")
  static let post = HTTPRequest.post("http://example.test/", body: .text("t"))
  static let keyedPost = HTTPRequest.post(
    "http://example.test/", headers: ["idempotency-key": "k"], body: .text("t"))

  /// A request whose body cannot be sent again.
  static let used: HTTPRequest = {
    let source = BodySource(length: nil, isReplayable: false) { _ in }
    source.begin()
    return .post("http://example.test/", body: HTTPBody(.stream(source), contentType: nil))
  }()

  typealias Outcome = RetryPolicy.Outcome

  static let status503 = Outcome(status: 503, headers: [:])
  static let lost = Outcome(error: HTTPError(.connectionLost, "lost"))
  static let refused = Outcome(error: HTTPError(.cannotConnect, "refused"))
  static let timedOut = Outcome(error: HTTPError(.timedOut, "late", phase: .waiting))
  static let fileMissing = Outcome(error: HTTPError(.fileFailed, "gone"))
  static let noDescriptor = Outcome(error: .file("a file could not be opened", code: 24))  // EMFILE
  /// A GOAWAY with PROTOCOL_ERROR whose last stream ID is below the request's.
  static let refusedWithError: Outcome = {
    var error = HTTPError(.protocolViolation, "refused")
    (error.mayHaveReachedServer, error.mayBeStaleConnection) = (false, true)
    return Outcome(error: error)
  }()
  /// The same with ENHANCE_YOUR_CALM.
  static let refusedForCalm: Outcome = {
    var error = HTTPError(.connectionLost, "calm")
    (error.mayHaveReachedServer, error.mayBeStaleConnection) = (false, false)
    return Outcome(error: error)
  }()
  static let timedOutConnecting: Outcome = {
    var error = HTTPError(.timedOut, "late", phase: .connecting)
    error.mayHaveReachedServer = false
    return Outcome(error: error)
  }()

  static func pause(
    _ policy: RetryPolicy, after attempt: Int = 1, of request: HTTPRequest = get, _ outcome: Outcome,
    now: Date = RetryAfterTests.now, random: Double = 0.5
  ) -> Duration? {
    let decision = policy.decision(
      after: attempt, of: request, isIdempotent: request.isIdempotent, outcome: outcome, now: now, random: random)
    guard case .repeated(let pause, _) = decision else { return nil }
    return pause
  }

  // MARK: Pauses

  @Test(arguments: [0, 0.5, 0.999] as [Double]) func `doubles the backoff up to the maximum delay`(random: Double)
    throws
  {
    let policy = RetryPolicy.backoff(attempts: 1000, initialDelay: .milliseconds(200), maximumDelay: .seconds(20))
    let longest = [200, 400, 800, 1600, 3200, 6400, 12800, 20000, 20000]

    for (index, milliseconds) in longest.enumerated() {
      let pause = try #require(Self.pause(policy, after: index + 1, Self.status503, random: random))
      #expect(abs(pause / .milliseconds(1) - Double(milliseconds) * random) < 1e-6)
    }
    let late = try #require(Self.pause(policy, after: 999, Self.status503, random: random))
    #expect(abs(late / .seconds(1) - 20 * random) < 1e-9)
  }

  @Test(arguments: [-1, 1, 7, .infinity, .nan] as [Double]) func `clamps random numbers outside their range`(
    random: Double
  ) throws {
    var configuration = HTTPClient.Configuration()
    configuration.random = { random }

    let bounded = configuration.random()
    let pause = try #require(Self.pause(.backoff(initialDelay: .seconds(1)), Self.status503, random: bounded))

    #expect(pause == (random > 0 ? .seconds(1) : .zero))
  }

  @Test func `handles extreme delays and attempt counts without overflow`() throws {
    let policy = RetryPolicy.backoff(attempts: .max, initialDelay: .seconds(Int.max), maximumDelay: .seconds(Int.max))

    for attempt in [1, 2, 5, 31, 63, 64, 1000, Int.max - 1] {
      let pause = try #require(Self.pause(policy, after: attempt, Self.status503, random: 1))
      #expect(abs(pause / .seconds(1) - 100 * 365 * 86_400) < 1)
    }
    #expect(Self.pause(.backoff(initialDelay: .zero), Self.status503) == .zero)
    #expect(
      Self.pause(.backoff(attempts: .max, initialDelay: .nanoseconds(1)), after: Int.max - 1, Self.status503) != nil)
  }

  @Test func `distributes delays uniformly`() throws {
    var generator = SeededGenerator(seed: 7)
    let policy = RetryPolicy.backoff(attempts: 3, initialDelay: .seconds(1))
    var bins = [Int](repeating: 0, count: 20)

    for _ in 0..<10_000 {
      let random = Double.random(in: 0..<1, using: &generator)
      let pause = try #require(Self.pause(policy, Self.status503, random: random))
      bins[min(19, Int(pause / .milliseconds(50)))] += 1
    }

    let chiSquared = bins.map { pow(Double($0) - 500, 2) / 500 }.reduce(0, +)
    // 19 degrees of freedom, p = 0.01.
    #expect(chiSquared < 36.19)
  }

  @Test func `waits as long as Retry-After says, up to a limit`() {
    func pause(_ value: String, now: Date = RetryAfterTests.now) -> Duration? {
      Self.pause(.backoff(initialDelay: .seconds(2)), Outcome(status: 503, headers: ["Retry-After": value]), now: now)
    }
    let year = 365.25 * 86_400

    #expect(pause("0") == .zero)
    #expect(pause("60") == .seconds(60))
    #expect(pause("61") == nil)
    #expect(pause("99999999999999999999") == nil)
    #expect(pause("nonsense") == .seconds(1))
    #expect(pause("Sun, 06 Nov 1994 08:50:07 GMT") == .seconds(30))
    #expect(pause("Sun, 06 Nov 1994 08:50:37 GMT") == .seconds(60))
    #expect(pause("Sun, 06 Nov 1994 08:50:38 GMT") == nil)
    #expect(pause("Sun, 06 Nov 1994 08:50:07 GMT", now: RetryAfterTests.now + 10 * year) == .zero)
    #expect(pause("Sun, 06 Nov 1994 08:50:07 GMT", now: RetryAfterTests.now - 10 * year) == nil)
  }

  @Test func `maximumRetryAfter changes the limit for Retry-After`() {
    var policy = RetryPolicy.backoff()
    policy.maximumRetryAfter = .seconds(3600)

    #expect(Self.pause(policy, Outcome(status: 429, headers: ["Retry-After": "3600"])) == .seconds(3600))
    #expect(Self.pause(policy, Outcome(status: 429, headers: ["Retry-After": "3601"])) == nil)
  }

  // MARK: Retried requests

  @Test func `treats seven statuses as transient`() {
    for code in 100...999 {
      let isRepeated = Self.pause(.backoff(), Outcome(status: HTTPStatus(rawValue: code), headers: [:])) != nil
      #expect(isRepeated == [408, 425, 429, 500, 502, 503, 504].contains(code), "\(code)")
    }
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let outcome: Outcome
    /// The policies that retry: standard, timeouts, backoff, and a custom policy that always retries.
    let get: String
    let post: String
    let keyed: String
  }

  static let rows = [
    Row(testDescription: "503", outcome: status503, get: "..BC", post: "....", keyed: "..BC"),
    Row(testDescription: "404", outcome: Outcome(status: 404, headers: [:]), get: "...C", post: "....", keyed: "...C"),
    Row(testDescription: "302", outcome: Outcome(status: 302, headers: [:]), get: "....", post: "....", keyed: "...."),
    Row(testDescription: "200", outcome: Outcome(status: 200, headers: [:]), get: "....", post: "....", keyed: "...."),
    Row(testDescription: "lost", outcome: lost, get: "S.BC", post: "....", keyed: "S.BC"),
    Row(testDescription: "cannotConnect", outcome: refused, get: "..BC", post: "..BC", keyed: "..BC"),
    Row(testDescription: "refused, calm", outcome: refusedForCalm, get: "..BC", post: "..BC", keyed: "..BC"),
    Row(testDescription: "refused, error", outcome: refusedWithError, get: "S.BC", post: "S.BC", keyed: "S.BC"),
    Row(testDescription: "file", outcome: fileMissing, get: "...C", post: "...C", keyed: "...C"),
    Row(testDescription: "no descriptor", outcome: noDescriptor, get: "..BC", post: "..BC", keyed: "..BC"),
    Row(testDescription: "timedOut", outcome: timedOut, get: ".TBC", post: "....", keyed: ".TBC"),
    Row(testDescription: "timedOut connecting", outcome: timedOutConnecting, get: ".TBC", post: ".TBC", keyed: ".TBC"),
    Row(
      testDescription: "tls", outcome: Outcome(error: HTTPError(.tls, "bad")), get: "...C", post: "....", keyed: "...C"),
    Row(
      testDescription: "protocolViolation", outcome: Outcome(error: HTTPError(.protocolViolation, "bad")), get: "...C",
      post: "....", keyed: "...C"),
    Row(
      testDescription: "bodyTooLarge", outcome: Outcome(error: HTTPError(.bodyTooLarge, "big")), get: "...C",
      post: "....", keyed: "...C"),
  ]

  @Test(arguments: rows) func `repeats a request only if that is safe and may help`(row: Row) {
    let policies: [(Character, RetryPolicy)] = [
      ("S", .standard), ("T", .timeouts(2)), ("B", .backoff()), ("C", .custom { _, _ in .seconds(1) }),
    ]
    func repeated(_ request: HTTPRequest) -> String {
      String(policies.map { Self.pause($1, of: request, row.outcome) == nil ? "." : $0 })
    }

    #expect(repeated(Self.get) == row.get)
    #expect(repeated(Self.post) == row.post)
    #expect(repeated(Self.keyedPost) == row.keyed)
  }

  @Test(arguments: ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "POST", "PATCH", "LOCK", "get"])
  func `repeats idempotent methods only`(method: String) {
    let request = HTTPRequest(HTTPMethod(method), "http://example.test/")
    let isIdempotent = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"].contains(method)

    #expect((Self.pause(.standard, of: request, Self.lost) != nil) == isIdempotent)
    #expect((Self.pause(.backoff(), of: request, Self.status503) != nil) == isIdempotent)
  }

  enum Came: Sendable { case repeated, ended, refusedAsUnsafe, refusedAsUsed }

  @Test(
    arguments: [
      (.backoff(), post, false, status503, .refusedAsUnsafe),
      (.backoff(), post, true, status503, .repeated),
      (.backoff(), get, false, status503, .refusedAsUnsafe), (.backoff(), get, false, refused, .repeated),
      (.standard, post, false, lost, .refusedAsUnsafe), (.standard, post, true, lost, .repeated),
      (.standard, post, false, status503, .ended), (.off, post, false, status503, .ended),
      (.backoff(attempts: 1), post, false, status503, .ended),
      (.custom { _, _ in nil }, post, false, status503, .ended),
      (.custom { _, _ in .zero }, post, false, Outcome(status: 429, headers: [:]), .refusedAsUnsafe),
      (.custom { _, _ in .zero }, post, true, Outcome(status: 429, headers: [:]), .repeated),
      (.custom { _, _ in .zero }, post, false, Outcome(status: 200, headers: [:]), .ended),
      (.backoff(), used, true, status503, .refusedAsUsed), (.standard, used, true, status503, .ended),
    ] as [(RetryPolicy, HTTPRequest, Bool, Outcome, Came)]) func `distinguishes unsafe retries from unwanted ones`(
      policy: RetryPolicy, request: HTTPRequest, isIdempotent: Bool, outcome: Outcome, came: Came
    )
  {
    let decision = policy.decision(
      after: 1, of: request, isIdempotent: isIdempotent, outcome: outcome, now: RetryAfterTests.now, random: 0.5)

    switch (decision, came) {
    case (.repeated, .repeated), (.ended, .ended): break
    case (.refused(.notIdempotent), .refusedAsUnsafe), (.refused(.bodyNotReplayable), .refusedAsUsed): break
    default: Issue.record("\(decision)")
    }
  }

  @Test func `stops after the maximum number of attempts`() {
    #expect(Self.pause(.standard, after: 1, Self.lost) == .zero)
    #expect(Self.pause(.standard, after: 2, Self.lost) == nil)
    #expect(Self.pause(.backoff(attempts: 3), after: 2, Self.lost) != nil)
    #expect(Self.pause(.backoff(attempts: 3), after: 3, Self.lost) == nil)
    #expect(Self.pause(.timeouts(2), after: 2, Self.timedOut) == .zero)
    #expect(Self.pause(.timeouts(2), after: 3, Self.timedOut) == nil)
    #expect(Self.pause(.timeouts(0), after: 1, Self.timedOut) == nil)
    #expect(Self.pause(.timeouts(.max), after: 1_000_000, Self.timedOut) == .zero)
    #expect(Self.pause(.off, after: 1, Self.lost) == nil)
  }

  @Test func `passes the attempt and its outcome to a custom closure`() {
    let seen = Log<String>()
    let policy = RetryPolicy.custom(attempts: 5) { attempt, outcome in
      seen.add(
        "\(attempt) \(outcome.status?.rawValue ?? 0) \(outcome.headers["X-A"] ?? "") \(outcome.error?.message ?? "")")
      return attempt == 1 ? .seconds(-3) : nil
    }

    let first = Self.pause(policy, after: 1, Outcome(status: 500, headers: ["X-A": "1"]))
    let second = Self.pause(policy, after: 2, Self.lost)
    let last = Self.pause(policy, after: 5, Self.lost)

    #expect(first == .zero)
    #expect(second == nil && last == nil)
    #expect(seen.elements == ["1 500 1 ", "2 0  lost"])
  }

  @Test(arguments: [
    RetryPolicy.backoff(attempts: 0), .backoff(attempts: -1), .timeouts(-1), .timeouts(.min),
    .custom(attempts: 0) { _, _ in nil },
    .backoff(initialDelay: .seconds(-1)), .backoff(maximumDelay: .seconds(-1)),
  ]) func `rejects invalid numbers`(policy: RetryPolicy) {
    #expect(policy.problem != nil)
  }

  @Test(arguments: [
    RetryPolicy.off, .standard, .timeouts(0), .timeouts(.max), .backoff(), .backoff(initialDelay: .zero),
  ])
  func `accepts valid numbers`(policy: RetryPolicy) {
    #expect(policy.problem == nil)
  }
}

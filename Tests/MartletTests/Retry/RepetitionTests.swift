import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct RepetitionTests {
  private static func lost(
    reached: Bool = true, http2Code: UInt32? = nil, followsAnswer: Bool = false
  ) -> RetryPolicy.Outcome {
    var error = HTTPError(http2Code == 13 ? .unsupported : .connectionLost, "lost")
    error.mayHaveReachedServer = reached
    error.http2ErrorCode = http2Code
    error.followsAnswer = followsAnswer
    return RetryPolicy.Outcome(error: error)
  }

  @Test func `repeats an unprocessed request up to ten times without counting it`() {
    var repetition = Repetition()
    let owed = (0..<12).map { _ in repetition.mustRetry(after: Self.lost(reached: false), isHTTP2Chosen: false) }

    #expect(owed == Array(repeating: true, count: 10) + [false, false])
    #expect(repetition.uncounted == 10)
    #expect(!repetition.needsHTTP11)
  }

  /// A GOAWAY with INTERNAL_ERROR whose last stream ID is below the request's.
  @Test func `after a refusal with an error, the last of three repetitions uses a new connection`() {
    var repetition = Repetition()
    var error = HTTPError(.connectionLost, "refused")
    (error.mayHaveReachedServer, error.http2ErrorCode) = (false, 2)
    let owed = (0..<5).map { _ in
      let isOwed = repetition.mustRetry(after: RetryPolicy.Outcome(error: error), isHTTP2Chosen: false)
      return isOwed ? repetition.needsNewConnection ? "new" : "owed" : "no"
    }

    #expect(owed == ["owed", "owed", "new", "no", "no"])
  }

  @Test func `only a policy with delays repeats a request after ENHANCE_YOUR_CALM`() async throws {
    var error = HTTPError(.connectionLost, "calm")
    (error.mayHaveReachedServer, error.mayBeStaleConnection, error.http2ErrorCode) = (false, false, 11)
    for (policy, count) in [(RetryPolicy.standard, 1), (.timeouts(3), 1), (.backoff(attempts: 3), 3)] {
      let transport = StubTransport { [error] _ in throw error }
      let client = HTTPClient {
        $0.transport = transport
        $0.clock = TestClock()
        $0.random = { 1 }
        $0.retry = policy
      }

      let thrown = await #expect(throws: HTTPError.self) { try await client.post("http://a.test/", body: .text("x")) }

      #expect(transport.requests.count == count)
      #expect(thrown?.attempts.compactMap(\.delay) == [200, 400].prefix(count - 1).map { .milliseconds($0) })
    }
  }

  @Test func `an unprocessed request uses a new connection from its third refusal on`() {
    var repetition = Repetition()
    let isNew = (0..<5).map { _ in
      _ = repetition.mustRetry(after: Self.lost(reached: false), isHTTP2Chosen: false)
      return repetition.needsNewConnection
    }

    #expect(isNew == [false, false, true, true, true])
  }

  @Test(arguments: [lost(), lost(http2Code: 2), lost(http2Code: 13), .init(status: .tooManyRequests, headers: [:])])
  func `does not repeat a request that may have been processed`(_ outcome: RetryPolicy.Outcome) {
    var repetition = Repetition()
    let isOwed = repetition.mustRetry(after: outcome, isHTTP2Chosen: false)

    #expect(!isOwed)
    #expect(repetition.uncounted == 0)
  }

  @Test(arguments: [false, true])
  func `repeats once over HTTP/1.1 if the server requires it, unless HTTP/2 was chosen`(isHTTP2Chosen: Bool) {
    var repetition = Repetition()
    let outcome = Self.lost(reached: false, http2Code: 13)
    let owed = (0..<2).map { _ in repetition.mustRetry(after: outcome, isHTTP2Chosen: isHTTP2Chosen) }

    #expect(owed == [!isHTTP2Chosen, false])
    #expect(repetition.needsHTTP11 == !isHTTP2Chosen)
  }

  @Test func `the standard policy does not count the first connection lost after a response`() {
    func counts(_ outcome: RetryPolicy.Outcome, _ policy: RetryPolicy) -> [Int] {
      var repetition = Repetition()
      return (1...4).map { repetition.counted($0, after: outcome, policy) }
    }

    #expect(counts(Self.lost(followsAnswer: true), .standard) == [1, 1, 2, 3])
    #expect(counts(Self.lost(), .standard) == [1, 2, 3, 4])
    // Other policies count every attempt, because the caller chose their number.
    #expect(counts(Self.lost(followsAnswer: true), .backoff()) == [1, 2, 3, 4])
  }

  @Test func `repeats a request if connections are lost before and after a challenge`() async throws {
    let transport = StubTransport(script: [
      .failure(HTTPError(.connectionLost, "stale")), .status(401, headers: ["WWW-Authenticate": #"Basic realm="b""#]),
      .failure(HTTPError(.connectionLost, "stale")), .text("x"),
    ])
    let client = HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://a.test"
      $0.clock = TestClock()
      $0.authenticators[.baseURL] = .basic(user: "u", password: "p")
    }

    let response = try await client.get("/")

    #expect(response.text == "x")
    #expect(response.attempts.count == 3)
    // The lost exchange has not rejected the credential, so the next attempt sends it without another challenge.
    #expect(transport.requests.map { $0.headers.contains("Authorization") } == [false, false, true, true])
  }
}

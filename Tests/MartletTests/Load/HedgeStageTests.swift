import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct HedgeStageTests {
  /// A server whose responses the test sends, by the number of the exchange, starting at 1.
  private final class Answers: Sendable {
    private let answers = Shared<[Int: StubResponse]>([:])
    private let arrived = Shared(0)
    let cancelled = Shared<[Int]>([])

    var count: Int { arrived.value }

    func waitForArrivals(_ count: Int) async { await arrived.wait { $0 >= count } }
    func give(_ number: Int, _ response: StubResponse) { answers.withLock { $0[number] = response } }

    var transport: StubTransport {
      StubTransport { [self] _ in
        let number = arrived.withLock { count in
          count += 1
          return count
        }
        await answers.wait { $0[number] != nil }
        if Task.isCancelled { cancelled.withLock { $0.append(number) } }
        return answers.value[number] ?? .failure(CancellationError())
      }
    }
  }

  private let clock = TestClock(advancing: .manually)
  private let answers = Answers()

  private static let settings: ClientSetting = [.hedging(.after(.milliseconds(80))), .retry(.off)]

  /// Starts a request and advances the clock to the time of its hedge.
  private func start(
    _ client: HTTPClient, _ request: HTTPRequest = .get("/"), options: RequestOptions = RequestOptions()
  ) async -> Task<HTTPResponse, any Error> {
    let count = answers.count
    let task = Task { try await client.send(request, options: options.explains()) }
    await answers.waitForArrivals(count + 1)
    await clock.waitForSleepers(1)
    clock.advance(by: .milliseconds(80))
    return task
  }

  @Test func `uses the hedge's response if it arrives first, and cancels the other exchange`() async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock)
    let request = await start(client)
    await answers.waitForArrivals(2)
    answers.give(2, .text("second"))

    let response = try await request.value
    #expect(response.text == "second")
    #expect(response.attempts.count == 1)
    let sent = response.explanation.entries.first { $0.code == "hedging.sent" }
    #expect(sent?.sentence.hasSuffix("no response had begun after \(Duration.milliseconds(80).shown)") == true)
    #expect(response.explanation.entries.contains { $0.code == "hedging.won" })
    await answers.cancelled.wait { $0 == [1] }
    #expect(client.activity.current.totals.hedges == 1)
    #expect(client.activity.current.totals.hedgesWon == 1)
    await client.waitUntilEmpty()
  }

  @Test func `uses the original response if it arrives first, and cancels the hedge`() async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock)
    let request = await start(client)
    await answers.waitForArrivals(2)
    answers.give(1, .text("first"))

    let response = try await request.value
    #expect(response.text == "first")
    #expect(response.explanation.entries.contains { $0.code == "hedging.lost" })
    await answers.cancelled.wait { $0 == [2] }
    #expect(client.activity.current.totals.hedgesWon == 0)
    await client.waitUntilEmpty()
  }

  @Test func `a response before the delay needs no hedge`() async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock)
    let request = Task { try await client.get("/") }
    await answers.waitForArrivals(1)
    answers.give(1, .text("x"))

    #expect(try await request.value.text == "x")
    clock.advance(by: .seconds(1))
    await letOthersRun()
    #expect(answers.count == 1)
    #expect(client.core.entryCount == 0)
  }

  @Test(
    arguments: [
      (.failure(HTTPError(.connectionLost, "x")), .text("second"), "second"),
      (.status(503), .text("second"), "second"),
      (.failure(HTTPError(.connectionLost, "x")), .text("busy", status: 503), "busy"),
      (.text("first", status: 503), .text("busy", status: 503), "first"),
      (.text("first", status: 503), .failure(HTTPError(.connectionLost, "y")), "first"),
    ] as [(StubResponse, StubResponse, String)])
  func `waits for the other exchange only if the first one failed`(
    first: StubResponse, second: StubResponse, text: String
  ) async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock) { $0.accepts = .any }
    let request = await start(client)
    await answers.waitForArrivals(2)
    answers.give(1, first)
    await letOthersRun()
    answers.give(2, second)
    #expect(try await request.value.text == text)
    await client.waitUntilEmpty()
  }

  @Test func `a hedge that fails first leaves the request to the other exchange`() async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock)
    let request = await start(client)
    await answers.waitForArrivals(2)
    answers.give(2, .failure(HTTPError(.connectionLost, "x")))
    await letOthersRun()
    answers.give(1, .text("first"))

    #expect(try await request.value.text == "first")
  }

  @Test func `if both fail, the error of the first one is thrown`() async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock)
    let request = await start(client)
    await answers.waitForArrivals(2)
    answers.give(1, .failure(HTTPError(.connectionLost, "first")))
    answers.give(2, .failure(HTTPError(.connectionLost, "second")))

    let error = try await #require(throws: HTTPError.self) { try await request.value }
    #expect(error.message == "first")
    await client.waitUntilEmpty()
  }

  @Test func `a cancelled request ends both exchanges`() async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock)
    let request = await start(client)
    await answers.waitForArrivals(2)
    request.cancel()

    await #expect(throws: CancellationError.self) { try await request.value }
    await answers.cancelled.wait { $0.sorted() == [1, 2] }
    await client.waitUntilEmpty()
  }

  @Test func `a deadline ends both exchanges`() async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock)
    let request = Task { [clock] in
      try await withDeadline(.milliseconds(200), clock: clock) { try await client.get("/") }
    }
    await answers.waitForArrivals(1)
    await clock.waitForSleepers(1)
    clock.advance(by: .milliseconds(80))
    await answers.waitForArrivals(2)
    await clock.waitForSleepers(1)
    clock.advance(by: .milliseconds(120))

    let error = try await #require(throws: HTTPError.self) { try await request.value }
    #expect(error.deadline != nil)
    await answers.cancelled.wait { $0.sorted() == [1, 2] }
  }

  @Test(
    arguments: [
      (HTTPRequest.post("/"), RequestOptions(), false), (.put("/", body: .text("x")), RequestOptions(), true),
      (.post("/", headers: ["Idempotency-Key": "1"]), RequestOptions(), false),
      (HTTPRequest(.query, "/", body: .text("x")), RequestOptions(), true), (.post("/"), .isIdempotent(), true),
      (.get("/"), .isIdempotent(false), false), (.get("/"), .hedging(.off), false),
      (.put("/", body: .stream(AsyncStream<Data> { $0.finish() })), RequestOptions(), false),
    ] as [(HTTPRequest, RequestOptions, Bool)])
  func `hedges only requests that can be sent twice`(request: HTTPRequest, options: RequestOptions, isHedged: Bool)
    async throws
  {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock)
    let task = await start(client, request, options: options)
    if isHedged { await answers.waitForArrivals(2) } else { await letOthersRun() }
    #expect(answers.count == (isHedged ? 2 : 1))
    answers.give(1, .text("x"))
    _ = try await task.value
  }

  @Test func `does not send a rejected credential again in the other exchange`() async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock) { $0.accepts = .any }
    let request = await start(client)
    await answers.waitForArrivals(2)
    answers.give(2, .text("no", status: 401))
    await letOthersRun()
    answers.give(1, .text("first"))

    #expect(try await request.value.text == "first")
    let digest = await start(client, .get("/digest", headers: ["Authorization": "Digest x"]))
    await letOthersRun()
    #expect(answers.count == 3)
    answers.give(3, .text("x"))
    _ = try await digest.value
  }

  @Test func `wasNotProcessed is false if either exchange may have been processed`() async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock)
    let request = await start(client)
    await answers.waitForArrivals(2)
    answers.give(2, .failure(HTTPError(.connectionLost, "second")))
    await letOthersRun()
    answers.give(1, .failure(HTTPError(.cannotConnect, "first")))

    let error = try await #require(throws: HTTPError.self) { try await request.value }
    #expect(error.kind == .cannotConnect)
    #expect(!error.wasNotProcessed)
  }

  @Test func `a response that a retry would not repeat is used at once`() async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock) { $0.accepts = .any }
    let request = await start(client)
    await answers.waitForArrivals(2)
    answers.give(1, .text("gone", status: 404))

    #expect(try await request.value.text == "gone")
    await client.waitUntilEmpty()
  }

  @Test func `a hedged request leaves no state behind`() async throws {
    weak var core: ClientCore?
    do {
      let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock)
      core = client.core
      let request = await start(client)
      await answers.waitForArrivals(2)
      answers.give(1, .text("first"))
      _ = try await request.value
      await client.waitUntilEmpty()
    }
    for _ in 0..<100_000 where core != nil { await Task.yield() }
    #expect(core == nil)
  }

  @Test func `hedges count against the retry budget`() async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock)
    while client.core.budget.takeRetry() {}
    let request = Task { try await client.send(.get("/"), options: .explains()) }
    await answers.waitForArrivals(1)
    await clock.waitForSleepers(1)
    let watched = client.core.watchdog.count
    clock.advance(by: .milliseconds(80))
    await client.wait { client.core.watchdog.count < watched }
    #expect(answers.count == 1)
    answers.give(1, .text("x"))

    let codes = try await request.value.explanation.entries.map(\.code)
    #expect(codes.contains("hedging.notSent.budgetExhausted"))
  }

  @Test func `sends no hedge that would have to wait`() async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock) {
      $0.concurrency = .adaptive(1...1)
    }
    let request = await start(client)
    await letOthersRun()
    #expect(answers.count == 1)
    answers.give(1, .text("x"))

    #expect(try await request.value.text == "x")
    await client.waitForFreePlaces()
  }

  @Test func `sends no hedge until the percentile is known`() async throws {
    let client = HTTPClient.stubbed(answers.transport, Self.settings, .hedging(.afterPercentile(0.9)), clock: clock)
    for number in 1...20 {
      let request = Task { try await client.get("/", options: .explains()) }
      await answers.waitForArrivals(number)
      clock.advance(by: .milliseconds(10))
      answers.give(number, .text("x"))
      let response = try await request.value
      let refused = response.explanation.entries.first { $0.code == "hedging.notSent.tooFewSamples" }
      #expect(refused?.sentence.hasSuffix("only \(number - 1) latencies are known; at least 20 are needed") == true)
    }
    let request = await start(client)
    await answers.waitForArrivals(22)
    answers.give(22, .text("second"))
    #expect(try await request.value.text == "second")
  }

  @Test func `middleware that ignores cancellation does not delay the other exchange`() async throws {
    struct Stuck: Middleware {
      let isOver: Gate
      let count = Shared(0)
      func intercept(
        _ request: HTTPRequest, context: RequestContext, next: MiddlewareNext
      ) async throws -> StreamedResponse {
        let number = count.withLock { count in
          count += 1
          return count
        }
        do {
          return try await next(request)
        } catch {
          if number == 1 { await isOver.wait() }
          throw error
        }
      }
    }
    let isOver = Gate()
    let client = HTTPClient.stubbed(answers.transport, Self.settings, clock: clock) {
      $0.exchangeMiddleware = [Stuck(isOver: isOver)]
    }
    let request = await start(client)
    await answers.waitForArrivals(2)
    answers.give(2, .text("second"))

    #expect(try await request.value.text == "second")
    isOver.open()
  }
}

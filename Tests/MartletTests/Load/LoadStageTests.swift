import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct LoadStageTests {
  // MARK: Rates

  @Test func `a rate spaces the requests to an origin`() async throws {
    let clock = TestClock()
    let times = Shared<[Duration]>([])
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        times.withLock { $0.append(clock.now.offset) }
        return .text("x")
      }, clock: clock
    ) { $0.rate = .perSecond(10, burst: 2) }

    for _ in 0..<5 { _ = try await client.get("/") }

    #expect(times.value == [0, 0, 100, 200, 300].map { .milliseconds($0) })
    #expect(client.core.gates.counts == (0, 0))
  }

  @Test func `the scope of a rate decides whether tags, endpoints and origins count together`() async throws {
    struct Get: Endpoint {
      typealias Output = String
      var target: RequestTarget
      var options: RequestOptions { .rate(.perSecond(1, scope: .endpoint)) }
    }
    let clock = TestClock()
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") }, clock: clock)
    func time(_ work: () async throws -> Void) async rethrows -> Duration {
      let start = clock.now.offset
      try await work()
      return clock.now.offset - start
    }
    let byTag = RateLimit.perSecond(1, scope: .tag)
    #expect(
      try await time {
        _ = try await client.get("http://a.test/", options: .rate(byTag).tag("x"))
        _ = try await client.get("http://b.test/", options: .rate(byTag).tag("y"))
      } == .zero)
    #expect(
      try await time { _ = try await client.get("http://b.test/", options: .rate(byTag).tag("x")) } == .seconds(1))
    #expect(
      try await time {
        _ = try await client.send(Get(target: "http://a.test/"))
        _ = try await client.send(Get(target: "http://b.test/"))
      } == .seconds(1))
    let byOrigin = RateLimit.perSecond(1)
    #expect(
      try await time {
        _ = try await client.get("http://a.test/", options: .rate(byOrigin))
        _ = try await client.get("http://b.test/", options: .rate(byOrigin))
      } == .zero)
    #expect(try await time { _ = try await client.get("http://a.test/", options: .rate(byOrigin)) } == .seconds(1))
  }

  @Test func `derived clients share the rate`() async throws {
    let clock = TestClock()
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") }, clock: clock) { $0.rate = .perSecond(1) }
    let derived = client.derived { $0.headers["X"] = "y" }

    _ = try await client.get("/")
    _ = try await derived.get("/")

    #expect(clock.now.offset == .seconds(1))
  }

  @Test func `a request that would wait too long, or behind too many, fails before it is sent`() async throws {
    let clock = TestClock(advancing: .manually)
    let transport = StubTransport { _ in .text("x") }
    var rate = RateLimit.perSecond(0.01)
    rate.maximumWait = .seconds(10)
    rate.maximumWaiting = 1
    let client = HTTPClient.stubbed(transport, clock: clock) { [rate] in $0.rate = rate }
    _ = try await client.get("/")
    let waiting = Task { try await client.get("/") }
    await client.wait { client.activity.current.waiting.first?.reason == .turn }

    let full = try await #require(throws: HTTPError.self) { try await client.get("/") }
    #expect(full.kind == .overloaded)
    #expect(full.wasNotProcessed)
    let refused = full.explanation.entries.first
    #expect(refused?.code == "load.refused.queueFull")
    #expect(
      refused?.sentence
        == "http://example.test:80 gets no request: 1 requests are already waiting, which is the maximum")

    await clock.waitForSleepers(2)
    clock.advance(by: .seconds(10))
    let late = try await #require(throws: HTTPError.self) { try await waiting.value }
    #expect(late.kind == .overloaded)
    #expect(
      late.message == "http://example.test:80 gets no request: it waited 10.0 s for its turn, which is the maximum")
    #expect(transport.requests.count == 1)
    #expect(client.core.gates.counts.waiting == 0)
    #expect(client.core.entryCount == 0)
  }

  @Test func `Retry-After applies to the whole origin and is bounded`() async throws {
    let clock = TestClock()
    let transport = StubTransport(script: [
      .status(429, headers: ["Retry-After": "1000000000"]), .text("x"),
    ])
    let client = HTTPClient.stubbed(transport, clock: clock) {
      var rate = RateLimit.server
      rate.maximumPause = .seconds(20)
      $0.rate = rate
    }
    let error = try await #require(throws: HTTPError.self) { try await client.get("/first") }
    let pause = error.explanation.entries.first { $0.code == "load.paused" }
    let (maximum, asked) = (Duration.seconds(20), Duration.seconds(1_000_000_000))
    #expect(
      pause?.sentence
        == "http://example.test:80 gets no requests for \(maximum.shown), because it requested \(asked.shown), "
        + "which exceeds the maximum")
    #expect(client.activity.current.loads.first?.pause == .seconds(20))

    _ = try await client.get("http://other.test/")
    #expect(clock.now.offset == .zero)
    #expect(try await client.get("/second").text == "x")
    #expect(clock.now.offset == .seconds(20))
  }

  @Test func `a waiting request obeys a pause that begins in the meantime`() async throws {
    let clock = TestClock(advancing: .manually)
    let (isOpen, times) = (Gate(), Shared<[Duration]>([]))
    let client = HTTPClient.stubbed(
      StubTransport { request in
        times.withLock { $0.append(clock.now.offset) }
        guard request.url?.path == "/first" else { return .text("x") }
        await isOpen.pass()
        return .status(429, headers: ["Retry-After": "20"])
      }, clock: clock
    ) {
      $0.concurrency = .adaptive(1...1)
      $0.concurrency.maximumWait = .seconds(60)
      // The burst provides a token for the second request; otherwise it would wait for another hour.
      $0.rate = .limit(1, per: .seconds(3_600), burst: 2)
    }
    let first = client.start("/first")
    await isOpen.waitForArrivals(1)
    let second = client.start("/second")
    await client.wait { client.core.gates.counts.waiting == 1 }
    isOpen.open()
    await #expect(throws: HTTPError.self) { try await first.value }

    await client.wait { client.core.gates.counts == (1, 0) }
    await clock.waitForSleepers(2)
    #expect(times.value.count == 1)
    clock.advance(by: .seconds(20))
    #expect(try await second.value.text == "x")
    #expect(times.value == [.zero, .seconds(20)])
  }

  @Test(arguments: ["-5", "Thu, 01 Jan 1970 00:00:00 GMT", "soon", "0"])
  func `ignores a Retry-After that is not in the future`(value: String) async throws {
    let clock = TestClock()
    let transport = StubTransport(script: [.status(503, headers: ["Retry-After": value]), .text("x")])
    let client = HTTPClient.stubbed(transport, clock: clock) { $0.rate = .server }

    _ = try? await client.get("/")
    _ = try await client.get("/")

    #expect(clock.now.offset == .zero)
  }

  @Test func `obeys the limits that a server announces only with a rate`() async throws {
    let clock = TestClock()
    let transport = StubTransport(script: [.status(429, headers: ["Retry-After": "9"]), .text("x")])
    let client = HTTPClient.stubbed(transport, clock: clock)

    _ = try? await client.get("/")
    _ = try await client.get("/")

    #expect(clock.now.offset == .zero)
  }

  // MARK: Concurrency

  @Test func `no more requests than the limit run at once, and all receive a response`() async throws {
    let crowd = Crowd()
    let client = HTTPClient.stubbed(crowd.transport, .concurrency(.adaptive(1...4)), .coalesces(false))
    let requests = (0..<50).map { _ in client.start("/") }
    await crowd.waitForArrivals(4)
    await client.wait { client.core.gates.counts.waiting == 46 }
    #expect(client.activity.current.loads.first?.limit == 4)
    #expect(client.activity.current.loads.first?.running == 4)
    crowd.open()

    for request in requests { _ = try await request.value }
    #expect(crowd.most == 4)
    await client.waitForFreePlaces()
  }

  @Test func `a single request of one caller does not wait behind a thousand of another`() async throws {
    let names = Shared<[String]>([])
    let turn = Shared(0)
    let client = HTTPClient.stubbed(
      StubTransport { request in
        let number = names.withLock {
          $0.append(request.url?.path ?? "")
          return $0.count
        }
        await turn.wait { $0 >= number }
        return .text("x")
      }
    ) {
      $0.concurrency = .adaptive(1...1)
      $0.options.coalesces = false
    }
    let greedy = (0..<999).map { _ in client.start("/greedy", options: .tag("greedy").timeout(nil)) }
    await client.wait { client.core.gates.counts.waiting == 998 }
    let single = client.start("/single", options: .tag("single").timeout(nil))
    let urgent = client.start("/urgent", options: .tag("greedy").priority(1).timeout(nil))
    await client.wait { client.core.gates.counts.waiting == 1_000 }
    turn.withLock { $0 = 4 }

    _ = try await single.value
    _ = try await urgent.value
    #expect(names.value.prefix(2) == ["/greedy", "/urgent"])
    #expect(names.value.prefix(4).contains("/single"))
    for request in greedy { request.cancel() }
    await client.waitForFreePlaces()
  }

  @Test func `a cancelled wait leaves no trace, and the next request gets its slot`() async throws {
    let crowd = Crowd()
    let client = HTTPClient.stubbed(crowd.transport, .concurrency(.adaptive(1...1)), .coalesces(false))
    let first = client.start("/first")
    await crowd.waitForArrivals(1)
    let second = client.start("/second")
    let third = client.start("/third")
    await client.wait { client.core.gates.counts.waiting == 2 }
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    #expect(client.core.gates.counts.waiting == 1)
    first.cancel()

    await crowd.waitForArrivals(2)
    crowd.open()
    _ = try await third.value
    #expect(crowd.names == ["/first", "/third"])
  }

  @Test func `a stream holds its slot until its head arrives, a whole response until its body does`() async throws {
    let isOver = Gate()
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        let isFirst = Shared(true)
        return .streamed(.ok) {
          let isNow = isFirst.withLock { value in
            defer { value = false }
            return value
          }
          if isNow { return Data("x".utf8) }
          await isOver.pass()
          return nil
        }
      }
    ) { $0.concurrency = .adaptive(1...1) }
    let stream = try await client.stream("/stream")
    #expect(client.core.gates.counts.inFlight == 0)
    let whole = client.start("/whole")
    await isOver.waitForArrivals(1)
    #expect(client.core.gates.counts.inFlight == 1)
    isOver.open()
    _ = try await whole.value
    #expect(client.core.gates.counts.inFlight == 0)
    _ = stream
  }

  @Test func `an adaptive limit raises the number of connections`() {
    let client = HTTPClient { $0.concurrency = .adaptive(1...80) }
    #expect(client.configuration.maximumConnectionsPerHost == 80)
    #expect(client.configuration.maximumConnections == 80)
    let before = HTTPClient {
      $0.maximumConnectionsPerHost = 10
      $0.maximumConnections = 20
      $0.concurrency = .adaptive(1...80)
    }
    #expect(before.configuration.maximumConnectionsPerHost == 10 && before.configuration.maximumConnections == 20)
    let fixed = HTTPClient { $0.concurrency = .fixed(3) }
    #expect(fixed.configuration.transportSettings.maximumRequestsPerHost == 3)
    #expect(HTTPClient { _ in }.configuration.transportSettings.maximumRequestsPerHost == nil)
  }

  @Test func `resetting concurrency, the data budget and guards restores the transport's settings`() {
    let client = HTTPClient {
      $0.concurrency = .adaptive(1...200)
      $0.concurrency = .automatic
      $0.dataBudget.allowsExpensiveNetworks = false
      $0.dataBudget = .off
      $0.guards = [.publicAddressesOnly]
      $0.guards = []
    }

    #expect(client.configuration.maximumConnectionsPerHost == 6)
    #expect(client.configuration.maximumConnections == 64)
    #expect(client.configuration.transportSettings.isSame(as: TransportSettings()))
  }

  // MARK: Circuit breaker

  @Test func `a failing origin gets no more requests, except for one probe after the pause`() async throws {
    let clock = TestClock(advancing: .manually)
    let isUp = Shared(false)
    let transport = StubTransport { _ in
      isUp.value ? .text("x") : .failure(HTTPError(.cannotConnect, "connection refused"))
    }
    let client = HTTPClient.stubbed(transport, clock: clock) {
      $0.circuitBreaker = .afterFailures(3, pause: .seconds(10))
      $0.retry = .off
    }
    for _ in 0..<3 {
      let error = try await #require(throws: HTTPError.self) { try await client.get("/") }
      #expect(error.kind == .cannotConnect)
    }
    let error = try await #require(throws: HTTPError.self) { try await client.get("/") }
    #expect(error.kind == .circuitOpen)
    #expect((error.underlying as? HTTPError)?.kind == .cannotConnect)
    #expect(error.message.hasSuffix("the last failure: cannotConnect: connection refused"))
    #expect(client.activity.current.loads.first?.circuit == .open(for: .seconds(10)))
    #expect(transport.requests.count == 3)
    _ = try? await client.get("http://other.test/")
    #expect(transport.requests.count == 4)

    isUp.withLock { $0 = true }
    clock.advance(by: .seconds(10))
    #expect(try await client.get("/").text == "x")
    #expect(client.activity.current.loads.first?.circuit == .closed)
  }

  @Test func `a failed probe opens the circuit for another pause`() async throws {
    let clock = TestClock(advancing: .manually)
    let transport = StubTransport { _ in .failure(HTTPError(.cannotConnect, "connection refused")) }
    let client = HTTPClient.stubbed(transport, clock: clock) {
      $0.circuitBreaker = .afterFailures(1, pause: .seconds(10))
    }
    for probes in 1...3 {
      for _ in 0..<5 { _ = try? await client.get("/") }
      #expect(transport.requests.count == probes)
      clock.advance(by: .seconds(10))
    }
  }

  @Test func `a request's wait in the client does not count as a failure`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = HTTPClient.stubbed(
      StubTransport { _ in throw HTTPError(.timedOut, "in the queue", phase: .queued) }, clock: clock
    ) { $0.circuitBreaker = .afterFailures(1) }
    for _ in 0..<3 {
      let error = try await #require(throws: HTTPError.self) { try await client.get("/") }
      #expect(error.kind == .timedOut)
    }
  }

  @Test func `an open circuit fails requests before they wait for a rate`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = HTTPClient.stubbed(
      StubTransport { _ in .failure(HTTPError(.cannotConnect, "x")) }, clock: clock
    ) {
      $0.circuitBreaker = .afterFailures(1)
      $0.rate = .perSecond(0.1)
    }
    _ = try? await client.get("/")
    let error = try await #require(throws: HTTPError.self) { try await client.get("/") }
    #expect(error.kind == .circuitOpen)
  }

  @Test func `a client that is derived much later measures waits like the first one`() async throws {
    let clock = TestClock(advancing: .manually)
    let isOpen = Gate()
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        await isOpen.pass()
        return .text("x")
      }, clock: clock
    ) {
      $0.concurrency = .adaptive(1...1)
      $0.options.coalesces = false
    }
    clock.advance(by: .seconds(3_600))
    let derived = client.derived { $0.headers["X"] = "y" }
    let first = client.start("/")
    await isOpen.waitForArrivals(1)
    let second = derived.start("/", options: .explains())
    await derived.wait { client.core.gates.counts.waiting == 1 }
    let third = derived.start("/")
    await derived.wait { client.core.gates.counts.waiting == 2 }
    await clock.waitForSleepers(2)
    clock.advance(by: .seconds(2))
    isOpen.open()
    _ = try await first.value
    let waited = try await second.value.explanation.entries.first { $0.code == "load.waited" }
    #expect(waited?.sentence == "the request waited \(Duration.seconds(2).shown) for its turn")
    _ = try await third.value
  }

  @Test func `a cancelled probe lets the next one through`() async throws {
    let clock = TestClock(advancing: .manually)
    let isStuck = Shared(false)
    let arrivals = Gate()
    let client = HTTPClient.stubbed(
      StubTransport { _ in
        guard isStuck.value else { return .failure(HTTPError(.cannotConnect, "x")) }
        await arrivals.pass()
        return .text("x")
      }, clock: clock
    ) { $0.circuitBreaker = .afterFailures(1, pause: .seconds(1)) }
    _ = try? await client.get("/")
    isStuck.withLock { $0 = true }
    clock.advance(by: .seconds(1))
    let probe = client.start("/")
    await arrivals.waitForArrivals(1)
    let error = try await #require(throws: HTTPError.self) { try await client.get("/") }
    #expect(error.kind == .circuitOpen)
    probe.cancel()
    await client.waitForFreePlaces()
    arrivals.open()

    #expect(try await client.get("/").text == "x")
  }

  @Test func `serves a stored response while the circuit is open`() async throws {
    let isUp = Shared(true)
    let transport = StubTransport { _ in
      isUp.value
        ? .status(200, headers: ["Cache-Control": "max-age=0, stale-if-error=600"], body: Data("stored".utf8))
        : .failure(HTTPError(.cannotConnect, "x"))
    }
    let client = HTTPClient.stubbed(transport) { $0.circuitBreaker = .afterFailures(1) }
    _ = try await client.get("/")
    isUp.withLock { $0 = false }

    for _ in 0..<2 { #expect(try await client.get("/").text == "stored") }
    #expect(transport.requests.count == 2)
  }
}

extension HTTPClient {
  /// Yields until no exchange is admitted or waiting, and records an issue if some remain.
  ///
  /// An exchange is released shortly after its call has ended, without a signal.
  func waitForFreePlaces() async {
    await waitUntilEmpty()
    for _ in 0..<1_000_000 where core.gates.counts != (0, 0) { await Task.yield() }
    #expect(core.gates.counts == (0, 0))
  }
}

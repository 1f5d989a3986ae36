import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite(.hangLimit) struct ServerSentEventsTests {
  private static let request = HTTPRequest.get("http://example.test/events")

  private static func client(
    _ transport: StubTransport, _ clock: TestClock = TestClock(), random: Double = 0.5
  ) -> HTTPClient {
    HTTPClient {
      $0.transport = transport
      $0.clock = clock
      $0.random = { random }
      $0.timeout = .unlimited
    }
  }

  private static func stream(_ text: String) -> StubResponse {
    .text(text, headers: ["Content-Type": "text/event-stream;charset=UTF-8"])
  }

  private static func texts(_ events: ServerSentEvents) async throws -> [String] {
    var texts: [String] = []
    for try await event in events { texts.append(event.data) }
    return texts
  }

  private static func error(_ events: ServerSentEvents) async throws -> HTTPError? {
    await #expect(throws: HTTPError.self) { try await texts(events) }
  }

  private static func answers(_ script: StubResponse...) -> StubTransport {
    StubTransport(script: script + [.status(.noContent)])
  }

  @Test func `requests an event stream and bypasses the cache`() async throws {
    let transport = Self.answers(Self.stream("data: a\n\n"))

    let texts = try await Self.texts(Self.client(transport).serverSentEvents(Self.request))

    #expect(texts == ["a"])
    let headers = try #require(transport.requests.first?.headers)
    #expect(headers["Accept"] == "text/event-stream" && headers["Cache-Control"] == "no-cache")
    #expect(headers["Pragma"] == "no-cache")
    #expect(headers["Last-Event-ID"] == nil)
  }

  @Test func `keeps header fields that the request already has`() async throws {
    let transport = Self.answers()
    var request = Self.request
    request.headers["Accept"] = "application/json, text/event-stream"
    request.headers["Cache-Control"] = "max-age=0"
    request.headers["Pragma"] = "x"

    _ = try await Self.texts(Self.client(transport).serverSentEvents(request))

    let headers = try #require(transport.requests.first?.headers)
    #expect(headers["Accept"] == request.headers["Accept"] && headers["Cache-Control"] == "max-age=0")
    #expect(headers["Pragma"] == "x")
  }

  @Test func `reconnects after the server's delay with Last-Event-ID`() async throws {
    let clock = TestClock()
    let transport = Self.answers(
      Self.stream("id: 1\ndata: a\n\nid: 2\ndata: lost"), Self.stream("retry: 1500\nid: zwei ü\ndata: b\n\n"),
      Self.stream("data: c\n\nid\n\n"))
    let client = Self.client(transport, clock)

    var ids: [String] = []
    for try await event in client.serverSentEvents(Self.request) { ids.append(event.id) }

    #expect(ids == ["1", "zwei ü", "zwei ü"])
    #expect(clock.sleeps == [.seconds(3), .milliseconds(1500), .milliseconds(1500)])
    #expect(transport.requests.map { $0.headers["Last-Event-ID"] } == [nil, "1", "zwei ü", nil])
    #expect(client.activity.current.totals.succeeded == 4 && client.activity.current.running.isEmpty)
  }

  @Test func `sends the given lastEventID from the first request on`() async throws {
    let transport = Self.answers(Self.stream("data: b\n\n"))

    _ = try await Self.texts(
      Self.client(transport).serverSentEvents(Self.request, options: .init { $0.lastEventID = "41" }))

    #expect(transport.requests.map { $0.headers["Last-Event-ID"] } == ["41", "41"])
  }

  @Test func `does not send an identifier that is not a valid field value`() async throws {
    let transport = Self.answers(Self.stream("id: a\u{1}b\ndata: x\n\n"))

    var ids: [String] = []
    for try await event in Self.client(transport).serverSentEvents(Self.request) { ids.append(event.id) }

    #expect(ids == ["a\u{1}b"])
    #expect(transport.requests.map { $0.headers["Last-Event-ID"] } == [nil, nil])
  }

  @Test func `reconnects after a lost connection`() async throws {
    let pieces = Locked([Data("id: 1\ndata: a\n\ndata: half".utf8)])
    let broken = StubResponse.streamed(headers: ["Content-Type": "text/event-stream"]) {
      if let piece = pieces.withLock({ $0.popLast() }) { return piece }
      throw HTTPError(.connectionLost, "gone")
    }
    let transport = Self.answers(broken, Self.stream("data: b\n\n"))

    let texts = try await Self.texts(Self.client(transport).serverSentEvents(Self.request))

    #expect(texts == ["a", "b"])
    #expect(transport.requests.last?.headers["Last-Event-ID"] == "1")
  }

  @Test func `backs off while reconnects fail, and gives up after maximumFailures`() async throws {
    let clock = TestClock()
    let down = StubResponse.status(503)
    let transport = StubTransport(script: [Self.stream("retry: 1000\ndata: a\n\n"), down])
    var settings = ServerSentEvents.Options()
    settings.maximumFailures = 6
    settings.maximumDelay = .seconds(8)

    let error = try await Self.error(Self.client(transport, clock).serverSentEvents(Self.request, options: settings))

    #expect(error?.kind == .status && error?.status == 503)
    #expect(error?.message.contains("6 reconnects failed") == true)
    // The first delay is the server's second; the others are random between it and 1, 2, 4, 8 and again 8 seconds.
    #expect(clock.sleeps == [1000, 1000, 1500, 2500, 4500, 4500].map { .milliseconds($0) })
    #expect(transport.requests.count == 7)
  }

  @Test func `a successful reconnect resets the failure count`() async throws {
    let lost = StubResponse.failure(HTTPError(.cannotConnect, "refused"))
    let transport = Self.answers(
      Self.stream("data: a\n\n"), lost, .status(429, headers: ["Retry-After": "20"]), Self.stream("data: b\n\n"), lost,
      lost, Self.stream("data: c\n\n"))
    let clock = TestClock()
    var settings = ServerSentEvents.Options()
    settings.maximumFailures = 3

    let texts = try await Self.texts(Self.client(transport, clock).serverSentEvents(Self.request, options: settings))

    #expect(texts == ["a", "b", "c"])
    #expect(clock.sleeps.contains(.seconds(20)))
  }

  @Test func `only an event resets the growing delay`() async throws {
    let clock = TestClock()
    let transport = Self.answers(
      Self.stream("data: a\n\n"), Self.stream(""), Self.stream(": here\n"), Self.stream(": here\n"),
      Self.stream("id: 1\n\n"),
      Self.stream("data: b\n\n"), Self.stream(""))

    _ = try await Self.texts(Self.client(transport, clock, random: 0.999_999).serverSentEvents(Self.request))

    let seconds = clock.sleeps.map { ($0 / .seconds(1)).rounded() }
    #expect(seconds == [3, 3, 6, 12, 24, 3, 3])
  }

  @Test func `backs off from a server that is silent until the idle limit`() async throws {
    let clock = TestClock()
    let number = Shared(0)
    let transport = StubTransport { _ in
      let count = number.withLock { number in
        defer { number += 1 }
        return number
      }
      if count == 5 { return .status(.noContent) }
      return .streamed(headers: ["Content-Type": "text/event-stream"]) {
        clock.advance(by: .seconds(30))
        throw HTTPError(.timedOut, "silence")
      }
    }

    _ = try await Self.texts(Self.client(transport, clock, random: 0.999_999).serverSentEvents(Self.request))

    #expect(clock.sleeps.map { ($0 / .seconds(1)).rounded() } == [3, 6, 12, 24, 48])
  }

  @Test func `a zero retry delay is raised and grows until a connection lasts`() async throws {
    let clock = TestClock()
    let number = Shared(0)
    let transport = StubTransport { _ in
      let count = number.withLock { number in
        defer { number += 1 }
        return number
      }
      // The sixth connection lasts, and so does the seventh, which sends no events.
      if count == 5 || count == 6 { clock.advance(by: .seconds(60)) }
      if count == 8 { return .status(.noContent) }
      return Self.stream(count == 6 ? "retry: 0\n\n" : "retry: 0\ndata: \(count)\n\n")
    }

    let events = Self.client(transport, clock, random: 0.999_999).serverSentEvents(Self.request)
    #expect(try await Self.texts(events) == ["0", "1", "2", "3", "4", "5", "7"])

    let seconds = clock.sleeps.map { ($0 / .seconds(1)).rounded() }
    #expect(seconds == [1, 1, 2, 4, 8, 1, 1, 2])
  }

  @Test func `the minimum delay can be zero`() async throws {
    let clock = TestClock()
    let script = Array(repeating: Self.stream("retry: 0\ndata: a\n\n"), count: 5) + [.status(.noContent)]
    var settings = ServerSentEvents.Options()
    settings.minimumDelay = .zero

    let events = Self.client(StubTransport(script: script), clock).serverSentEvents(Self.request, options: settings)
    #expect(try await Self.texts(events).count == 5)

    #expect(clock.sleeps.allSatisfy { $0 == .zero })
  }

  @Test(arguments: [500, 404, 401, 429])
  func `throws if the first response has an error status`(status: Int) async throws {
    let transport = StubTransport { _ in .text("no", status: HTTPStatus(rawValue: status)) }

    let error = try await Self.error(Self.client(transport).serverSentEvents(Self.request))

    #expect(error?.kind == .status && error?.response?.text == "no")
    #expect(transport.requests.count == 1)
  }

  @Test func `throws if a reconnect fails permanently`() async throws {
    let transport = StubTransport(script: [Self.stream("data: a\n\n"), .status(404)])

    let error = try await Self.error(Self.client(transport).serverSentEvents(Self.request))

    #expect(error?.status == 404 && transport.requests.count == 2)
  }

  @Test(arguments: [
    (200, "text/html"), (200, ""), (200, "text/event-streams"), (200, "application/json"), (201, "text/event-stream"),
    (202, "text/plain"),
  ])
  func `throws for a response that is not an event stream, and keeps its body`(status: Int, type: String) async throws {
    let transport = StubTransport { _ in
      .text(#"{"error":"no"}"#, status: HTTPStatus(rawValue: status), headers: ["Content-Type": type])
    }

    let error = try await Self.error(Self.client(transport).serverSentEvents(Self.request))

    #expect(error?.kind == (status == 200 ? .decoding : .status) && error?.status?.rawValue == status)
    #expect(error?.response?.text == #"{"error":"no"}"# && error?.response?.isBodyTruncated == false)
    #expect(error?.decoded(as: [String: String].self) == ["error": "no"])
    #expect(transport.requests.count == 1)
  }

  @Test func `keeps the body of a refused response up to the limit`() async throws {
    let pieces = Locked([Data("6789".utf8), Data("345".utf8), Data("012".utf8)])
    let transport = StubTransport { _ in
      .streamed(headers: ["Content-Type": "text/html"]) { pieces.withLock { $0.popLast() } }
    }
    // Time does not pass, so only the limit ends the body.
    let client = Self.client(transport, TestClock(advancing: .manually))
    let events = client.serverSentEvents(Self.request, options: .init { $0.maximumErrorBodyBytes = 8 })

    let error = try await Self.error(events)

    #expect(error?.kind == .decoding && error?.response?.text == "01234567")
    #expect(error?.response?.isBodyTruncated == true)
    #expect(client.activity.current.totals.failed == 1 && client.activity.current.running.isEmpty)
  }

  @Test func `does not wait for the end of a refused response`() async throws {
    let clock = TestClock(advancing: .manually)
    let isFirst = Locked(true)
    let transport = StubTransport { _ in
      .streamed(headers: ["Content-Type": "text/html"]) {
        let hasPiece = isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst
        }
        if hasPiece { return Data("so far".utf8) }
        try await clock.sleep(for: .seconds(3600))
        return nil
      }
    }
    let reader = Task { try await Self.error(Self.client(transport, clock).serverSentEvents(Self.request)) }

    await clock.wait(forSleepers: 2)
    clock.advance(by: .seconds(2))

    let error = try await reader.value
    #expect(error?.kind == .decoding && error?.response?.text == "so far")
    #expect(error?.response?.isBodyTruncated == true)
  }

  @Test func `an oversized event throws and ends the stream`() async throws {
    let transport = StubTransport { _ in Self.stream("data: 0123456789\n\n") }
    let client = Self.client(transport)
    var settings = ServerSentEvents.Options()
    settings.maximumEventBytes = 10

    let error = try await Self.error(client.serverSentEvents(Self.request, options: settings))

    #expect(error?.kind == .bodyTooLarge && error?.redactedURL != nil)
    #expect(client.activity.current.totals.failed == 1 && client.activity.current.running.isEmpty)
    settings.maximumEventBytes = 0
    #expect(try await Self.error(client.serverSentEvents(Self.request, options: settings))?.kind == .invalidRequest)
  }

  // MARK: Repeated requests

  @Test func `a POST is not repeated when its connection ends`() async throws {
    let transport = StubTransport { _ in Self.stream("data: a\n\n") }
    let request = HTTPRequest.post("http://example.test/chat", body: .text("question"))

    let texts = try await Self.texts(Self.client(transport).serverSentEvents(request))

    #expect(texts == ["a"])
    #expect(transport.requests.count == 1)
  }

  @Test func `a POST throws if its connection is lost`() async throws {
    let transport = StubTransport { _ in
      .streamed(headers: ["Content-Type": "text/event-stream"]) { throw HTTPError(.connectionLost, "gone") }
    }
    let request = HTTPRequest.post("http://example.test/chat", body: .text("question"))

    #expect(try await Self.error(Self.client(transport).serverSentEvents(request))?.kind == .connectionLost)
    #expect(transport.requests.count == 1)
  }

  @Test func `a POST is repeated only with reconnect always`() async throws {
    let request = HTTPRequest.post("http://example.test/chat", body: .text("question"))
    let first = Self.answers(Self.stream("data: a\n\n"))
    _ = try await Self.texts(Self.client(first).serverSentEvents(request, options: .init { $0.reconnect = .always }))
    #expect(first.requests.map { $0.body?.length } == [8, 8])
  }

  @Test(arguments: [true, false], [true, false])
  func `retrying the first connection of a POST does not repeat its stream`(isMarked: Bool, hasKey: Bool) async throws {
    let transport = StubTransport(script: [.status(503), Self.stream("data: a\n\n")])
    var request = HTTPRequest.post("http://example.test/chat", body: .text("question"))
    if hasKey { request.headers["Idempotency-Key"] = "k" }
    let events = Self.client(transport).serverSentEvents(
      request,
      options: .init {
        $0.retry = .backoff()
        if isMarked { $0.isIdempotent = true }
      })

    if isMarked || hasKey {
      #expect(try await Self.texts(events) == ["a"])
      #expect(transport.requests.count == 2)
    } else {
      #expect(try await Self.error(events)?.status == 503)
    }
  }

  @Test func `a GET that is marked as not idempotent is not repeated`() async throws {
    let transport = StubTransport { _ in Self.stream("data: a\n\n") }

    let events = Self.client(transport).serverSentEvents(Self.request, options: .init { $0.isIdempotent = false })

    #expect(try await Self.texts(events) == ["a"])
    #expect(transport.requests.count == 1)
  }

  @Test(arguments: EventRules.Ending.allCases)
  func `the rules match the table of the article`(ending: EventRules.Ending) {
    // The columns are a GET's first stream and its reconnects, then those of a POST.
    let expected: [EventRules.Outcome] =
      switch ending {
      case .noContent: [.over, .over, .over, .over]
      case .complete: [.reconnects, .reconnects, .over, .over]
      case .broken: [.reconnects, .reconnects, .fails, .fails]
      case .unavailable: [.fails, .reconnects, .fails, .fails]
      case .refused: [.fails, .fails, .fails, .fails]
      }

    let outcomes = [true, false].flatMap { repeats in
      [false, true].map { EventRules(repeats: repeats, isReconnect: $0).outcome(of: ending) }
    }

    #expect(outcomes == expected)
  }

  @Test func `classifies errors as broken, unavailable or refused`() {
    func refused(_ status: HTTPStatus) -> HTTPError {
      HTTPError(.status, "no", request: Self.request, response: HTTPResponse(status: status))
    }
    let rows: [(HTTPError, reading: EventRules.Ending, connecting: EventRules.Ending)] = [
      (HTTPError(.connectionLost, ""), .broken, .unavailable), (HTTPError(.timedOut, ""), .broken, .unavailable),
      (HTTPError(.cannotConnect, ""), .broken, .unavailable), (HTTPError(.bodyTooLarge, ""), .refused, .refused),
      (HTTPError(.decoding, ""), .refused, .refused), (refused(503), .refused, .unavailable),
      (refused(429), .refused, .unavailable), (refused(408), .refused, .unavailable),
      (refused(404), .refused, .refused), (refused(401), .refused, .refused),
    ]

    for (error, reading, connecting) in rows {
      #expect(EventRules.Ending(error, isReading: true) == reading, "\(error)")
      #expect(EventRules.Ending(error, isReading: false) == connecting, "\(error)")
    }
  }

  @Test func `does not reconnect with reconnect never or a body that is not replayable`() async throws {
    let transport = StubTransport { _ in Self.stream("data: a\n\n") }
    let client = Self.client(transport)
    let once = HTTPBody.stream(AsyncStream<Data> { $0.finish() }, length: nil)

    let first = try await Self.texts(client.serverSentEvents(Self.request, options: .init { $0.reconnect = .never }))
    let request = HTTPRequest.put("http://example.test/", body: once)
    let second = try await Self.texts(client.serverSentEvents(request, options: .init { $0.reconnect = .always }))

    #expect(first == ["a"] && second == ["a"])
    #expect(transport.requests.count == 2)
  }

  // MARK: End of the stream

  @Test func `a total timeout in the options covers all connections together`() async throws {
    let clock = TestClock(advancing: .manually)
    let transport = StubTransport { _ in Self.stream("data: a\n\n") }
    let client = Self.client(transport, clock)
    let reader = Task {
      try await Self.texts(client.serverSentEvents(Self.request, options: .init { $0.timeout.total = .seconds(10) }))
    }

    // One sleeper is the limit, the other is the delay of three seconds.
    for step in [3, 3, 3, 1] {
      await clock.wait(forSleepers: 2)
      clock.advance(by: .seconds(step))
    }

    let error = await #expect(throws: HTTPError.self) { try await reader.value }
    #expect(error?.kind == .timedOut)
    #expect(transport.requests.count == 4)
  }

  /// The total timeout is meant for requests that end; event streams end only when they are silent.
  @Test func `the client's total timeout does not apply to event streams`() async throws {
    let clock = TestClock(advancing: .manually)
    let transport = StubTransport { _ in Self.stream("data: a\n\n") }
    let client = Self.client(transport, clock).derived { $0.timeout.total = .seconds(8) }
    let reader = Task { try await Self.texts(client.serverSentEvents(Self.request)) }

    for _ in 0..<4 {
      await clock.wait(forSleepers: 1)
      clock.advance(by: .seconds(3))
    }

    await clock.wait(forSleepers: 1)
    #expect(transport.requests.count == 5)
    reader.cancel()
    await #expect(throws: CancellationError.self) { try await reader.value }
  }

  @Test func `cancelAll ends the stream during a reconnect delay`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = Self.client(StubTransport { _ in Self.stream("data: a\n\n") }, clock)
    let reader = Task { try await Self.texts(client.serverSentEvents(Self.request)) }

    await clock.wait(forSleepers: 1)
    #expect(client.activity.current.waiting.count == 1)
    client.cancelAll()

    await #expect(throws: CancellationError.self) { try await reader.value }
    await client.waitUntilEmpty()
  }

  @Test func `cancelling the task ends the stream during a reconnect delay`() async throws {
    let clock = TestClock(advancing: .manually)
    let client = Self.client(StubTransport { _ in Self.stream("data: a\n\n") }, clock)
    let reader = Task { try await Self.texts(client.serverSentEvents(Self.request)) }

    await clock.wait(forSleepers: 1)
    reader.cancel()

    await #expect(throws: CancellationError.self) { try await reader.value }
    await client.waitUntilEmpty()
  }

  @Test func `leaving the loop ends the call at once`() async throws {
    let client = Self.client(
      StubTransport { _ in .streamed(headers: ["Content-Type": "text/event-stream"]) { Data("data: a\n\n".utf8) } })

    for try await event in client.serverSentEvents(Self.request) {
      #expect(client.activity.current.running.count == 1)
      if event.data == "a" { break }
    }

    await client.waitUntilEmpty()
    #expect(client.activity.current.totals.cancelled == 1)
  }

  @Test func `yields nothing after the end or an error`() async throws {
    let transport = StubTransport(script: [.status(.noContent), .status(500)])
    let client = Self.client(transport)
    var ended = client.serverSentEvents(Self.request).makeAsyncIterator()
    #expect(try await ended.next() == nil)
    #expect(try await ended.next() == nil)
    #expect(transport.requests.count == 1)

    var failed = client.serverSentEvents(Self.request).makeAsyncIterator()
    await #expect(throws: HTTPError.self) { try await failed.next() }
    #expect(try await failed.next() == nil)
  }
}

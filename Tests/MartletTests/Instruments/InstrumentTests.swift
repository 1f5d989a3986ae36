import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

/// Which events instruments receive, and when.
@Suite(.hangLimit) struct InstrumentTests {
  /// Records events and describes them in a few words.
  final class Recorder: Instrument {
    let events = Log<InstrumentEvent>()
    let added: HTTPHeaders
    private let isOpen = Shared(true)
    private let gate = DispatchSemaphore(value: 0)

    init(adding added: HTTPHeaders = [:], isBlocked: Bool = false) {
      self.added = added
      isOpen.withLock { $0 = !isBlocked }
    }

    func observe(_ event: InstrumentEvent) {
      if !isOpen.withLock({ $0 }) { gate.wait() }
      events.add(event)
    }

    func fields(for exchange: InstrumentEvent.Exchange) -> HTTPHeaders { added }

    func open() {
      isOpen.withLock { $0 = true }
      gate.signal()
    }

    var words: [String] { events.elements.map { Self.word($0.kind) } }

    static func word(_ kind: InstrumentEvent.Kind) -> String {
      switch kind {
      case .began: "began"
      case .attempt(let number, let hop): "attempt \(number) of hop \(hop)"
      case .exchangeBegan(let exchange): "exchange \(exchange.number)"
      case .phase(let phase, let number): "\(number) \(phase)"
      case .informational(let response, let number): "\(number) informational \(response.status.rawValue)"
      case .head(let head, let number): "\(number) head \(head.status.rawValue)"
      case .message(let message, let number): "\(number) \(message.direction) \(message.kind) \(message.body.count)"
      case .decision(let entry): entry.decision.sentence
      case .exchangeEnded(_, let number): "\(number) ended"
      case .ended(.succeeded(let status), _): "succeeded \(status.rawValue)"
      case .ended(.failed, _): "failed"
      case .ended(.cancelled, _): "cancelled"
      }
    }
  }

  @Test func `receives events in order`() async throws {
    let recorder = Recorder()
    let client = HTTPClient.stubbed(
      StubTransport(script: [.redirect(to: "/y"), .status(.serviceUnavailable), .text("x")]), .cache(.off),
      .instruments(recorder)
    ) {
      $0.retry = .backoff()
      $0.random = { 0 }
    }

    try await client.get("/x")
    await client.drain()

    #expect(
      recorder.words == [
        "began", "attempt 1 of hop 0", "exchange 1", "1 waiting", "1 head 302", "1 receiving", "1 ended",
        "the redirect (302) to http://example.test/y was followed", "attempt 1 of hop 1", "exchange 2", "2 waiting",
        "2 head 503", "2 receiving", "2 ended", "the request is repeated at once: the failure may be temporary",
        "attempt 2 of hop 1", "exchange 3", "3 waiting", "3 head 200", "3 receiving", "3 ended",
        "the status 200 is accepted", "succeeded 200",
      ])
    #expect(Set(recorder.events.elements.map(\.call.id)).count == 1)
  }

  @Test func `reports the end of failed and cancelled requests`() async throws {
    let recorder = Recorder()
    let isAsked = Shared(false)
    let transport = StubTransport { request in
      guard request.url?.path() == "/wait" else { return .failure(HTTPError(.connectionLost, "cut")) }
      isAsked.withLock { $0 = true }
      try await untilCancelled()
    }
    let client = HTTPClient.stubbed(transport, .cache(.off), .instruments(recorder))

    await #expect(throws: HTTPError.self) { try await client.get("/x", options: .retry(.off)) }
    let handle = client.start(.get("/wait"))
    await isAsked.wait { $0 }
    handle.cancel()
    await client.drain()

    #expect(recorder.words.filter { ["failed", "cancelled"].contains($0) } == ["failed", "cancelled"])
    let failures = recorder.events.elements.compactMap {
      if case .exchangeEnded(let end, _) = $0.kind { end.failure } else { nil }
    }
    #expect(failures.first == .connectionLost)
  }

  @Test func `attributes have OpenTelemetry names and contain no secrets`() async throws {
    let recorder = Recorder()
    let client = HTTPClient.stubbed(
      StubTransport(script: [.redirect(to: "/y?token=1"), .status(.notFound)]), .cache(.off), .instruments(recorder))

    await #expect(throws: HTTPError.self) { try await client.get("http://u:p@a.test:81/x?token=1") }
    await client.drain()

    let events = recorder.events.elements
    let attributes = events.map(\.attributes)
    #expect(
      attributes[0] == [
        "http.request.method": "GET", "url.full": "http://a.test:81/x?token=***", "server.address": "a.test",
        "server.port": 81,
      ])
    #expect(attributes[0]["server.port"].map(String.init(describing:)) == "81")
    let second = try #require(events.first { Recorder.word($0.kind) == "exchange 2" })
    #expect(second.attributes["http.request.resend_count"] == 1)
    #expect(second.attributes["url.full"] == "http://a.test:81/y?token=***")
    let head = try #require(events.first { Recorder.word($0.kind) == "2 head 404" })
    #expect(head.attributes["http.response.status_code"].map(String.init(describing:)) == "404")
    let end = try #require(events.last)
    #expect(end.attributes["error.type"] == "404" && end.attributes["http.response.status_code"] == 404)
  }

  /// An exporter that records what it has when the client is drained.
  private final class Exporter: Instrument, ClientWork {
    private let events = Shared(0)
    private let exported = Shared<Int?>(nil)

    var exportedCount: Int? { exported.value }
    var snapshot: any Sendable { 0 }

    func observe(_ event: InstrumentEvent) {
      if case .ended = event.kind { events.withLock { $0 += 1 } }
    }
    func beginDraining() {}

    func finishDraining(within limit: Duration?) async {
      let count = events.value
      exported.withLock { $0 = count }
    }
  }

  @Test func `drains work after its instrument has received all events`() async throws {
    let exporter = Exporter()
    let client = HTTPClient {
      $0.transport = StubTransport { _ in .text("x") }
      $0.instruments = [exporter]
    }
    try client.attach(exporter)
    for _ in 0..<50 { try await client.get("https://a.test/") }

    await client.drain()

    #expect(exporter.exportedCount == 50)
  }

  @Test func `adds the fields of instruments to each exchange unless the request has them`() async throws {
    let transport = StubTransport(script: [.redirect(to: "/y"), .text("x")])
    let client = HTTPClient.stubbed(
      transport, .cache(.off),
      .instruments(Recorder(adding: ["X-Span": "1", "X-Own": "2"]), Recorder(adding: ["X-Span": "3"])))

    let response = try await client.get("/x", headers: ["X-Own": "0"])

    #expect(transport.requests.map { $0.headers[all: "X-Span"] } == [["1"], ["1"]])
    #expect(transport.requests.map { $0.headers[all: "X-Own"] } == [["0"], ["0"]])
    #expect(response.finalRequest.headers["X-Span"] == "1")
  }

  @Test func `an invalid field of an instrument fails the request before it is sent`() async throws {
    let transport = StubTransport(script: [.text("x")])
    let client = HTTPClient.stubbed(transport, .cache(.off), .instruments(Recorder(adding: ["X-Span": "a\r\nb: c"])))

    let error = await #expect(throws: HTTPError.self) { try await client.get("/x") }

    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.hasPrefix("an instrument added a field that it must not add: ") == true)
    #expect(transport.requests.isEmpty)
  }

  @Test(arguments: ["Authorization", "cookie", "Host", "Range", "If-None-Match"])
  func `an instrument cannot add a field that affects how the request is processed`(name: String) async throws {
    let transport = StubTransport(script: [.text("x")])
    let client = HTTPClient.stubbed(transport, .cache(.off), .instruments(Recorder(adding: [name: "1"])))

    let error = await #expect(throws: HTTPError.self) { try await client.get("/x") }

    #expect(error?.kind == .invalidRequest && transport.requests.isEmpty)
  }

  @Test func `a request of a cancelled task reports only its start and its end`() async throws {
    let recorder = Recorder()
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") }, .cache(.off), .instruments(recorder))
    let isCancelled = Shared(false)

    let task = Task {
      await isCancelled.wait { $0 }
      try await client.get("/x")
    }
    task.cancel()
    isCancelled.withLock { $0 = true }
    await #expect(throws: CancellationError.self) { try await task.value }
    await client.drain()

    // The cancellation may be noticed before the call begins.
    #expect(recorder.words.isEmpty || recorder.words.first == "began" && recorder.words.last == "cancelled")
    #expect(!recorder.words.contains("exchange 1"))
  }

  @Test func `reports the end of a request that a closed client refuses`() async throws {
    let recorder = Recorder()
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") }, .cache(.off), .instruments(recorder))
    await client.drain()

    await #expect(throws: HTTPError.self) { try await client.get("/x") }
    await client.drain()

    #expect(recorder.words == ["began", "failed"])
  }

  @Test func `events describe their own exchange, and failures have a type`() async throws {
    let recorder = Recorder()
    let script: [StubResponse] = [
      .redirect(to: "http://[::1]:81/"), .status(.serviceUnavailable), .text("x"), .text("no JSON"),
    ]
    let client = HTTPClient.stubbed(StubTransport(script: script), .cache(.off), .instruments(recorder))

    _ = try await client.get("/x", options: .accepts(.any))
    _ = try await client.send(HTTPRequest(HTTPMethod("PURGE"), "/x"))
    await #expect(throws: HTTPError.self) { try await client.get("/x", as: Int.self) }
    await client.drain()

    let events = recorder.events.elements
    let second = try #require(events.first { Recorder.word($0.kind) == "exchange 2" })
    #expect(second.attributes["server.address"] == "::1" && second.attributes["server.port"] == 81)
    let head = try #require(events.first { Recorder.word($0.kind) == "2 head 503" })
    #expect(head.attributes["error.type"] == "503" && head.attributes["server.address"] == nil)
    let ends = events.filter { if case .ended = $0.kind { true } else { false } }.map(\.attributes)
    #expect(ends.map { $0["error.type"] } == ["503", nil, "decoding"])
    #expect(ends[1]["http.request.method"] == "_OTHER" && ends[1]["http.request.method_original"] == "PURGE")
  }

  @Test func `the end of a call includes the source of its response`() async throws {
    let recorder = Recorder()
    let transport = StubTransport { request in
      request.url?.path() == "/x"
        ? .text("x", headers: ["Cache-Control": "max-age=60"])
        : .failure(HTTPError(.cannotConnect, "refused", phase: .connecting))
    }
    let client = HTTPClient.stubbed(transport, .cache(.memory()), .retry(.off), .instruments(recorder))

    for _ in 0..<2 { _ = try await client.get("/x") }
    _ = try await client.stream("/x") { try await $0.collect(upTo: 10) }
    await #expect(throws: HTTPError.self) { try await client.get("/y") }
    await #expect(throws: HTTPError.self) { try await client.get("/x", as: Int.self) }
    await client.drain()

    let sources = recorder.events.elements.compactMap { event -> HTTPResponse.Source?? in
      if case .ended(_, let source) = event.kind { .some(source) } else { nil }
    }
    #expect(sources == [.network, .cache, .cache, nil, .cache])
  }

  @Test func `a blocking instrument delays no request and loses events beyond the limit`() async throws {
    let recorder = Recorder(isBlocked: true)
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") }, .cache(.off), .instruments(recorder))

    // Each request emits nine events.
    for _ in 0..<1_300 { try await client.get("/x") }
    recorder.open()
    await client.core.settings.instruments?.flush(within: .seconds(60))
    for _ in 0..<2 { try await client.get("/x") }
    await client.drain()

    let dropped = recorder.events.elements.reduce(0) { $0 + $1.droppedCount }
    #expect(dropped > 0 && recorder.events.elements.count + dropped == 1_302 * 9)
  }

  @Test func `draining waits for an instrument, but not forever`() async throws {
    let recorder = Recorder(isBlocked: true)
    let client = HTTPClient.stubbed(StubTransport { _ in .text("x") }, .cache(.off), .instruments(recorder))
    try await client.get("/x")

    await client.drain(timeout: .milliseconds(1))

    #expect(recorder.words.isEmpty)
    recorder.open()
    await client.drain()
    #expect(recorder.words.count == 9)
  }

  @Test func `a tracer's field takes precedence over the task's trace, which the tracer receives`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let own = "00-4bf92f3577b34da6a3ce929d0e0e4736-1111111111111111-01"
    let recorder = Recorder(adding: ["traceparent": own])
    let client = HTTPClient.stubbed(transport, .cache(.off), .instruments(recorder))
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    let trace = try #require(TraceContext(traceparent: parent, tracestate: "a=1"))

    try await TraceContext.$current.withValue(trace) { _ = try await client.get("/x") }
    await client.drain()

    #expect(transport.requests[0].headers["traceparent"] == own && transport.requests[0].headers["tracestate"] == nil)
    #expect(recorder.events.elements.allSatisfy { $0.call.trace == trace })
  }

  @Test func `requests of different traces share a response`() async throws {
    let transport = StubTransport { _ in .text("x", headers: ["Cache-Control": "max-age=60"]) }
    let client = HTTPClient.stubbed(transport, .cache(.off), .instruments()) { $0.cache = .memory() }

    for number in 1...3 {
      let trace = TraceContext(traceparent: "00-4bf92f3577b34da6a3ce929d0e0e473\(number)-00f067aa0ba902b7-01")
      _ = try await TraceContext.$current.withValue(trace) { try await client.get("/x") }
    }

    #expect(transport.requests.count == 1)
  }

  @Test(arguments: [
    ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
    ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what", true),
    ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what", false),
    ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
    ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
    ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false),
    ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false),
    ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", false), ("", false), ("a\r\n", false),
  ]) func `a trace context is valid or nil`(text: String, isValid: Bool) {
    #expect((TraceContext(traceparent: text) != nil) == isValid)
  }

  @Test func `requests propagate the trace of their task`() async throws {
    let transport = StubTransport(script: [.redirect(to: "http://other.test/"), .text("x"), .text("x"), .text("x")])
    let client = HTTPClient.stubbed(transport, .cache(.off), .instruments())
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    let trace = try #require(TraceContext(traceparent: parent, tracestate: "a=1"))

    try await TraceContext.$current.withValue(trace) {
      try await client.get("/x")
      try await client.get("/x", headers: ["traceparent": "own"])
    }
    try await client.get("/x")

    #expect(transport.requests.map { $0.headers["traceparent"] } == [parent, parent, "own", nil])
    #expect(transport.requests.map { $0.headers["tracestate"] } == ["a=1", "a=1", nil, nil])
    #expect(TraceContext(traceparent: parent, tracestate: "a\r\nb")?.tracestate == nil)
  }
}

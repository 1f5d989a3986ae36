import CoreMetrics
import Foundation
import InMemoryLogging
import InMemoryTracing
import Integrations
import Logging
import Martlet
import MartletTesting
import MetricsTestKit
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing
import Tracing

/// Each integration against a backend in memory.
@Suite(.timeLimit(.minutes(1))) struct IntegrationsTests {
  private static func client(
    _ script: [StubResponse], _ change: @Sendable (inout HTTPClient.Configuration) -> Void
  ) -> HTTPClient {
    HTTPClient {
      $0.transport = StubTransport(script: script)
      $0.baseURL = "https://canary:canary@example.test"
      $0.clock = TestClock()
      $0.cache = .off
      $0.retry = .backoff()
      $0.headers = ["Authorization": "canary", "X-Api-Key": "canary"]
      change(&$0)
    }
  }

  private static let path: RequestTarget = "/x?token=canary"

  @Test func `a logger gets the lines of the log`() async throws {
    let handler = InMemoryLogHandler()
    var logger = Logger(label: "http") { _ in handler }
    logger.logLevel = .debug
    let sink = LogSink(logger)
    let client = Self.client([.text("x")]) { $0.middleware = [LoggingMiddleware(.headers, to: sink)] }

    try await client.get(Self.path)
    await sink.flush()

    let lines = handler.entries.map { "\($0.message)" }
    #expect(lines.contains { $0.hasSuffix("> GET https://example.test/x?token=***") }, "\(lines)")
    #expect(handler.entries.allSatisfy { $0.level == .debug } && !lines.contains { $0.contains("canary") })
  }

  @Test func `metrics contain connections`() async throws {
    let metrics = TestMetrics()
    let instrument = MetricsInstrument(metrics)
    let server = try MockServer(.ok())
    let client = HTTPClient { $0.transport = .curl }

    try await client.get(RequestTarget(server.url))
    instrument.recordConnections(of: client)

    let place = [("server.address", "127.0.0.1"), ("server.port", "\(server.port)")]
    let idle = try metrics.expectMeter("http.client.open_connections", place + [("http.connection.state", "idle")])
    let active = try metrics.expectMeter("http.client.open_connections", place + [("http.connection.state", "active")])
    let queued = try metrics.expectMeter("http.client.queued_requests", place)
    #expect(idle.values.last == 1 && active.values.last == 0 && queued.values.last == 0)
    withExtendedLifetime(server) {}
  }

  @Test func `metrics have the conventions' names and dimensions`() async throws {
    let metrics = TestMetrics()
    let client = Self.client([.status(503), .text("hello"), .failure(HTTPError(.cannotConnect, "canary"))]) {
      $0.instruments = [MetricsInstrument(metrics)]
    }

    try await client.get(Self.path)
    _ = try? await client.get(Self.path, options: .retry(.off))
    await client.drain()

    let server = [("http.request.method", "GET"), ("server.address", "example.test"), ("server.port", "443")]
    let timers = metrics.timers(label: "http.client.request.duration")
    #expect(timers.count == 3 && timers.allSatisfy { $0.values.count == 1 && $0.values[0] >= 0 })
    _ = try metrics.expectTimer(
      "http.client.request.duration", server + [("http.response.status_code", "503"), ("error.type", "503")])
    _ = try metrics.expectTimer("http.client.request.duration", server + [("http.response.status_code", "200")])
    _ = try metrics.expectTimer("http.client.request.duration", server + [("error.type", "cannotConnect")])
    let active = try metrics.expectMeter("http.client.active_requests", server)
    #expect(active.values == [1, 0, 1, 0, 1, 0])
    #expect(metrics.recorders(label: "http.client.response.body.size").count == 3)
    let texts = (metrics.timers.map(\.dimensions) + metrics.meters.map(\.dimensions)).flatMap { $0.map(\.1) }
    #expect(!texts.contains { $0.contains("canary") })
  }

  @Test func `spans follow requests and exchanges, and are passed on`() async throws {
    let tracer = InMemoryTracer()
    let transport = StubTransport(script: [.status(503), .text("hello")])
    let client = Self.client([]) {
      $0.transport = transport
      $0.instruments = [TracingInstrument(tracer)]
    }

    let parent = tracer.startSpan("job", context: .topLevel, ofKind: .internal)
    try await ServiceContext.withValue(parent.context) { _ = try await client.get(Self.path) }
    parent.end()
    await client.drain()

    let spans = tracer.finishedSpans
    let job = try #require(spans.first { $0.operationName == "job" })
    let call = try #require(spans.first { $0.operationName == "GET" && $0.kind == .internal })
    let exchanges = spans.filter { $0.kind == .client }
    #expect(spans.count == 4 && exchanges.count == 2 && tracer.activeSpans.isEmpty)
    #expect(call.parentSpanID == job.spanID && exchanges.allSatisfy { $0.parentSpanID == call.spanID })
    #expect(Set(spans.map(\.traceID)).count == 1)
    let passed = transport.requests.map { $0.headers[InMemoryTracer.spanIDKey] }
    #expect(passed == exchanges.map { Optional($0.spanID) })
    #expect(exchanges.map { "\($0.attributes["http.response.status_code"].map { "\($0)" } ?? "")" }.count == 2)
    #expect(exchanges[0].status?.code == .error && exchanges[1].status == nil && call.status == nil)
    for span in spans {
      var texts: [String] = []
      span.attributes.forEach { texts.append("\($0) \($1)") }
      #expect(!texts.contains { $0.contains("canary") }, "\(texts)")
    }
  }

  @Test func `a failed request ends its spans with an error`() async throws {
    let tracer = InMemoryTracer()
    let client = Self.client([.failure(HTTPError(.cannotConnect, "no"))]) {
      $0.instruments = [TracingInstrument(tracer)]
      $0.retry = .off
    }

    _ = try? await client.get(Self.path)
    await client.drain()

    #expect(tracer.finishedSpans.count == 2 && tracer.finishedSpans.allSatisfy { $0.status?.code == .error })
  }

  @Test func `a service drains its client at a graceful shutdown`() async throws {
    let gate = AsyncStream<Void>.makeStream()
    let started = AsyncStream<Void>.makeStream()
    let client = Self.client([]) {
      $0.transport = StubTransport { _ in
        started.continuation.yield()
        for await _ in gate.stream { break }
        return .text("done")
      }
    }
    let handle = client.start(.get(Self.path))
    for await _ in started.stream { break }

    try await testGracefulShutdown { trigger in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await ClientService(client).run() }
        trigger.triggerGracefulShutdown()
        gate.continuation.finish()
        try await group.waitForAll()
      }
    }

    #expect(try await handle.value.text == "done")
    let error = await #expect(throws: HTTPError.self) { try await client.get(Self.path) }
    #expect(error?.kind == .clientClosed)
  }

  @Test func `a cancelled service does not wait`() async throws {
    let client = Self.client([]) {
      $0.clock = ContinuousClock()
      $0.transport = StubTransport { _ in
        try await Task.sleep(for: .seconds(3600))
        return .text("never")
      }
    }
    let handle = client.start(.get(Self.path))

    let service = Task { try await ClientService(client).run() }
    service.cancel()
    try await service.value

    await #expect(throws: (any Error).self) { try await handle.value }
  }
}

import Foundation
import Martlet
import MartletHAR
import MartletTestTraits
import MartletTesting
import Synchronization
import TestSupport
import Testing

extension SamplesTests {
  nonisolated private struct Order: Codable, Sendable { var item = "tea" }

  @Test func `explains decisions`() async throws {
    let client = HTTPClient {
      $0.baseURL = "http://a.test"
      $0.transport = StubTransport { request in
        request.method == .post
          ? .status(.serviceUnavailable) : .text("x", headers: ["Set-Cookie": "a=1; Domain=b.test"])
      }
      $0.clock = TestClock()
    }
    let order = Order()
    let printed = Log<String>()
    func print(_ items: Any...) { printed.add(items.map { "\($0)" }.joined(separator: " ")) }

    let response = try await client.get("/repos", options: .explains())
    print(response.explanation)

    for entry in response.explanation.entries where entry.code == "cookies.refused.foreignDomain" {
      print(entry.sentence)
    }

    do {
      try await client.post("/orders", body: .json(order))
    } catch let error as HTTPError {
      print(error.explanation)
    }

    let lines = printed.elements
    #expect(lines.count == 3 && lines[0].contains("the status 200 is accepted"), "\(lines)")
    #expect(lines[1] == "the cookie 'a' was refused: its domain b.test is not that of the host")
    #expect(lines[2].contains("the status 503 is an error"))
  }

  @Test func `observes requests with an instrument`() async throws {
    nonisolated final class Counter: Instrument {
      let statuses = Mutex<[HTTPStatus: Int]>([:])

      func observe(_ event: InstrumentEvent) {
        guard case .head(let head, _) = event.kind else { return }
        statuses.withLock { $0[head.status, default: 0] += 1 }
      }
    }

    let counter = Counter()
    let client = HTTPClient { $0.instruments = [counter] }
    await client.update { $0.transport = StubTransport { _ in .text("x") } }
    try await client.get("http://a.test/")
    await client.drain()

    #expect(counter.statuses.withLock { $0 } == [.ok: 1])
  }

  @Test func `records a HAR file`() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "traffic.har")

    let recorder = try HARRecorder(to: file)
    let client = HTTPClient { $0.instruments = [recorder] }

    await client.update { $0.transport = StubTransport { _ in .text("x") } }
    try await client.get("http://a.test/")
    await client.drain()
    #expect(recorder.entryCount == 1)

    let slow = try HARFile(at: file).entries.filter { $0.timings.total > .seconds(1) }
    #expect(slow.isEmpty)
  }

  @Test func `replays recordings in tests`() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(path: "traffic.har")
    let recording = Cassette(
      file, mode: .recordMissing, recording: StubTransport { _ in .text(String(repeating: "x", count: 200)) })
    let live = HTTPClient { $0.transport = recording }
    for target in ["http://a.test/download", "http://a.test/orders"] as [RequestTarget] { try await live.get(target) }

    do {
      let client = HTTPClient { $0.transport = Cassette(file) }
      #expect(try await client.get("http://a.test/orders").text.count == 200)
    }

    let cassette = Cassette(file, matching: .standard.ignoring(queryItems: ["timestamp"]))
    cassette.add(.cut(after: 100), to: "/download")
    cassette.add(.status(.serviceUnavailable), to: "/orders", count: 2)
    let client = HTTPClient {
      $0.transport = cassette
      $0.baseURL = "http://a.test"
      $0.retry = .off
    }
    for target in ["/download", "/orders", "/orders"] as [RequestTarget] {
      await #expect(throws: HTTPError.self) { try await client.get(target) }
    }
    #expect(try await client.get("/orders?timestamp=1").text.count == 200)
  }

  @Test(.cassette("greeting")) func greets() async throws {
    let client = HTTPClient { $0.transport = .cassette }
    let greeting = try await client.get("http://example.test/hello").text
    #expect(greeting == "Hello")
  }

  @Test func `propagates a trace`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://a.test"
    }
    let incoming: HTTPHeaders = ["traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"]

    let trace = TraceContext(traceparent: incoming["traceparent"] ?? "", tracestate: incoming["tracestate"])
    let report = try await TraceContext.$current.withValue(trace) {
      try await client.get("/report").text
    }

    #expect(report == "x" && transport.requests[0].headers["traceparent"] == incoming["traceparent"])
  }
}

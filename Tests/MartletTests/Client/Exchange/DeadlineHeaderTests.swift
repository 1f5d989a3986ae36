import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct DeadlineHeaderTests {
  private static let now = Date(timeIntervalSince1970: 1_700_000_000)
  private let clock = TestClock(advancing: .manually)

  @Test(
    arguments: [
      (Duration.milliseconds(1_500), "1500m", "1500"), (.microseconds(1_999), "1m", "1"),
      (.seconds(90_000), "90000000m", "90000000"),
      (.seconds(262_144), "262144S", "262144000"), (.seconds(365 * 86_400), "31536000S", "31536000000"),
    ] as [(Duration, String, String)])
  func `writes the remaining time`(time: Duration, grpc: String, milliseconds: String) {
    #expect(Deadline.Header.grpcTimeout(to: []).value(for: time, now: Self.now) == grpc)
    #expect(Deadline.Header.milliseconds("X", to: []).value(for: time, now: Self.now) == milliseconds)
  }

  @Test func `writes a date, rounded down`() {
    let header = Deadline.Header.date("X-Deadline", to: [])
    #expect(header.value(for: .milliseconds(2_900), now: Self.now) == "Tue, 14 Nov 2023 22:13:22 GMT")
  }

  @Test(
    arguments: [
      ("1500m", .milliseconds(1_500)), ("2S", .seconds(2)), ("3M", .seconds(180)), ("1H", .seconds(3_600)),
      ("7u", .microseconds(7)), ("99999999n", .nanoseconds(99_999_999)), ("0S", .zero), (" 5S ", .seconds(5)),
      ("99999999H", Deadline.longest), ("123456789S", nil), ("S", nil), ("-1S", nil), ("1.5S", nil), ("1s", nil),
      ("", nil),
      ("１S", nil), ("1", nil),
    ] as [(String, Duration?)])
  func `reads grpc-timeout`(value: String, time: Duration?) {
    let deadline = Deadline.Header.grpcTimeout(to: []).deadline(in: ["grpc-timeout": value], clock: clock)
    #expect(deadline?.limit == time)
  }

  @Test(
    arguments: [
      ("250", .milliseconds(250)), ("0", .zero), ("999999999999999999", Deadline.longest), ("1000000000000000000", nil),
      ("-5", nil), ("x", nil), ("1e3", nil),
    ] as [(String, Duration?)])
  func `reads milliseconds`(value: String, time: Duration?) {
    let deadline = Deadline.Header.milliseconds("X-Timeout-Ms", to: []).deadline(
      in: ["x-timeout-ms": value], name: "handler", clock: clock)
    #expect(deadline?.limit == time)
    if time != nil { #expect(deadline?.name == "handler") }
  }

  @Test(
    arguments: [
      ("Tue, 14 Nov 2023 22:13:25 GMT", .seconds(5)), ("Thu, 01 Jan 1970 00:00:00 GMT", .zero),
      ("Fri, 31 Dec 9999 23:59:59 GMT", Deadline.longest), ("soon", nil),
    ] as [(String, Duration?)])
  func `reads a date`(value: String, time: Duration?) {
    let header = Deadline.Header.date("X-Deadline", to: [])
    #expect(header.deadline(in: ["X-Deadline": value], now: Self.now, clock: clock)?.limit == time)
    #expect(header.deadline(in: [:], now: Self.now, clock: clock) == nil)
  }

  @Test func `is sent only to the chosen origins, minus the margin, and updated for each attempt`() async throws {
    let transport = StubTransport { request in
      switch request.url?.path {
      case "/redirect": .redirect(to: "http://other.test/")
      case "/flaky": .failure(HTTPError(.connectionLost, "x"))
      default: .text("x")
      }
    }
    let client = HTTPClient.stubbed(transport, clock: clock) {
      $0.deadlineHeader = .grpcTimeout(to: ["http://example.test"])
      $0.retry = .custom(attempts: 2) { _, _ in .milliseconds(500) }
      // This limit replaces that of `Configuration.default`, which another test may have changed.
      $0.timeout.total = .seconds(120)
    }
    try await withDeadline(.seconds(2), clock: clock) {
      _ = try await client.get("/redirect")
      let flaky = Task { try? await client.get("/flaky") }
      await clock.waitForSleepers(2)
      clock.advance(by: .milliseconds(500))
      _ = await flaky.value
      _ = try await client.get("/own", headers: ["grpc-timeout": "1S"])
    }
    _ = try await client.get("/plain")
    _ = try await client.get("/endless", options: .timeout(nil))

    let sent = transport.requests.map { "\($0.url?.absoluteString ?? "") \($0.headers["grpc-timeout"] ?? "-")" }
    #expect(
      sent == [
        "http://example.test/redirect 1990m", "http://other.test/ -", "http://example.test/flaky 1990m",
        "http://example.test/flaky 1490m", "http://example.test/own 1S", "http://example.test/plain 119990m",
        "http://example.test/endless -",
      ])
  }

  @Test func `does not send a request if no more than the margin is left`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.stubbed(transport, clock: clock) {
      var header = Deadline.Header.milliseconds("X-Timeout", to: ["http://example.test"])
      header.margin = .milliseconds(50)
      $0.deadlineHeader = header
    }
    let error = try await withDeadline(.milliseconds(50), name: "x", clock: clock) {
      try await #require(throws: HTTPError.self) { try await client.get("/") }
    }
    #expect(error.kind == .timedOut)
    #expect(error.wasNotProcessed)
    #expect(error.deadline?.name == "x")
    #expect(transport.requests.isEmpty)
    #expect(client.core.entryCount == 0)
  }

  @Test func `rejects invalid settings`() async throws {
    var negative = Deadline.Header.grpcTimeout(to: ["http://example.test"])
    negative.margin = .seconds(-1)
    let headers = [
      negative, .grpcTimeout(to: ["example"]), .grpcTimeout(to: ["http://u:p@example.test"]),
      .milliseconds("a b", to: []), .milliseconds("Content-Length", to: []), .date("", to: []),
    ]
    for header in headers {
      let client = HTTPClient.stubbed(.text("x")) { $0.deadlineHeader = header }
      let error = try await #require(throws: HTTPError.self) { try await client.get("/") }
      #expect(error.kind == .invalidRequest)
      #expect(error.message.contains("deadline header"))
    }
  }
}

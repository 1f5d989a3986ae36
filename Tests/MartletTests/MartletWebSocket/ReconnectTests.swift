import Martlet
import MartletTesting
import TestSupport
import Testing

@testable import MartletWebSocket

@Suite struct ReconnectTests {
  private typealias Cause = ReconnectingWebSocket.Cause
  private typealias Options = ReconnectingWebSocket.Options

  // MARK: Causes

  @Test(arguments: [
    (1000, false), (1001, true), (1002, false), (1003, false), (1005, false), (1006, true), (1007, false),
    (1008, false), (1009, false), (1010, false), (1011, true), (1012, true), (1013, true), (1014, true), (1015, false),
    (3000, false), (4000, false),
  ]) func `reconnects after the codes of a temporary problem`(code: UInt16, isTransient: Bool) {
    #expect(Cause.closed(WebSocketCloseCode(rawValue: code), reason: "").isTransient == isTransient)
  }

  @Test(arguments: [
    (HTTPError.Kind.connectionLost, true), (.cannotConnect, true), (.timedOut, true), (.overloaded, true),
    (.circuitOpen, true), (.protocolViolation, false), (.bodyTooLarge, false), (.invalidRequest, false), (.tls, false),
    (.unsupported, false), (.clientClosed, false), (.refusedByGuard, false), (.webSocketClosed, false),
  ]) func `reconnects after errors that may pass`(kind: HTTPError.Kind, isTransient: Bool) {
    #expect(Cause.failed(HTTPError(kind, "")).isTransient == isTransient)
  }

  @Test(arguments: [
    (400, false), (401, false), (403, false), (404, false), (407, false), (408, true), (410, false), (425, true),
    (426, false), (429, true), (500, true), (501, true), (502, true), (503, true), (504, true), (599, true),
  ]) func `reconnects after statuses of a temporary problem`(status: Int, isTransient: Bool) async {
    let transport = StubTransport { _ in .status(HTTPStatus(rawValue: status)) }
    let socket = HTTPClient.stubbed(transport, .retry(.off)).reconnectingWebSocket("https://a.test/")

    let error = await #expect(throws: HTTPError.self) { try await socket.next() }

    #expect(error?.status?.rawValue == status)
    #expect(Cause.failed(error ?? HTTPError(.decoding, "")).isTransient == isTransient)
  }

  @Test func `does not reconnect after an error of the program`() {
    struct Failure: Error {}
    #expect(!Cause.failed(Failure()).isTransient)
  }

  @Test func `describes a cause on one line`() {
    #expect("\(Cause.closed(.serviceRestart, reason: "a\nb"))".hasPrefix("the server closed the WebSocket with 1012"))
    #expect(!"\(Cause.closed(.serviceRestart, reason: "a\nb"))".contains("\n"))
    #expect("\(Cause.failed(HTTPError(.connectionLost, "gone")))".contains("gone"))
  }

  // MARK: Delays

  @Test(arguments: [Duration.zero, .nanoseconds(1), .seconds(Int64.max), Duration(attoseconds: .max)])
  func `an absurd delay is limited`(delay: Duration) {
    var backoff = ReconnectBackoff(
      Options { ($0.initialDelay, $0.maximumDelay, $0.stableAfter) = (delay, delay, delay) })
    for _ in 0..<200 { _ = backoff.next(after: nil, requested: delay, random: 1) }
    #expect(backoff.next(after: delay, requested: delay, random: 1) <= .seconds(101 * 365 * 86_400))
  }

  @Test func `delays double up to the maximum, and are random`() {
    var backoff = ReconnectBackoff(Options { $0.maximumDelay = .seconds(10) })
    #expect((0..<6).map { _ in backoff.next(after: nil, random: 1) } == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
    #expect(backoff.next(after: nil, random: 0.25) == .seconds(2.5))
    #expect(backoff.next(after: nil, random: 0) == .zero)
  }

  @Test func `only a stable connection shortens the delays again`() {
    var backoff = ReconnectBackoff(Options { $0.stableAfter = .seconds(5) })
    let delays = [4, 4.999, 5, 0, 6].map { backoff.next(after: .seconds($0), random: 1) }
    #expect(delays == [1, 2, 1, 2, 1].map { .seconds($0) })
  }

  @Test func `a server can request a longer delay, at most an hour`() {
    var backoff = ReconnectBackoff(Options())
    #expect(backoff.next(after: nil, requested: .seconds(7), random: 1) == .seconds(7))
    #expect(backoff.next(after: nil, requested: .seconds(1), random: 1) == .seconds(2))
    #expect(backoff.next(after: nil, requested: .seconds(1e12), random: 1) == .seconds(3600))
  }

  // MARK: Confirmed messages

  @Test func `a pong confirms the messages before its ping`() throws {
    var state = WebSocketState()
    let numbers = [2, 5, 6].compactMap { state.ping(limit: 10, after: $0)?.number }
    try #require(numbers.count == 3)

    _ = state.answered(numbers[1])
    #expect(state.confirmedMessages == 5)
    _ = state.answered(numbers[0])
    #expect(state.confirmedMessages == 5)
    _ = state.answered(numbers[2])
    #expect(state.confirmedMessages == 6)
  }

  // MARK: The first connection

  @Test func `the error of the first connection is thrown, and ends the events`() async throws {
    let transport = StubTransport { _ in throw HTTPError(.cannotConnect, "no network") }
    let client = HTTPClient.stubbed(transport, .retry(.off))
    let socket = client.reconnectingWebSocket("https://a.test/")
    let before = #expect(throws: HTTPError.self) { try socket.socket }
    #expect(before?.kind == .cannotConnect && before?.isTransient == true)

    let error = await #expect(throws: HTTPError.self) { try await socket.next() }

    #expect(error?.kind == .cannotConnect)
    #expect(try await socket.next() == nil)
    let after = #expect(throws: HTTPError.self) { try socket.socket }
    #expect(after?.kind == .webSocketClosed)
  }

  @Test(arguments: ["initialDelay", "maximumDelay", "stableAfter", "maximumFailures"])
  func `reports an invalid option`(name: String) async throws {
    let options = Options {
      switch name {
      case "initialDelay": $0.initialDelay = .seconds(-1)
      case "maximumDelay": $0.maximumDelay = .seconds(-1)
      case "stableAfter": $0.stableAfter = .seconds(-1)
      default: $0.maximumFailures = 0
      }
    }
    let client = HTTPClient.stubbed(StubTransport { _ in .status(.ok) })
    let socket = client.reconnectingWebSocket("https://a.test/", options: options)

    let error = await #expect(throws: HTTPError.self) { try await socket.next() }

    #expect(error?.kind == .invalidRequest && error?.message.hasPrefix(name) == true)
  }

  @Test func `a drained client refuses the first connection`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in .status(.ok) })
    let socket = client.reconnectingWebSocket("https://a.test/")
    await client.drain()

    let error = await #expect(throws: HTTPError.self) { try await socket.next() }

    #expect(error?.kind == .clientClosed)
  }

  @Test func `a close before the first connection ends the events`() async throws {
    let client = HTTPClient.stubbed(StubTransport { _ in .status(.ok) })
    let socket = client.reconnectingWebSocket("https://a.test/")
    await socket.close()
    #expect(try await socket.next() == nil)
  }
}

import Foundation
import Martlet
import MartletTesting
import TestSupport
import Testing

@testable import MartletOAuth

@Suite(.hangLimit) struct DevicePollingTests {
  private static func refusal(_ code: String) -> HTTPError {
    OAuthError(code, description: nil, uri: nil, hiding: [])?.failure(from: "token endpoint")
      ?? HTTPError(.decoding, "no code")
  }

  private static func status(_ status: HTTPStatus) -> HTTPError {
    var error = HTTPError(.status, "x")
    error.response = HTTPResponse(status: status)
    return error
  }

  /// RFC 8628 §3.5: the errors of requests, and the interval afterwards; `nil` to stop.
  @Test(
    arguments: [
      (refusal("authorization_pending"), 5), (refusal("slow_down"), 10), (refusal("access_denied"), nil),
      (refusal("expired_token"), nil), (refusal("invalid_grant"), nil), (refusal("of_the_server"), nil),
      (HTTPError(.timedOut, "x"), 10), (HTTPError(.connectionLost, "x"), 10), (HTTPError(.cannotConnect, "x"), 10),
      (refusal("temporarily_unavailable"), 10), (refusal("server_error"), 10), (status(502), 10), (status(404), nil),
      (HTTPError(.decoding, "x"), nil), (HTTPError(.status, "x"), nil), (HTTPError(.tls, "x"), nil),
    ] as [(HTTPError, Int64?)]) func `continues or stops after an error`(error: HTTPError, seconds: Int64?)
  {
    var polling = DevicePolling(every: 5, until: .seconds(1800))

    let continues = polling.continues(after: error)

    #expect(continues == (seconds != nil))
    if let seconds { #expect(polling.interval == .seconds(seconds)) }
  }

  @Test func `slows down more each time, up to an hour`() {
    var polling = DevicePolling(every: 5, until: .seconds(1800))

    _ = polling.continues(after: Self.refusal("slow_down"))
    _ = polling.continues(after: Self.refusal("slow_down"))
    #expect(polling.interval == .seconds(15))
    for _ in 0..<100 { _ = polling.continues(after: HTTPError(.timedOut, "x")) }
    #expect(polling.interval == .seconds(3600))
  }

  @Test(arguments: [(0, 1), (-5, 1), (1, 1), (5, 5), (1_000_000_000, 3600)])
  func `uses intervals from a second to an hour`(seconds: Int, used: Int64) {
    #expect(DevicePolling(every: seconds, until: .zero).interval == .seconds(used))
  }

  @Test(arguments: [(0, 5), (4, 9), (5, nil), (100, nil)] as [(Int64, Int64?)])
  func `makes no request when the code will have expired`(now: Int64, next: Int64?) {
    let polling = DevicePolling(every: 5, until: .seconds(10))

    #expect(polling.next(after: .seconds(now)) == next.map { .seconds($0) })
  }

  // MARK: With a client

  private static func oauth(_ clock: TestClock, _ transport: StubTransport) -> OAuthClient {
    let server = OAuthClient.Server(tokenEndpoint: "https://id.test/token", deviceEndpoint: "https://id.test/device")
    return OAuthClient(at: server, clientID: "app", through: .stubbed(transport, clock: clock))
  }

  private static let device =
    #"{"device_code":"d","user_code":"u","verification_uri":"v","expires_in":60,"interval":5}"#

  /// A server that sends these responses to token requests, and then repeats the last one.
  private static func server(_ answers: [String]) -> StubTransport {
    let count = Shared(0)
    return StubTransport { request in
      if request.url?.path() == "/device" { return .json(device) }
      let index = count.withLock { count in
        defer { count += 1 }
        return min(count, answers.count - 1)
      }
      let isToken = answers[index].contains("access_token")
      return .json(answers[index], status: isToken ? .ok : .badRequest)
    }
  }

  @Test func `polls at the server's pace until the user has confirmed`() async throws {
    let clock = TestClock()
    let pending = #"{"error":"authorization_pending"}"#
    let transport = Self.server([
      pending, #"{"error":"slow_down"}"#, pending, #"{"access_token":"a","token_type":"Bearer"}"#,
    ])
    let oauth = Self.oauth(clock, transport)

    let token = try await oauth.token(for: oauth.deviceCode(scope: "read"))

    #expect(token.accessToken == "a" && clock.sleeps == [.seconds(5), .seconds(5), .seconds(10), .seconds(10)])
    #expect(transport.requests[0].body == .form(["scope": "read", "client_id": "app"]))
    #expect(
      transport.requests[1].body
        == .form([
          "grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": "d", "client_id": "app",
        ]))
  }

  @Test func `ends when the code expires`() async throws {
    let clock = TestClock()
    let oauth = Self.oauth(clock, Self.server([#"{"error":"authorization_pending"}"#]))
    let code = try await oauth.deviceCode()

    let error = await #expect(throws: HTTPError.self) { try await oauth.token(for: code) }

    #expect(error?.kind == .authenticationFailed && error?.message.contains("expired") == true)
    #expect(clock.sleeps.count == 11)
  }

  @Test func `ends at the task's deadline`() async throws {
    let clock = TestClock()
    let oauth = Self.oauth(clock, Self.server([#"{"error":"authorization_pending"}"#]))
    let code = try await oauth.deviceCode()

    let error = await #expect(throws: HTTPError.self) {
      try await withDeadline(.seconds(3), clock: clock) { try await oauth.token(for: code) }
    }

    #expect(error?.kind == .timedOut && clock.sleeps == [.seconds(3)])
  }

  @Test func `ends with its task`() async throws {
    let clock = TestClock(advancing: .manually)
    let oauth = Self.oauth(clock, Self.server([#"{"error":"authorization_pending"}"#]))
    let code = try await oauth.deviceCode()

    let task = Task { try await oauth.token(for: code) }
    await clock.wait(forSleepers: 1)
    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
  }
}

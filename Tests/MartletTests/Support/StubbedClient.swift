import Foundation
import MartletTesting
import TestSupport

@testable import Martlet

extension HTTPClient {
  /// A client for `http://example.test` with a stubbed transport and a fixed date.
  ///
  /// Only delays between attempts advance its clock, so no limit expires, however slow the machine is.
  static func stubbed(
    _ transport: any Transport, _ settings: ClientSetting..., clock: TestClock = TestClock(),
    change: @Sendable (inout Configuration) -> Void = { _ in }
  ) -> HTTPClient {
    HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://example.test"
      $0.clock = clock
      $0.now = { Date(timeIntervalSince1970: 1_700_000_000) }
      for setting in settings { setting.apply(&$0) }
      change(&$0)
    }
  }

  /// A client that always receives the same response.
  static func stubbed(
    _ response: StubResponse, change: @Sendable (inout Configuration) -> Void = { _ in }
  ) -> HTTPClient {
    stubbed(StubTransport { _ in response }, change: change)
  }

  /// A client whose clock is advanced only by its own delays, so no limit expires, however slow the machine is.
  static func onTestClock(
    _ settings: ClientSetting..., change: @Sendable (inout Configuration) -> Void = { _ in }
  ) -> HTTPClient {
    HTTPClient {
      $0.clock = TestClock()
      for setting in settings { setting.apply(&$0) }
      change(&$0)
    }
  }

  /// A client with a test clock and this transport.
  static func onTestClock(
    _ transport: any Transport, _ settings: ClientSetting..., change: @Sendable (inout Configuration) -> Void = { _ in }
  ) -> HTTPClient {
    HTTPClient(transport, .clock(TestClock()), ClientSetting(settings), change: change)
  }
}

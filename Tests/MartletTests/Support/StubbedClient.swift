import Foundation
import MartletTesting
import TestSupport

@testable import Martlet

extension HTTPClient {
  /// A client of `http://example.test` that answers from a stub, on a clock that only pauses between attempts move, and
  /// at a date that never changes: no limit passes, however slow the machine.
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

  /// A client that always gets the same response.
  static func stubbed(
    _ response: StubResponse, change: @Sendable (inout Configuration) -> Void = { _ in }
  ) -> HTTPClient {
    stubbed(StubTransport { _ in response }, change: change)
  }

  /// A client whose time passes by its own pauses only: no limit ends a request, however slow the machine is.
  static func onTestClock(
    _ settings: ClientSetting..., change: @Sendable (inout Configuration) -> Void = { _ in }
  ) -> HTTPClient {
    HTTPClient {
      $0.clock = TestClock()
      for setting in settings { setting.apply(&$0) }
      change(&$0)
    }
  }

  /// A client on a test clock over a transport.
  static func onTestClock(
    _ transport: any Transport, _ settings: ClientSetting..., change: @Sendable (inout Configuration) -> Void = { _ in }
  ) -> HTTPClient {
    HTTPClient(transport, .clock(TestClock()), ClientSetting(settings), change: change)
  }
}

import Foundation
import MartletTesting

@testable import Martlet

extension HTTPClient {
  /// A client of `http://example.test` that answers from a stub, on a clock that only pauses between attempts move, and
  /// at a date that never changes: no limit passes, however slow the machine.
  static func stubbed(
    _ transport: StubTransport, clock: TestClock = TestClock(),
    _ change: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
  ) -> HTTPClient {
    HTTPClient {
      $0.transport = transport
      $0.baseURL = "http://example.test"
      $0.clock = clock
      $0.now = { Date(timeIntervalSince1970: 1_700_000_000) }
      change(&$0)
    }
  }

  /// A client that always gets the same response.
  static func stubbed(
    _ response: StubResponse, _ change: @Sendable (inout HTTPClient.Configuration) -> Void = { _ in }
  ) -> HTTPClient {
    stubbed(StubTransport { _ in response }, change)
  }
}

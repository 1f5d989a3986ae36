import Martlet
import MartletTesting

extension HTTPClient {
  /// A client whose time passes by its own pauses only: no limit ends a request, however slow the machine is.
  static func onTestClock(_ configure: @Sendable (inout Configuration) -> Void) -> HTTPClient {
    HTTPClient {
      $0.clock = TestClock()
      configure(&$0)
    }
  }
}

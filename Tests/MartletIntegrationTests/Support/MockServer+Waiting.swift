import MartletTesting
import TestSupport

/// The server's waits with the limit of ``becomes(within:every:_:)``, which only prevents hanging.
extension MockServer {
  func waitForRequests(_ count: Int) async -> Bool { await waitForRequests(count, timeout: hangPatience) }

  func waitForOpenConnections(atMost count: Int) async -> Bool {
    await waitForOpenConnections(atMost: count, timeout: hangPatience)
  }

  func wait(until condition: @Sendable (MockServer) -> Bool) async -> Bool {
    await wait(timeout: hangPatience, until: condition)
  }
}

import MartletTesting
import TestSupport

/// The waits of a server with the limit that ``becomes(within:every:_:)`` has: it is there against hanging only.
extension MockServer {
  func waitForRequests(_ count: Int) async -> Bool { await waitForRequests(count, timeout: hangPatience) }

  func waitForOpenConnections(atMost count: Int) async -> Bool {
    await waitForOpenConnections(atMost: count, timeout: hangPatience)
  }

  func wait(until condition: @Sendable (MockServer) -> Bool) async -> Bool {
    await wait(timeout: hangPatience, until: condition)
  }
}

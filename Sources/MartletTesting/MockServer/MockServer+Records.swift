import MartletBase
import Martlet

extension MockServer {
  /// The requests so far, in the order of their heads.
  ///
  /// A body is filled in once it has arrived; see ``RecordedRequest/isComplete``.
  public var requests: [RecordedRequest] { core.journal.withLock { $0.requests } }

  /// The WebSockets so far, in the order of their opening handshakes.
  ///
  /// Requests that were not valid handshakes are only in ``requests``.
  public var webSockets: [RecordedWebSocket] { core.journal.withLock { $0.webSockets } }

  /// Discards the recorded requests and WebSockets, to limit the memory of a long test.
  ///
  /// The later messages of discarded WebSockets are not recorded.
  public func forgetRequests() { core.journal.withLock { $0.forgetRequests() } }

  /// The malformed requests, in order of arrival.
  public var malformed: [MalformedRequest] { core.journal.withLock { $0.malformed } }

  /// The number of connections accepted so far.
  public var connectionCount: Int { core.journal.withLock { $0.connectionCount } }

  /// The number of connections open now.
  public var openConnections: Int { core.journal.withLock { $0.openConnections } }

  /// The maximum number of requests in progress at the same time.
  public var maximumConcurrentRequests: Int { core.journal.withLock { $0.maximumConcurrentRequests } }

  /// The number of times a client closed before it had its response.
  ///
  /// A client that closed in the middle of a request counts, and so does one that closed only its sending side.
  public var disconnects: Int { core.journal.withLock { $0.disconnects } }

  /// The number of request body bytes received so far, including unfinished requests.
  public var receivedBodyBytes: Int { core.journal.withLock { $0.bodyBytes } }

  /// Waits until at least `count` requests have arrived.
  ///
  /// - Returns: Whether that happened before the timeout, which is 30 seconds by default.
  public func waitForRequests(_ count: Int, timeout: Duration = .seconds(30)) async -> Bool {
    await wait(timeout: timeout) { $0.core.journal.withLock { $0.requests.count >= count } }
  }

  /// Waits until a WebSocket has opened and its record fulfills a condition.
  ///
  /// - Parameters:
  ///   - index: The index of the WebSocket in ``webSockets``.
  ///   - timeout: The longest wait, in real time.
  ///   - condition: Returns whether to end the wait; by default, the wait ends when the WebSocket has opened.
  /// - Returns: The record, or `nil` if the condition did not hold before the timeout and
  ///   before the task was cancelled.
  public func waitForWebSocket(
    _ index: Int = 0, timeout: Duration = .seconds(30),
    until condition: @Sendable (RecordedWebSocket) -> Bool = { _ in true }
  ) async -> RecordedWebSocket? {
    let end = ContinuousClock.now + timeout
    while true {
      let isLast = ContinuousClock.now >= end || Task.isCancelled
      let sockets = webSockets
      if sockets.indices.contains(index), condition(sockets[index]) { return sockets[index] }
      guard !isLast else { return nil }
      try? await Task.sleep(for: .milliseconds(2))
    }
  }

  /// Waits until at most `count` connections are open.
  ///
  /// - Returns: Whether that happened before the timeout, which is 30 seconds by default.
  public func waitForOpenConnections(atMost count: Int, timeout: Duration = .seconds(30)) async -> Bool {
    await wait(timeout: timeout) { $0.openConnections <= count }
  }

  /// Waits until a condition on the server holds, polling every few milliseconds.
  ///
  /// - Parameters:
  ///   - timeout: The longest wait, in real time.
  ///   - condition: Returns whether to end the wait.
  /// - Returns: Whether the condition held before the timeout and before the task was cancelled.
  public func wait(
    timeout: Duration = .seconds(30), until condition: @Sendable (MockServer) -> Bool
  ) async -> Bool {
    let end = ContinuousClock.now + timeout
    while !condition(self) {
      guard ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(2))) != nil else {
        return condition(self)
      }
    }
    return true
  }
}

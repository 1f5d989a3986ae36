import Foundation

/// The records of a mock server.
struct ServerJournal {
  private(set) var requests: [RecordedRequest] = []
  private(set) var malformed: [MalformedRequest] = []
  private(set) var connectionCount = 0
  private(set) var openConnections = 0
  private(set) var maximumConcurrentRequests = 0
  private(set) var disconnects = 0
  private(set) var bodyBytes = 0
  private var concurrentRequests = 0
  private var forgotten = 0
  private(set) var webSockets: [RecordedWebSocket] = []
  private var forgottenWebSockets = 0

  mutating func opened() -> Int {
    defer { connectionCount += 1 }
    openConnections += 1
    return connectionCount
  }

  mutating func closed(isDisconnect: Bool) {
    openConnections -= 1
    if isDisconnect { disconnects += 1 }
  }

  /// Adds a request whose head was read; returns its index.
  mutating func began(_ request: RecordedRequest) -> Int {
    requests.append(request)
    concurrentRequests += 1
    maximumConcurrentRequests = max(maximumConcurrentRequests, concurrentRequests)
    return forgotten + requests.count - 1
  }

  mutating func forgetRequests() {
    forgotten += requests.count
    requests = []
    forgottenWebSockets += webSockets.count
    webSockets = []
  }

  /// Adds a WebSocket whose handshake was accepted; returns its index.
  mutating func began(_ socket: RecordedWebSocket) -> Int {
    webSockets.append(socket)
    return forgottenWebSockets + webSockets.count - 1
  }

  mutating func updateWebSocket(at index: Int, _ change: (inout RecordedWebSocket) -> Void) {
    guard index >= forgottenWebSockets else { return }
    change(&webSockets[index - forgottenWebSockets])
  }

  /// Replaces a request with a version that has more of its body.
  mutating func update(_ request: RecordedRequest, at index: Int) {
    guard index >= forgotten else { return }
    requests[index - forgotten] = request
  }

  /// Records that a request got its response or was abandoned.
  mutating func ended() { concurrentRequests -= 1 }

  mutating func received(_ count: Int) { bodyBytes += count }

  mutating func refused(_ request: MalformedRequest) { malformed.append(request) }
}

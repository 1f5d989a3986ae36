/// Work that goes on after a request has ended, and that a drained client finishes, such as an outbox.
protocol ClientWork: AnyObject, Sendable {
  /// What a snapshot of the client shows of it.
  var shown: any Sendable { get }
  /// Takes nothing more.
  func beginClosing()
  /// Finishes, and records what was done; gives up after a time.
  func close(within timeout: Duration?) async
}

/// Work that outlives requests and that `drain` completes, such as an outbox.
protocol ClientWork: AnyObject, Sendable {
  /// The status for snapshots of the client's activity.
  var shown: any Sendable { get }
  /// Rejects new requests from now on.
  func beginClosing()
  /// Completes and records the work, within a time limit if there is one.
  func close(within timeout: Duration?) async
}

extension ClientCore {
  /// The minimum time for cancelled work and its file operations to end.
  static let workPatience = Duration.seconds(2)
}

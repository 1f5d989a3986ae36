/// Work that a client drains together with its requests, such as an outbox or an upload of metrics.
///
/// ``HTTPClient/drain(timeout:)`` first calls ``beginDraining()``, then waits for running requests, then calls
/// ``finishDraining(within:)``. See <doc:ExtendingMartlet>.
public protocol ClientWork: AnyObject, Sendable {
  /// The current status, for ``ActivityMonitor/Snapshot/work``.
  ///
  /// It is read for each snapshot, on any thread.
  var snapshot: any Sendable { get }

  /// Stops accepting and starting work.
  ///
  /// The client refuses requests from now on, and running requests finish. Called on any thread; it must not block.
  func beginDraining()

  /// Waits until the work has ended and is recorded.
  ///
  /// By then, no request of the client is running.
  ///
  /// - Parameter limit: The maximum time, at least 2 s, after which the work must be cancelled; `nil` for no limit.
  func finishDraining(within limit: Duration?) async

  /// Ends waits between requests, such as the delay before a repetition.
  ///
  /// Called after ``HTTPClient/cancelAll()`` has cancelled the running requests, on any thread; it must not block. Does
  /// nothing by default.
  func cancelWaits()
}

extension ClientWork {
  public func cancelWaits() {}
}

extension HTTPClient {
  /// Attaches work to be drained by ``drain(timeout:)``; attaching it again has no effect.
  ///
  /// The client retains the work until it is detached.
  ///
  /// - Parameter work: The work.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/clientClosed`` after ``drain(timeout:)`` was called.
  public nonisolated func attach(_ work: any ClientWork) throws {
    try core.enter(work)
    core.activityChanged()
  }

  /// Detaches work that has ended.
  ///
  /// - Parameter work: The work.
  public nonisolated func detach(_ work: any ClientWork) {
    core.leave(work)
    core.activityChanged()
  }

  /// Reports that the status of attached work has changed, for ``ActivityMonitor/snapshots``.
  public nonisolated func workDidChange() { core.activityChanged() }

  /// Whether ``drain(timeout:)`` was called, so requests are refused.
  public nonisolated var isClosed: Bool { core.isClosed }
}

extension ClientCore {
  /// The minimum time for cancelled work and its file operations to end.
  static let workPatience = Duration.seconds(2)
}

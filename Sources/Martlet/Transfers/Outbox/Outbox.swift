public import Foundation

/// A durable queue of requests that outlive the process.
///
/// What ``submit(_:key:)`` has returned for is delivered, after a crash and a restart too, at least once and with an
/// `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header) by which a server can tell that it has had it already.
/// Requests with the same key are delivered one after the other, in their order. A host that fails gets growing pauses.
/// What can never be delivered becomes a dead letter (``DeadLetter``).
///
/// Any number of processes may have an outbox in the same folder: each of them submits, one of them sends, and another
/// one goes on when that one ends.
///
/// ```swift
/// let outbox = try await client.outbox(at: folder)
/// try await outbox.submit(.post("/events", body: .json(event)), key: "user-7")
/// ```
///
/// An outbox that is let go of delivers what it has; then it ends. `HTTPClient.drain(timeout:)` ends it, too, and what
/// is left waits for the next process.
public final class Outbox: Sendable {
  private let core: OutboxCore

  init(_ core: OutboxCore) { self.core = core }

  deinit { core.release() }

  /// Adds a request; once this returns, it is synced to disk.
  ///
  /// Its URL is made whole, and the request is checked as if it were sent. Header fields and body are stored as they
  /// are, secrets among them, in files for their owner only: better than a field `Authorization` is a credential of
  /// the client or of ``Outbox/Options/request``, which is not stored. What the client adds to each request, it adds
  /// when this one is sent. A body of more than 64 KiB goes to a file of its own; a stream is read to its end first.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - key: What it is delivered in order with; `nil` if its order does not matter.
  /// - Returns: Its number, which is its `Idempotency-Key`, too, unless it has one.
  /// - Throws: ``HTTPError``: ``HTTPError/Kind/invalidRequest``; ``HTTPError/Kind/file`` if the disk is full or the
  ///   folder cannot be written; ``HTTPError/Kind/queue`` or ``HTTPError/Kind/bodyTooLarge`` if there is no room
  ///   (``Outbox/Options/maximumBytes``); ``HTTPError/Kind/clientClosed``. Nothing of it is kept then.
  @discardableResult
  public func submit(_ request: HTTPRequest, key: String? = nil) async throws -> UUID {
    try await core.submit(request, key: key)
  }

  /// The status of the outbox.
  public var status: Outbox.Status { core.status }

  /// The events in this process from now on, until the outbox ends.
  ///
  /// A reader that falls more than 4,096 events behind loses the oldest ones.
  public var events: AsyncStream<Outbox.Event> { core.events() }

  /// The dead letters, oldest first; kept until they are removed or delivered.
  ///
  /// - Returns: The dead letters.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/clientClosed``.
  public func deadLetters() async throws -> [Outbox.DeadLetter] { try await core.ask { .list($0) } }

  /// Submits a dead letter again, after pending requests with the same key.
  ///
  /// - Parameter id: Its number.
  /// - Returns: Whether there is one.
  /// - Throws: ``HTTPError``: ``HTTPError/Kind/file``, ``HTTPError/Kind/clientClosed``.
  @discardableResult
  public func retry(_ id: UUID) async throws -> Bool { try await core.ask { .command(.revive(id), $0) } }

  /// Removes a dead letter or a pending request.
  ///
  /// - Parameter id: Its number.
  /// - Returns: Whether it was removed: not one that this process is sending.
  /// - Throws: ``HTTPError``: ``HTTPError/Kind/file``, ``HTTPError/Kind/clientClosed``.
  @discardableResult
  public func remove(_ id: UUID) async throws -> Bool { try await core.ask { .command(.remove(id), $0) } }

  /// Retries all hosts at once, for example when the network is back.
  public func retryNow() { core.post(.hurry) }

  /// Waits until nothing is pending; returns early when the task is cancelled, or the outbox has ended.
  public func waitUntilIdle() async { await core.waitUntilIdle() }

  /// Starts nothing new, lets what is being sent come to its end, and lets another process send.
  ///
  /// - Parameter timeout: How long to wait; what is being sent then is cancelled, and is sent again by the next
  ///   process. `nil` waits without a limit of its own.
  public func close(within timeout: Duration? = nil) async { await core.close(within: timeout) }
}

extension Outbox {
  /// A request that an ``Outbox`` could not deliver.
  public struct DeadLetter: Sendable, Identifiable {
    /// Its number.
    public let id: UUID
    /// The request.
    public let request: HTTPRequest
    /// The key given to ``Outbox/submit(_:key:)``, or `nil`.
    public let key: String?
    /// Why it was not delivered: the last failure.
    ///
    /// With a failure that may pass, it was the last of ``attempts`` (``Outbox/Options/maximumAttempts``), or the request
    /// had become too old (``Outbox/Options/maximumAge``).
    public let failure: Failure
    /// How often a server has refused it for the time being.
    public let attempts: Int
    /// When it was submitted.
    public let submittedAt: Date
    /// When delivery was given up.
    public let diedAt: Date
  }

  /// An event in an ``Outbox``.
  public enum Event: Sendable {
    /// A request is safe on the disk.
    case submitted(UUID)
    /// A server has taken it.
    case delivered(UUID, HTTPStatus)
    /// An attempt failed; its host is tried again after a delay.
    case failed(UUID, Failure, delay: Duration)
    /// It became a dead letter.
    case died(UUID, Failure)
    /// The folder could not be read or written; it is tried again.
    case problem(any Error)
  }
}

extension HTTPClient {
  /// Opens an outbox whose requests this client sends.
  ///
  /// What an earlier process has left in the folder is delivered from now on. The system's locks must work there, which
  /// they may not on a network file system.
  ///
  /// - Parameters:
  ///   - directory: The folder, for this alone; made if it is not there, for its owner only.
  ///   - options: How it delivers.
  /// - Returns: The outbox.
  /// - Throws: ``HTTPError``: ``HTTPError/Kind/file`` for a folder that cannot be used,
  ///   ``HTTPError/Kind/invalidRequest`` for options that cannot be, ``HTTPError/Kind/clientClosed``.
  public nonisolated func outbox(
    at directory: URL, options: Outbox.Options = Outbox.Options()
  ) async throws -> Outbox {
    try await core.outbox(at: directory, options)
  }
}

public import Martlet
public import MartletBase

/// A durable queue of requests that outlive the process.
///
/// Once ``submit(_:key:)`` returns, a request survives a crash and a restart. It is sent until a server accepts it or
/// it becomes a dead letter (``DeadLetter``). It may be sent more than once, with an `Idempotency-Key`
/// (draft-ietf-httpapi-idempotency-key-header) by which a server can recognize repetitions. Requests with the same key
/// are delivered one at a time, in order. A failing host is retried with growing delays.
///
/// Any number of processes can open an outbox in the same folder: each of them can submit, and one of them sends. When
/// the sender ends, another process takes over.
///
/// ```swift
/// let outbox = try await client.outbox(at: folder)
/// try await outbox.submit(.post("/events", body: .json(event)), key: "user-7")
/// ```
///
/// A released outbox delivers its requests, then stops. `HTTPClient.drain(timeout:)` also stops it, and the remaining
/// requests wait for the next process.
public final class Outbox: Sendable {
  private let core: OutboxCore

  init(_ core: OutboxCore) { self.core = core }

  deinit { core.release() }

  /// Adds a request; once this returns, it is synced to disk.
  ///
  /// The URL is made absolute, and the request is checked as if it were sent. Header fields and body are stored
  /// unchanged, including secrets, in private files: instead of an `Authorization` field, use a credential of the
  /// client or of ``Outbox/Options/request``, which is not stored. Fields that the client adds to every request are
  /// added when the request is sent. A body of more than 64 KiB is stored in its own file; a stream is read to its end
  /// first.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - key: A key; requests with the same key are delivered in order. `nil` if the order does not matter.
  /// - Returns: The identifier, which is also the `Idempotency-Key` unless the request has one.
  /// - Throws: `HTTPError`: `.invalidRequest`; `.file` if the disk is full or the
  ///   folder cannot be written; `.queue` or `.bodyTooLarge` if there is no room
  ///   (``Outbox/Options/maximumBytes``); `.clientClosed`. The request is then not stored.
  @discardableResult
  public func submit(_ request: HTTPRequest, key: String? = nil) async throws -> UUID {
    try await core.submit(request, key: key)
  }

  /// The status of the outbox.
  public var status: Outbox.Status { core.status }

  /// The events in this process from now on, until the outbox ends.
  ///
  /// A reader that falls more than 4,096 events behind loses the oldest ones.
  public var events: AsyncStream<Outbox.Event> { core.events.stream(.bufferingNewest(4096)) }

  /// The dead letters, oldest first; kept until they are removed or delivered.
  ///
  /// - Returns: The dead letters.
  /// - Throws: `HTTPError` of kind `.clientClosed`.
  public func deadLetters() async throws -> [Outbox.DeadLetter] { try await core.ask { .list($0) } }

  /// Submits a dead letter again, after pending requests with the same key.
  ///
  /// - Parameter id: The identifier of the dead letter.
  /// - Returns: Whether the dead letter exists.
  /// - Throws: `HTTPError`: `.file`, `.clientClosed`.
  @discardableResult
  public func retry(_ id: UUID) async throws -> Bool { try await core.ask { .change(.revived(id, at: core.now), $0) } }

  /// Removes a dead letter or a pending request.
  ///
  /// - Parameter id: The identifier of the request.
  /// - Returns: Whether it was removed; a request that this process is sending is not.
  /// - Throws: `HTTPError`: `.file`, `.clientClosed`.
  @discardableResult
  public func remove(_ id: UUID) async throws -> Bool { try await core.ask { .change(.gone(id), $0) } }

  /// Retries all hosts at once, for example when the network is back.
  public func retryNow() { core.post(.hurry) }

  /// Waits until nothing is pending; returns early when the task is cancelled, or the outbox has ended.
  public func waitUntilIdle() async { await core.waitUntilIdle() }

  /// Ends the outbox, and lets another process send; running deliveries finish.
  ///
  /// Later submissions throw `.clientClosed`; pending requests wait for the next process.
  ///
  /// - Parameter timeout: The maximum time to wait, after which running deliveries are cancelled; the next process
  ///   repeats them. `nil` sets no limit.
  public func close(within timeout: Duration? = nil) async { await core.finishDraining(within: timeout) }
}

extension Outbox {
  /// A request that an ``Outbox`` could not deliver.
  public struct DeadLetter: Sendable, Identifiable {
    /// The identifier.
    public let id: UUID
    /// The request.
    public let request: HTTPRequest
    /// The key given to ``Outbox/submit(_:key:)``, or `nil`.
    public let key: String?
    /// The last failure.
    ///
    /// If it was temporary, the request had reached ``Outbox/Options/maximumAttempts`` or
    /// ``Outbox/Options/maximumAge``.
    public let failure: Failure
    /// The number of temporary failures that involved a server.
    public let attempts: Int
    /// When it was submitted.
    public let submittedAt: Date
    /// The time of the last failure.
    public let failedAt: Date
  }

  /// An event in an ``Outbox``.
  @nonexhaustive public enum Event: Sendable {
    /// A request was synced to disk.
    case submitted(UUID)
    /// A server has accepted a request.
    case delivered(UUID, HTTPStatus)
    /// An attempt failed; its host is tried again after a delay.
    case failed(UUID, Failure, delay: Duration)
    /// A request became a dead letter.
    case deadLettered(UUID, Failure)
    /// The folder could not be read or written; the outbox tries again.
    case problem(any Error)
  }
}

extension HTTPClient {
  /// Opens an outbox whose requests this client sends.
  ///
  /// Requests that an earlier process left in the folder are delivered from now on. The system's locks must work there,
  /// which may not be the case on a network file system.
  ///
  /// - Parameters:
  ///   - directory: A folder for the outbox only; if it does not exist, it is created as a private folder.
  ///   - options: Options for the outbox.
  /// - Returns: The outbox.
  /// - Throws: `HTTPError`: `.file` if the folder cannot be used,
  ///   `.invalidRequest` for invalid options, `.clientClosed`.
  public nonisolated func outbox(
    at directory: URL, options: Outbox.Options = Outbox.Options()
  ) async throws -> Outbox {
    try await OutboxCore.open(self, at: directory, options)
  }
}

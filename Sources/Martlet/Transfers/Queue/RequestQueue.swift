public import Foundation

/// Sends many requests, a few at a time, with priorities, dependencies and one progress for all.
///
/// What was added lives until it succeeds, fails or is cancelled, also when the queue is let go of. A request that
/// waits for its turn has no task and no thread, and its time limits begin when it starts.
///
/// ```swift
/// let queue = RequestQueue(client: client, limits: .concurrent(4, perHost: 2))
/// for url in pages { queue.add(.get("\(raw: url)")) }
/// print(await queue.finish().succeeded)
/// ```
public final class RequestQueue: Sendable {
  private let core: QueueCore

  /// Makes a queue.
  ///
  /// - Parameters:
  ///   - client: The client that sends.
  ///   - limits: How many requests are under way at a time; 4 by default.
  ///   - onFailure: What a failure means for the others.
  ///   - progress: How ``progress`` is counted.
  ///   - paused: Whether nothing starts before ``resume()``.
  public init(
    client: HTTPClient = .shared, limits: Limits = .concurrent(4), onFailure: FailurePolicy = .carryOn,
    progress: Progress.Kind = .simple, paused: Bool = false
  ) {
    core = QueueCore(client.core, limits, onFailure, progress, isPaused: paused)
  }

  /// Adds a request.
  ///
  /// - Parameters:
  ///   - request: The request. What is wrong with it is the handle's error at once.
  ///   - priority: Requests with a higher one start first; of equal ones that which was added first.
  ///   - predecessors: The requests of this queue that must have succeeded before. If one fails or is cancelled, this
  ///     one fails with ``HTTPError/Kind/queue``, and so do those that come after it. Of requests that have ended, the
  ///     last 10,000 can be named.
  ///   - options: What is different for this one.
  /// - Returns: Its handle; dropping it does nothing.
  @discardableResult
  public func add(
    _ request: HTTPRequest, priority: Int = 0, after predecessors: [RequestID] = [],
    options: RequestOptions = RequestOptions()
  ) -> RequestHandle<HTTPResponse> {
    core.add(request, options: options, priority: priority, after: predecessors) { [client = core.client] call in
      try await client.response(of: call)
    }
  }

  /// Adds a download.
  ///
  /// As `add`, and as `HTTPClient.download(_:to:options:progress:)`.
  ///
  /// - Parameters:
  ///   - request: The request; a literal is a `GET`.
  ///   - destination: The file, a folder, or `nil` for a temporary file.
  ///   - priority: Requests with a higher one start first.
  ///   - predecessors: The requests of this queue that must have succeeded before.
  ///   - options: How to download, and what is different for this request.
  ///   - progress: Called at most 20 times a second, and at the end, on any thread; it must be quick. It counts the
  ///     file, with what was there before; ``progress`` of the queue counts what is fetched.
  /// - Returns: Its handle; dropping it does nothing.
  @discardableResult
  public func download(
    _ request: HTTPRequest, to destination: URL? = nil, priority: Int = 0, after predecessors: [RequestID] = [],
    options: DownloadOptions = DownloadOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) -> RequestHandle<DownloadedFile> {
    let order = DownloadOrder(destination: destination, options: options, progress: progress)
    return core.add(request, options: core.client.unbounded(options.request), priority: priority, after: predecessors) {
      [client = core.client] call in
      try await client.fetch(call, order)
    }
  }

  /// Makes one request wait for another one in the queue.
  ///
  /// - Parameters:
  ///   - predecessor: The request that comes first.
  ///   - request: The request that comes after it.
  /// - Returns: Whether it waits: not if it has started, or the other one has succeeded.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/queue`` if one of them is not of this queue, the first one has
  ///   failed, or each would wait for the other.
  @discardableResult
  public func add(_ predecessor: RequestID, before request: RequestID) throws -> Bool {
    try core.add(predecessor, before: request)
  }

  /// Lets requests start, after ``pause()`` or if the queue was made paused; nothing happens the second time.
  public func resume() { core.resume() }

  /// Keeps requests from starting; what is under way goes on.
  public func pause() { core.pause() }

  /// Cancels all requests in the queue; new ones can be added afterwards.
  ///
  /// - Returns: How many requests it ended.
  @discardableResult
  public func cancelAll() -> Int { core.cancelAll() }

  /// Waits until every request is at its end, and takes no new ones from now on.
  ///
  /// A paused queue is resumed. A waiting task that is cancelled waits no longer; the requests go on.
  ///
  /// - Returns: What became of the requests.
  @discardableResult
  public func finish() async -> RequestQueue.Summary { await core.finish() }

  /// The current progress of the queue.
  public var status: RequestQueue.Progress { core.status }

  /// How far it is: the newest state only, the current one at once, until ``finish()`` is done.
  public var progress: AsyncStream<RequestQueue.Progress> { core.progress() }

  /// What happens to its requests from now on, until ``finish()`` is done.
  ///
  /// A reader that falls more than 4,096 events behind loses the oldest ones.
  public var events: AsyncStream<RequestQueue.Event> { core.events() }
}

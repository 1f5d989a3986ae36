public import MartletBase

/// Sends many requests with limits, priorities, dependencies and a shared progress.
///
/// Added requests run until they succeed, fail or are cancelled, even if the queue is released: a paused queue is then
/// resumed. A request that waits for its turn has no task and no thread, and its time limits begin when it starts.
///
/// ```swift
/// let queue = RequestQueue(client: client, limits: .concurrent(4, perHost: 2))
/// for url in pages { queue.add(url) }
/// print(await queue.finish().succeeded)
/// ```
public final class RequestQueue: Sendable {
  private let core: QueueCore

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - client: The client that sends the requests.
  ///   - limits: The limits on concurrent requests; 4 in total by default.
  ///   - onFailure: The effect of a failure on the other requests.
  ///   - progress: How ``progress`` is computed.
  ///   - paused: Whether requests start only after ``resume()``, or when the queue is released.
  public init(
    client: HTTPClient = .shared, limits: Limits = .concurrent(4), onFailure: FailurePolicy = .continueOthers,
    progress: Progress.Kind = .simple, paused: Bool = false
  ) {
    core = QueueCore(client.core, limits, onFailure, progress, isPaused: paused)
  }

  deinit { core.release() }

  /// Adds a request.
  ///
  /// - Parameters:
  ///   - request: The request. If it is invalid, the handle throws the error.
  ///   - priority: The priority. Requests with a higher priority start first, those with the same priority in the order
  ///     in which they were added.
  ///   - predecessors: The requests of this queue that must have succeeded before. If one fails or is cancelled, this
  ///     one fails with ``HTTPError/Kind/queueFailed``, and so do those that come after it. Only the last 10,000
  ///     requests that have ended can be predecessors.
  ///   - options: Per-request options.
  /// - Returns: A handle; releasing it does not affect the request.
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
  /// Like `add`, and like `HTTPClient.download(_:to:options:progress:)`.
  ///
  /// - Parameters:
  ///   - request: The request; a literal is a `GET`.
  ///   - destination: The file, a folder, or `nil` for a temporary file.
  ///   - priority: The priority. Requests with a higher priority start first.
  ///   - predecessors: The requests of this queue that must have succeeded before.
  ///   - options: Options for the download and its request.
  ///   - progress: Called at most 20 times a second, and at the end, on any thread; it must return quickly. It includes
  ///     the bytes of an earlier download; ``progress`` of the queue counts only the bytes that are fetched.
  /// - Returns: A handle; releasing it does not affect the request.
  @discardableResult
  public func download(
    _ request: HTTPRequest, to destination: URL? = nil, priority: Int = 0, after predecessors: [RequestID] = [],
    options: DownloadOptions = DownloadOptions(), progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) -> RequestHandle<DownloadedFile> {
    let order = DownloadParameters(destination: destination, options: options, progress: progress)
    return core.add(request, options: core.client.unbounded(options.request), priority: priority, after: predecessors) {
      [client = core.client] call in
      try await client.fetch(call, order)
    }
  }

  /// Adds a `GET` request to a target in a variable, such as a `URL` or a `String`.
  ///
  /// See ``add(_:priority:after:options:)-(HTTPRequest,_,_,_)``.
  @discardableResult
  @_disfavoredOverload public func add(
    _ target: some RequestTargetConvertible, priority: Int = 0, after predecessors: [RequestID] = [],
    options: RequestOptions = RequestOptions()
  ) -> RequestHandle<HTTPResponse> {
    add(.get(target.requestTarget), priority: priority, after: predecessors, options: options)
  }

  /// Adds a download of a target in a variable, such as a `URL` or a `String`.
  ///
  /// See ``download(_:to:priority:after:options:progress:)-(HTTPRequest,_,_,_,_,_)``.
  @discardableResult
  @_disfavoredOverload public func download(
    _ target: some RequestTargetConvertible, to destination: URL? = nil, priority: Int = 0,
    after predecessors: [RequestID] = [], options: DownloadOptions = DownloadOptions(),
    progress: (@Sendable (TransferProgress) -> Void)? = nil
  ) -> RequestHandle<DownloadedFile> {
    download(
      .get(target.requestTarget), to: destination, priority: priority, after: predecessors, options: options,
      progress: progress)
  }

  /// Makes one request wait for another one in the queue.
  ///
  /// - Parameters:
  ///   - predecessor: The request that comes first.
  ///   - request: The request that comes after it.
  /// - Returns: Whether it waits; `false` if it has started, or the predecessor has succeeded.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/queueFailed`` if one of them is not in this queue, the first one
  ///   has failed, or they would wait for each other.
  @discardableResult
  public func addDependency(_ predecessor: RequestID, to request: RequestID) throws -> Bool {
    try core.add(predecessor, before: request)
  }

  /// Lets requests start, after ``pause()`` or in a queue created paused; repeated calls have no effect.
  public func resume() { core.resume() }

  /// Keeps requests from starting until ``resume()``, or until the queue is released; running ones continue.
  ///
  /// `HTTPClient.drain(timeout:)` waits for requests of a paused queue.
  public func pause() { core.pause() }

  /// Cancels all requests in the queue; new ones can be added afterwards.
  ///
  /// - Returns: The number of cancelled requests.
  @discardableResult
  public func cancelAll() -> Int { core.cancelAll() }

  /// Waits until all requests have ended, and refuses new ones from now on.
  ///
  /// A paused queue is resumed. If the waiting task is cancelled, only the wait ends; the requests continue.
  ///
  /// - Returns: The outcomes of the requests.
  @discardableResult
  public func finish() async -> RequestQueue.Summary { await core.finish() }

  /// The current progress of the queue.
  public var status: RequestQueue.Progress { core.status }

  /// The progress: the current value, then the newest one after each change.
  ///
  /// The stream ends when all requests have ended, after ``finish()`` or the release of the queue.
  public var progress: AsyncStream<RequestQueue.Progress> { core.progressStream() }

  /// The events of the requests from now on.
  ///
  /// The stream ends when all requests have ended, after ``finish()`` or the release of the queue. A reader that falls
  /// more than 4,096 events behind loses the oldest ones.
  public var events: AsyncStream<RequestQueue.Event> { core.events.stream(.bufferingNewest(4096)) }
}

import MartletBase

/// A handle to await, observe, cancel or repeat a started request.
///
/// Releasing the handle does not affect the request.
public final class RequestHandle<Output: Sendable>: Sendable, Identifiable {
  let call: Call?
  private let origin: any RequestOrigin
  private let result: Promise<Output>
  private let again: @Sendable (RequestID?) -> RequestHandle<Output>
  /// Closures that attach the callbacks and the scope of this request to a repetition.
  private let followers = Locked<[@Sendable (RequestHandle<Output>) -> Void]>([])
  private let isCancelled = Locked(false)

  /// Creates a handle of a call, or of a request that the gate refused.
  init(
    _ origin: any RequestOrigin, _ result: Promise<Output>,
    _ again: @escaping @Sendable (RequestID?) -> RequestHandle<Output>
  ) {
    call = origin as? Call
    self.origin = origin
    self.result = result
    self.again = again
  }

  /// The identifier of the call.
  public var id: RequestID { origin.id }

  /// The identifier of the call that this one repeats, or `nil`.
  public var retryOf: RequestID? { origin.retryOf }

  /// The output of the request.
  ///
  /// Any number of tasks may wait. A waiting task that is cancelled gets `CancellationError`; the request continues.
  ///
  /// - Throws: ``HTTPError``, `CancellationError`, or an error thrown by middleware.
  public var value: Output {
    get async throws { try await result.value() }
  }

  /// The state of the request.
  public var state: RequestEvent.State { origin.stage }

  /// Whether the request is still in progress.
  public var isAlive: Bool { !state.isEnded }

  /// The original request, with its absolute URL if valid.
  public var request: HTTPRequest { origin.request }

  /// The request as it was last sent, after middleware and redirects.
  public var finalRequest: HTTPRequest { call?.currentRequest ?? request }

  /// The response, or `nil` before it has arrived.
  public var response: HTTPResponse? { call?.response }

  /// The decisions about the request so far, with their reasons.
  ///
  /// All of them with ``RequestOptions/explains``; otherwise those that go beyond sending the request once.
  public var explanation: Explanation { call?.explanation ?? Explanation() }

  /// All events of the request, from ``RequestEvent/started`` to ``RequestEvent/ended(_:)``.
  ///
  /// A stream created later begins with the past events. A reader that falls more than 512 events behind loses the
  /// oldest events.
  public var events: AsyncStream<RequestEvent> {
    if let call { return call.eventStream() }
    let state = state
    return AsyncStream { continuation in
      if case .ended(let end) = state { continuation.yield(.ended(end)) }
      continuation.finish()
    }
  }

  /// The progress of the request: the current value, then the newest one after each change.
  ///
  /// At most 20 values arrive per second. The last value arrives before the stream ends; if the request has succeeded,
  /// its ``TransferProgress/fraction`` is 1. A stream created after the end of the request yields only that value.
  public var progress: AsyncStream<TransferProgress> {
    call?.progressStream() ?? AsyncStream { $0.finish() }
  }

  /// Cancels the request and closes its connection.
  ///
  /// Tasks that wait for ``value`` get `CancellationError`. No callback runs, even if the request has ended and its
  /// callback is still due; with ``RequestOptions/reportsCancellation``, `onError` does. Repeated calls have no effect.
  public func cancel() {
    isCancelled.withLock { $0 = true }
    call?.cancel()
  }

  /// Sends the request again, even while it is running, with the same options, callbacks and scope.
  ///
  /// - Returns: The handle of the new request; its ``retryOf`` is this one's ``id``.
  @discardableResult
  public func retry() -> RequestHandle<Output> {
    let handle = again(id)
    for follow in followers.withLock({ $0 }) {
      handle.onRetry(follow)
      follow(handle)
    }
    return handle
  }

  /// Adds a closure that attaches callbacks or a scope to each repetition.
  func onRetry(_ follow: @escaping @Sendable (RequestHandle<Output>) -> Void) {
    followers.withLock { $0.append(follow) }
  }

  /// Whether callbacks are suppressed, as after `cancel()`.
  var isSilenced: Bool { isCancelled.withLock { $0 } || call?.isSilenced ?? false }

  /// Whether callbacks receive a cancellation.
  var reportsCancellation: Bool { call?.options.source.reportsCancellation ?? false }

  /// Waits for the end and ignores cancellation of the waiting task: callbacks are pending.
  func outcome() async -> Result<Output, any Error> { await result.outcome() }
}

/// The request of a handle.
protocol RequestOrigin: Sendable {
  var id: RequestID { get }
  var retryOf: RequestID? { get }
  var request: HTTPRequest { get }
  var stage: RequestEvent.State { get }
}

extension Call: RequestOrigin {}

/// A request that the gate refused.
struct RefusedRequest: RequestOrigin {
  let id = ClientCore.nextID()
  let retryOf: RequestID?
  let request: HTTPRequest
  let error: any Error

  var stage: RequestEvent.State { .ended(.failed(error)) }
}

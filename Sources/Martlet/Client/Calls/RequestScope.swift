import MartletBase

/// A group of requests that ends with its owner, such as a screen or a session.
///
/// Keep it as a property of the owner. When the scope is released, or ``cancelAll()`` is called, its requests are
/// cancelled and their callbacks do not run.
///
/// ```swift
/// requests.start(.get("/search", query: ["q": text]), replacing: "search", for: self) { model, response in
///   model.show(response)
/// }
/// ```
public final class RequestScope: Sendable {
  private struct State: ~Copyable {
    var members: [RequestID: Call] = [:]
    var keyed: [String: RequestID] = [:]
    var isEnded = false
  }

  let client: HTTPClient
  let options: RequestOptions
  private let state = Locked(State())

  /// Creates a scope.
  ///
  /// - Parameters:
  ///   - client: The client.
  ///   - options: The options of all requests in the scope; they override the client's options, and the endpoint's
  ///     override them.
  public init(client: HTTPClient = .shared, options: RequestOptions = RequestOptions()) {
    self.client = client
    self.options = options
  }

  deinit { end() }

  /// The number of requests in progress in this scope.
  public var count: Int { state.withLock { $0.members.count } }

  /// Starts a request that ends with the scope.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - key: A key that identifies the request; an earlier request with the same key, such as that of an earlier
  ///     keystroke, is cancelled.
  ///   - options: Per-request options.
  /// - Returns: A handle; releasing it does not affect the request.
  @discardableResult
  public func start(
    _ request: HTTPRequest, replacing key: String? = nil, options: RequestOptions = RequestOptions()
  ) -> RequestHandle<HTTPResponse> {
    join(client.start(request, options: options.over(self.options)), key)
  }

  /// Starts an endpoint's request that ends with the scope.
  ///
  /// - Parameters:
  ///   - endpoint: The endpoint.
  ///   - key: A key that identifies the request; an earlier request with the same key is cancelled.
  /// - Returns: A handle; releasing it does not affect the request.
  @discardableResult
  public func start<E: Endpoint>(_ endpoint: E, replacing key: String? = nil) -> RequestHandle<E.Output> {
    join(client.core.start(endpoint, below: options), key)
  }

  /// Starts a request and calls back on the caller's actor while the owner exists.
  ///
  /// The owner is held weakly, so no retain cycle is possible.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - key: A key that identifies the request; an earlier request with the same key is cancelled.
  ///   - owner: The owner of the callbacks; they are not called after it is deallocated.
  ///   - options: Per-request options.
  ///   - isolation: The caller's actor.
  ///   - onSuccess: Called with the owner and an accepted response.
  ///   - onError: Called with the owner and the error; not after a cancellation.
  /// - Returns: A handle; releasing it does not affect the request.
  @discardableResult
  public func start<Owner: AnyObject>(
    _ request: HTTPRequest, replacing key: String? = nil, for owner: Owner,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onSuccess: @escaping (Owner, HTTPResponse) -> Void, onError: @escaping (Owner, HTTPError) -> Void = { _, _ in }
  ) -> RequestHandle<HTTPResponse> {
    let handle = client.start(request, options: options.over(self.options))
    return join(handle, key, owner, isolation, onSuccess, onError)
  }

  /// Adds a request that was started elsewhere to the scope.
  ///
  /// - Parameter handle: The handle of the request.
  public func add(_ handle: RequestHandle<some Sendable>) { join(handle, nil) }

  /// Cancels all requests in the scope; new ones can be started afterwards.
  public func cancelAll() {
    let members = state.withLock { state in
      defer { (state.members, state.keyed) = ([:], [:]) }
      return state.members
    }
    for call in members.values { call.cancel() }
  }

  /// Cancels all requests of the scope, and all that are started later.
  func end() {
    state.withLock { $0.isEnded = true }
    cancelAll()
  }

  func join<Output: Sendable, Owner: AnyObject>(
    _ handle: RequestHandle<Output>, _ key: String?, _ owner: Owner, _ isolation: isolated (any Actor)?,
    _ onSuccess: @escaping (Owner, Output) -> Void, _ onError: @escaping (Owner, HTTPError) -> Void
  ) -> RequestHandle<Output> {
    let callbacks = Callbacks<Output>(
      onSuccess: { [weak owner] in if let owner { onSuccess(owner, $0) } },
      onError: { [weak owner] in if let owner { onError(owner, $0) } })
    callbacks.attach(to: handle, isolation: isolation)
    return join(handle, key)
  }

  @discardableResult
  private func join<Output: Sendable>(_ handle: RequestHandle<Output>, _ key: String?) -> RequestHandle<Output> {
    admit(handle, key)
    handle.onRetry { [weak self] next in
      if let self { admit(next, key) } else { next.cancel() }
    }
    return handle
  }

  private func admit<Output: Sendable>(_ handle: RequestHandle<Output>, _ key: String?) {
    guard let call = handle.call else { return }
    let id = call.id
    let cancelled: Call? = state.withLock {
      guard !$0.isEnded else { return call }
      $0.members[id] = call
      guard let key, let old = $0.keyed.updateValue(id, forKey: key) else { return nil }
      return $0.members.removeValue(forKey: old)
    }
    cancelled?.cancel()
    call.onSettled { [weak self] in self?.leave(id, key) }
  }

  private func leave(_ id: RequestID, _ key: String?) {
    let removed = state.withLock {
      if let key, $0.keyed[key] == id { $0.keyed[key] = nil }
      return $0.members.removeValue(forKey: id)
    }
    _ = removed
  }
}

/// Runs a closure with a scope, then cancels the requests that are still running.
///
/// - Parameters:
///   - client: The client.
///   - options: The options of every request of the scope.
///   - isolation: The caller's actor, on which the closure runs.
///   - body: The closure.
/// - Returns: The result of the closure.
/// - Throws: The error thrown by the closure.
public func withRequestScope<R>(
  client: HTTPClient = .shared, options: RequestOptions = RequestOptions(),
  isolation: isolated (any Actor)? = #isolation, _ body: (RequestScope) async throws -> R
) async rethrows -> R {
  let scope = RequestScope(client: client, options: options)
  defer { scope.end() }
  return try await body(scope)
}

extension HTTPClient {
  /// Starts an endpoint's request that calls back on the caller's actor, with the typed output.
  ///
  /// The request is managed: it runs until it succeeds, fails or is cancelled. After a cancellation, no callback runs,
  /// except `onError` with ``RequestOptions/reportsCancellation``.
  ///
  /// - Parameters:
  ///   - endpoint: The endpoint.
  ///   - options: Per-request options.
  ///   - isolation: The caller's actor.
  ///   - onStart: Called first.
  ///   - onSuccess: Called with the output.
  ///   - onError: Called with the error if the request fails.
  /// - Returns: A handle; releasing it does not affect the request.
  @discardableResult
  public func start<E: Endpoint>(
    _ endpoint: E, options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (E.Output) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<E.Output> {
    let handle = core.start(endpoint, above: options)
    Callbacks(onStart: onStart, onSuccess: onSuccess, onError: onError).attach(to: handle, isolation: isolation)
    return handle
  }
}

extension RequestScope {
  /// Starts an endpoint's request and calls back on the caller's actor while the owner exists.
  ///
  /// - Parameters:
  ///   - endpoint: The endpoint.
  ///   - key: A key that identifies the request; an earlier request with the same key is cancelled.
  ///   - owner: The owner of the callbacks, held weakly; they are not called after it is deallocated.
  ///   - isolation: The caller's actor.
  ///   - onSuccess: Called with the owner and the output.
  ///   - onError: Called with the owner and the error; not after a cancellation.
  /// - Returns: A handle; releasing it does not affect the request.
  @discardableResult
  public func start<E: Endpoint, Owner: AnyObject>(
    _ endpoint: E, replacing key: String? = nil, for owner: Owner,
    isolation: isolated (any Actor)? = #isolation,
    onSuccess: @escaping (Owner, E.Output) -> Void, onError: @escaping (Owner, HTTPError) -> Void = { _, _ in }
  ) -> RequestHandle<E.Output> {
    join(client.core.start(endpoint, below: options), key, owner, isolation, onSuccess, onError)
  }
}

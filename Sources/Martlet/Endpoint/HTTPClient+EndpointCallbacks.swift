extension HTTPClient {
  /// Starts an endpoint's request that calls back on the caller's actor, with the typed output.
  ///
  /// It is managed: it lives until it succeeds, fails or is cancelled. After a cancellation nothing is called.
  ///
  /// - Parameters:
  ///   - endpoint: The endpoint.
  ///   - options: What is different for this call.
  ///   - isolation: The caller's actor.
  ///   - onStart: Called first.
  ///   - onSuccess: Called with the output.
  ///   - onError: Called with the error instead.
  /// - Returns: A handle; dropping it does nothing.
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
  /// Starts an endpoint's request and calls back on the caller's actor, if the owner is still there.
  ///
  /// - Parameters:
  ///   - endpoint: The endpoint.
  ///   - key: A request started before with the same key is cancelled.
  ///   - owner: What the callbacks belong to; held weakly, and nothing is called once it is gone.
  ///   - isolation: The caller's actor.
  ///   - onSuccess: Called with the owner and the output.
  ///   - onError: Called with the owner and the error; not after a cancellation.
  /// - Returns: Its handle; dropping it does nothing.
  @discardableResult
  public func start<E: Endpoint, Owner: AnyObject>(
    _ endpoint: E, replacing key: String? = nil, for owner: Owner,
    isolation: isolated (any Actor)? = #isolation,
    onSuccess: @escaping (Owner, E.Output) -> Void, onError: @escaping (Owner, HTTPError) -> Void = { _, _ in }
  ) -> RequestHandle<E.Output> {
    join(client.core.start(endpoint, below: options), key, owner, isolation, onSuccess, onError)
  }
}

/// The verbs with callbacks.
extension HTTPClient {
  /// Starts a `GET` request that calls back on the caller's actor.
  ///
  /// The request is managed: it runs until it succeeds, fails or is cancelled. After a cancellation, no callback runs,
  /// except `onError` with ``RequestOptions/reportsCancellation``.
  ///
  /// - Parameters:
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: Per-request options.
  ///   - isolation: The caller's actor.
  ///   - onStart: Called first.
  ///   - onSuccess: Called with an accepted response.
  ///   - onError: Called with the error if the request fails.
  /// - Returns: A handle; releasing it does not affect the request.
  @discardableResult
  public func get(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    let callbacks = Callbacks(onStart: onStart, onSuccess: onSuccess, onError: onError)
    return core.start(.get(target, query: query, headers: headers), options, isolation, callbacks) { $0 }
  }

  /// Starts a `HEAD` request that calls back on the caller's actor.
  ///
  /// See `get`.
  @discardableResult
  public func head(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    let callbacks = Callbacks(onStart: onStart, onSuccess: onSuccess, onError: onError)
    return core.start(.head(target, query: query, headers: headers), options, isolation, callbacks) { $0 }
  }

  /// Starts a `DELETE` request that calls back on the caller's actor.
  ///
  /// See `get`.
  @discardableResult
  public func delete(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    let callbacks = Callbacks(onStart: onStart, onSuccess: onSuccess, onError: onError)
    return core.start(.delete(target, query: query, headers: headers, body: body), options, isolation, callbacks) { $0 }
  }

  /// Starts a `POST` request that calls back on the caller's actor.
  ///
  /// See `get`.
  @discardableResult
  public func post(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    let callbacks = Callbacks(onStart: onStart, onSuccess: onSuccess, onError: onError)
    return core.start(.post(target, query: query, headers: headers, body: body), options, isolation, callbacks) { $0 }
  }

  /// Starts a `PUT` request that calls back on the caller's actor.
  ///
  /// See `get`.
  @discardableResult
  public func put(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    let callbacks = Callbacks(onStart: onStart, onSuccess: onSuccess, onError: onError)
    return core.start(.put(target, query: query, headers: headers, body: body), options, isolation, callbacks) { $0 }
  }

  /// Starts a `PATCH` request that calls back on the caller's actor.
  ///
  /// See `get`.
  @discardableResult
  public func patch(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    let callbacks = Callbacks(onStart: onStart, onSuccess: onSuccess, onError: onError)
    return core.start(.patch(target, query: query, headers: headers, body: body), options, isolation, callbacks) { $0 }
  }
}

extension ClientCore {
  func start<Output: Sendable>(
    _ request: HTTPRequest, _ options: RequestOptions, _ isolation: isolated (any Actor)?,
    _ callbacks: Callbacks<Output>, decode: @escaping @Sendable (HTTPResponse) throws -> Output
  ) -> RequestHandle<Output> {
    let handle = start(request, options: options, decode: decode)
    callbacks.attach(to: handle, isolation: isolation)
    return handle
  }

  /// Starts a request and decodes its JSON off the caller's actor.
  func json<T: Decodable & Sendable>(
    _ request: HTTPRequest, _ options: RequestOptions, _ type: T.Type, _ isolation: isolated (any Actor)?,
    _ callbacks: Callbacks<T>
  ) -> RequestHandle<T> {
    start(request, options, isolation, callbacks) { try $0.json(type) }
  }
}

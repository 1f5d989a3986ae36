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
  @export(implementation)
  public func get(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    begin(.get(target, query: query, headers: headers), options, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `HEAD` request that calls back on the caller's actor.
  ///
  /// See `get`.
  @discardableResult
  @export(implementation)
  public func head(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    begin(.head(target, query: query, headers: headers), options, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `DELETE` request that calls back on the caller's actor.
  ///
  /// See `get`.
  @discardableResult
  @export(implementation)
  public func delete(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    begin(.delete(target, query: query, headers: headers, body: body), options, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `POST` request that calls back on the caller's actor.
  ///
  /// See `get`.
  @discardableResult
  @export(implementation)
  public func post(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    begin(.post(target, query: query, headers: headers, body: body), options, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `PUT` request that calls back on the caller's actor.
  ///
  /// See `get`.
  @discardableResult
  @export(implementation)
  public func put(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    begin(.put(target, query: query, headers: headers, body: body), options, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `PATCH` request that calls back on the caller's actor.
  ///
  /// See `get`.
  @discardableResult
  @export(implementation)
  public func patch(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    begin(.patch(target, query: query, headers: headers, body: body), options, isolation, onStart, onSuccess, onError)
  }
}

/// The callbacks of all verbs.
extension HTTPClient {
  @usableFromInline func begin(
    _ request: HTTPRequest, _ options: RequestOptions, _ isolation: isolated (any Actor)?, _ onStart: (() -> Void)?,
    _ onSuccess: @escaping (HTTPResponse) -> Void, _ onError: @escaping (HTTPError) -> Void
  ) -> RequestHandle<HTTPResponse> {
    let callbacks = Callbacks(onStart: onStart, onSuccess: onSuccess, onError: onError)
    return core.start(request, options, isolation, callbacks) { $0 }
  }

  /// Decodes the JSON of the response off the caller's actor.
  @usableFromInline func begin<T: Decodable & Sendable>(
    _ request: HTTPRequest, _ options: RequestOptions, _ type: T.Type, _ isolation: isolated (any Actor)?,
    _ onStart: (() -> Void)?, _ onSuccess: @escaping (T) -> Void, _ onError: @escaping (HTTPError) -> Void
  ) -> RequestHandle<T> {
    let callbacks = Callbacks(onStart: onStart, onSuccess: onSuccess, onError: onError)
    return core.start(request, options, isolation, callbacks) { try $0.json(type) }
  }

  /// Decodes the JSON of the response on the caller's actor.
  @usableFromInline func beginDecodingHere<T: Decodable>(
    _ request: HTTPRequest, _ options: RequestOptions, _ type: T.Type, _ isolation: isolated any Actor,
    _ onStart: (() -> Void)?, _ onSuccess: @escaping (T) -> Void, _ onError: @escaping (HTTPError) -> Void
  ) -> RequestHandle<HTTPResponse> {
    let callbacks = Callbacks(onStart: onStart, decoding: type, onSuccess: onSuccess, onError: onError)
    return core.start(request, options, isolation, callbacks) { $0 }
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
}

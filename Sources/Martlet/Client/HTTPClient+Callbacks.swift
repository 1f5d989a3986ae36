/// The verbs in block style.
extension HTTPClient {
  /// Starts a `GET` request that calls back on the caller's actor.
  ///
  /// It is managed: it lives until it succeeds, fails or is cancelled. After a cancellation nothing is called.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: What is different for this one.
  ///   - isolation: The caller's actor.
  ///   - onStart: Called first.
  ///   - onSuccess: Called with an accepted response.
  ///   - onError: Called with the error instead.
  /// - Returns: A handle; dropping it does nothing.
  @discardableResult
  public func get(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    core.start(
      .get(target, query: query, headers: headers), options, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `HEAD` request that calls back on the caller's actor;
  /// otherwise as ``get(_:query:headers:options:isolation:onStart:onSuccess:onError:)``.
  @discardableResult
  public func head(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    core.start(
      .head(target, query: query, headers: headers), options, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `DELETE` request that calls back on the caller's actor;
  /// otherwise as ``get(_:query:headers:options:isolation:onStart:onSuccess:onError:)``.
  @discardableResult
  public func delete(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    core.start(
      .delete(target, query: query, headers: headers), options, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `POST` request that calls back on the caller's actor;
  /// otherwise as ``get(_:query:headers:options:isolation:onStart:onSuccess:onError:)``.
  @discardableResult
  public func post(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    core.start(
      .post(target, query: query, headers: headers, body: body), options, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `PUT` request that calls back on the caller's actor;
  /// otherwise as ``get(_:query:headers:options:isolation:onStart:onSuccess:onError:)``.
  @discardableResult
  public func put(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    core.start(
      .put(target, query: query, headers: headers, body: body), options, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `PATCH` request that calls back on the caller's actor;
  /// otherwise as ``get(_:query:headers:options:isolation:onStart:onSuccess:onError:)``.
  @discardableResult
  public func patch(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    core.start(
      .patch(target, query: query, headers: headers, body: body), options, isolation, onStart, onSuccess, onError)
  }
}

extension ClientCore {
  func start(
    _ request: HTTPRequest, _ options: RequestOptions, _ isolation: isolated (any Actor)?,
    _ onStart: (() -> Void)?, _ onSuccess: @escaping (HTTPResponse) -> Void,
    _ onError: @escaping (HTTPError) -> Void
  ) -> RequestHandle<HTTPResponse> {
    let handle = start(request, options: options, decode: { $0 })
    Callbacks(onStart: onStart, onSuccess: onSuccess, onError: onError).attach(to: handle, isolation: isolation)
    return handle
  }
}

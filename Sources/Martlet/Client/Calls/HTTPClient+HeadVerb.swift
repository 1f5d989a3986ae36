/// The verb with `await` and with callbacks.
extension HTTPClient.HeadVerb {
  /// Sends the request and returns the whole response, with a variable as its target.
  @discardableResult
  public func callAsFunction(
    _ target: some RequestTargetConvertible, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await client.send(HTTPRequest(method, target.requestTarget, query: query, headers: headers), options: options)
  }

  /// Sends the request and returns the whole response, with dictionaries.
  @discardableResult
  public func callAsFunction(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request and returns the whole response, with variables.
  @discardableResult
  @_disfavoredOverload public func callAsFunction(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Starts the request with callbacks, with a variable as its target.
  @discardableResult
  public func callAsFunction(
    _ target: some RequestTargetConvertible, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    let request = HTTPRequest(method, target.requestTarget, query: query, headers: headers)
    let callbacks = Callbacks(onStart: onStart, onSuccess: onSuccess, onError: onError)
    return client.core.start(request, options, isolation, callbacks) { $0 }
  }

  /// Starts the request with callbacks, with dictionaries.
  @discardableResult
  public func callAsFunction(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    let request = HTTPRequest(method, target, query: query.requestQuery, headers: headers.requestHeaders)
    let callbacks = Callbacks(onStart: onStart, onSuccess: onSuccess, onError: onError)
    return client.core.start(request, options, isolation, callbacks) { $0 }
  }

  /// Starts the request with callbacks, with variables.
  @discardableResult
  @_disfavoredOverload public func callAsFunction(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    let request = HTTPRequest(method, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders)
    let callbacks = Callbacks(onStart: onStart, onSuccess: onSuccess, onError: onError)
    return client.core.start(request, options, isolation, callbacks) { $0 }
  }
}

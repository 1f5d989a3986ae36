/// A `GET` request to a target in a variable: a `URL`, a `String`, or another ``RequestTargetConvertible``.
extension HTTPClient {
  /// Sends a `GET` request to a target in a variable; see ``send(_:options:)-(HTTPRequest,_)``.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public nonisolated func send(
    _ target: some RequestTargetConvertible, options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await send(.get(target.requestTarget), options: options)
  }

  /// Starts a managed `GET` request to a target in a variable; see ``start(_:options:)-(HTTPRequest,_)``.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public nonisolated func start(
    _ target: some RequestTargetConvertible, options: RequestOptions = RequestOptions()
  ) -> RequestHandle<HTTPResponse> {
    start(.get(target.requestTarget), options: options)
  }

  /// Sends a `GET` request to a target in a variable and passes the streamed response to a closure.
  ///
  /// See ``stream(_:options:_:)-(HTTPRequest,_,_)``.
  @export(implementation)
  @_disfavoredOverload public nonisolated func stream<R: Sendable>(
    _ target: some RequestTargetConvertible, options: RequestOptions = RequestOptions(),
    _ body: nonisolated(nonsending) (StreamedResponse) async throws -> R
  ) async throws -> R {
    try await stream(.get(target.requestTarget), options: options, body)
  }

  /// Sends a `GET` request to a target in a variable and returns the streamed response.
  ///
  /// See ``stream(_:options:)-(HTTPRequest,_)``.
  @export(implementation)
  @_disfavoredOverload public nonisolated func stream(
    _ target: some RequestTargetConvertible, options: RequestOptions = RequestOptions()
  ) async throws -> StreamedResponse {
    try await stream(.get(target.requestTarget), options: options)
  }
}

extension HTTPClient.BlockingClient {
  /// Sends a `GET` request to a target in a variable and waits for the response; see `send(_:options:)`.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func send(
    _ target: some RequestTargetConvertible, options: RequestOptions = RequestOptions()
  ) throws -> HTTPResponse {
    try send(.get(target.requestTarget), options: options)
  }
}

extension RequestScope {
  /// Starts a `GET` request to a target in a variable that ends with the scope; see ``start(_:replacing:options:)``.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func start(
    _ target: some RequestTargetConvertible, replacing key: String? = nil, options: RequestOptions = RequestOptions()
  ) -> RequestHandle<HTTPResponse> {
    start(.get(target.requestTarget), replacing: key, options: options)
  }

  /// Starts a `GET` request to a target in a variable and calls back while the owner exists.
  ///
  /// See ``start(_:replacing:for:options:isolation:onSuccess:onError:)``.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func start<Owner: AnyObject>(
    _ target: some RequestTargetConvertible, replacing key: String? = nil, for owner: Owner,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onSuccess: @escaping (Owner, HTTPResponse) -> Void, onError: @escaping (Owner, HTTPError) -> Void = { _, _ in }
  ) -> RequestHandle<HTTPResponse> {
    start(
      .get(target.requestTarget), replacing: key, for: owner, options: options, isolation: isolation,
      onSuccess: onSuccess, onError: onError)
  }
}

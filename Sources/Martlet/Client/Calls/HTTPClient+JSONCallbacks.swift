/// The verbs in block style, with the JSON of the response decoded.
extension HTTPClient {
  /// Starts a `GET` request that calls back on the caller's actor with the decoded JSON of the response.
  ///
  /// The request is managed: it runs until it succeeds, fails or is cancelled. After a cancellation, no callback runs,
  /// except `onError` with ``RequestOptions/reportsCancellation``.
  /// The JSON is decoded off the actor, with the client's decoder.
  ///
  /// - Parameters:
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: Per-request options.
  ///   - type: The type to decode.
  ///   - isolation: The caller's actor.
  ///   - onStart: Called first.
  ///   - onSuccess: Called with the value.
  ///   - onError: Called with the error if the request fails or the body is not JSON of this type.
  /// - Returns: A handle; releasing it does not affect the request.
  @discardableResult
  @export(implementation)
  public func get<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    begin(.get(target, query: query, headers: headers), options, type, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `DELETE` request that calls back with the decoded JSON of the response, like `get`.
  @discardableResult
  @export(implementation)
  public func delete<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    begin(
      .delete(target, query: query, headers: headers, body: body), options, type, isolation, onStart, onSuccess, onError
    )
  }

  /// Starts a `POST` request that calls back with the decoded JSON of the response, like `get`.
  @discardableResult
  @export(implementation)
  public func post<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    begin(
      .post(target, query: query, headers: headers, body: body), options, type, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `PUT` request that calls back with the decoded JSON of the response, like `get`.
  @discardableResult
  @export(implementation)
  public func put<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    begin(
      .put(target, query: query, headers: headers, body: body), options, type, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `PATCH` request that calls back with the decoded JSON of the response, like `get`.
  @discardableResult
  @export(implementation)
  public func patch<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    begin(
      .patch(target, query: query, headers: headers, body: body), options, type, isolation, onStart, onSuccess, onError)
  }
}

/// The same for types that belong to an actor.
extension HTTPClient {
  /// Starts a `GET` request that decodes the JSON of the response, and calls back, on the caller's actor.
  ///
  /// For types that cannot leave the actor: types that are not `Sendable`, and types whose `Decodable` conformance is
  /// isolated to an actor, as in a module with a default isolation. Other types are decoded off the actor, unless the
  /// handle is declared as one of a response.
  ///
  /// - Parameters:
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: Per-request options.
  ///   - type: The type to decode.
  ///   - isolation: The caller's actor.
  ///   - onStart: Called first.
  ///   - onSuccess: Called with the value.
  ///   - onError: Called with the error if the request fails or the body is not JSON of this type.
  /// - Returns: A handle of the response, which succeeds even if decoding fails: only `onError` receives that error.
  ///   Releasing the handle does not affect the request.
  @discardableResult
  @export(implementation)
  public func get<T: Decodable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    beginDecodingHere(
      .get(target, query: query, headers: headers), options, type, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `DELETE` request that decodes the JSON of the response on the caller's actor, like `get`.
  @discardableResult
  @export(implementation)
  public func delete<T: Decodable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    beginDecodingHere(
      .delete(target, query: query, headers: headers, body: body), options, type, isolation, onStart, onSuccess, onError
    )
  }

  /// Starts a `POST` request that decodes the JSON of the response on the caller's actor, like `get`.
  @discardableResult
  @export(implementation)
  public func post<T: Decodable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    beginDecodingHere(
      .post(target, query: query, headers: headers, body: body), options, type, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `PUT` request that decodes the JSON of the response on the caller's actor, like `get`.
  @discardableResult
  @export(implementation)
  public func put<T: Decodable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    beginDecodingHere(
      .put(target, query: query, headers: headers, body: body), options, type, isolation, onStart, onSuccess, onError)
  }

  /// Starts a `PATCH` request that decodes the JSON of the response on the caller's actor, like `get`.
  @discardableResult
  @export(implementation)
  public func patch<T: Decodable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    beginDecodingHere(
      .patch(target, query: query, headers: headers, body: body), options, type, isolation, onStart, onSuccess, onError)
  }
}

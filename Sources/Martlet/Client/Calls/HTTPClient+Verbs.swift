extension HTTPClient {
  /// Sends a `GET` request and returns the whole response.
  ///
  /// - Parameters:
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: Per-request options.
  /// - Returns: An accepted response.
  /// - Throws: ``HTTPError``, `CancellationError`, or an error thrown by middleware.
  @discardableResult
  @export(implementation)
  public nonisolated func get(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await send(.get(target, query: query, headers: headers), options: options)
  }

  /// Sends a `GET` request and decodes the JSON of the response.
  ///
  /// - Parameters:
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: Per-request options.
  ///   - type: The type to decode.
  /// - Returns: The value.
  /// - Throws: ``HTTPError``, including kind ``HTTPError/Kind/decoding``, `CancellationError`, or an error thrown by
  ///   middleware.
  @export(implementation)
  public nonisolated func get<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await json(.get(target, query: query, headers: headers), options, type)
  }

  /// Sends a `HEAD` request and returns the whole response; see ``get(_:query:headers:options:)``.
  @discardableResult
  @export(implementation)
  public nonisolated func head(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await send(.head(target, query: query, headers: headers), options: options)
  }

  /// Sends a `DELETE` request and returns the whole response; see ``get(_:query:headers:options:)``.
  @discardableResult
  @export(implementation)
  public nonisolated func delete(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await send(.delete(target, query: query, headers: headers, body: body), options: options)
  }

  /// Sends a `DELETE` request and decodes the JSON of the response, like `get`.
  @export(implementation)
  public nonisolated func delete<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await json(.delete(target, query: query, headers: headers, body: body), options, type)
  }

  /// Sends a `POST` request and returns the whole response; see ``get(_:query:headers:options:)``.
  @discardableResult
  @export(implementation)
  public nonisolated func post(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await send(.post(target, query: query, headers: headers, body: body), options: options)
  }

  /// Sends a `POST` request and decodes the JSON of the response, like `get`.
  @export(implementation)
  public nonisolated func post<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await json(.post(target, query: query, headers: headers, body: body), options, type)
  }

  /// Sends a `PUT` request and returns the whole response; see ``get(_:query:headers:options:)``.
  @discardableResult
  @export(implementation)
  public nonisolated func put(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await send(.put(target, query: query, headers: headers, body: body), options: options)
  }

  /// Sends a `PUT` request and decodes the JSON of the response, like `get`.
  @export(implementation)
  public nonisolated func put<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await json(.put(target, query: query, headers: headers, body: body), options, type)
  }

  /// Sends a `PATCH` request and returns the whole response; see ``get(_:query:headers:options:)``.
  @discardableResult
  @export(implementation)
  public nonisolated func patch(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await send(.patch(target, query: query, headers: headers, body: body), options: options)
  }

  /// Sends a `PATCH` request and decodes the JSON of the response, like `get`.
  @export(implementation)
  public nonisolated func patch<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await json(.patch(target, query: query, headers: headers, body: body), options, type)
  }
}

/// The verbs for output types that cannot leave the caller's actor.
extension HTTPClient {
  /// Sends a `GET` request and decodes the JSON of the response on the caller's actor.
  ///
  /// For types that cannot leave the actor: types that are not `Sendable`, and types whose `Decodable` conformance is
  /// isolated to an actor, as in a module with a default isolation. Other types are decoded off the actor.
  ///
  /// - Parameters:
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: Per-request options.
  ///   - type: The type to decode.
  /// - Returns: The value.
  /// - Throws: ``HTTPError``, including kind ``HTTPError/Kind/decoding``, `CancellationError`, or an error thrown by
  ///   middleware.
  @export(implementation)
  public nonisolated func get<T: Decodable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await own(.get(target, query: query, headers: headers), options, type)
  }

  /// Sends a `DELETE` request and decodes the JSON of the response on the caller's actor, like `get`.
  @export(implementation)
  public nonisolated func delete<T: Decodable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await own(.delete(target, query: query, headers: headers, body: body), options, type)
  }

  /// Sends a `POST` request and decodes the JSON of the response on the caller's actor, like `get`.
  @export(implementation)
  public nonisolated func post<T: Decodable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await own(.post(target, query: query, headers: headers, body: body), options, type)
  }

  /// Sends a `PUT` request and decodes the JSON of the response on the caller's actor, like `get`.
  @export(implementation)
  public nonisolated func put<T: Decodable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await own(.put(target, query: query, headers: headers, body: body), options, type)
  }

  /// Sends a `PATCH` request and decodes the JSON of the response on the caller's actor, like `get`.
  @export(implementation)
  public nonisolated func patch<T: Decodable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await own(.patch(target, query: query, headers: headers, body: body), options, type)
  }
}

/// The JSON of all verbs.
extension HTTPClient {
  /// Sends a request and decodes its JSON on the caller's actor.
  @usableFromInline nonisolated(nonsending) func own<T: Decodable>(
    _ request: HTTPRequest, _ options: RequestOptions, _ type: T.Type
  ) async throws -> T {
    try Task.checkCancellation()
    let (response, call) = try await core.send(request, options: options) { response, call in (response, call) }
    do { return try response.json(type) } catch { throw call.complete(error) }
  }

  /// Sends a request and decodes its JSON off the caller's actor.
  @usableFromInline @concurrent nonisolated func json<T: Decodable & Sendable>(
    _ request: HTTPRequest, _ options: RequestOptions, _ type: T.Type
  ) async throws -> T {
    try Task.checkCancellation()
    return try await core.send(request, options: options) { response, _ in try response.json(type) }
  }
}

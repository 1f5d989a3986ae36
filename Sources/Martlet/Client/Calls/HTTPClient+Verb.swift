/// `HEAD` with variables.
extension HTTPClient.HeadVerb {
  /// Sends the request to a target in a variable and returns the whole response.
  @discardableResult
  @export(implementation)
  public func callAsFunction(
    _ target: some RequestTargetConvertible, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await client.send(HTTPRequest(method, target.requestTarget, query: query, headers: headers), options: options)
  }

  /// Sends the request with query and header dictionaries and returns the whole response.
  @discardableResult
  @export(implementation)
  public func callAsFunction(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request with a header dictionary and returns the whole response.
  @discardableResult
  @export(implementation)
  public func callAsFunction(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target, query: query, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request with target, query and headers in variables and returns the whole response.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func callAsFunction(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request to a target in a variable with a header dictionary and returns the whole response.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func callAsFunction(
    _ target: some RequestTargetConvertible, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target.requestTarget, query: query, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }
}

/// `GET` with variables.
extension HTTPClient.Verb {
  /// Sends the request to a target in a variable and returns the whole response.
  @discardableResult
  @export(implementation)
  public func callAsFunction(
    _ target: some RequestTargetConvertible, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await client.send(HTTPRequest(method, target.requestTarget, query: query, headers: headers), options: options)
  }

  /// Sends the request with query and header dictionaries and returns the whole response.
  @discardableResult
  @export(implementation)
  public func callAsFunction(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request with a header dictionary and returns the whole response.
  @discardableResult
  @export(implementation)
  public func callAsFunction(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target, query: query, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request with target, query and headers in variables and returns the whole response.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func callAsFunction(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request to a target in a variable with a header dictionary and returns the whole response.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func callAsFunction(
    _ target: some RequestTargetConvertible, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target.requestTarget, query: query, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request to a target in a variable and decodes the JSON of the response.
  @export(implementation)
  public func callAsFunction<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await client.json(HTTPRequest(method, target.requestTarget, query: query, headers: headers), options, type)
  }

  /// Sends the request with query and header dictionaries and decodes the JSON of the response.
  @export(implementation)
  public func callAsFunction<T: Decodable & Sendable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.json(request, options, type)
  }

  /// Sends the request with a header dictionary and decodes the JSON of the response.
  @export(implementation)
  public func callAsFunction<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target, query: query, headers: headers.requestHeaders)
    return try await client.json(request, options, type)
  }

  /// Sends the request with target, query and headers in variables and decodes the JSON of the response.
  @export(implementation)
  @_disfavoredOverload public func callAsFunction<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.json(request, options, type)
  }

  /// Sends the request to a target in a variable with a header dictionary and decodes the JSON of the response.
  @export(implementation)
  @_disfavoredOverload public func callAsFunction<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target.requestTarget, query: query, headers: headers.requestHeaders)
    return try await client.json(request, options, type)
  }

  /// Sends the request to a target in a variable and decodes the JSON on the caller's actor.
  @export(implementation)
  public func callAsFunction<T: Decodable>(
    _ target: some RequestTargetConvertible, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await client.own(HTTPRequest(method, target.requestTarget, query: query, headers: headers), options, type)
  }

  /// Sends the request with query and header dictionaries and decodes the JSON on the caller's actor.
  @export(implementation)
  public func callAsFunction<T: Decodable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.own(request, options, type)
  }

  /// Sends the request with a header dictionary and decodes the JSON on the caller's actor.
  @export(implementation)
  public func callAsFunction<T: Decodable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target, query: query, headers: headers.requestHeaders)
    return try await client.own(request, options, type)
  }

  /// Sends the request with target, query and headers in variables and decodes the JSON on the caller's actor.
  @export(implementation)
  @_disfavoredOverload public func callAsFunction<T: Decodable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.own(request, options, type)
  }

  /// Sends the request to a target in a variable with a header dictionary and decodes the JSON on the caller's actor.
  @export(implementation)
  @_disfavoredOverload public func callAsFunction<T: Decodable>(
    _ target: some RequestTargetConvertible, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target.requestTarget, query: query, headers: headers.requestHeaders)
    return try await client.own(request, options, type)
  }
}

/// `HEAD` with variables.
extension HTTPClient.HeadVerb {
  /// Sends the request and returns the whole response, with a variable as its target.
  @discardableResult
  @export(implementation)
  public func callAsFunction(
    _ target: some RequestTargetConvertible, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await client.send(HTTPRequest(method, target.requestTarget, query: query, headers: headers), options: options)
  }

  /// Sends the request and returns the whole response, with dictionaries.
  @discardableResult
  @export(implementation)
  public func callAsFunction(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request and returns the whole response, with a header dictionary.
  @discardableResult
  @export(implementation)
  public func callAsFunction(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target, query: query, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request and returns the whole response, with variables.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func callAsFunction(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request and returns the whole response, with a variable and a header dictionary.
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
  /// Sends the request and returns the whole response, with a variable as its target.
  @discardableResult
  @export(implementation)
  public func callAsFunction(
    _ target: some RequestTargetConvertible, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await client.send(HTTPRequest(method, target.requestTarget, query: query, headers: headers), options: options)
  }

  /// Sends the request and returns the whole response, with dictionaries.
  @discardableResult
  @export(implementation)
  public func callAsFunction(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request and returns the whole response, with a header dictionary.
  @discardableResult
  @export(implementation)
  public func callAsFunction(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target, query: query, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request and returns the whole response, with variables.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func callAsFunction(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request and returns the whole response, with a variable and a header dictionary.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func callAsFunction(
    _ target: some RequestTargetConvertible, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    let request = HTTPRequest(method, target.requestTarget, query: query, headers: headers.requestHeaders)
    return try await client.send(request, options: options)
  }

  /// Sends the request and decodes the JSON of the response, with a variable as its target.
  @export(implementation)
  public func callAsFunction<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await client.json(HTTPRequest(method, target.requestTarget, query: query, headers: headers), options, type)
  }

  /// Sends the request and decodes the JSON of the response, with dictionaries.
  @export(implementation)
  public func callAsFunction<T: Decodable & Sendable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.json(request, options, type)
  }

  /// Sends the request and decodes the JSON of the response, with a header dictionary.
  @export(implementation)
  public func callAsFunction<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target, query: query, headers: headers.requestHeaders)
    return try await client.json(request, options, type)
  }

  /// Sends the request and decodes the JSON of the response, with variables.
  @export(implementation)
  @_disfavoredOverload public func callAsFunction<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.json(request, options, type)
  }

  /// Sends the request and decodes the JSON of the response, with a variable and a header dictionary.
  @export(implementation)
  @_disfavoredOverload public func callAsFunction<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target.requestTarget, query: query, headers: headers.requestHeaders)
    return try await client.json(request, options, type)
  }

  /// Sends the request and decodes the JSON on the caller's actor, with a variable as its target.
  @export(implementation)
  public func callAsFunction<T: Decodable>(
    _ target: some RequestTargetConvertible, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await client.own(HTTPRequest(method, target.requestTarget, query: query, headers: headers), options, type)
  }

  /// Sends the request and decodes the JSON on the caller's actor, with dictionaries.
  @export(implementation)
  public func callAsFunction<T: Decodable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.own(request, options, type)
  }

  /// Sends the request and decodes the JSON on the caller's actor, with a header dictionary.
  @export(implementation)
  public func callAsFunction<T: Decodable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target, query: query, headers: headers.requestHeaders)
    return try await client.own(request, options, type)
  }

  /// Sends the request and decodes the JSON on the caller's actor, with variables.
  @export(implementation)
  @_disfavoredOverload public func callAsFunction<T: Decodable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders)
    return try await client.own(request, options, type)
  }

  /// Sends the request and decodes the JSON on the caller's actor, with a variable and a header dictionary.
  @export(implementation)
  @_disfavoredOverload public func callAsFunction<T: Decodable>(
    _ target: some RequestTargetConvertible, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    let request = HTTPRequest(method, target.requestTarget, query: query, headers: headers.requestHeaders)
    return try await client.own(request, options, type)
  }
}

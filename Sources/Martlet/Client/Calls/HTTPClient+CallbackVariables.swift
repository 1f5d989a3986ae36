/// The verbs with callbacks and variables: see ``HTTPClient/get-swift.property``.
extension HTTPClient {
  /// Starts a `GET` request with a variable as its target.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func get(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    get(
      target.requestTarget, query: query, headers: headers, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `GET` request with query and header dictionaries.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func get(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    get(
      target, query: query.requestQuery, headers: headers.requestHeaders, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `GET` request with a header dictionary.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func get(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    get(
      target, query: query, headers: headers.requestHeaders, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `GET` request with a variable as its target and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func get<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    get(
      target.requestTarget, query: query, headers: headers, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `GET` request with query and header dictionaries and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func get<T: Decodable & Sendable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    get(
      target, query: query.requestQuery, headers: headers.requestHeaders, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `GET` request with a header dictionary and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func get<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    get(
      target, query: query, headers: headers.requestHeaders, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `GET` request with a variable as its target and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func get<T: Decodable>(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    get(
      target.requestTarget, query: query, headers: headers, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `GET` request with query and header dictionaries and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func get<T: Decodable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    get(
      target, query: query.requestQuery, headers: headers.requestHeaders, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `GET` request with a header dictionary and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func get<T: Decodable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    get(
      target, query: query, headers: headers.requestHeaders, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `HEAD` request with a variable as its target.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func head(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    head(
      target.requestTarget, query: query, headers: headers, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `HEAD` request with query and header dictionaries.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func head(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    head(
      target, query: query.requestQuery, headers: headers.requestHeaders, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `HEAD` request with a header dictionary.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func head(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    head(
      target, query: query, headers: headers.requestHeaders, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `DELETE` request with a variable as its target.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func delete(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil, options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    delete(
      target.requestTarget, query: query, headers: headers, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `DELETE` request with query and header dictionaries.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func delete(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    delete(
      target, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `DELETE` request with a header dictionary.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func delete(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    delete(
      target, query: query, headers: headers.requestHeaders, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `DELETE` request with a variable as its target and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func delete<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil, options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    delete(
      target.requestTarget, query: query, headers: headers, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `DELETE` request with query and header dictionaries and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func delete<T: Decodable & Sendable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    delete(
      target, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `DELETE` request with a header dictionary and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func delete<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    delete(
      target, query: query, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `DELETE` request with a variable as its target and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func delete<T: Decodable>(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil, options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    delete(
      target.requestTarget, query: query, headers: headers, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `DELETE` request with query and header dictionaries and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func delete<T: Decodable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    delete(
      target, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `DELETE` request with a header dictionary and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func delete<T: Decodable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    delete(
      target, query: query, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }
}

/// The verbs with callbacks and variables: see ``HTTPClient/get-swift.property``.
extension HTTPClient {
  /// Starts a `POST` request with a variable as its target.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func post(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil, options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    post(
      target.requestTarget, query: query, headers: headers, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `POST` request with query and header dictionaries.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func post(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    post(
      target, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `POST` request with a header dictionary.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func post(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    post(
      target, query: query, headers: headers.requestHeaders, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `POST` request with a variable as its target and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func post<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil, options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    post(
      target.requestTarget, query: query, headers: headers, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `POST` request with query and header dictionaries and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func post<T: Decodable & Sendable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    post(
      target, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `POST` request with a header dictionary and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func post<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    post(
      target, query: query, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `POST` request with a variable as its target and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func post<T: Decodable>(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil, options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    post(
      target.requestTarget, query: query, headers: headers, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `POST` request with query and header dictionaries and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func post<T: Decodable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    post(
      target, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `POST` request with a header dictionary and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func post<T: Decodable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    post(
      target, query: query, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PUT` request with a variable as its target.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func put(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil, options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    put(
      target.requestTarget, query: query, headers: headers, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PUT` request with query and header dictionaries.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func put(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    put(
      target, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PUT` request with a header dictionary.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func put(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    put(
      target, query: query, headers: headers.requestHeaders, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PUT` request with a variable as its target and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func put<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil, options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    put(
      target.requestTarget, query: query, headers: headers, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PUT` request with query and header dictionaries and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func put<T: Decodable & Sendable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    put(
      target, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PUT` request with a header dictionary and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func put<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    put(
      target, query: query, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PUT` request with a variable as its target and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func put<T: Decodable>(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil, options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    put(
      target.requestTarget, query: query, headers: headers, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PUT` request with query and header dictionaries and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func put<T: Decodable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    put(
      target, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PUT` request with a header dictionary and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func put<T: Decodable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    put(
      target, query: query, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PATCH` request with a variable as its target.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func patch(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil, options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    patch(
      target.requestTarget, query: query, headers: headers, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PATCH` request with query and header dictionaries.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func patch(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    patch(
      target, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PATCH` request with a header dictionary.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func patch(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    patch(
      target, query: query, headers: headers.requestHeaders, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PATCH` request with a variable as its target and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func patch<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil, options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    patch(
      target.requestTarget, query: query, headers: headers, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PATCH` request with query and header dictionaries and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func patch<T: Decodable & Sendable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    patch(
      target, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PATCH` request with a header dictionary and decodes the JSON.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func patch<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    patch(
      target, query: query, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PATCH` request with a variable as its target and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func patch<T: Decodable>(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil, options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    patch(
      target.requestTarget, query: query, headers: headers, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PATCH` request with query and header dictionaries and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func patch<T: Decodable>(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    patch(
      target, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PATCH` request with a header dictionary and decodes the JSON on the caller's actor.
  @discardableResult
  @export(implementation)
  @_disfavoredOverload public func patch<T: Decodable>(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    patch(
      target, query: query, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }
}

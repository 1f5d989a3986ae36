// A literal would choose an overload with a `String` and a dictionary before one with a ``RequestTarget``.

extension HTTPClient {
  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func get(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    get(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func get<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    get(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func get<T: Decodable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    get(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func head(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    head(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func delete(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    delete(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func delete<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    delete(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func delete<T: Decodable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    delete(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func post(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    post(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func post<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    post(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func post<T: Decodable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    post(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func put(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    put(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func put<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    put(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func put<T: Decodable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    put(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func patch(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    patch(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func patch<T: Decodable & Sendable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<T> {
    patch(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @discardableResult
  @export(implementation)
  public func patch<T: Decodable>(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(),
    as type: T.Type, isolation: isolated any Actor = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (T) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    patch(
      target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body, options: options,
      as: type, isolation: isolation, onStart: onStart,
      onSuccess: onSuccess, onError: onError)
  }
}

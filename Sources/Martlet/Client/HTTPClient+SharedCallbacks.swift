/// The verbs in block style on ``HTTPClient/shared``.
extension HTTPClient {
  /// Starts a `GET` request with ``shared`` that calls back on the caller's actor.
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
  public static func get(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    shared.get(
      target, query: query, headers: headers, options: options, isolation: isolation,
      onStart: onStart, onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `HEAD` request with ``shared`` that calls back on the caller's actor.
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
  public static func head(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    shared.head(
      target, query: query, headers: headers, options: options, isolation: isolation,
      onStart: onStart, onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `DELETE` request with ``shared`` that calls back on the caller's actor.
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
  public static func delete(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    shared.delete(
      target, query: query, headers: headers, options: options, isolation: isolation,
      onStart: onStart, onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `POST` request with ``shared`` that calls back on the caller's actor.
  ///
  /// It is managed: it lives until it succeeds, fails or is cancelled. After a cancellation nothing is called.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: What is sent along.
  ///   - options: What is different for this one.
  ///   - isolation: The caller's actor.
  ///   - onStart: Called first.
  ///   - onSuccess: Called with an accepted response.
  ///   - onError: Called with the error instead.
  /// - Returns: A handle; dropping it does nothing.
  @discardableResult
  public static func post(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    shared.post(
      target, query: query, headers: headers, body: body, options: options, isolation: isolation,
      onStart: onStart, onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PUT` request with ``shared`` that calls back on the caller's actor.
  ///
  /// It is managed: it lives until it succeeds, fails or is cancelled. After a cancellation nothing is called.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: What is sent along.
  ///   - options: What is different for this one.
  ///   - isolation: The caller's actor.
  ///   - onStart: Called first.
  ///   - onSuccess: Called with an accepted response.
  ///   - onError: Called with the error instead.
  /// - Returns: A handle; dropping it does nothing.
  @discardableResult
  public static func put(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    shared.put(
      target, query: query, headers: headers, body: body, options: options, isolation: isolation,
      onStart: onStart, onSuccess: onSuccess, onError: onError)
  }

  /// Starts a `PATCH` request with ``shared`` that calls back on the caller's actor.
  ///
  /// It is managed: it lives until it succeeds, fails or is cancelled. After a cancellation nothing is called.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: What is sent along.
  ///   - options: What is different for this one.
  ///   - isolation: The caller's actor.
  ///   - onStart: Called first.
  ///   - onSuccess: Called with an accepted response.
  ///   - onError: Called with the error instead.
  /// - Returns: A handle; dropping it does nothing.
  @discardableResult
  public static func patch(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), isolation: isolated (any Actor)? = #isolation,
    onStart: (() -> Void)? = nil, onSuccess: @escaping (HTTPResponse) -> Void,
    onError: @escaping (HTTPError) -> Void = { _ in }
  ) -> RequestHandle<HTTPResponse> {
    shared.patch(
      target, query: query, headers: headers, body: body, options: options, isolation: isolation,
      onStart: onStart, onSuccess: onSuccess, onError: onError)
  }
}

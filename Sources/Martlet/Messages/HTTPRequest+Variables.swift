extension HTTPRequest {
  /// Creates a `GET` request from variables: a `URL` or a `String` as the target, dictionaries as query and headers.
  ///
  /// ```swift
  /// let request: HTTPRequest = .get(url, headers: headers)
  /// ```
  ///
  /// A literal target is always a ``RequestTarget``, with escaped values. Dictionaries are sorted by name. A literal
  /// query or literal headers beside a dictionary are a dictionary as well, so each name may occur once.
  @_disfavoredOverload public static var get: Factory { Factory(method: .get) }

  /// Creates a `HEAD` request from variables; see ``get-swift.type.property``.
  @_disfavoredOverload public static var head: Factory { Factory(method: .head) }

  /// Creates a `DELETE` request from variables; see ``get-swift.type.property``.
  @_disfavoredOverload public static var delete: BodyFactory { BodyFactory(method: .delete) }

  /// Creates a `POST` request from variables; see ``get-swift.type.property``.
  @_disfavoredOverload public static var post: BodyFactory { BodyFactory(method: .post) }

  /// Creates a `PUT` request from variables; see ``get-swift.type.property``.
  @_disfavoredOverload public static var put: BodyFactory { BodyFactory(method: .put) }

  /// Creates a `PATCH` request from variables; see ``get-swift.type.property``.
  @_disfavoredOverload public static var patch: BodyFactory { BodyFactory(method: .patch) }

  /// Creates a request with a variable as its target.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: The body.
  @_disfavoredOverload public init(
    _ method: HTTPMethod = .get, _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil
  ) {
    self.init(method, target.requestTarget, query: query, headers: headers, body: body)
  }

  /// Creates a request with dictionaries.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: The body.
  @_disfavoredOverload public init(
    _ method: HTTPMethod = .get, _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil
  ) {
    self.init(method, target, query: query.requestQuery, headers: headers.requestHeaders, body: body)
  }
}

extension HTTPRequest {
  /// Creates requests without a body from variables; see ``HTTPRequest/get-swift.type.property``.
  public struct Factory: Sendable {
    let method: HTTPMethod

    /// Creates the request with a variable as its target.
    public func callAsFunction(
      _ target: some RequestTargetConvertible, query: Query = [:], headers: HTTPHeaders = [:]
    ) -> HTTPRequest {
      HTTPRequest(method, target.requestTarget, query: query, headers: headers)
    }

    /// Creates the request with dictionaries.
    public func callAsFunction(
      _ target: RequestTarget, query: some QueryConvertible = Query(),
      headers: some HTTPHeadersConvertible = HTTPHeaders()
    ) -> HTTPRequest {
      HTTPRequest(method, target, query: query.requestQuery, headers: headers.requestHeaders)
    }

    /// Creates the request with variables.
    @_disfavoredOverload public func callAsFunction(
      _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
      headers: some HTTPHeadersConvertible = HTTPHeaders()
    ) -> HTTPRequest {
      HTTPRequest(method, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders)
    }
  }

  /// Creates requests with a body from variables; see ``HTTPRequest/post-swift.type.property``.
  public struct BodyFactory: Sendable {
    let method: HTTPMethod

    /// Creates the request with a variable as its target.
    public func callAsFunction(
      _ target: some RequestTargetConvertible, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil
    ) -> HTTPRequest {
      HTTPRequest(method, target.requestTarget, query: query, headers: headers, body: body)
    }

    /// Creates the request with dictionaries.
    public func callAsFunction(
      _ target: RequestTarget, query: some QueryConvertible = Query(),
      headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil
    ) -> HTTPRequest {
      HTTPRequest(method, target, query: query.requestQuery, headers: headers.requestHeaders, body: body)
    }

    /// Creates the request with variables.
    @_disfavoredOverload public func callAsFunction(
      _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
      headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil
    ) -> HTTPRequest {
      HTTPRequest(method, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body)
    }
  }
}

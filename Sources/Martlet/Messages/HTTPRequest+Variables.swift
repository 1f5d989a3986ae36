/// Requests from variables: a `URL` or a `String` as the target, or dictionaries as query and headers.
///
/// A literal target is always a ``RequestTarget``, with escaped values. Dictionaries are sorted by name. A literal
/// query or literal headers combined with a dictionary are a dictionary as well, so each name may occur once.
extension HTTPRequest {
  /// Creates a `GET` request; see ``get(_:query:headers:)-(RequestTarget,_,HTTPHeaders)``.
  ///
  /// - Parameters:
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  @export(implementation)
  public init(_ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:]) {
    self.init(.get, target, query: query, headers: headers)
  }

  /// Creates a `GET` request with a variable as its target.
  ///
  /// See ``get(_:query:headers:)-(RequestTarget,_,HTTPHeaders)``.
  ///
  /// - Parameters:
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  @export(implementation)
  @_disfavoredOverload public init(
    _ target: some RequestTargetConvertible, query: Query = [:], headers: HTTPHeaders = [:]
  ) {
    self.init(.get, target.requestTarget, query: query, headers: headers)
  }

  /// Creates a request with a variable as its target.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: The body.
  @export(implementation)
  @_disfavoredOverload public init(
    _ method: HTTPMethod, _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil
  ) {
    self.init(method, target.requestTarget, query: query, headers: headers, body: body)
  }

  /// Creates a request with query and header dictionaries.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: The body.
  @export(implementation)
  @_disfavoredOverload public init(
    _ method: HTTPMethod, _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil
  ) {
    self.init(method, target, query: query.requestQuery, headers: headers.requestHeaders, body: body)
  }

  /// Creates a request with a header dictionary.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: The body.
  @export(implementation)
  @_disfavoredOverload public init(
    _ method: HTTPMethod, _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil
  ) {
    self.init(method, target, query: query, headers: headers.requestHeaders, body: body)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @export(implementation)
  public init(
    _ method: HTTPMethod, _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil
  ) {
    self.init(method, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body)
  }

  /// A `GET` request with a variable as its target.
  @export(implementation)
  @_disfavoredOverload public static func get(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:]
  ) -> HTTPRequest {
    HTTPRequest(.get, target.requestTarget, query: query, headers: headers)
  }

  /// A `GET` request with query and header dictionaries.
  @export(implementation)
  @_disfavoredOverload public static func get(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders()
  ) -> HTTPRequest {
    HTTPRequest(.get, target, query: query.requestQuery, headers: headers.requestHeaders)
  }

  /// A `GET` request with a header dictionary.
  @export(implementation)
  @_disfavoredOverload public static func get(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible
  ) -> HTTPRequest {
    HTTPRequest(.get, target, query: query, headers: headers.requestHeaders)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @export(implementation)
  public static func get(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders()
  ) -> HTTPRequest {
    HTTPRequest(.get, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders)
  }

  /// A `HEAD` request with a variable as its target.
  @export(implementation)
  @_disfavoredOverload public static func head(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:]
  ) -> HTTPRequest {
    HTTPRequest(.head, target.requestTarget, query: query, headers: headers)
  }

  /// A `HEAD` request with query and header dictionaries.
  @export(implementation)
  @_disfavoredOverload public static func head(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders()
  ) -> HTTPRequest {
    HTTPRequest(.head, target, query: query.requestQuery, headers: headers.requestHeaders)
  }

  /// A `HEAD` request with a header dictionary.
  @export(implementation)
  @_disfavoredOverload public static func head(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible
  ) -> HTTPRequest {
    HTTPRequest(.head, target, query: query, headers: headers.requestHeaders)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @export(implementation)
  public static func head(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders()
  ) -> HTTPRequest {
    HTTPRequest(.head, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders)
  }

  /// A `DELETE` request with a variable as its target.
  @export(implementation)
  @_disfavoredOverload public static func delete(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.delete, target.requestTarget, query: query, headers: headers, body: body)
  }

  /// A `DELETE` request with query and header dictionaries.
  @export(implementation)
  @_disfavoredOverload public static func delete(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.delete, target, query: query.requestQuery, headers: headers.requestHeaders, body: body)
  }

  /// A `DELETE` request with a header dictionary.
  @export(implementation)
  @_disfavoredOverload public static func delete(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.delete, target, query: query, headers: headers.requestHeaders, body: body)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @export(implementation)
  public static func delete(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.delete, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body)
  }

  /// A `POST` request with a variable as its target.
  @export(implementation)
  @_disfavoredOverload public static func post(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.post, target.requestTarget, query: query, headers: headers, body: body)
  }

  /// A `POST` request with query and header dictionaries.
  @export(implementation)
  @_disfavoredOverload public static func post(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.post, target, query: query.requestQuery, headers: headers.requestHeaders, body: body)
  }

  /// A `POST` request with a header dictionary.
  @export(implementation)
  @_disfavoredOverload public static func post(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.post, target, query: query, headers: headers.requestHeaders, body: body)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @export(implementation)
  public static func post(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.post, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body)
  }

  /// A `PUT` request with a variable as its target.
  @export(implementation)
  @_disfavoredOverload public static func put(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.put, target.requestTarget, query: query, headers: headers, body: body)
  }

  /// A `PUT` request with query and header dictionaries.
  @export(implementation)
  @_disfavoredOverload public static func put(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.put, target, query: query.requestQuery, headers: headers.requestHeaders, body: body)
  }

  /// A `PUT` request with a header dictionary.
  @export(implementation)
  @_disfavoredOverload public static func put(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.put, target, query: query, headers: headers.requestHeaders, body: body)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @export(implementation)
  public static func put(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.put, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body)
  }

  /// A `PATCH` request with a variable as its target.
  @export(implementation)
  @_disfavoredOverload public static func patch(
    _ target: some RequestTargetConvertible, query: Query = [:],
    headers: HTTPHeaders = [:], body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.patch, target.requestTarget, query: query, headers: headers, body: body)
  }

  /// A `PATCH` request with query and header dictionaries.
  @export(implementation)
  @_disfavoredOverload public static func patch(
    _ target: RequestTarget, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.patch, target, query: query.requestQuery, headers: headers.requestHeaders, body: body)
  }

  /// A `PATCH` request with a header dictionary.
  @export(implementation)
  @_disfavoredOverload public static func patch(
    _ target: RequestTarget, query: Query,
    headers: some HTTPHeadersConvertible, body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.patch, target, query: query, headers: headers.requestHeaders, body: body)
  }

  @available(*, unavailable, message: "beside a dictionary, write RequestTarget(target) for a target in a variable")
  @export(implementation)
  public static func patch(
    _ target: some RequestTargetConvertible, query: some QueryConvertible = Query(),
    headers: some HTTPHeadersConvertible = HTTPHeaders(), body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.patch, target.requestTarget, query: query.requestQuery, headers: headers.requestHeaders, body: body)
  }
}

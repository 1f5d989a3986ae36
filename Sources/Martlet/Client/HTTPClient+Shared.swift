/// The verbs on ``HTTPClient/shared``, for programs that need no client of their own.
extension HTTPClient {
  /// Sends a `GET` request with ``shared`` and returns the whole response.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: What is different for this one.
  /// - Returns: An accepted response.
  /// - Throws: ``HTTPError``, `CancellationError`, or what middleware throws.
  @discardableResult
  public static func get(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await shared.get(target, query: query, headers: headers, options: options)
  }

  /// Sends a `GET` request with ``shared`` and decodes the JSON of the response.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: What is different for this one.
  ///   - type: The type to decode.
  /// - Returns: The value.
  /// - Throws: As without a type, and ``HTTPError/Kind/decoding``.
  public static func get<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await shared.get(target, query: query, headers: headers, options: options, as: type)
  }

  /// Sends a `HEAD` request with ``shared`` and returns the whole response.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: What is different for this one.
  /// - Returns: An accepted response.
  /// - Throws: ``HTTPError``, `CancellationError`, or what middleware throws.
  @discardableResult
  public static func head(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await shared.head(target, query: query, headers: headers, options: options)
  }

  /// Sends a `DELETE` request with ``shared`` and returns the whole response.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: What is different for this one.
  /// - Returns: An accepted response.
  /// - Throws: ``HTTPError``, `CancellationError`, or what middleware throws.
  @discardableResult
  public static func delete(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await shared.delete(target, query: query, headers: headers, options: options)
  }

  /// Sends a `DELETE` request with ``shared`` and decodes the JSON of the response.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - options: What is different for this one.
  ///   - type: The type to decode.
  /// - Returns: The value.
  /// - Throws: As without a type, and ``HTTPError/Kind/decoding``.
  public static func delete<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await shared.delete(target, query: query, headers: headers, options: options, as: type)
  }

  /// Sends a `POST` request with ``shared`` and returns the whole response.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: What is sent along.
  ///   - options: What is different for this one.
  /// - Returns: An accepted response.
  /// - Throws: ``HTTPError``, `CancellationError`, or what middleware throws.
  @discardableResult
  public static func post(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await shared.post(target, query: query, headers: headers, body: body, options: options)
  }

  /// Sends a `POST` request with ``shared`` and decodes the JSON of the response.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: What is sent along.
  ///   - options: What is different for this one.
  ///   - type: The type to decode.
  /// - Returns: The value.
  /// - Throws: As without a type, and ``HTTPError/Kind/decoding``.
  public static func post<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await shared.post(target, query: query, headers: headers, body: body, options: options, as: type)
  }

  /// Sends a `PUT` request with ``shared`` and returns the whole response.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: What is sent along.
  ///   - options: What is different for this one.
  /// - Returns: An accepted response.
  /// - Throws: ``HTTPError``, `CancellationError`, or what middleware throws.
  @discardableResult
  public static func put(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await shared.put(target, query: query, headers: headers, body: body, options: options)
  }

  /// Sends a `PUT` request with ``shared`` and decodes the JSON of the response.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: What is sent along.
  ///   - options: What is different for this one.
  ///   - type: The type to decode.
  /// - Returns: The value.
  /// - Throws: As without a type, and ``HTTPError/Kind/decoding``.
  public static func put<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await shared.put(target, query: query, headers: headers, body: body, options: options, as: type)
  }

  /// Sends a `PATCH` request with ``shared`` and returns the whole response.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: What is sent along.
  ///   - options: What is different for this one.
  /// - Returns: An accepted response.
  /// - Throws: ``HTTPError``, `CancellationError`, or what middleware throws.
  @discardableResult
  public static func patch(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions()
  ) async throws -> HTTPResponse {
    try await shared.patch(target, query: query, headers: headers, body: body, options: options)
  }

  /// Sends a `PATCH` request with ``shared`` and decodes the JSON of the response.
  ///
  /// - Parameters:
  ///   - target: Where it goes.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: What is sent along.
  ///   - options: What is different for this one.
  ///   - type: The type to decode.
  /// - Returns: The value.
  /// - Throws: As without a type, and ``HTTPError/Kind/decoding``.
  public static func patch<T: Decodable & Sendable>(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil,
    options: RequestOptions = RequestOptions(), as type: T.Type
  ) async throws -> T {
    try await shared.patch(target, query: query, headers: headers, body: body, options: options, as: type)
  }
}

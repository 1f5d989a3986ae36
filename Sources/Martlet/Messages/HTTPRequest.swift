/// A request, as a value.
///
/// Copies are independent. One value can be sent any number of times, even concurrently.
public struct HTTPRequest: Sendable, Hashable {
  private struct Parts: Sendable, Hashable {
    var method: HTTPMethod
    var target: RequestTarget
    var query: Query
    var headers: HTTPHeaders
    var body: HTTPBody?
  }

  /// Boxed, because a request is often passed on and rarely changed.
  private var parts: Boxed<Parts>

  /// The method (RFC 9110 §9).
  public var method: HTTPMethod {
    get { parts.value.method }
    set { parts.value.method = newValue }
  }

  /// The target: a full URL, or a reference that is joined to the client's base URL.
  public var target: RequestTarget {
    get { parts.value.target }
    set { parts.value.target = newValue }
  }

  /// Query items that are appended to those of the target.
  public var query: Query {
    get { parts.value.query }
    set { parts.value.query = newValue }
  }

  /// The header fields; they replace the client's defaults by name.
  public var headers: HTTPHeaders {
    get { parts.value.headers }
    set { parts.value.headers = newValue }
  }

  /// The body, or `nil` for none.
  ///
  /// A body never changes the method. A `HEAD` with one is refused when it is sent.
  public var body: HTTPBody? {
    get { parts.value.body }
    set { parts.value.body = newValue }
  }

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - target: The target.
  ///   - query: Query items to add.
  ///   - headers: Header fields.
  ///   - body: The body.
  public init(
    _ method: HTTPMethod, _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:],
    body: HTTPBody? = nil
  ) {
    parts = Boxed(Parts(method: method, target: target, query: query, headers: headers, body: body))
  }

  /// A `GET` request.
  public static func get(_ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:]) -> HTTPRequest {
    HTTPRequest(.get, target, query: query, headers: headers)
  }

  /// A `HEAD` request.
  public static func head(_ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:]) -> HTTPRequest {
    HTTPRequest(.head, target, query: query, headers: headers)
  }

  /// A `DELETE` request.
  ///
  /// The body of a `DELETE` has no general meaning (RFC 9110 §9.3.5): send one only if the server documents it.
  public static func delete(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.delete, target, query: query, headers: headers, body: body)
  }

  /// A `POST` request.
  public static func post(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.post, target, query: query, headers: headers, body: body)
  }

  /// A `PUT` request.
  public static func put(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.put, target, query: query, headers: headers, body: body)
  }

  /// A `PATCH` request.
  public static func patch(
    _ target: RequestTarget, query: Query = [:], headers: HTTPHeaders = [:], body: HTTPBody? = nil
  ) -> HTTPRequest {
    HTTPRequest(.patch, target, query: query, headers: headers, body: body)
  }

  /// The same request with another method.
  ///
  /// - Parameter method: The method of the copy.
  /// - Returns: The copy.
  public func with(method: HTTPMethod) -> HTTPRequest {
    var copy = self
    copy.method = method
    return copy
  }

  /// Whether the request is idempotent (RFC 9110 §9.2.2).
  ///
  /// True for idempotent methods, and for a request with an `Idempotency-Key` header.
  public var isIdempotent: Bool { method.isIdempotent || headers.contains("Idempotency-Key") }

  /// Whether the body, if any, can be sent again.
  public var isReplayable: Bool { body?.isReplayable ?? true }

  /// Whether the body, if any, can be sent now, for the first time or again.
  var isUsable: Bool { body?.isUsable ?? true }
}

extension HTTPRequest {
  /// The complete URL, or `nil` if the target is relative or malformed.
  package var absoluteURL: AbsoluteURL? { try? target.resolve(against: nil, adding: query) }

  /// A copy with the query of the URL in ``query``; the complete URL is the same.
  package var withItems: HTTPRequest {
    guard let url = absoluteURL, let text = url.query,
      case let items = Query(spelling: text), !items.isEmpty,
      let bare = try? AbsoluteURL(
        scheme: url.scheme, authority: url.authority, path: url.path, query: nil, fragment: url.fragment)
    else { return self }
    var request = self
    request.target = RequestTarget(bare)
    request.query = items
    return request
  }
}

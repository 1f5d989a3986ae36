public import Foundation
public import HTTPTypes
public import Martlet

// Bodies need no conversion: swift-http-types describes only heads and fields. `HTTPBody` is passed beside a request,
// and `Data` or a `ResponseBody` is returned beside a response.

extension HTTPClient {
  /// Sends a request of swift-http-types and returns the body and the head of the response.
  ///
  /// As with `data(for:)` of a `URLRequest`, no status is an error.
  ///
  /// - Parameters:
  ///   - request: The request. Without a scheme and an authority, its path is joined to the client's base URL.
  ///   - body: The body; none by default.
  ///   - options: Per-request options.
  /// - Returns: The body, and the head.
  /// - Throws: `HTTPError`, `CancellationError`, or an error from middleware.
  public nonisolated func data(
    for request: HTTPTypes.HTTPRequest, body: HTTPBody? = nil, options: RequestOptions = RequestOptions()
  ) async throws -> (Data, HTTPTypes.HTTPResponse) {
    let response = try await send(Martlet.HTTPRequest(request, body: body), options: options.accepts(.any))
    return (response.body, try response.httpResponse)
  }

  /// Sends a request of swift-http-types and returns the response while its body is still arriving.
  ///
  /// - Parameters:
  ///   - request: The request, as for `data(for:body:options:)`.
  ///   - body: The body; none by default.
  ///   - options: Per-request options.
  /// - Returns: The body, readable once, and the head. Releasing the body cancels the request.
  /// - Throws: The errors of `data(for:body:options:)`. Reading the body throws the same errors.
  public nonisolated func bytes(
    for request: HTTPTypes.HTTPRequest, body: HTTPBody? = nil, options: RequestOptions = RequestOptions()
  ) async throws -> (ResponseBody, HTTPTypes.HTTPResponse) {
    let response = try await stream(Martlet.HTTPRequest(request, body: body), options: options.accepts(.any))
    return (response.body, try response.httpResponse)
  }
}

extension HTTPHeaders {
  /// Creates header or trailer fields from those of swift-http-types.
  ///
  /// Their order, repetition, spelling and octets are kept. Their indexing strategies are not, because libcurl compresses
  /// the fields of a request.
  ///
  /// - Parameter fields: The fields.
  public init(_ fields: HTTPFields) {
    self.init(fields.map { field in field.withUnsafeBytesOfValue { Field(name: field.name.rawName, octets: $0) } })
  }

  /// The fields for swift-http-types, with the default indexing strategy.
  ///
  /// - Throws: `HTTPError` of kind `invalidRequest` for a name that is not a token, or a value that contains a line
  ///   ending or NUL (RFC 9110 §5.1, §5.5). The types of swift-http-types cannot express either.
  public var httpFields: HTTPFields {
    get throws {
      var fields = HTTPFields()
      for field in self {
        let shown = field.name.debugDescription
        guard let name = HTTPField.Name(field.name) else {
          throw HTTPError(.invalidRequest, "the header name \(shown) is not a token: use letters, digits and hyphens")
        }
        let octets = field.octets
        guard !octets.contains(where: { [0x00, 0x0A, 0x0D].contains($0) }) else {
          throw HTTPError(.invalidRequest, "the value of the header \(shown) contains a line ending or NUL: remove it")
        }
        fields.append(HTTPField(name: name, lenientValue: octets))
      }
      return fields
    }
  }
}

extension HTTPBody {
  /// The same body, followed by trailer fields of swift-http-types.
  ///
  /// For values that are known only after the body, use `withTrailers(_:_:)`, which describes the limits.
  ///
  /// - Parameter fields: The fields.
  /// - Returns: The body.
  public func withTrailers(_ fields: HTTPFields) -> HTTPBody {
    withTrailers(Set(fields.map(\.name.canonicalName)).sorted()) { HTTPHeaders(fields) }
  }
}

extension Martlet.HTTPRequest {
  /// Creates a request from a request of swift-http-types.
  ///
  /// Without a scheme and an authority, the path is joined to the client's base URL. Percent-encoding is kept.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - body: The body; none by default.
  /// - Throws: `HTTPError` of kind `invalidRequest` for a scheme without an authority, an authority without a scheme or
  ///   with userinfo (RFC 9113 §8.3.1), and a path that does not begin with `/` or contains a `#`; of kind
  ///   `unsupported` for extended CONNECT, whose counterparts are `upgrade(_:to:)` and `webSocket(_:)`.
  public init(_ request: HTTPTypes.HTTPRequest, body: HTTPBody? = nil) throws {
    func refuse(_ problem: String) -> HTTPError { HTTPError(.invalidRequest, problem) }
    guard request.extendedConnectProtocol == nil else {
      throw HTTPError(.unsupported, ":protocol is set: use upgrade(_:to:) or webSocket(_:) instead of extended CONNECT")
    }
    var target = request.path ?? ""
    guard target.isEmpty || target.hasPrefix("/"), !target.contains("#") else {
      throw refuse(":path must begin with / and must not contain #")
    }
    switch (request.scheme, request.authority) {
    case (nil, nil): break
    case (let scheme?, let authority?):
      guard ["http", "https"].contains(scheme.lowercased()) else { throw refuse(":scheme must be http or https") }
      guard !authority.isEmpty, !authority.contains(where: { "/\\?#@".contains($0) }) else {
        throw refuse(":authority must be a host with an optional port")
      }
      target = "\(scheme)://\(authority)\(target)"
    case (_?, nil): throw refuse(":scheme is set without :authority: set both, or neither to use the base URL")
    case (nil, _?): throw refuse(":authority is set without :scheme: set both, or neither to use the base URL")
    }
    self.init(
      HTTPMethod(request.method.rawValue), RequestTarget(text: target), headers: HTTPHeaders(request.headerFields),
      body: body)
  }

  /// The head for swift-http-types.
  ///
  /// It includes the media type of the body, but no fields that the client adds when it sends the request.
  ///
  /// - Throws: `HTTPError` of kind `invalidRequest` for a relative or malformed target, a method that is not a token, and
  ///   the fields that ``HTTPHeaders/httpFields`` refuses.
  public var httpRequest: HTTPTypes.HTTPRequest {
    get throws {
      guard let text = url?.absoluteString, let mark = text.firstRange(of: "://") else {
        throw HTTPError(.invalidRequest, "\(target) is not a complete URL: write one that begins with https://")
      }
      guard let method = HTTPTypes.HTTPRequest.Method(rawValue: method.rawValue) else {
        throw HTTPError(.invalidRequest, "the method \(method.rawValue.debugDescription) is not a token")
      }
      let rest = text[mark.upperBound...].prefix { $0 != "#" }
      let authority = rest.prefix { $0 != "/" && $0 != "?" }
      var fields = try headers.httpFields
      if let type = body?.contentType, fields[.contentType] == nil { fields[.contentType] = type }
      return HTTPTypes.HTTPRequest(
        method: method, scheme: String(text[..<mark.lowerBound]), authority: String(authority),
        path: String(rest.dropFirst(authority.count)), headerFields: fields)
    }
  }
}

extension Martlet.HTTPResponse {
  /// Creates a response from a head of swift-http-types, for stubs and tests.
  ///
  /// - Parameters:
  ///   - response: The head.
  ///   - body: The body.
  ///   - request: The request of the response.
  public init(
    _ response: HTTPTypes.HTTPResponse, body: Data = Data(), request: Martlet.HTTPRequest = .get("http://localhost/")
  ) {
    self.init(
      status: HTTPStatus(response.status.code), headers: HTTPHeaders(response.headerFields), body: body,
      request: request)
    if !response.status.reasonPhrase.isEmpty { reasonPhrase = response.status.reasonPhrase }
  }

  /// The head for swift-http-types; `trailers.httpFields` returns its trailer fields.
  ///
  /// - Throws: `HTTPError` of kind `protocolViolation` for a status outside 0 to 999, and the errors of
  ///   ``HTTPHeaders/httpFields``.
  public var httpResponse: HTTPTypes.HTTPResponse {
    get throws { try status.head(headers, reasonPhrase) }
  }
}

extension StreamedResponse {
  /// Creates a response from a head of swift-http-types, for transports and middleware.
  ///
  /// - Parameters:
  ///   - response: The head.
  ///   - body: The body.
  ///   - request: The request as it was sent.
  public init(
    _ response: HTTPTypes.HTTPResponse, body: ResponseBody = ResponseBody(), request: Martlet.HTTPRequest
  ) {
    self.init(
      status: HTTPStatus(response.status.code), headers: HTTPHeaders(response.headerFields), body: body,
      request: request)
    if !response.status.reasonPhrase.isEmpty { reasonPhrase = response.status.reasonPhrase }
  }

  /// The head for swift-http-types; see ``Martlet/HTTPResponse/httpResponse``.
  public var httpResponse: HTTPTypes.HTTPResponse {
    get throws { try status.head(headers, reasonPhrase) }
  }
}

extension HTTPStatus {
  fileprivate func head(_ headers: HTTPHeaders, _ phrase: String?) throws -> HTTPTypes.HTTPResponse {
    guard 0...999 ~= rawValue else {
      throw HTTPError(.protocolViolation, "the status is \(rawValue); it must have three digits")
    }
    return HTTPTypes.HTTPResponse(
      status: HTTPTypes.HTTPResponse.Status(code: rawValue, reasonPhrase: phrase ?? reasonPhrase),
      headerFields: try headers.httpFields)
  }
}

import Foundation
public import HTTPTypes
public import Martlet

extension HTTPHeaders {
  /// Creates header fields from those of swift-http-types.
  ///
  /// - Parameter fields: The fields.
  public init(_ fields: HTTPFields) {
    self.init(fields.map { HTTPHeaders.Field(name: $0.name.rawName, value: $0.value) })
  }

  /// The fields for swift-http-types, without those whose names are not valid there.
  public var httpFields: HTTPFields {
    var fields = HTTPFields()
    for field in self {
      guard let name = HTTPField.Name(field.name) else { continue }
      fields.append(HTTPField(name: name, value: field.value))
    }
    return fields
  }
}

extension Martlet.HTTPRequest {
  /// Creates a request from one of swift-http-types.
  ///
  /// Without a scheme or an authority, the target is relative to the base URL of the client.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - body: The body; none by default.
  public init(_ request: HTTPTypes.HTTPRequest, body: HTTPBody? = nil) {
    var target = request.path ?? "/"
    if let scheme = request.scheme, let authority = request.authority { target = "\(scheme)://\(authority)\(target)" }
    self.init(
      HTTPMethod(request.method.rawValue), RequestTarget(target), headers: HTTPHeaders(request.headerFields), body: body
    )
  }

  /// The request for swift-http-types; `nil` without a complete URL.
  public var httpRequest: HTTPTypes.HTTPRequest? {
    guard let url, let scheme = url.scheme, let host = url.host(percentEncoded: true),
      let method = HTTPTypes.HTTPRequest.Method(rawValue: method.rawValue)
    else { return nil }
    let path = url.path(percentEncoded: true)
    let query = url.query(percentEncoded: true).map { "?\($0)" } ?? ""
    let authority = url.port.map { "\(host):\($0)" } ?? host
    return HTTPTypes.HTTPRequest(
      method: method, scheme: scheme, authority: authority, path: (path.isEmpty ? "/" : path) + query,
      headerFields: headers.httpFields)
  }
}

extension Martlet.HTTPResponse {
  /// The head for swift-http-types.
  public var httpResponse: HTTPTypes.HTTPResponse {
    HTTPTypes.HTTPResponse(
      status: HTTPTypes.HTTPResponse.Status(code: status.rawValue, reasonPhrase: reasonPhrase ?? status.reasonPhrase),
      headerFields: headers.httpFields)
  }
}

public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

extension HTTPClient {
  /// Sends a `URLRequest`, like `URLSession.data(for:)`.
  ///
  /// For code written for `URLSession`. The client's policies apply; as with `URLSession`, no status is an error.
  ///
  /// - Parameter request: The request. A body stream is an error.
  /// - Returns: The body and the response.
  /// - Throws: ``HTTPError``, `CancellationError`, or an error of a middleware.
  public nonisolated func data(for request: URLRequest) async throws -> (Data, HTTPURLResponse) {
    let response = try await send(try HTTPRequest(request), options: .accepts(.any))
    var fields: [String: String] = [:]
    for field in response.headers {
      fields[field.name] = fields[field.name].map { "\($0), \(field.value)" } ?? field.value
    }
    guard
      let converted = HTTPURLResponse(
        url: response.url, statusCode: response.status.rawValue,
        httpVersion: response.httpVersion.map { "HTTP/\($0)" }, headerFields: fields)
    else { throw HTTPError(.protocolViolation, "the response cannot be a HTTPURLResponse") }
    return (response.body, converted)
  }
}

extension HTTPRequest {
  /// Creates a request from a `URLRequest`: method, URL, header fields and body.
  ///
  /// - Parameter request: The request. Its cache policy and timeout are ignored; set them as options.
  /// - Throws: ``HTTPError/Kind/invalidRequest`` for a missing URL or a body stream.
  public init(_ request: URLRequest) throws {
    guard let url = request.url else { throw HTTPError(.invalidRequest, "the URLRequest has no URL") }
    guard request.httpBodyStream == nil else {
      throw HTTPError(.invalidRequest, "the body of the URLRequest is a stream, which cannot be sent twice")
    }
    self.init(HTTPMethod(request.httpMethod ?? "GET"), RequestTarget(url))
    for (name, value) in request.allHTTPHeaderFields ?? [:] { headers[name] = value }
    body = request.httpBody.map { HTTPBody.data($0, contentType: nil) }
  }
}

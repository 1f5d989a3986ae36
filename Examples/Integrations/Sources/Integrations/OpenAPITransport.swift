public import Foundation
public import HTTPTypes
public import Martlet
public import OpenAPIRuntime

/// Sends the requests of a client that Swift OpenAPI Generator has generated.
///
/// ```swift
/// let pets = Client(serverURL: try Servers.Server1.url(), transport: MartletTransport(client))
/// ```
///
/// The client's policies apply: retries, redirects, cookies, cache, limits and deadlines. Any status is returned, for the
/// generated code to judge. Bodies are streamed in both directions, with backpressure. A request body can be sent again,
/// for a retry or a redirect, if its `iterationBehavior` is `multiple`. A decoded response has neither
/// `Content-Encoding` nor `Content-Length`.
///
/// Errors are `HTTPError` and `CancellationError`, which the generated client wraps in its `ClientError`. Cancelling the
/// task, or releasing the body of a response, ends the request.
public struct MartletTransport: ClientTransport {
  /// The client.
  public var client: HTTPClient
  /// The options for the requests of an operation, given its identifier.
  public var options: @Sendable (_ operationID: String) -> RequestOptions

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - client: The client. If the document has a relative server URL, the client needs a base URL.
  ///   - options: The options for the requests of an operation, given its identifier. By default, the identifier is the
  ///     requests' tag.
  public init(
    _ client: HTTPClient = .shared,
    options: @escaping @Sendable (_ operationID: String) -> RequestOptions = { .tag($0) }
  ) {
    self.client = client
    self.options = options
  }

  public func send(
    _ request: HTTPTypes.HTTPRequest, body: OpenAPIRuntime.HTTPBody?, baseURL: URL, operationID: String
  ) async throws -> (HTTPTypes.HTTPResponse, OpenAPIRuntime.HTTPBody?) {
    var headers = HTTPHeaders(request.headerFields)
    // Generated code sets the field, which the client derives from the length of the body.
    headers.remove("Content-Length")
    let response = try await client.stream(
      Martlet.HTTPRequest(
        HTTPMethod(request.method.rawValue), try Self.target(request.path ?? "/", on: baseURL), headers: headers,
        body: body.map(Self.body)),
      options: options(operationID).accepts(.any))
    // These responses have no body (RFC 9112 §6.3).
    if request.method == .head || [204, 304].contains(response.status.rawValue) {
      return (try response.httpResponse, nil)
    }
    let length = response.headers["Content-Length"].flatMap { Int64($0) }
    return (
      try response.httpResponse,
      OpenAPIRuntime.HTTPBody(
        response.body, length: length.map { .known($0) } ?? .unknown, iterationBehavior: .single)
    )
  }

  private static func body(_ body: OpenAPIRuntime.HTTPBody) -> Martlet.HTTPBody {
    let length: Int64? = if case .known(let count) = body.length { count } else { nil }
    return switch body.iterationBehavior {
    case .single: .stream(body.map { Data($0) }, length: length, contentType: nil)
    case .multiple: .stream(length: length, contentType: nil) { body.map { Data($0) } }
    }
  }

  /// Appends an operation's path and query to a server URL, without changing their percent-encoding.
  private static func target(_ path: String, on server: URL) throws -> RequestTarget {
    var root = server.absoluteString
    guard !root.contains(where: { "?#".contains($0) }) else {
      throw HTTPError(.invalidRequest, "the server URL has a query or a fragment; the OpenAPI document allows neither")
    }
    guard path.hasPrefix("/"), !path.contains("#") else {
      throw HTTPError(.invalidRequest, "an operation's path must begin with / and must not contain #")
    }
    // A parameter `..` would otherwise select another operation (RFC 3986 §5.2.4).
    let segments = path.prefix { $0 != "?" }.split(separator: "/")
    guard !segments.contains(where: { [".", ".."].contains(String($0).removingPercentEncoding) }) else {
      throw HTTPError(.invalidRequest, "a path parameter is . or .., which would change the operation's path")
    }
    if root.hasSuffix("/") { root.removeLast() }
    return RequestTarget(text: root + path)
  }
}

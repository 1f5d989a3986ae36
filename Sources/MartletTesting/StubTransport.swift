import MartletBase
public import Foundation
public import Martlet

/// A transport that responds from a closure, and records requests.
///
/// It uses no network. In the closure and in ``requests``, `HTTPRequest.query` contains all items of the URL's query,
/// decoded like `Query.init(parsing:)`, and the target contains none. `HTTPRequest.url` contains the query as it is
/// sent.
///
/// The body of a streamed request is read to its end first: the closure and ``requests`` receive its bytes, as
/// `HTTPBody.data`. More than 64 MiB fail the request. `HTTPRequest.bodyData(upTo:)` reads the body of any request.
///
/// ```swift
/// let transport = StubTransport { request in
///   request.url?.path() == "/user" ? .json(#"{"id":1}"#) : .status(404)
/// }
/// let client = HTTPClient { $0.transport = transport }
/// ```
public final class StubTransport: Transport {
  /// Returns the response to a request, given the context of its exchange.
  public typealias Responder = @Sendable (HTTPRequest, RequestContext) async throws -> StubResponse

  private let responder: Responder
  private let log = Locked<[HTTPRequest]>([])
  let sockets = WebSocketLog()

  /// Creates a transport that responds from a closure.
  ///
  /// - Parameter responder: Receives the request as it would be sent. An error that it throws fails the request.
  public init(_ responder: @escaping @Sendable (HTTPRequest) async throws -> StubResponse) {
    self.responder = { request, _ in try await responder(request) }
  }

  /// Creates a transport with a closure that receives the context.
  ///
  /// - Parameter responder: Receives the request as it would be sent, and the context of its exchange.
  public init(withContext responder: @escaping Responder) { self.responder = responder }

  /// Creates a transport that returns one response after the other; the last one repeats.
  ///
  /// - Parameter script: The responses and failures, at least one.
  public convenience init(script: [StubResponse]) {
    let position = Locked(0)
    self.init { _ in
      let index = position.withLock { state in
        defer { state += 1 }
        return state
      }
      guard let last = script.last else { return .status(500) }
      return index < script.count ? script[index] : last
    }
  }

  /// Creates a transport that fails a number of requests before it responds.
  ///
  /// - Parameters:
  ///   - count: The number of failing requests.
  ///   - kind: The kind of their errors.
  ///   - response: The response to all later requests.
  public convenience init(failing count: Int, with kind: HTTPError.Kind, then response: StubResponse) {
    self.init(script: Array(repeating: .failure(HTTPError(kind, "stubbed")), count: max(0, count)) + [response])
  }

  /// Creates a transport that responds by method and path.
  ///
  /// - Parameter routes: The responses by `"GET /path"`, with the complete escaped path of the URL, without its query.
  ///   Any other request fails with `HTTPError.Kind.unsupported`, and the error names it and the routes.
  public convenience init(routes: [String: StubResponse]) {
    self.init { request in
      let asked = "\(request.method.rawValue) \(request.url?.path(percentEncoded: true) ?? "")"
      guard let response = routes[asked] else {
        let known = routes.isEmpty ? "there are none" : "there are: \(routes.keys.sorted().joined(separator: ", "))"
        throw HTTPError(.unsupported, "no stub route for '\(asked)'; \(known)")
      }
      return response
    }
  }

  /// The requests so far, as they would have been sent.
  public var requests: [HTTPRequest] { log.withLock { $0 } }

  public func send(_ request: HTTPRequest, context: RequestContext) async throws -> StreamedResponse {
    let request = try await Self.gathered(request, context)
    let asked = request.withItems
    log.withLock { $0.append(asked) }
    let response = try await responder(asked, context)
    if let upgrade = response.upgrade { return self.upgrade(request, with: upgrade, response.headers, context) }
    switch response.outcome {
    case .failure(let error): throw error
    case .success(let body):
      let body = request.method == .head ? ResponseBody() : body
      var made = StreamedResponse(status: response.status, headers: response.headers, body: body, request: request)
      if request.method != .head { made.trailers = response.trailers }
      return made
    }
  }
}

extension StubTransport {
  private static let maximumStreamBytes = 64 << 20

  /// The request with a body in memory instead of a stream or of parts.
  private static func gathered(_ request: HTTPRequest, _ context: RequestContext) async throws -> HTTPRequest {
    guard let body = request.body else { return request }
    guard let source = try body.composedSource(for: request) else { return try await withTrailersMade(request) }
    var bytes = Data()
    try await source.send { piece in
      guard bytes.count + piece.count <= maximumStreamBytes else {
        throw HTTPError(.unsupported, "a stub reads no more than 64 MiB of a body stream")
      }
      bytes += piece
      context.didSend(piece.count, of: source.length)
    }
    var request = request
    request.body = .data(bytes, contentType: body.contentType)
    request.body?.trailers = body.trailers
    return try await withTrailersMade(request)
  }

  /// The request with the current fields of its trailers.
  private static func withTrailersMade(_ request: HTTPRequest) async throws -> HTTPRequest {
    guard let trailers = request.body?.trailers else { return request }
    let fields = try await trailers.fields()
    var request = request
    request.body?.trailers = TrailerSource(names: trailers.names) { fields }
    return request
  }
}

/// A response of a ``StubTransport``.
public struct StubResponse: Sendable {
  /// The status.
  public var status: HTTPStatus
  /// The header fields.
  public var headers: HTTPHeaders
  /// The trailer fields; none by default.
  public var trailers: HTTPHeaders = [:]
  var outcome: Result<ResponseBody, any Error>
  /// The other protocol of an upgraded connection; `nil` for a response in HTTP.
  var upgrade: StubUpgrade?

  /// A response with a status and a body.
  ///
  /// - Parameters:
  ///   - status: The status.
  ///   - headers: The header fields.
  ///   - body: The body.
  /// - Returns: The response.
  public static func status(
    _ status: HTTPStatus, headers: HTTPHeaders = [:], body: Data = Data()
  ) -> StubResponse {
    StubResponse(status: status, headers: headers, outcome: .success(ResponseBody(body)))
  }

  /// A response with text; status 200 by default.
  ///
  /// - Parameters:
  ///   - text: The body.
  ///   - status: The status.
  ///   - headers: Additional header fields.
  /// - Returns: The response.
  public static func text(_ text: String, status: HTTPStatus = .ok, headers: HTTPHeaders = [:]) -> StubResponse {
    var all: HTTPHeaders = ["Content-Type": "text/plain; charset=utf-8"]
    all.replace(with: headers)
    return .status(status, headers: all, body: Data(text.utf8))
  }

  /// A response with JSON text.
  ///
  /// - Parameters:
  ///   - json: The JSON text, sent unchanged.
  ///   - status: The status.
  ///   - headers: Additional header fields.
  /// - Returns: The response.
  public static func json(_ json: String, status: HTTPStatus = .ok, headers: HTTPHeaders = [:]) -> StubResponse {
    var all: HTTPHeaders = ["Content-Type": "application/json"]
    all.replace(with: headers)
    return .status(status, headers: all, body: Data(json.utf8))
  }

  /// A redirect.
  ///
  /// - Parameters:
  ///   - location: The value of `Location`.
  ///   - status: The status.
  /// - Returns: The response.
  public static func redirect(to location: String, status: HTTPStatus = .found) -> StubResponse {
    .status(status, headers: ["Location": location])
  }

  /// A response whose body arrives in chunks.
  ///
  /// - Parameters:
  ///   - status: The status.
  ///   - headers: The header fields.
  ///   - next: Returns the next chunk, or `nil` at the end.
  /// - Returns: The response.
  public static func streamed(
    _ status: HTTPStatus = .ok, headers: HTTPHeaders = [:], next: @escaping @Sendable () async throws -> Data?
  ) -> StubResponse {
    StubResponse(status: status, headers: headers, outcome: .success(ResponseBody(next: next)))
  }

  /// A failure instead of a response.
  ///
  /// - Parameter error: The error that sending throws.
  /// - Returns: The failure.
  public static func failure(_ error: any Error) -> StubResponse {
    StubResponse(status: .ok, headers: [:], outcome: .failure(error))
  }
}

/// It makes no connections.
extension StubTransport: AddressCheckingTransport {}

extension Transport where Self == StubTransport {
  /// A transport that responds from a closure, without a network.
  ///
  /// - Parameter responder: Receives the request as it would be sent.
  /// - Returns: The transport.
  public static func stub(
    _ responder: @escaping @Sendable (HTTPRequest) async throws -> StubResponse
  ) -> StubTransport {
    StubTransport(responder)
  }
}

public import Foundation

/// The head of a response, and its body as it arrives.
public struct StreamedResponse: Sendable {
  /// The status code (RFC 9110 §15).
  public var status: HTTPStatus
  /// The header fields.
  public var headers: HTTPHeaders
  /// The body; readable once.
  public var body: ResponseBody
  /// The text after the status code, or `nil` where the transport does not tell it.
  public var reasonPhrase: String?
  /// The protocol version, such as `1.1`, or `nil` where the transport does not tell it.
  public var httpVersion: String?
  /// The connection it comes on, or `nil` where the transport does not tell it.
  public var connection: ConnectionInfo?
  /// Where it came from.
  public var source: HTTPResponse.Source = .network
  /// The redirects followed.
  public var redirects: [RedirectHop] = []
  /// The attempts made at the last hop.
  public var attempts: [Attempt] = []
  /// Where the time went, as far as known when the head arrived.
  public var timing = RequestTiming()
  /// The request as it was sent.
  public var request: HTTPRequest

  /// Makes a response, for transports and middleware.
  ///
  /// - Parameters:
  ///   - status: The status.
  ///   - headers: The header fields.
  ///   - body: The body.
  ///   - request: The request as it was sent.
  public init(
    status: HTTPStatus, headers: HTTPHeaders = [:], body: ResponseBody = ResponseBody(), request: HTTPRequest
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.request = request
  }

  /// The URL that answered.
  public var url: URL { request.url ?? URL(fileURLWithPath: "/") }

  /// The head together with a body that was read.
  func whole(_ data: Data, asked: HTTPRequest, decoder: JSONDecoder?) -> HTTPResponse {
    var response = HTTPResponse(status: status, headers: headers, body: data, request: asked)
    response.finalRequest = request
    response.reasonPhrase = reasonPhrase
    response.httpVersion = httpVersion
    response.connection = connection
    response.source = source
    response.redirects = redirects
    response.attempts = attempts
    response.timing = timing
    response.decoder = decoder
    return response
  }
}

extension HTTPRequest {
  /// The whole URL without credentials, or `nil` if the target is relative or malformed.
  public var url: URL? { (try? target.resolve(against: nil, adding: query))?.url }
}

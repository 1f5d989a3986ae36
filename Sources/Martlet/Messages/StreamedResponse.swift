public import MartletBase

/// The head of a response, and its body as it arrives.
public struct StreamedResponse: Sendable {
  private var head: Boxed<ResponseHead>
  /// The body; readable once.
  public var body: ResponseBody
  /// The client's JSON coders, set before user code reads the body.
  var coders: JSONCoders?

  /// Creates a response, for transports and middleware.
  ///
  /// - Parameters:
  ///   - status: The status.
  ///   - headers: The header fields.
  ///   - body: The body.
  ///   - request: The request as it was sent.
  public init(
    status: HTTPStatus, headers: HTTPHeaders = [:], body: ResponseBody = ResponseBody(), request: HTTPRequest
  ) {
    self.init(ResponseHead(status: status, headers: headers, request: request), body)
  }

  /// Creates a response with status 101, for transports: the connection then transports another protocol.
  ///
  /// - Parameters:
  ///   - status: ``HTTPStatus/switchingProtocols``.
  ///   - headers: The header fields, with `Upgrade`.
  ///   - body: The bytes from the server after the head.
  ///   - request: The request as it was sent.
  ///   - writer: The sending side of the connection.
  public init(
    status: HTTPStatus = .switchingProtocols, headers: HTTPHeaders, body: ResponseBody, request: HTTPRequest,
    writer: any UpgradeWriter
  ) {
    var head = ResponseHead(status: status, headers: headers, request: request)
    head.upgradeWriter = writer
    self.init(head, body)
  }

  init(_ head: ResponseHead, _ body: ResponseBody) {
    self.head = Boxed(head)
    self.body = body
  }

  /// The status code (RFC 9110 §15).
  public var status: HTTPStatus {
    get { head.value.status }
    _modify { yield &head.value.status }
  }

  /// The header fields.
  public var headers: HTTPHeaders {
    get { head.value.headers }
    _modify { yield &head.value.headers }
  }

  /// The trailer fields (RFC 9110 §6.5), available after the body has been read to its end.
  ///
  /// Empty before that, and if there are none.
  ///
  /// ```swift
  /// let digest = try await client.stream(.get("/export")) { response in
  ///   for try await piece in response.body { try file.write(contentsOf: piece) }
  ///   return response.trailers["Content-Digest"]
  /// }
  /// ```
  ///
  /// See ``HTTPResponse/trailers``.
  public var trailers: HTTPHeaders {
    get { head.value.trailers.fields }
    set { head.value.trailers = .fields(newValue) }
  }

  /// The reason phrase after the status code, or `nil` if the transport does not report it.
  public var reasonPhrase: String? {
    get { head.value.reasonPhrase }
    _modify { yield &head.value.reasonPhrase }
  }

  /// The HTTP version, such as ``HTTPVersion/http2``, or `nil` if the transport does not report it.
  ///
  /// On Apple platforms, the system's loader reports it at the end of the body.
  public var httpVersion: HTTPVersion? {
    get { head.value.httpVersion ?? head.value.measurement?.value?.httpVersion }
    _modify { yield &head.value.httpVersion }
  }

  /// The connection of the response, or `nil` if the transport does not report it.
  ///
  /// On Apple platforms, the system's loader reports it at the end of the body.
  public var connection: HTTPResponse.Connection? {
    get { head.value.connection ?? head.value.measurement?.value?.connection }
    _modify { yield &head.value.connection }
  }

  /// Whether the body had a content coding that was decoded; see ``HTTPResponse/wasCompressed``.
  public internal(set) var wasCompressed: Bool {
    get { head.value.wasCompressed }
    _modify { yield &head.value.wasCompressed }
  }

  /// The source of the response.
  public var source: HTTPResponse.Source {
    get { head.value.source }
    _modify { yield &head.value.source }
  }

  /// The cache's decision and its reason in plain text; `nil` if no cache was consulted.
  public var cacheExplanation: String? { head.value.cacheReason?.statement }

  /// The cache file with the body, or `nil`; see ``HTTPResponse/bodyFile``.
  public var bodyFile: URL? { head.value.bodyFile }

  /// Why the server could not be reached, if ``source`` is ``HTTPResponse/Source/fallback``.
  public internal(set) var fallbackReason: HTTPError? {
    get { head.value.fallbackReason }
    _modify { yield &head.value.fallbackReason }
  }

  /// The redirects followed.
  public var redirects: [HTTPResponse.Redirect] {
    get { head.value.redirects }
    _modify { yield &head.value.redirects }
  }

  /// The attempts made at the last hop.
  public var attempts: [HTTPResponse.Attempt] {
    get { head.value.attempts }
    _modify { yield &head.value.attempts }
  }

  var isBodyTruncated: Bool {
    get { head.value.isBodyTruncated }
    _modify { yield &head.value.isBodyTruncated }
  }

  var cacheReason: Explanation.CacheReason? {
    get { head.value.cacheReason }
    _modify { yield &head.value.cacheReason }
  }

  /// The decisions about the request until the head arrived, with their reasons.
  ///
  /// See ``HTTPResponse/explanation``.
  public internal(set) var explanation: Explanation {
    get { head.value.explanation }
    _modify { yield &head.value.explanation }
  }

  /// The timing of the call, to the extent known when the head arrived.
  public var timing: HTTPResponse.Timing {
    get { head.value.timing }
    _modify { yield &head.value.timing }
  }

  /// The request as it was sent.
  public var request: HTTPRequest {
    get { head.value.request }
    _modify { yield &head.value.request }
  }

  /// The URL of the request as it was sent.
  public var url: URL { request.url ?? request.localURL }

  /// A safe filename for the body, as suggested by the server; see ``HTTPResponse/suggestedFilename``.
  public var suggestedFilename: String? { SafeFilename.suggested(by: headers, for: request.absoluteURL) }

  /// The sending side of an upgraded connection; `nil` for other responses.
  package var upgradeWriter: (any UpgradeWriter)? {
    get { head.value.upgradeWriter }
    _modify { yield &head.value.upgradeWriter }
  }

  /// Truncates the body to its first `limit` bytes, and does not read the rest.
  mutating func truncateBody(upTo limit: Int) async throws {
    let whole = body
    body = ResponseBody()
    guard limit > 0 else {
      if !whole.isEmpty, !isWithoutBody { isBodyTruncated = true }
      return
    }
    let (data, isWhole) = try await whole.read(upTo: limit)
    body = ResponseBody(data)
    if !isWhole { isBodyTruncated = true }
  }

  /// Whether no body follows the head (RFC 9112 §6.3).
  var isWithoutBody: Bool {
    request.method == .head || [204, 304].contains(status.rawValue) || headers["Content-Length"] == "0"
  }

  /// The facts that are only known at the end of the body, if the transport reports any.
  var measurement: LateMeasurement? {
    get { head.value.measurement }
    _modify { yield &head.value.measurement }
  }

  /// Combines the head with a body that was read.
  func whole(_ data: Data, asked: HTTPRequest, coders: JSONCoders?) -> HTTPResponse {
    var head = head
    if head.value.measurement != nil { head.value.complete() }
    return HTTPResponse(head, data, asked: asked, coders)
  }
}

extension HTTPRequest {
  /// The complete URL without credentials, or `nil` if the target is relative or malformed.
  public var url: URL? { absoluteURL?.url }

  /// The URL of a request that was not sent, with `http://localhost/` as the base URL.
  var localURL: URL {
    ((try? target.resolve(against: RequestTarget(.localhost), adding: query)) ?? .localhost).url
  }
}

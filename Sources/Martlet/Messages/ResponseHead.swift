import MartletBase

/// The parts of a response except its body, for streamed and complete responses.
struct ResponseHead: Sendable {
  var status: HTTPStatus
  var headers: HTTPHeaders
  var trailers = ResponseTrailers.fields([:])
  var reasonPhrase: String?
  var httpVersion: HTTPVersion?
  var connection: HTTPResponse.Connection?
  /// Whether only the beginning of the body was kept.
  var isBodyTruncated = false
  /// Whether the body had a content coding, which was decoded.
  var wasCompressed = false
  var source = HTTPResponse.Source.network
  /// The cache's decision and its reason.
  var cacheReason: Explanation.CacheReason?
  /// The separate cache file that contains the body, if there is one.
  var bodyFile: URL?
  /// The failure that a stored response replaces.
  var fallbackReason: HTTPError?
  var redirects: [HTTPResponse.Redirect] = []
  var attempts: [HTTPResponse.Attempt] = []
  var explanation = Explanation()
  var timing = HTTPResponse.Timing()
  /// The facts that are only known at the end of the body, if the transport reports any.
  var measurement: LateMeasurement?
  /// The sending side of an upgraded connection; `nil` for other responses.
  var upgradeWriter: (any UpgradeWriter)?
  /// The request as it was sent.
  var request: HTTPRequest
}

extension ResponseHead {
  /// Adds the facts that are known at the end of the body.
  mutating func complete() {
    guard let late = measurement?.value else { return }
    measurement = nil
    httpVersion = httpVersion ?? late.httpVersion
    connection = connection ?? late.connection
    timing.add(late.timing)
  }
}

enum ResponseTrailers: Sendable {
  case fields(HTTPHeaders)
  /// The trailers at the end of a body stream.
  case after(BodyStream)

  var fields: HTTPHeaders {
    switch self {
    case .fields(let fields): fields
    case .after(let stream): stream.trailers.map { HTTPHeaders($0) } ?? [:]
    }
  }
}

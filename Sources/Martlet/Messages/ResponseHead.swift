import MartletBase
import Foundation

/// What a response has beside its body, the same for one that streams and one that was read.
struct ResponseHead: Sendable {
  var status: HTTPStatus
  var headers: HTTPHeaders
  var trailers = ResponseTrailers.fields([:])
  var reasonPhrase: String?
  var httpVersion: HTTPVersion?
  var connection: HTTPResponse.Connection?
  /// Whether only the beginning of the body was kept.
  var isBodyTruncated = false
  /// Whether the body was coded on its way, and was decoded.
  var wasCompressed = false
  var source = HTTPResponse.Source.network
  /// What the cache decided, and why.
  var cacheReason: CacheDecision.Reason?
  /// The file that the stored body is in, if it is in one of its own.
  var bodyFile: URL?
  /// What kept the server's answer from coming, if a stored one stands in for it.
  var fallbackReason: HTTPError?
  var redirects: [HTTPResponse.Redirect] = []
  var attempts: [HTTPResponse.Attempt] = []
  var timing = HTTPResponse.Timing()
  /// The request as it was sent.
  var request: HTTPRequest
}

enum ResponseTrailers: Sendable {
  case fields(HTTPHeaders)
  /// Those that come with the end of a body.
  case after(BodyStream)

  var fields: HTTPHeaders {
    switch self {
    case .fields(let fields): fields
    case .after(let stream): stream.trailers.map { HTTPHeaders($0) } ?? [:]
    }
  }
}

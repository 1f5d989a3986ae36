import MartletBase
import Foundation
import Martlet
import MartletHAR

extension HAREntry {
  /// Creates the entry of an exchange to replay, with its secrets masked.
  ///
  /// A request body in which secrets could not be masked is recorded as its digest, so the request can be recognized. A
  /// response body that is not text is recorded unchanged, unless the redaction masks all bodies.
  init(
    recording request: HTTPRequest, _ sent: Data?, _ response: StreamedResponse, _ received: Data, startedAt: Date,
    timings: Timings, _ redaction: Redaction
  ) {
    self.init(
      request, sent: sent, response: response, received: received, startedAt: startedAt, timings: timings,
      redaction: redaction)
    self.request = Request(recording: request, sent, redaction)
    // Binary data contains no telling names; text does.
    let isText = BodyMask.isText(
      received, contentType: response.headers["Content-Type"], coding: response.headers["Content-Encoding"])
    if self.response.body?.content == Body.Content.none, !redaction.hidesBodies, !isText {
      self.response.body?.content = .bytes(received)
      self.response.body?.comment = nil
    }
  }
}

extension HAREntry.Request {
  /// Creates a request with its secrets masked; a body that cannot be masked is replaced by its digest.
  fileprivate init(recording request: HTTPRequest, _ sent: Data?, _ redaction: Redaction) {
    self.init(request, body: sent, redaction: redaction)
    guard let sent, !sent.isEmpty, body?.content == HAREntry.Body.Content.none else { return }
    body?.comment = HARKey.Body.digest(of: sent, request.headers["Content-Type"] ?? request.body?.contentType).comment
  }
}

/// The parts of a request that identify it among entries, with secrets masked.
struct HARKey: Sendable, Hashable {
  enum Body: Sendable, Hashable {
    case none
    case text(String)
    /// The SHA-256 of bytes in which secrets could not be masked.
    case digest(String)

    private static let prefix = "not recorded; SHA-256 "

    /// Whether a comment contains a digest.
    static func isDigest(_ comment: String) -> Bool { comment.hasPrefix(prefix) }

    var comment: String? { if case .digest(let digest) = self { Self.prefix + digest } else { nil } }

    /// The digest of bytes, with the random boundary of multipart bodies replaced by a constant.
    static func digest(of data: Data, _ type: String?) -> Body {
      let boundary = type.flatMap { MediaType($0) }?.parameter("boundary").flatMap {
        // Replacing an invalid boundary could enlarge the data many times.
        MultipartSyntax.problem(ofBoundary: $0) == nil ? $0 : nil
      }
      let octets = boundary.map { data.replacing(Data($0.utf8), with: Data("boundary".utf8)) } ?? data
      return .digest(SHA2.sha256(Array(octets)).hexadecimal)
    }

    init(_ body: HAREntry.Body?, _ type: String?, _ coding: String?, _ redaction: Redaction) {
      let data: Data
      switch body?.content {
      case .text(let text)?: data = Data(text.utf8)
      case .bytes(let bytes)?: data = bytes
      default: data = Data()
      }
      if let comment = body?.comment, Self.isDigest(comment) {
        self = .digest(String(comment.dropFirst(Self.prefix.count)))
      } else if data.isEmpty {
        self = .none
      } else if case .text(let masked)? = redaction.maskedBody(data, contentType: type, coding: coding),
        let text = String(validating: masked, as: UTF8.self)
      {
        self = .text(text)
      } else {
        self = Self.digest(of: data, type)
      }
    }
  }

  var method: String
  /// The scheme, host and port.
  var origin: String
  var path: String
  var query: [Query.Item]
  var body: Body
  /// Further fields, by their names in lower case.
  var headers: [String: String] = [:]

  /// A name for a file with a body.
  static func name(of body: Data) -> String { String(SHA2.sha256(Array(body)).hexadecimal.prefix(16)) }

  init(_ request: HTTPRequest, _ body: Data?, headers names: [String], _ redaction: Redaction) {
    self.init(HAREntry.Request(recording: request, body, redaction), names, redaction)
  }

  init(_ entry: HAREntry, headers names: [String], _ redaction: Redaction) {
    self.init(entry.request, names, redaction)
  }

  private init(_ request: HAREntry.Request, _ names: [String], _ redaction: Redaction) {
    method = request.method
    // A file of another program may contain unmasked secrets.
    let target = RequestTarget(request.url).withHTTPScheme
    let masked = HAREntry.Request(
      HTTPRequest(HTTPMethod(method), target, headers: names.isEmpty ? [:] : request.headers), body: nil,
      redaction: redaction)
    let parts = masked.url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let whole = parts[0]
    let start = whole.range(of: "://")?.upperBound ?? whole.startIndex
    let slash = whole[start...].firstIndex(of: "/") ?? whole.endIndex
    origin = String(whole[..<slash])
    path = slash == whole.endIndex ? "/" : String(whole[slash...])
    query = Query(parsing: parts.count > 1 ? String(parts[1]) : "").items
    let type = request.body.flatMap { $0.mimeType.isEmpty ? nil : $0.mimeType } ?? request.headers["Content-Type"]
    body = Body(request.body, type, request.headers["Content-Encoding"], redaction)
    for name in names {
      guard let value = masked.headers[name] else { continue }
      headers[FieldSyntax.lowercased(name)] = value
    }
  }
}

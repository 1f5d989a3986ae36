import MartletBase
package import Foundation

extension HAREntry {
  /// The entry of an exchange whose bodies are known, with its secrets masked.
  ///
  /// A body of the request in which secrets could not be masked is recorded as its digest, so that the request can be
  /// recognized. That of the response is recorded as it is if it is not text, unless the redaction masks all bodies.
  package init(
    _ request: HTTPRequest, _ sent: Data?, _ response: StreamedResponse, _ received: Data, startedAt: Date,
    timings: Timings, _ redaction: Redaction
  ) {
    var answer = redaction.recorded(InstrumentEvent.Head(response))
    answer.trailers = redaction.recorded(response.trailers)
    answer.body = Body(
      received, of: Int64(received.count), isWhole: true, type: response.headers["Content-Type"],
      coding: response.headers["Content-Encoding"], redaction)
    // Bytes contain no telling names; text does.
    let isText = BodyMask.isText(
      received, contentType: response.headers["Content-Type"], coding: response.headers["Content-Encoding"])
    if answer.body?.content == Body.Content.none, !redaction.hidesBodies, !isText {
      answer.body?.content = .bytes(received)
      answer.body?.comment = nil
    }
    self.init(
      startedAt: startedAt, request: Request(request, sent, redaction), response: answer, timings: timings,
      remoteAddress: response.connection?.remoteAddress)
  }
}

extension HAREntry.Request {
  /// A request whose body is known, with its secrets masked.
  fileprivate init(_ request: HTTPRequest, _ sent: Data?, _ redaction: Redaction) {
    self = redaction.recorded(request)
    guard let sent else { return }
    let type = request.headers["Content-Type"] ?? request.body?.contentType
    body = HAREntry.Body(
      sent, of: Int64(sent.count), isWhole: true, type: type, coding: request.headers["Content-Encoding"], redaction)
    if body?.content == HAREntry.Body.Content.none, !sent.isEmpty {
      body?.comment = HARKey.Body.digest(of: sent, type).comment
    }
    bodySize = Int64(sent.count)
  }
}

extension HARFile {
  /// The JSON of the file.
  package func data() -> Data {
    let creator = JSONNode.members([("name", .text("Martlet")), ("version", .text(HTTPClient.Configuration.version))])
    let log = JSONNode.members([
      ("version", .text("1.2")), ("creator", creator), ("pages", .array([])), ("entries", .array([])),
    ])
    var (text, lines): ([UInt8], [UInt8]) = ([], [])
    JSONNode.members([("log", log)]).append(to: &text)
    HAREntry.append(entries, to: &lines)
    let end = text.suffix(3)
    return Data(text.dropLast(3) + lines + end + "\n".utf8)
  }
}

/// What makes a request recognizable among entries, with secrets masked.
package struct HARKey: Sendable, Hashable {
  package enum Body: Sendable, Hashable {
    case none
    case text(String)
    /// The SHA-256 of bytes in which secrets could not be masked.
    case digest(String)

    private static let prefix = "not recorded; SHA-256 "

    var comment: String? { if case .digest(let digest) = self { Self.prefix + digest } else { nil } }

    /// The digest of bytes, as if the boundary of their parts, which is random, were always the same.
    static func digest(of data: Data, _ type: String?) -> Body {
      let boundary = type.flatMap { MediaType($0) }?.parameter("boundary").flatMap {
        // Replacing any other one could enlarge the data many times.
        MultipartSyntax.problem(ofBoundary: $0) == nil ? $0 : nil
      }
      let octets = boundary.map { data.replacing(Data($0.utf8), with: Data("boundary".utf8)) } ?? data
      return .digest(SHA2.sha256(Array(octets)).hexadecimal)
    }

    fileprivate init(_ body: HAREntry.Body?, _ type: String?, _ coding: String?, _ redaction: Redaction) {
      let data: Data
      switch body?.content {
      case .text(let text)?: data = Data(text.utf8)
      case .bytes(let bytes)?: data = bytes
      default: data = Data()
      }
      if let comment = body?.comment, comment.hasPrefix(Self.prefix) {
        self = .digest(String(comment.dropFirst(Self.prefix.count)))
      } else if data.isEmpty {
        self = .none
      } else if case .text(let text) = HAREntry.Body(
        data, of: 0, isWhole: true, type: type, coding: coding, redaction
      ).content {
        self = .text(text)
      } else {
        self = Self.digest(of: data, type)
      }
    }
  }

  package var method: String
  /// The scheme, host and port.
  package var origin: String
  package var path: String
  package var query: [Query.Item]
  package var body: Body
  /// Further fields, by their names in lower case.
  package var headers: [String: String] = [:]

  /// A name for a file with a body.
  package static func name(of body: Data) -> String { String(SHA2.sha256(Array(body)).hexadecimal.prefix(16)) }

  package init(_ request: HTTPRequest, _ body: Data?, headers names: [String], _ redaction: Redaction) {
    self.init(HAREntry.Request(request, body, redaction), names, redaction)
  }

  package init(_ entry: HAREntry, headers names: [String], _ redaction: Redaction) {
    self.init(entry.request, names, redaction)
  }

  private init(_ request: HAREntry.Request, _ names: [String], _ redaction: Redaction) {
    method = request.method
    let url = redaction.url(of: HTTPRequest(HTTPMethod(method), RequestTarget(request.url)))
    let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let whole = parts[0]
    let start = whole.range(of: "://")?.upperBound ?? whole.startIndex
    let slash = whole[start...].firstIndex(of: "/") ?? whole.endIndex
    origin = String(whole[..<slash])
    path = slash == whole.endIndex ? "/" : String(whole[slash...])
    query = Query(parsing: parts.count > 1 ? String(parts[1]) : "").items
    let type = request.body.flatMap { $0.mimeType.isEmpty ? nil : $0.mimeType } ?? request.headers["Content-Type"]
    body = Body(request.body, type, request.headers["Content-Encoding"], redaction)
    for name in names {
      guard let value = request.headers[name] else { continue }
      let field = HTTPHeaders.Field(name: name, value: value)
      headers[FieldSyntax.lowercased(name)] = redaction.recordedValue(of: field)
    }
  }
}

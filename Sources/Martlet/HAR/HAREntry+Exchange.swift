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
    let mask = HARMask(redaction: redaction)
    var asked = mask.request(request)
    if let sent {
      let type = request.headers["Content-Type"] ?? request.body?.contentType
      asked.body = Body(
        sent, of: Int64(sent.count), isWhole: true, type: type, coding: request.headers["Content-Encoding"], redaction)
      if asked.body?.content == Body.Content.none, !sent.isEmpty {
        asked.body?.comment = HARKey.Body.digest(of: sent, type).comment
      }
      asked.bodySize = Int64(sent.count)
    }
    var answer = mask.response(InstrumentEvent.Head(response))
    answer.trailers = mask.headers(response.trailers)
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
      startedAt: startedAt, request: asked, response: answer, timings: timings,
      remoteAddress: response.connection?.remoteAddress)
  }
}

extension HARFile {
  /// The JSON of the file.
  package func data() -> Data {
    var text = JSONText()
    text.object { text in
      text.object("log") { text in
        text.member("version", "1.2")
        text.object("creator") { text in
          text.member("name", "Martlet")
          text.member("version", HTTPClient.Configuration.version)
        }
        text.array("pages", [Int]()) { _, _ in }
        text.array("entries", entries) { entry, text in
          text.breakLine()
          entry.write(to: &text)
        }
      }
    }
    return Data(text.bytes) + Data("\n".utf8)
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
      return .digest(SHA256Stream.text(SHA2.sha256(Array(octets))))
    }

    init(_ data: Data?, _ type: String?, _ coding: String?, _ redaction: Redaction) {
      guard let data, !data.isEmpty else {
        self = .none
        return
      }
      let body = HAREntry.Body(data, of: 0, isWhole: true, type: type, coding: coding, redaction)
      if case .text(let text) = body.content { self = .text(text) } else { self = Self.digest(of: data, type) }
    }

    init(_ body: HAREntry.Body?, _ type: String?, _ coding: String?, _ redaction: Redaction) {
      if let comment = body?.comment, comment.hasPrefix(Self.prefix) {
        self = .digest(String(comment.dropFirst(Self.prefix.count)))
        return
      }
      switch body?.content {
      case .text(let text)?: self = Self(Data(text.utf8), type, coding, redaction)
      case .bytes(let data)?: self = Self(data, type, coding, redaction)
      default: self = .none
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
  package static func name(of body: Data) -> String { String(SHA256Stream.text(SHA2.sha256(Array(body))).prefix(16)) }

  package init(
    _ request: HTTPRequest, _ body: Data?, headers names: [String], _ redaction: Redaction
  ) {
    let type = request.headers["Content-Type"] ?? request.body?.contentType
    self.init(
      request.method.rawValue, HARMask(redaction: redaction).url(of: request), request.headers, names,
      Body(body, type, request.headers["Content-Encoding"], redaction), redaction)
  }

  package init(_ entry: HAREntry, headers names: [String], _ redaction: Redaction) {
    let request = HTTPRequest(HTTPMethod(entry.request.method), RequestTarget(entry.request.url))
    let type = entry.request.body?.mimeType
    self.init(
      entry.request.method, HARMask(redaction: redaction).url(of: request), entry.request.headers, names,
      Body(
        entry.request.body, type.flatMap { $0.isEmpty ? nil : $0 } ?? entry.request.headers["Content-Type"],
        entry.request.headers["Content-Encoding"], redaction), redaction)
  }

  private init(
    _ method: String, _ url: String, _ headers: HTTPHeaders, _ names: [String], _ body: Body, _ redaction: Redaction
  ) {
    self.method = method
    let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let whole = parts[0]
    let start = whole.range(of: "://")?.upperBound ?? whole.startIndex
    let slash = whole[start...].firstIndex(of: "/") ?? whole.endIndex
    origin = String(whole[..<slash])
    path = slash == whole.endIndex ? "/" : String(whole[slash...])
    query = Query(parsing: parts.count > 1 ? String(parts[1]) : "").items
    self.body = body
    for name in names {
      guard let value = headers[name] else { continue }
      let field = HTTPHeaders.Field(name: name, value: value)
      self.headers[FieldSyntax.lowercased(name)] = HARMask(redaction: redaction).value(of: field)
    }
  }
}

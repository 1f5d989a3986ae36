import Martlet
import MartletBase

extension HAREntry {
  /// The error for a required member that an entry lacks.
  struct MissingMember: Error {
    let name: String
  }

  /// Reads an entry written by this or another program.
  ///
  /// Programs omit unknown values, and some use other forms, so only the method and the URL are required.
  init(_ value: JSONValue) throws(MissingMember) {
    let (request, response) = (value["request"], value["response"])
    guard let method = request["method"].string, !method.isEmpty else { throw MissingMember(name: "request.method") }
    guard let url = request["url"].string, !url.isEmpty else { throw MissingMember(name: "request.url") }
    self.init(
      startedAt: value["startedDateTime"].string.flatMap(Self.date) ?? Date(timeIntervalSince1970: 0),
      request: Request(
        method: method, url: url, httpVersion: request["httpVersion"].string ?? "",
        headers: Self.headers(request["headers"]), body: Self.postData(request["postData"]),
        bodySize: request["bodySize"].int64 ?? -1),
      response: Response(
        status: response["status"].int ?? response["status"].string.flatMap { Int($0) } ?? 0,
        statusText: response["statusText"].string ?? "", httpVersion: response["httpVersion"].string ?? "",
        headers: Self.headers(response["headers"]),
        body: Self.body(response["content"], size: response["content"]["size"].int64),
        bodySize: response["bodySize"].int64 ?? -1))
    self.response.trailers = Self.headers(response["_trailers"])
    timings = Timings(value["timings"])
    remoteAddress = value["serverIPAddress"].string
    connection = value["connection"].string
    // Chrome also uses the name `_error`, but in the response.
    failure = value["_error"].string ?? response["_error"].string
    explanation = value["_explanation"].array?.compactMap(\.string) ?? []
    codes = value["_codes"].array?.compactMap(\.string) ?? []
    call = value["_call"].string
    attempt = value["_attempt"].int ?? 1
    hop = value["_redirect"].int ?? 0
    tag = value["_tag"].string
    webSocketMessages = value["_webSocketMessages"].array?.compactMap { WebSocketMessage($0) }
    omittedMessageCount = value["_omittedMessages"].int ?? 0
    isFromCache = value["_fromCache"].bool ?? (value["_fromCache"].string != nil)
  }

  private static func date(_ text: String) -> Date? {
    (try? dates.parse(text)) ?? (try? Date.ISO8601FormatStyle().parse(text))
  }

  private static func headers(_ value: JSONValue) -> HTTPHeaders {
    HTTPHeaders(
      (value.array ?? []).compactMap { field in
        // Chrome and Firefox write HTTP/2's pseudo-header fields among the fields.
        guard let name = field["name"].string, !name.hasPrefix(":") else { return nil }
        if let octets = field["_octets"].string.flatMap({ Data(base64Encoded: $0) }) {
          return HTTPHeaders.Field(name: name, octets: octets)
        }
        let value = field["value"].string ?? field["value"].int.map { "\($0)" } ?? ""
        return HTTPHeaders.Field(name: name, value: value)
      })
  }

  private static func postData(_ value: JSONValue) -> Body? {
    guard !value.isNull else { return nil }
    var body = body(value, size: nil)
    // Some programs write only the fields of a form, without its text.
    if body?.content == Body.Content.none || value["text"].string?.isEmpty == true, let items = value["params"].array,
      !items.isEmpty
    {
      let fields = items.map { "\(encoded($0["name"].string ?? ""))=\(encoded($0["value"].string ?? ""))" }
      let text = fields.joined(separator: "&")
      body?.content = .text(text)
      body?.size = Int64(text.utf8.count)
    }
    return body
  }

  /// Text in a form field (WHATWG URL standard, §5.2).
  private static func encoded(_ text: String) -> String {
    String(
      decoding: text.utf8.flatMap { octet -> [UInt8] in
        switch octet {
        case UInt8(ascii: " "): [UInt8(ascii: "+")]
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2A, 0x2D, 0x2E, 0x5F: [octet]
        default: Array("%\(octet < 0x10 ? "0" : "")\(String(octet, radix: 16, uppercase: true))".utf8)
        }
      }, as: UTF8.self)
  }

  private static func body(_ value: JSONValue, size: Int64?) -> Body? {
    guard !value.isNull else { return nil }
    var content = Body.Content.none
    var problem: String?
    var length: Int64 = 0
    if let text = value["text"].string {
      switch value["encoding"].string?.lowercased() {
      case nil, "", "utf-8", "utf8": (content, length) = (.text(text), Int64(text.utf8.count))
      case "base64":
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        if let data = Data(base64Encoded: text + padding, options: .ignoreUnknownCharacters) {
          (content, length) = (.bytes(data), Int64(data.count))
        } else {
          problem = "the body is not valid base64"
        }
      case let encoding?: problem = "the body's encoding '\(encoding)' is unknown"
      }
    } else if let name = value["_file"].string {
      content = .file(name)
    }
    var body = Body(mimeType: value["mimeType"].string ?? "", content: content, size: max(size ?? length, 0))
    body.isWhole = value["_truncated"].bool != true
    body.comment = problem ?? value["comment"].string
    if problem != nil { body.size = max(body.size, 1) }
    return body
  }
}

extension HAREntry.Timings {
  fileprivate init(_ value: JSONValue) {
    func duration(_ name: String) -> Duration? {
      guard let milliseconds = value[name].double, milliseconds >= 0, milliseconds < 1e12 else { return nil }
      return .milliseconds(milliseconds)
    }
    self.init()
    (blocked, dns, connect, ssl) = (duration("blocked"), duration("dns"), duration("connect"), duration("ssl"))
    (send, wait, receive) = (duration("send") ?? .zero, duration("wait") ?? .zero, duration("receive") ?? .zero)
  }
}

extension JSONValue {
  fileprivate var int64: Int64? { int.map(Int64.init) ?? double.flatMap { Int64(exactly: $0.rounded()) } }
}

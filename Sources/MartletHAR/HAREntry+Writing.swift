import Martlet
import MartletBase

extension HAREntry {
  static let dates = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  /// Appends entries to others, each on its own line.
  static func append(_ entries: [HAREntry], to text: inout [UInt8]) {
    for entry in entries {
      text += (text.isEmpty ? "\n" : ",\n").utf8
      entry.json.append(to: &text)
    }
  }

  /// The date, between `distantPast` and `distantFuture`; 1 January 1970 if it is not a number.
  private var writtenDate: Date {
    startedAt.timeIntervalSince1970.isNaN
      ? Date(timeIntervalSince1970: 0) : min(max(startedAt, .distantPast), .distantFuture)
  }

  private var json: HARNode {
    .members([
      ("startedDateTime", .text(writtenDate.formatted(Self.dates))),
      ("time", .milliseconds(timings.writtenTotal)),
      ("request", request.json),
      ("response", response.json),
      ("cache", .object([])),
      ("timings", timings.json),
      ("serverIPAddress", .text(remoteAddress)),
      ("connection", .text(connection)),
      // Some readers treat every member with an underscore as Chrome's, which always include this one.
      ("_resourceType", .text(webSocketMessages == nil ? "fetch" : "websocket")),
      ("_webSocketMessages", webSocketMessages.map { .array($0.map(\.json)) }),
      ("_omittedMessages", omittedMessageCount > 0 ? .number(omittedMessageCount) : nil),
      ("_error", .text(failure)),
      ("_explanation", explanation.isEmpty ? nil : .array(explanation.map { .text($0) })),
      ("_codes", codes.isEmpty ? nil : .array(codes.map { .text($0) })),
      ("_fromCache", isFromCache ? .literal("true") : nil),
      ("_call", .text(call)),
      ("_attempt", attempt > 1 ? .number(attempt) : nil),
      ("_redirect", hop > 0 ? .number(hop) : nil),
      ("_tag", .text(tag)),
    ])
  }

  static func pair(_ text: Substring) -> (name: String, value: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let trimmed = parts.map { String(FieldSyntax.trimmed($0)) }
    // Without an equals sign, the whole text is the value (RFC 6265bis §5.6).
    return trimmed.count == 2 ? (trimmed[0], trimmed[1]) : ("", trimmed.first ?? "")
  }
}

extension HAREntry.Request {
  fileprivate var json: HARNode {
    let cookies = headers[all: "Cookie"].flatMap { $0.split(separator: ";") }
    let query = url.firstIndex(of: "?").map { url[$0...].dropFirst().prefix { $0 != "#" } } ?? ""
    return .members([
      ("method", .text(method)),
      ("url", .text(url)),
      ("httpVersion", .text(httpVersion)),
      ("cookies", .pairs(cookies.lazy.map(HAREntry.pair))),
      ("headers", headers.json),
      ("queryString", .pairs(Query(parsing: String(query)).lazy.map { ($0.name, $0.value ?? "") })),
      ("headersSize", .number(-1)),
      ("bodySize", .number(bodySize)),
      ("postData", body?.postData),
    ])
  }
}

extension HAREntry.Response {
  fileprivate var json: HARNode {
    let size = body?.size ?? 0
    let content: [(String, HARNode?)] = [
      ("size", .number(size)),
      ("compression", bodySize > 0 && size > bodySize ? .number(size - bodySize) : nil),
      ("mimeType", .text(body?.mimeType ?? "")),
    ]
    return .members([
      ("status", .number(status)),
      ("statusText", .text(statusText)),
      ("httpVersion", .text(httpVersion)),
      ("cookies", .array(headers[all: "Set-Cookie"].map(Self.cookie))),
      ("headers", headers.json),
      ("_trailers", trailers.isEmpty ? nil : trailers.json),
      ("content", .members(content + (body?.members ?? []))),
      ("redirectURL", .text(headers["Location"] ?? "")),
      ("headersSize", .number(-1)),
      ("bodySize", .number(bodySize)),
    ])
  }

  /// A cookie that a server sets.
  private static func cookie(_ line: String) -> HARNode {
    let parts = line.split(separator: ";")
    let (name, value) = HAREntry.pair(parts.first ?? "")
    let attributes = parts.dropFirst().map { part -> (String, HARNode?) in
      let (attribute, value) = HAREntry.pair(part)
      return switch (attribute.isEmpty ? value : attribute).lowercased() {
      case "path": ("path", .text(value))
      case "domain": ("domain", .text(value))
      case "secure": ("secure", .literal("true"))
      case "httponly": ("httpOnly", .literal("true"))
      case "expires": ("expires", .text(HTTPDate(value)?.date.formatted(HAREntry.dates)))
      default: ("", nil)
      }
    }
    return .members([("name", .text(name)), ("value", .text(value))] + attributes)
  }
}

extension HTTPHeaders {
  /// The fields; the format has only text, so `_octets` keeps a value that is not UTF-8.
  fileprivate var json: HARNode {
    .array(
      map { field in
        let isText = field.octets.elementsEqual(field.value.utf8)
        let octets = isText ? nil : Data(field.octets).base64EncodedString()
        return .members([("name", .text(field.name)), ("value", .text(field.value)), ("_octets", .text(octets))])
      })
  }
}

extension HAREntry.Body {
  fileprivate var members: [(String, HARNode?)] {
    let content: [(String, HARNode?)] =
      switch content {
      case .text(let value): [("text", .text(value))]
      case .bytes(let data): [("text", .text(data.base64EncodedString())), ("encoding", .text("base64"))]
      case .file(let name): [("_file", .text(name))]
      case .none: []
      }
    return content + [("_truncated", isWhole ? nil : .literal("true")), ("comment", .text(comment))]
  }

  fileprivate var postData: HARNode {
    .members([("mimeType", .text(mimeType))] + members + [("text", content == .none ? .text("") : nil)])
  }
}

extension HAREntry.Timings {
  fileprivate var json: HARNode {
    .members([
      ("blocked", .milliseconds(blocked)),
      ("dns", .milliseconds(dns)),
      ("connect", .milliseconds(connect)),
      ("ssl", .milliseconds(ssl)),
      ("send", .milliseconds(send)),
      ("wait", .milliseconds(wait)),
      ("receive", .milliseconds(receive)),
    ])
  }
}

import MartletBase
import Foundation

extension HAREntry {
  static let dates = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  /// Writes the entry on one line.
  package func write(to text: inout JSONText) {
    text.object { text in
      text.member("startedDateTime", startedAt.formatted(Self.dates))
      text.member("time", timings.writtenTotal)
      text.object("request") { write(request, &$0) }
      text.object("response") { write(response, &$0) }
      text.object("cache") { _ in }
      text.object("timings") { $0.write(timings) }
      if let remoteAddress { text.member("serverIPAddress", remoteAddress) }
      if let connection { text.member("connection", connection) }
      // Some readers take each member with an underscore for Chrome's, which always has this one.
      text.member("_resourceType", "fetch")
      if let failure { text.member("_error", failure) }
      if !explanation.isEmpty { text.array("_explanation", explanation) { $1.string($0) } }
      if isFromCache { text.member("_fromCache", true) }
      if let call { text.member("_call", call) }
      if attempt > 1 { text.member("_attempt", Int64(attempt)) }
      if hop > 0 { text.member("_redirect", Int64(hop)) }
      if let tag { text.member("_tag", tag) }
    }
  }

  private func write(_ request: Request, _ text: inout JSONText) {
    text.member("method", request.method)
    text.member("url", request.url)
    text.member("httpVersion", request.httpVersion)
    let cookies = request.headers[all: "Cookie"].flatMap { $0.split(separator: ";") }
    text.pairs("cookies", cookies.lazy.map(Self.pair))
    text.write(request.headers)
    let query = request.url.firstIndex(of: "?").map { request.url[$0...].dropFirst() } ?? ""
    text.pairs("queryString", Query(parsing: String(query.prefix { $0 != "#" })).lazy.map { ($0.name, $0.value ?? "") })
    text.member("headersSize", -1)
    text.member("bodySize", request.bodySize)
    guard let body = request.body else { return }
    text.object("postData") { text in
      text.member("mimeType", body.mimeType)
      text.write(body)
      if body.content == .none { text.member("text", "") }
    }
  }

  private func write(_ response: Response, _ text: inout JSONText) {
    text.member("status", Int64(response.status))
    text.member("statusText", response.statusText)
    text.member("httpVersion", response.httpVersion)
    text.array("cookies", response.headers[all: "Set-Cookie"]) { line, text in Self.write(line, &text) }
    text.write(response.headers)
    if !response.trailers.isEmpty { text.write(response.trailers, "_trailers") }
    text.object("content") { text in
      let size = response.body?.size ?? 0
      text.member("size", size)
      if response.bodySize > 0, size > response.bodySize { text.member("compression", size - response.bodySize) }
      text.member("mimeType", response.body?.mimeType ?? "")
      if let body = response.body { text.write(body) }
    }
    text.member("redirectURL", response.headers["Location"] ?? "")
    text.member("headersSize", -1)
    text.member("bodySize", response.bodySize)
  }

  /// Writes a cookie that a server sets.
  private static func write(_ line: String, _ text: inout JSONText) {
    let parts = line.split(separator: ";")
    let (name, value) = pair(parts.first ?? "")
    text.object { text in
      text.member("name", name)
      text.member("value", value)
      for part in parts.dropFirst() {
        let (attribute, value) = pair(part)
        switch (attribute.isEmpty ? value : attribute).lowercased() {
        case "path": text.member("path", value)
        case "domain": text.member("domain", value)
        case "secure": text.member("secure", true)
        case "httponly": text.member("httpOnly", true)
        case "expires": if let date = HTTPDate(value) { text.member("expires", date.date.formatted(Self.dates)) }
        default: break
        }
      }
    }
  }

  static func pair(_ text: Substring) -> (name: String, value: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let trimmed = parts.map { String(FieldSyntax.trimmed($0)) }
    // Without an equals sign, the whole text is the value (RFC 6265bis §5.6).
    return trimmed.count == 2 ? (trimmed[0], trimmed[1]) : ("", trimmed.first ?? "")
  }
}

extension JSONText {
  /// Writes header fields; the format has only text, so `_octets` keeps a value that is not UTF-8.
  fileprivate mutating func write(_ headers: HTTPHeaders, _ name: StaticString = "headers") {
    array(name, headers) { field, text in
      text.object { text in
        text.member("name", field.name)
        text.member("value", field.value)
        if field.hasOtherOctets { text.member("_octets", Data(field.octets).base64EncodedString()) }
      }
    }
  }

  fileprivate mutating func write(_ body: HAREntry.Body) {
    switch body.content {
    case .text(let value): member("text", value)
    case .bytes(let data):
      member("text", data.base64EncodedString())
      member("encoding", "base64")
    case .file(let name): member("_file", name)
    case .none: break
    }
    if !body.isWhole { member("_truncated", true) }
    if let comment = body.comment { member("comment", comment) }
  }

  fileprivate mutating func write(_ timings: HAREntry.Timings) {
    member("blocked", timings.blocked)
    member("dns", timings.dns)
    member("connect", timings.connect)
    member("ssl", timings.ssl)
    member("send", timings.send)
    member("wait", timings.wait)
    member("receive", timings.receive)
  }
}

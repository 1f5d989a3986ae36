import Foundation
import Martlet

/// Formats requests and responses as text, without side effects.
struct Printer: Sendable {
  /// The colors of the text.
  var palette = Palette.plain
  /// Whether the output is a terminal, so control characters from a server are escaped.
  var isForTerminal = true
  /// Whether JSON is indented.
  var isFormatted = true

  /// The maximum length of a request body that is shown.
  private static let maximumShownBytes = 64 << 10

  /// The status line and the header fields, with a line end after each.
  func head(of response: StreamedResponse) -> String {
    let phrase = response.reasonPhrase ?? response.status.reasonPhrase
    let version = response.httpVersion.map { "HTTP/\($0)" } ?? "HTTP"
    let status = "\(response.status.rawValue) \(phrase)".trimmingCharacters(in: .whitespaces)
    let role: Palette.Role = response.status < 300 ? .good : response.status < 400 ? .notice : .bad
    return "\(safe(version)) \(palette.paint(safe(status), role))\n" + fields(response.headers)
  }

  /// The request line and the header fields as they are sent, with secrets masked.
  ///
  /// Secrets stay masked even on the user's own screen.
  func head(of request: HTTPRequest) -> String {
    var headers = HTTPHeaders(
      request.headers.map { field in
        Redaction.standard.hides(field: field.name) ? .init(name: field.name, value: "***") : field
      })
    if let host = request.url?.host(percentEncoded: true), !headers.contains("Host") {
      let port = request.url?.port.map { ":\($0)" } ?? ""
      headers = HTTPHeaders([.init(name: "Host", value: host + port)] + Array(headers))
    }
    if let length = request.body?.length { headers["Content-Length"] = String(length) }
    let method = palette.paint(safe(request.method.rawValue), .good)
    return "\(method) \(safe(Self.target(of: request)))\n" + fields(headers)
  }

  /// Marks each line of a text: `>` for sent lines and `<` for received lines.
  func marked(_ text: String, with mark: Character) -> String {
    var lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    if lines.last?.isEmpty ?? false { lines.removeLast() }
    return lines.map { palette.paint("\(mark) ", .dim) + $0 + "\n" }.joined()
  }

  /// The request body as it is sent; a note if it is not text or too long.
  func body(of request: HTTPRequest) -> String {
    request.body.map { shown($0.content, length: $0.length) } ?? ""
  }

  private func shown(_ content: HTTPBody.Content, length: Int64?) -> String {
    let note = palette.paint("(\(length.map { "\($0) bytes" } ?? "a body"), not shown)", .notice)
    switch content {
    case .data(let data):
      guard data.count <= Self.maximumShownBytes, !data.contains(0),
        let text = String(validating: data, as: UTF8.self)
      else { return note }
      return Visible.text(text)
    case .file(let file):
      guard let length, length <= Self.maximumShownBytes, let data = try? Data(contentsOf: file) else { return note }
      return shown(.data(data), length: length)
    case .pieces(let pieces): return pieces.map { shown($0, length: $0.length) }.joined()
    case .stream, .gzip, .spool, .json, .invalid: return note
    }
  }

  /// The body for a terminal, with a line end: indented JSON, other text unchanged, or a note about other content.
  func body(_ data: Data, of response: StreamedResponse) -> String {
    body(of: HTTPResponse(status: response.status, headers: response.headers, body: data))
  }

  /// The same for a response that includes its body.
  func body(of response: HTTPResponse) -> String {
    guard !response.body.isEmpty else { return "" }
    let type = response.contentType
    guard let text = Self.text(of: response) else {
      let kind = type.map { "of \($0.essence)" } ?? "of an unknown type"
      return palette.paint("(\(response.body.count) bytes \(kind), not shown: use -o file or a pipe)", .notice) + "\n"
    }
    let isJSON = isFormatted && type?.isJSON ?? true
    if isJSON, let indented = JSONFormatter(palette: palette).format(text) { return indented + "\n" }
    return Visible.text(text) + (text.hasSuffix("\n") ? "" : "\n")
  }

  /// Whether the body of a response is text.
  static func isText(_ data: Data, of response: StreamedResponse) -> Bool {
    text(of: HTTPResponse(status: response.status, headers: response.headers, body: data)) != nil
  }

  /// The text of a body, or `nil` if it is binary.
  private static func text(of response: HTTPResponse) -> String? {
    let isWide = response.contentType?.charset?.hasPrefix("utf-16") ?? false
    // No text has the byte 0, but two-byte character sets are full of it.
    if !isWide && response.body.contains(0) { return nil }
    if response.contentType?.isText ?? false { return response.text }
    return response.textDecodingWarning == nil ? response.text : nil
  }

  private func fields(_ headers: HTTPHeaders) -> String {
    headers.map { "\(palette.paint(safe($0.name), .name)): \(safe($0.value))\n" }.joined()
  }

  private func safe(_ text: String) -> String { isForTerminal ? Visible.line(text) : text }

  private static func target(of request: HTTPRequest) -> String {
    guard let url = request.url else { return "/" }
    let path = url.path(percentEncoded: true)
    return (path.isEmpty ? "/" : path) + (url.query(percentEncoded: true).map { "?\($0)" } ?? "")
  }
}

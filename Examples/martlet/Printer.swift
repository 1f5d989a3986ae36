import Foundation
import Martlet

/// Formats requests and responses as text.
///
/// `--verbose`, `--offline`, `--curl` and `--print H` show traffic to be read and shared. They mask the secrets of URLs
/// and header fields in both directions, by ``Redaction/standard``. The response's head is data if the user asked for
/// it with `--include` or `--print h`, or reads it on a terminal. Such heads and all bodies are shown unchanged.
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
  func head(of response: StreamedResponse, masksSecrets: Bool = false) -> String {
    let phrase = response.reasonPhrase ?? response.status.reasonPhrase
    let version = response.httpVersion.map { "HTTP/\($0)" } ?? "HTTP"
    let status = "\(response.status.rawValue) \(phrase)".trimmingCharacters(in: .whitespaces)
    let role: Palette.Role = response.status < 300 ? .good : response.status < 400 ? .notice : .bad
    return "\(safe(version)) \(palette.paint(safe(status), role))\n"
      + fields(masksSecrets ? Self.masked(response.headers) : response.headers)
  }

  /// The request line and the header fields as they are sent, with secrets masked.
  func head(of request: HTTPRequest) -> String {
    var headers = Self.masked(request.headers)
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

  private func note(_ length: Int64?) -> String {
    palette.paint("(\(length.map { "\($0) bytes" } ?? "a body"), not shown)", .notice)
  }

  /// Writes all bytes of a request body.
  ///
  /// - Throws: The error of `sink`, or ``UsageError`` if a file cannot be read.
  func writeBytes(of content: HTTPBody.Content, to sink: (Data) throws -> Void) throws {
    switch content {
    case .data(let data): try sink(data)
    case .file(let file):
      let input = try InputFile(file.path)
      while let chunk = try input.next() { try sink(chunk) }
    case .pieces(let pieces): for piece in pieces { try writeBytes(of: piece, to: sink) }
    // Standard input has been read, so no request of this tool has another body.
    case .stream, .compressed, .spool, .json, .invalid: try sink(Data(note(content.length).utf8))
    }
  }

  private func shown(_ content: HTTPBody.Content, length: Int64?) -> String {
    let note = note(length)
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
    case .stream, .compressed, .spool, .json, .invalid: return note
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

  private static func masked(_ headers: HTTPHeaders) -> HTTPHeaders {
    HTTPHeaders(headers.map { .init(name: $0.name, value: Redaction.standard.maskedValue(of: $0)) })
  }

  /// The path and the query, masked.
  private static func target(of request: HTTPRequest) -> String {
    let url = Redaction.standard.maskedURL(of: request)
    guard let end = url.firstRange(of: "://")?.upperBound else { return "/" }
    let target = url[end...].drop { $0 != "/" && $0 != "?" }
    return target.hasPrefix("/") ? String(target) : "/\(target)"
  }
}

extension RequestCommand {
  /// The printer of the result, by `--pretty` and the kind of the output.
  func printer(for output: Terminal) -> Printer {
    Printer(
      palette: pretty?.palette ?? output.palette, isForTerminal: output.isTerminal,
      isFormatted: pretty.map { $0 != .none } ?? output.isTerminal)
  }
}

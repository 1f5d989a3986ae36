public import Martlet
public import MartletBase

extension HAREntry {
  /// Creates the entry of an exchange, with its secrets masked.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - sent: The body of the request, or `nil`.
  ///   - response: The response.
  ///   - received: The body of the response.
  ///   - startedAt: The time at which the exchange began.
  ///   - timings: The durations of the phases; none by default.
  ///   - redaction: The secrets to mask.
  public init(
    _ request: HTTPRequest, sent: Data?, response: StreamedResponse, received: Data, startedAt: Date,
    timings: Timings = Timings(), redaction: Redaction
  ) {
    let headers = response.headers
    var answer = Response(
      response.status, reason: response.reasonPhrase, version: response.httpVersion, headers, redaction)
    answer.trailers = redaction.recorded(response.trailers)
    answer.body = Body(
      received, of: Int64(received.count), isWhole: true, type: headers["Content-Type"],
      coding: headers["Content-Encoding"], redaction)
    self.init(
      startedAt: startedAt, request: Request(request, body: sent, redaction: redaction), response: answer,
      timings: timings, remoteAddress: response.connection?.remoteAddress)
  }
}

extension HAREntry.Request {
  /// Creates a request with its secrets masked.
  ///
  /// - Parameters:
  ///   - request: The request, whose own body is ignored.
  ///   - body: The body, or `nil`.
  ///   - redaction: The secrets to mask.
  public init(_ request: HTTPRequest, body: Data?, redaction: Redaction) {
    self.init(
      method: request.method.rawValue, url: redaction.maskedURL(of: request),
      headers: redaction.recorded(request.headers))
    guard let data = body else { return }
    self.body = HAREntry.Body(
      data, of: Int64(data.count), isWhole: true, type: request.headers["Content-Type"] ?? request.body?.contentType,
      coding: request.headers["Content-Encoding"], redaction)
    bodySize = Int64(data.count)
  }
}

extension HAREntry.Response {
  /// A response without its body.
  init(
    _ status: HTTPStatus, reason: String?, version: HTTPVersion?, _ headers: HTTPHeaders, _ redaction: Redaction
  ) {
    self.init(
      status: status.rawValue, statusText: redaction.recorded(reason ?? status.reasonPhrase),
      httpVersion: version.map { "HTTP/\($0)" } ?? "", headers: redaction.recorded(headers))
  }
}

extension HAREntry.Body {
  /// A body with its secrets masked, or without its content if that is impossible.
  init(
    _ data: Data, of count: Int64, isWhole: Bool, type: String?, coding: String?, _ redaction: Redaction
  ) {
    self.init(mimeType: type ?? "", content: .none, size: count, isWhole: isWhole)
    switch redaction.maskedBody(data, contentType: type, coding: coding) {
    case .text(let masked):
      if let text = String(validating: isWhole ? masked[...] : masked.withoutPartialCharacter, as: UTF8.self) {
        content = .text(text)
      } else {
        // The text was in another character set.
        content = isWhole ? .bytes(masked) : .text(String(decoding: masked, as: UTF8.self))
      }
    case .bytes(let data): content = .bytes(data)
    case nil:
      comment =
        redaction.hidesBodies
        ? "not recorded: the redaction masks bodies" : "not recorded: secrets in it could not be masked"
    }
    if !isWhole, comment == nil { comment = "truncated" }
  }
}

/// The masks of values in an entry.
extension Redaction {
  /// The maximum number of UTF-8 octets of a text, and the number of Unicode scalars that remain of a longer text.
  private static let (longestText, beginning) = (300, 75)

  func recorded(_ text: String) -> String {
    let text = masked(text)
    return text.utf8.count <= Self.longestText ? text : "\(Substring(text.unicodeScalars.prefix(Self.beginning)))…"
  }

  func recorded(_ decisions: [Explanation.Entry]) -> [String] { decisions.map { recorded($0.description) } }

  func recorded(_ headers: HTTPHeaders) -> HTTPHeaders {
    HTTPHeaders(
      headers.map { field in
        let value = recordedValue(of: field)
        // An unmasked field keeps its octets.
        return value == field.value ? field : HTTPHeaders.Field(name: field.name, value: value)
      })
  }

  /// The value of a header field, masked; of cookies, the names and attributes remain.
  private func recordedValue(of field: HTTPHeaders.Field) -> String {
    if hides(field: field.name), !hidesBodies {
      if FieldSyntax.isSameName(field.name, "Set-Cookie") { return Self.maskedCookie(field.value) }
      if FieldSyntax.isSameName(field.name, "Cookie") {
        let names = field.value.split(separator: ";").map { HAREntry.pair($0) }
        return names.map { $0.isEmpty || $1.isEmpty ? "***" : "\($0)=***" }.joined(separator: "; ")
      }
    }
    return maskedValue(of: field)
  }

  /// The attributes of cookies, which are not secret; anything else after a semicolon may be another cookie.
  private static let cookieAttributes: Set = [
    "path", "domain", "expires", "max-age", "samesite", "secure", "httponly", "partitioned", "priority",
  ]

  /// A cookie that a server sets, masked.
  private static func maskedCookie(_ line: String) -> String {
    let parts = line.split(separator: ";", omittingEmptySubsequences: false).enumerated().map { index, part in
      let (name, value) = HAREntry.pair(part)
      // Without a value, the name may be the value.
      if index == 0 {
        // The name of a removed cookie is needed to repeat the removal.
        let isRemoval =
          !name.isEmpty && value.isEmpty && ["max-age=0", "expires="].contains(where: line.lowercased().contains)
        if isRemoval { return "\(name)=" }
        return name.isEmpty || value.isEmpty ? "***" : "\(name)=***"
      }
      if part.isEmpty { return "" }
      guard cookieAttributes.contains((name.isEmpty ? value : name).lowercased()) else { return " ***" }
      // After a comma, a proxy may have appended another cookie; a date contains a comma itself.
      guard name.lowercased() == "expires" else { return String(part.prefix { $0 != "," }) }
      return part.firstRange(of: "GMT").map { String(part[..<$0.upperBound]) } ?? " Expires=***"
    }
    return parts.joined(separator: ";")
  }
}

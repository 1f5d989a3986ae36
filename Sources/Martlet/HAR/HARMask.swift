import MartletBase
import Foundation

/// Masks what stands in an entry.
struct HARMask {
  let redaction: Redaction

  func text(_ text: String) -> String { Explanation.cut(redaction.text(text)) }

  func url(of request: HTTPRequest) -> String { redaction.url(of: request) }

  func request(_ request: HTTPRequest) -> HAREntry.Request {
    HAREntry.Request(method: request.method.rawValue, url: url(of: request), headers: headers(request.headers))
  }

  /// The response with this head, without its body.
  func response(_ head: InstrumentEvent.Head) -> HAREntry.Response {
    HAREntry.Response(
      status: head.status.rawValue, statusText: text(head.reasonPhrase ?? head.status.reasonPhrase),
      httpVersion: head.httpVersion.map { "HTTP/\($0)" } ?? "", headers: headers(head.headers))
  }

  func headers(_ headers: HTTPHeaders) -> HTTPHeaders {
    HTTPHeaders(
      headers.map { field in
        let value = value(of: field)
        // An unmasked field keeps its octets.
        return value == field.value ? field : HTTPHeaders.Field(name: field.name, value: value)
      })
  }

  /// The value of a header field, masked; of cookies, the names and attributes remain.
  func value(of field: HTTPHeaders.Field) -> String {
    if redaction.hides(field: field.name), !redaction.hidesBodies {
      if FieldSyntax.isSameName(field.name, "Set-Cookie") { return Self.masked(field.value) }
      if FieldSyntax.isSameName(field.name, "Cookie") {
        let names = field.value.split(separator: ";").map { HAREntry.pair($0) }
        return names.map { $0.isEmpty || $1.isEmpty ? "***" : "\($0)=***" }.joined(separator: "; ")
      }
    }
    return redaction.value(of: field)
  }

  /// The attributes of cookies, which are no secrets; anything else after a semicolon may be another cookie.
  private static let attributes: Set = [
    "path", "domain", "expires", "max-age", "samesite", "secure", "httponly", "partitioned", "priority",
  ]

  /// A cookie that a server sets, masked.
  private static func masked(_ line: String) -> String {
    let parts = line.split(separator: ";", omittingEmptySubsequences: false).enumerated().map { index, part in
      let (name, value) = HAREntry.pair(part)
      // Without a value, the name may be the value.
      if index == 0 {
        // The name of a cookie that is removed is needed to remove it.
        let isRemoval =
          !name.isEmpty && value.isEmpty && ["max-age=0", "expires="].contains(where: line.lowercased().contains)
        if isRemoval { return "\(name)=" }
        return name.isEmpty || value.isEmpty ? "***" : "\(name)=***"
      }
      if part.isEmpty { return "" }
      guard attributes.contains((name.isEmpty ? value : name).lowercased()) else { return " ***" }
      // Behind a comma, a proxy may have appended another cookie; a date has one itself.
      guard name.lowercased() == "expires" else { return String(part.prefix { $0 != "," }) }
      return part.range(of: "GMT").map { String(part[..<$0.upperBound]) } ?? " Expires=***"
    }
    return parts.joined(separator: ";")
  }
}

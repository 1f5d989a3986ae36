import MartletBase
import Foundation

/// The masks of what is in an entry.
extension Redaction {
  func recorded(_ text: String) -> String { Explanation.cut(self.text(text)) }

  func recorded(_ decisions: [Explanation.Entry]) -> [String] { decisions.map { recorded($0.description) } }

  func recorded(_ request: HTTPRequest) -> HAREntry.Request {
    HAREntry.Request(
      method: request.method.rawValue, url: url(of: request), headers: recorded(request.headers))
  }

  /// The response with this head, without its body.
  func recorded(_ head: InstrumentEvent.Head) -> HAREntry.Response {
    HAREntry.Response(
      status: head.status.rawValue, statusText: recorded(head.reasonPhrase ?? head.status.reasonPhrase),
      httpVersion: head.httpVersion.map { "HTTP/\($0)" } ?? "", headers: recorded(head.headers))
  }

  func recorded(_ headers: HTTPHeaders) -> HTTPHeaders {
    HTTPHeaders(
      headers.map { field in
        let value = recordedValue(of: field)
        // An unmasked field keeps its octets.
        return value == field.value ? field : HTTPHeaders.Field(name: field.name, value: value)
      })
  }

  /// The value of a header field, masked; of cookies, the names and attributes remain.
  func recordedValue(of field: HTTPHeaders.Field) -> String {
    if hides(field: field.name), !hidesBodies {
      if FieldSyntax.isSameName(field.name, "Set-Cookie") { return Self.maskedCookie(field.value) }
      if FieldSyntax.isSameName(field.name, "Cookie") {
        let names = field.value.split(separator: ";").map { HAREntry.pair($0) }
        return names.map { $0.isEmpty || $1.isEmpty ? "***" : "\($0)=***" }.joined(separator: "; ")
      }
    }
    return value(of: field)
  }

  /// The attributes of cookies, which are no secrets; anything else after a semicolon may be another cookie.
  private static let cookieAttributes: Set = [
    "path", "domain", "expires", "max-age", "samesite", "secure", "httponly", "partitioned", "priority",
  ]

  /// A cookie that a server sets, masked.
  private static func maskedCookie(_ line: String) -> String {
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
      guard cookieAttributes.contains((name.isEmpty ? value : name).lowercased()) else { return " ***" }
      // Behind a comma, a proxy may have appended another cookie; a date has one itself.
      guard name.lowercased() == "expires" else { return String(part.prefix { $0 != "," }) }
      return part.range(of: "GMT").map { String(part[..<$0.upperBound]) } ?? " Expires=***"
    }
    return parts.joined(separator: ";")
  }
}

import MartletBase
import Foundation

/// Masks what stands in an entry.
struct HARMask {
  let redaction: Redaction

  func text(_ text: String) -> String { Explanation.short(redaction.text(text)) }

  /// The URL of a request, with the parameters of its path (RFC 3986 §3.3) and the URLs in its query masked too.
  func url(of request: HTTPRequest) -> String {
    let url = path(redaction.url(of: request))
    guard !redaction.revealsSecrets, let mark = url.firstIndex(of: "?") else { return url }
    let items = url[mark...].dropFirst().split(separator: "&", omittingEmptySubsequences: false).map { item in
      guard item.contains("%"), let equals = item.firstIndex(of: "=") else { return String(item) }
      let plain = Query(parsing: String(item)).items.first?.value ?? ""
      return redaction.text(plain) == plain ? String(item) : "\(item[...equals])***"
    }
    return url[...mark] + items.joined(separator: "&")
  }

  /// A URL with the parameters of its path masked.
  private func path(_ url: String) -> String {
    guard url.contains(";") else { return url }
    let end = url.firstIndex { $0 == "?" || $0 == "#" } ?? url.endIndex
    let segments = url[..<end].split(separator: "/", omittingEmptySubsequences: false)
    return segments.map { redaction.text(String($0)) }.joined(separator: "/") + url[end...]
  }

  func headers(_ headers: HTTPHeaders) -> HTTPHeaders {
    HTTPHeaders(headers.map { HTTPHeaders.Field(name: $0.name, value: value(of: $0)) })
  }

  /// The value of a header field, masked; of cookies, the names and attributes remain.
  private func value(of field: HTTPHeaders.Field) -> String {
    if redaction.hides(field: field.name), !redaction.hidesBodies {
      if FieldSyntax.isSameName(field.name, "Set-Cookie") { return Self.masked(field.value) }
      if FieldSyntax.isSameName(field.name, "Cookie") {
        let names = field.value.split(separator: ";").map { HAREntry.pair($0) }
        return names.map { $0.isEmpty || $1.isEmpty ? "***" : "\($0)=***" }.joined(separator: "; ")
      }
    }
    var value = redaction.value(of: field)
    if ["Location", "Content-Location", "Referer"].contains(where: { FieldSyntax.isSameName($0, field.name) }) {
      value = path(value)
    }
    // Some servers send JSON in fields.
    guard value.contains("{"), value.contains("\"") else { return value }
    return String(decoding: BodyMask.masked(Data(value.utf8), contentType: nil, redaction), as: UTF8.self)
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
      if index == 0 { return name.isEmpty || value.isEmpty ? "***" : "\(name)=***" }
      if part.isEmpty { return "" }
      guard attributes.contains((name.isEmpty ? value : name).lowercased()) else { return " ***" }
      // Behind a comma, a proxy may have appended another cookie; a date has one itself.
      return name.lowercased() == "expires" ? String(part) : String(part.prefix { $0 != "," })
    }
    return parts.joined(separator: ";")
  }
}

import MartletBase

/// What may be told of where a request comes from: the field `Referer`, which is only ever the caller's
/// (RFC 9110 §10.1.3).
enum Referrer {
  /// Makes the field of a request fit to be sent; throws if it looks like a URL and is none: who knows what would be in
  /// it.
  static func clean(_ headers: inout HTTPHeaders, for target: AbsoluteURL) throws(InvalidInput) {
    guard headers.contains("Referer") else { return }
    let values = headers[all: "Referer"]
    // More than one is refused elsewhere.
    guard let value = values.first, values.count == 1 else { return }
    let clean = try sendable(value, to: target)
    if clean != value { headers["Referer"] = clean }
  }

  /// Tells another origin less after a redirect.
  static func keepModest(_ headers: inout HTTPHeaders, redirectedFrom old: AbsoluteURL, to new: AbsoluteURL) {
    guard let value = headers["Referer"] else { return }
    let modest = Self.value(value, redirectedFrom: old, to: new)
    if modest != value { headers["Referer"] = modest }
  }

  /// The value as it is sent with a request, without userinfo and fragment; `nil` for an http target of an https one.
  static func sendable(_ value: String, to target: AbsoluteURL) throws(InvalidInput) -> String? {
    let value = FieldSyntax.trimmed(value)
    let parts = URLParts(Array(value.utf8)[...])
    let scheme = parts.scheme.map { FieldSyntax.lowercased(String(decoding: $0, as: UTF8.self)) }
    guard scheme == "http" || scheme == "https" else {
      guard parts.authority?.contains(UInt8(ascii: "@")) != true, !value.utf8.contains(UInt8(ascii: "\\")) else {
        throw InvalidInput("the header 'Referer' is not a URL that can be sent")
      }
      // By octets: a mark after the sign would join it to a character of its own.
      let rest = value.utf8.prefix { $0 != UInt8(ascii: "#") }
      return rest.isEmpty && !value.isEmpty ? nil : String(Substring(rest))
    }
    guard let url = try? AbsoluteURL.parse(String(value)) else {
      throw InvalidInput("the header 'Referer' is not a URL that can be sent")
    }
    return url.isSecure && !target.isSecure ? nil : url.requestString
  }

  /// The value after a redirect, as `strict-origin-when-cross-origin` of the Referrer Policy has it; `nil` if nothing
  /// is to be sent.
  static func value(_ value: String, redirectedFrom old: AbsoluteURL, to new: AbsoluteURL) -> String? {
    if old.isSecure && !new.isSecure { return nil }
    if old.origin == new.origin { return value }
    // What is relative would become another's.
    guard let url = try? AbsoluteURL.parse(value) else { return nil }
    return url.isSecure && !new.isSecure ? nil : "\(url.scheme)://\(url.host)\(url.port.map { ":\($0)" } ?? "")/"
  }
}

import MartletBase

/// The rules for the caller's `Referer` field (RFC 9110 §10.1.3).
///
/// The client never sets the field itself. All values are ``WireText``.
enum Referrer {
  /// Prepares the field of a request for sending.
  ///
  /// Throws an error for a malformed URL, which may contain secrets.
  static func clean(_ headers: inout HTTPHeaders, for target: AbsoluteURL) throws(InvalidInput) {
    guard headers.contains("Referer") else { return }
    let values = headers[wires: "Referer"]
    // Several fields are rejected elsewhere.
    guard let value = values.first, values.count == 1 else { return }
    let clean = try sendable(value, to: target)
    if clean != value { headers[wire: "Referer"] = clean }
  }

  /// Reduces the field after a redirect to another origin.
  static func sanitize(_ headers: inout HTTPHeaders, redirectedFrom old: AbsoluteURL, to new: AbsoluteURL) {
    guard let value = headers[wire: "Referer"] else { return }
    let modest = Self.value(value, redirectedFrom: old, to: new)
    if modest != value { headers[wire: "Referer"] = modest }
  }

  /// The value to send, without userinfo or fragment; `nil` for an https value to an http target.
  static func sendable(_ value: String, to target: AbsoluteURL) throws(InvalidInput) -> String? {
    let value = FieldSyntax.trimmed(value)
    let parts = URLParts(WireText.octets(value)[...])
    let scheme = parts.scheme.map { FieldSyntax.lowercased(String(decoding: $0, as: UTF8.self)) }
    guard scheme == "http" || scheme == "https" else {
      guard parts.authority?.contains(UInt8(ascii: "@")) != true, !value.utf8.contains(UInt8(ascii: "\\")) else {
        throw InvalidInput("the header 'Referer' is not a URL that can be sent")
      }
      // Split octets, because a combining mark after the sign would form one character with it.
      let rest = value.utf8.prefix { $0 != UInt8(ascii: "#") }
      return rest.isEmpty && !value.isEmpty ? nil : String(Substring(rest))
    }
    guard let url = try? AbsoluteURL.parse(octets: WireText.octets(value)) else {
      throw InvalidInput("the header 'Referer' is not a URL that can be sent")
    }
    return url.isSecure && !target.isSecure ? nil : url.requestString
  }

  /// The value after a redirect; `nil` to send none.
  ///
  /// The rule is `strict-origin-when-cross-origin` of the Referrer Policy.
  static func value(_ value: String, redirectedFrom old: AbsoluteURL, to new: AbsoluteURL) -> String? {
    if old.isSecure && !new.isSecure { return nil }
    if old.origin == new.origin { return value }
    // A relative value would refer to the new origin.
    guard let url = try? AbsoluteURL.parse(octets: WireText.octets(value)) else { return nil }
    return url.isSecure && !new.isSecure ? nil : "\(url.scheme)://\(url.host)\(url.port.map { ":\($0)" } ?? "")/"
  }
}

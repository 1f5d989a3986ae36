import MartletBase

/// The `cookies.txt` format in curl's dialect: seven tab-separated fields per line.
///
/// ```
/// domain  TRUE for subdomains  path  TRUE for https only  expiration in seconds since 1970 or 0  name  value
/// ```
enum NetscapeCookies {
  private static let httpOnly = "#HttpOnly_"

  static func text(_ cookies: [Cookie]) -> String {
    var text = "# Netscape HTTP Cookie File\n"
    for cookie in cookies where !cookie.name.isEmpty && !cookie.hasOtherOctets {
      let end = cookie.expires.map { max(1, min($0.timeIntervalSince1970, 253_402_300_799)) } ?? 0
      let fields = [
        (cookie.isHTTPOnly ? httpOnly : "") + (cookie.isHostOnly ? "" : ".") + cookie.domain,
        cookie.isHostOnly ? "FALSE" : "TRUE", cookie.path, cookie.isSecure ? "TRUE" : "FALSE", String(Int64(end)),
        cookie.name, cookie.value,
      ]
      // A cookie may contain a tab, but no line feed.
      guard !fields.contains(where: { $0.utf8.contains(0x09) }) else { continue }
      text += fields.joined(separator: "\t") + "\n"
    }
    return text
  }

  static func parse(_ text: String, now: Date) -> [Cookie] {
    // Split octets, because CR LF is one character in Swift.
    text.utf8.split(separator: 0x0A).compactMap { line in
      var line = line.last == 0x0D ? line.dropLast() : line
      let isHTTPOnly = line.starts(with: httpOnly.utf8)
      if isHTTPOnly {
        line = line.dropFirst(httpOnly.utf8.count)
      } else if line.first == UInt8(ascii: "#") {
        return nil
      }
      let fields = line.split(separator: 0x09, omittingEmptySubsequences: false).map { String(Substring($0)) }
      return cookie(fields, isHTTPOnly, now)
    }
  }

  private static func cookie(_ fields: [String], _ isHTTPOnly: Bool, _ now: Date) -> Cookie? {
    // curl omits an empty value.
    guard fields.count == 7 || fields.count == 6, let expires = end(fields[4]) else { return nil }
    guard let isForAll = flag(fields[1]), let isSecure = flag(fields[3]) else { return nil }
    var cookie = Cookie(
      fields[5], fields.count == 7 ? fields[6] : "", domain: fields[0], isHostOnly: !isForAll, path: fields[2],
      expires: expires, isSecure: isSecure, isHTTPOnly: isHTTPOnly)
    cookie.created = now
    cookie.lastAccess = now
    return cookie.isExpired(now) ? nil : cookie.checked()
  }

  private static func flag(_ text: String) -> Bool? {
    switch FieldSyntax.lowercased(text) {
    case "true": true
    case "false": false
    default: nil
    }
  }

  /// Parses the expiration; `.some(nil)` is the end of the session.
  ///
  /// Some programs write fractions, others an empty field for 0.
  private static func end(_ text: String) -> Date?? {
    if text.isEmpty { return .some(nil) }
    guard let seconds = FieldSyntax.parseSaturated(text.utf8.prefix { $0 != UInt8(ascii: ".") }) else { return nil }
    return .some(seconds == 0 ? nil : Date(timeIntervalSince1970: TimeInterval(min(seconds, 253_402_300_799))))
  }
}

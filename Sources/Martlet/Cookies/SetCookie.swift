import MartletBase

/// The contents of a `Set-Cookie` line, before validation (RFC 6265bis §5.6).
struct SetCookie {
  /// The maximum size of name and value together.
  static let maximumBytes = 4096
  /// The maximum size of an attribute's value; a longer one is ignored.
  static let maximumAttributeBytes = 1024
  /// The maximum lifetime that a server can set.
  static let maximumAge: TimeInterval = 400 * 86_400
  /// The maximum number of lines processed in a response.
  static let maximumLines = 50

  let name: String
  let value: String
  let octets: (name: [UInt8], value: [UInt8])
  /// The expiration by `Max-Age`, otherwise by `Expires`; `nil` for the end of the session.
  private(set) var expires: Date?
  /// The domain in lower case, without a leading dot.
  private(set) var domain: String?
  private(set) var path: String?
  private(set) var isSecure = false
  private(set) var isHTTPOnly = false
  private(set) var sameSite: Cookie.SameSite?

  /// Parses a line; `nil` if it is invalid.
  ///
  /// `Max-Age` counts from `now`.
  init?(_ octets: [UInt8], now: Date) {
    guard !octets.contains(where: Self.isControl) else { return nil }
    let parts = octets.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
    guard let pair = parts.first else { return nil }
    let (first, second) = Self.cut(pair)
    // Without an equals sign, the whole text is the value.
    let (name, value) = second.map { (first, $0) } ?? ([], first)
    guard name.count + value.count <= Self.maximumBytes, !name.isEmpty || !value.isEmpty else { return nil }
    self.name = ReceivedFields.text(name)
    self.value = ReceivedFields.text(value)
    self.octets = (Array(name), Array(value))
    var maximumAge: Date?
    for part in parts.dropFirst() {
      let (name, value) = Self.cut(part)
      let text = value.map { ReceivedFields.text($0) } ?? ""
      guard text.utf8.count <= Self.maximumAttributeBytes else { continue }
      switch FieldSyntax.lowercased(ReceivedFields.text(name)) {
      case "expires": expires = CookieDate.parse(text.utf8) ?? expires
      case "max-age": maximumAge = Self.expiry(age: Array(text.utf8)[...], now: now) ?? maximumAge
      case "domain":
        domain = FieldSyntax.lowercased(text.utf8.first == UInt8(ascii: ".") ? text.dropFirst() : text[...])
      case "path": path = text
      case "secure": isSecure = true
      case "httponly": isHTTPOnly = true
      case "samesite": sameSite = Cookie.SameSite(rawValue: FieldSyntax.lowercased(text))
      default: break
      }
    }
    expires = (maximumAge ?? expires).map { min($0, now.addingTimeInterval(Self.maximumAge)) }
  }

  init?(_ text: String, now: Date) { self.init(Array(text.utf8), now: now) }

  /// Whether the line removes a cookie.
  func isExpired(_ now: Date) -> Bool { expires.map { $0 <= now } ?? false }

  /// Whether the octet makes a line invalid: a control other than tab.
  static func isControl(_ octet: UInt8) -> Bool { octet < 0x20 && octet != 0x09 || octet == 0x7F }

  /// Splits octets at the first equals sign, and trims both parts.
  private static func cut(_ octets: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, ArraySlice<UInt8>?) {
    guard let equals = octets.firstIndex(of: UInt8(ascii: "=")) else { return (FieldSyntax.trimmed(octets), nil) }
    return (FieldSyntax.trimmed(octets[..<equals]), FieldSyntax.trimmed(octets[(equals + 1)...]))
  }

  /// The expiration by `Max-Age`; `nil` if it is not a number with an optional minus.
  private static func expiry(age: ArraySlice<UInt8>, now: Date) -> Date? {
    let isNegative = age.first == UInt8(ascii: "-")
    guard let seconds = FieldSyntax.parseSaturated(isNegative ? age.dropFirst() : age) else { return nil }
    return isNegative || seconds == 0 ? .distantPast : now.addingTimeInterval(TimeInterval(min(seconds, 1 << 40)))
  }
}

import MartletBase
import Foundation

/// What one `Set-Cookie` line says, before any of it is believed (RFC 6265bis §5.6).
struct SetCookie {
  /// The most octets of name and value together.
  static let maximumBytes = 4096
  /// The most octets of an attribute's value; a longer one is as if it were not there.
  static let maximumAttributeBytes = 1024
  /// The longest time that a server can ask for.
  static let maximumAge: TimeInterval = 400 * 86_400
  /// The most lines of one response that are looked at.
  static let maximumLines = 50

  let name: String
  let value: String
  /// When it ends, from `Max-Age` and else from `Expires`; `nil` for the end of the session.
  private(set) var expires: Date?
  /// In lower case and without its first dot.
  private(set) var domain: String?
  private(set) var path: String?
  private(set) var isSecure = false
  private(set) var isHTTPOnly = false
  private(set) var sameSite: Cookie.SameSite?

  /// Reads a line, or refuses it as a whole; `Max-Age` counts from `now`.
  init?(_ octets: some Collection<UInt8>, now: Date) {
    guard !octets.contains(where: Self.isControl) else { return nil }
    let parts = Array(octets).split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
    guard let pair = parts.first else { return nil }
    let (first, second) = Self.cut(pair)
    // Without an equals sign all of it is the value.
    let (name, value) = second.map { (first, $0) } ?? ([], first)
    guard name.count + value.count <= Self.maximumBytes, !name.isEmpty || !value.isEmpty else { return nil }
    self.name = ReceivedFields.text(name)
    self.value = ReceivedFields.text(value)
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

  init?(_ text: String, now: Date) { self.init(text.utf8, now: now) }

  /// Whether the octet spoils a line: all controls but the tab.
  static func isControl(_ octet: UInt8) -> Bool { octet < 0x20 && octet != 0x09 || octet == 0x7F }

  /// What stands before and after the first equals sign, without the blanks around both.
  private static func cut(_ octets: ArraySlice<UInt8>) -> (ArraySlice<UInt8>, ArraySlice<UInt8>?) {
    guard let equals = octets.firstIndex(of: UInt8(ascii: "=")) else { return (trimmed(octets), nil) }
    return (trimmed(octets[..<equals]), trimmed(octets[(equals + 1)...]))
  }

  private static func trimmed(_ octets: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard let first = octets.firstIndex(where: { !FieldSyntax.isBlank($0) }),
      let last = octets.lastIndex(where: { !FieldSyntax.isBlank($0) })
    else { return [] }
    return octets[first...last]
  }

  /// The end by `Max-Age`: digits, with a minus before them or not; anything else says nothing.
  private static func expiry(age: ArraySlice<UInt8>, now: Date) -> Date? {
    let isNegative = age.first == UInt8(ascii: "-")
    guard let seconds = FieldSyntax.parseSaturated(isNegative ? age.dropFirst() : age) else { return nil }
    return isNegative || seconds == 0 ? .distantPast : now.addingTimeInterval(TimeInterval(min(seconds, 1 << 40)))
  }
}

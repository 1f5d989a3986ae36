import MartletBase

/// The contents of a `Strict-Transport-Security` field (RFC 6797 §6.1).
struct StrictTransportSecurity: Sendable, Hashable {
  /// The maximum lifetime in seconds: ten years.
  static let maximumAge: Int64 = 315_360_000

  /// The lifetime in seconds; 0 removes the host.
  var maxAge: Int64
  /// Whether the policy includes subdomains.
  var includesSubdomains = false

  init(maxAge: Int64, includesSubdomains: Bool = false) {
    self.maxAge = maxAge
    self.includesSubdomains = includesSubdomains
  }

  /// Parses a value; `nil` if it is malformed, and therefore ignored.
  ///
  /// Directives may be in any order, each at most once. Unknown directives are skipped.
  init?(_ value: String) {
    var seen: Set<String> = []
    var maxAge: Int64?
    includesSubdomains = false
    for part in FieldSyntax.split(Substring(value).utf8, at: UInt8(ascii: ";")) {
      guard let (name, argument) = Self.directive(part), seen.insert(name).inserted else { return nil }
      switch name {
      case "max-age":
        guard let argument, let seconds = FieldSyntax.parseSaturated(argument) else { return nil }
        maxAge = Int64(min(seconds, UInt64(Self.maximumAge)))
      case "includesubdomains":
        guard argument == nil else { return nil }
        includesSubdomains = true
      default: break
      }
    }
    guard let maxAge else { return nil }
    self.maxAge = maxAge
  }

  /// The lower-case name of a directive, and its unquoted argument.
  private static func directive(_ part: Substring.UTF8View) -> (name: String, argument: String?)? {
    guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else {
      let name = Substring(part)
      return FieldSyntax.isToken(name) ? (FieldSyntax.lowercased(name), nil) : nil
    }
    let name = Substring(FieldSyntax.trimmed(part[..<equals]))
    var rest = FieldSyntax.trimmed(part[part.index(after: equals)...])
    guard FieldSyntax.isToken(name) else { return nil }
    if rest.first == UInt8(ascii: "\"") {
      guard let text = FieldSyntax.readQuotedString(from: &rest), rest.isEmpty else { return nil }
      return (FieldSyntax.lowercased(name), text)
    }
    let argument = Substring(rest)
    return FieldSyntax.isToken(argument) ? (FieldSyntax.lowercased(name), String(argument)) : nil
  }
}

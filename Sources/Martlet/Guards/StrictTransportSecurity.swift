import MartletBase

/// The contents of a `Strict-Transport-Security` field (RFC 6797 §6.1).
struct StrictTransportSecurity: Sendable, Hashable {
  /// The maximum lifetime in seconds: ten years.
  static let maximumAge: Int64 = 315_360_000

  /// The lifetime in seconds; 0 removes the host.
  var maxAge: Int64
  var includesSubdomains = false
}

extension StrictTransportSecurity {
  /// Parses a value; `nil` if it is malformed, and therefore ignored.
  ///
  /// Directives may be in any order, each at most once. Unknown directives are skipped.
  init?(_ value: String) {
    var seen: Set<String> = []
    var maxAge: Int64?
    var includesSubdomains = false
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
    self.init(maxAge: maxAge, includesSubdomains: includesSubdomains)
  }

  /// The lower-case name of a directive, and its unquoted argument.
  private static func directive(_ part: Substring.UTF8View) -> (name: String, argument: String?)? {
    let text = Substring(part)
    if FieldSyntax.isToken(text) { return (FieldSyntax.lowercased(text), nil) }
    return FieldSyntax.parameter(part).map { ($0.name, $0.value) }
  }
}

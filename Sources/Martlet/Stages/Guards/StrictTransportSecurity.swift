import MartletBase

/// What a `Strict-Transport-Security` field says (RFC 6797 §6.1).
struct StrictTransportSecurity: Sendable, Hashable {
  /// The longest time that a host is remembered, in seconds: ten years.
  static let maximumAge: Int64 = 315_360_000

  /// How many seconds it holds; 0 for the end of an earlier one.
  var maxAge: Int64
  /// Whether it holds for all names below the host, too.
  var includesSubdomains = false

  init(maxAge: Int64, includesSubdomains: Bool = false) {
    self.maxAge = maxAge
    self.includesSubdomains = includesSubdomains
  }

  /// Reads a value; `nil` if it is to be ignored.
  ///
  /// Directives come in any order, each at most once, and those that nobody knows are skipped; a value with a mistake
  /// in it counts for nothing as a whole.
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

  /// A name in lower case, and what follows its `=` without quotes.
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

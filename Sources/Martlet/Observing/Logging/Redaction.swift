/// Masks secrets in logs, exported commands, errors and snapshots.
///
/// ```swift
/// $0.redaction = .standard.masking(headers: ["X-Tenant"], queryItems: ["email"]).showing(queryItems: ["code"])
/// ```
///
/// A masked value is shown as `***`. ``standard`` masks
///
/// - the values of header fields that carry credentials: `Authorization`, `Proxy-Authorization`, `Cookie`,
///   `Set-Cookie`, `Authentication-Info`, `X-Api-Key`, and every field whose name contains a word such as token,
///   secret, password, session or signature;
/// - the values of query items, form fields, JSON members, and attributes of HTML and XML with such a name, or with one
///   such as `key`, `code`, `sig` or `pwd`, what such an attribute names (`<input name="csrf" value="…">`), and the content
///   of elements of XML, except of `key` and `code`;
/// - user names and passwords in URLs, and fragments.
///
/// URLs inside other header fields, such as `Location` and `Referer`, are masked in the same way. Names are compared
/// ignoring case and the marks between their words. Secrets without a telling name stay visible: those in a path, in
/// plain text, in escaped markup, or under a custom name, unless you add it with ``masking(headers:queryItems:)``.
///
/// The description of a value without a client, such as a ``RequestTarget`` or ``HTTPHeaders``, always uses ``strict``.
public struct Redaction: Sendable, Hashable {
  private enum Rule: Sendable, Hashable {
    case names, everything, nothing
  }

  private var rule: Rule
  private var hiddenFields: Set<[UInt8]> = []
  private var hiddenItems: Set<[UInt8]> = []
  private var shownItems: Set<[UInt8]> = []

  /// Masks values whose names suggest a secret; the default.
  public static let standard = Redaction(rule: .names)

  /// Masks the value of every header field and query item, and whole bodies.
  ///
  /// Names and lengths remain.
  public static let strict = Redaction(rule: .everything)

  /// Masks nothing: shows passwords, tokens and cookies.
  public static let revealingSecrets = Redaction(rule: .nothing)

  private init(rule: Rule) { self.rule = rule }

  /// Returns a redaction that masks additional names.
  ///
  /// - Parameters:
  ///   - headers: Names of header fields.
  ///   - queryItems: Names of query items, form fields, JSON members, and elements and attributes of markup.
  /// - Returns: The redaction.
  public func masking(headers: [String] = [], queryItems: [String] = []) -> Redaction {
    var copy = self
    copy.hiddenFields.formUnion(headers.map { SecretNames.folded($0) })
    copy.hiddenItems.formUnion(queryItems.map { SecretNames.folded($0) })
    copy.shownItems.subtract(copy.hiddenItems)
    return copy
  }

  /// Returns a redaction that shows some query values, even if their names suggest a secret.
  ///
  /// - Parameter queryItems: Names of query items, form fields, JSON members, and elements and attributes of markup.
  /// - Returns: The redaction.
  public func showing(queryItems: [String]) -> Redaction {
    var copy = self
    copy.shownItems.formUnion(queryItems.map { SecretNames.folded($0) })
    copy.hiddenItems.subtract(copy.shownItems)
    return copy
  }

  package var hidesBodies: Bool { rule == .everything }

  /// Whether only explicitly added names are hidden.
  var revealsSecrets: Bool { rule == .nothing }

  /// Whether the values of header fields with this name are masked.
  ///
  /// - Parameter name: The name, in any case.
  /// - Returns: Whether they are masked.
  public func hides(field name: String) -> Bool {
    let folded = SecretNames.folded(name)
    return hiddenFields.contains(folded) || rule == .everything
      || rule == .names && SecretNames.isSecret(foldedField: folded)
  }

  /// Whether a header field is secret by its name, or because the program masks it, whatever is shown in logs.
  func isSecret(field name: String) -> Bool {
    let folded = SecretNames.folded(name)
    return hiddenFields.contains(folded) || SecretNames.isSecret(foldedField: folded)
  }

  /// Whether the values of query items, form fields and JSON members with this name are masked.
  ///
  /// - Parameter name: The name, not encoded, in any case.
  /// - Returns: Whether they are masked.
  public func hides(item name: String) -> Bool { hides(foldedItem: SecretNames.folded(name)) }

  /// Whether values with this name are masked, given as in a URL or a form.
  func hides(encodedItem name: ArraySlice<UInt8>) -> Bool {
    var folded: [UInt8] = []
    SecretNames.fold(name, .percent, into: &folded)
    return hides(foldedItem: folded)
  }

  /// Whether the program has added this name.
  func isAdded(foldedItem name: [UInt8]) -> Bool { hiddenItems.contains(name) }

  func hides(foldedItem name: [UInt8]) -> Bool {
    if hiddenItems.contains(name) { return true }
    if shownItems.contains(name) { return false }
    return rule == .everything || rule == .names && SecretNames.isSecret(foldedItem: name)
  }
}

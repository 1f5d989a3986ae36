/// What is masked in logs, exported commands, errors and snapshots.
///
/// ```swift
/// $0.redaction = .standard.masking(headers: ["X-Tenant"], queryItems: ["email"]).showing(queryItems: ["code"])
/// ```
///
/// A hidden value is shown as `***`. With ``standard``, hidden are
///
/// - the values of header fields that carry credentials: `Authorization`, `Proxy-Authorization`, `Cookie`,
///   `Set-Cookie`, `Authentication-Info`, `X-Api-Key`, and every name with a word such as token, secret, password,
///   session or signature in it;
/// - the values of query items, of form fields and of members of JSON objects with such a name, or one such as `key`,
///   `code`, `sig` or `pwd`;
/// - user names and passwords in URLs, and fragments.
///
/// URLs inside other header fields, such as `Location` and `Referer`, are treated like that too. Names are compared
/// without regard to case and to the marks between their words. What no name gives away is shown: a secret in a path,
/// in plain text, or under a name of your own, which ``masking(headers:queryItems:)`` adds.
///
/// The description of a value that belongs to no client, such as a ``RequestTarget`` or ``HTTPHeaders``, is always
/// ``strict``.
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

  /// Hides the value of every header field and query item, and whole bodies; names and lengths remain.
  public static let strict = Redaction(rule: .everything)

  /// Masks nothing: shows passwords, tokens and cookies.
  public static let revealingSecrets = Redaction(rule: .nothing)

  private init(rule: Rule) { self.rule = rule }

  /// A redaction that masks more names.
  ///
  /// - Parameters:
  ///   - headers: Names of header fields.
  ///   - queryItems: Names of query items, form fields and members of JSON objects.
  /// - Returns: The redaction.
  public func masking(headers: [String] = [], queryItems: [String] = []) -> Redaction {
    var copy = self
    copy.hiddenFields.formUnion(headers.map { SecretNames.folded($0) })
    copy.hiddenItems.formUnion(queryItems.map { SecretNames.folded($0) })
    copy.shownItems.subtract(copy.hiddenItems)
    return copy
  }

  /// A redaction that shows the values of some query items, whatever their names look like.
  ///
  /// - Parameter queryItems: Names of query items, form fields and members of JSON objects.
  /// - Returns: The redaction.
  public func showing(queryItems: [String]) -> Redaction {
    var copy = self
    copy.shownItems.formUnion(queryItems.map { SecretNames.folded($0) })
    copy.hiddenItems.subtract(copy.shownItems)
    return copy
  }

  // MARK: Questions

  var hidesBodies: Bool { rule == .everything }

  /// Whether nothing is hidden but what was named.
  var revealsSecrets: Bool { rule == .nothing }

  /// Whether the values of header fields with a name are hidden.
  ///
  /// - Parameter name: The name, in any case.
  /// - Returns: Whether they are.
  public func hides(field name: String) -> Bool {
    let folded = SecretNames.folded(name)
    if hiddenFields.contains(folded) { return true }
    switch rule {
    case .names: return SecretNames.isSecret(foldedField: folded)
    case .everything: return true
    case .nothing: return false
    }
  }

  /// Whether the values of query items, form fields and members of JSON objects with a name are hidden.
  ///
  /// - Parameter name: The name, not encoded, in any case.
  /// - Returns: Whether they are.
  public func hides(item name: String) -> Bool { hides(foldedItem: SecretNames.folded(name)) }

  /// The same for a name as it stands in a URL or a form.
  func hides(encodedItem name: ArraySlice<UInt8>) -> Bool {
    var folded: [UInt8] = []
    SecretNames.fold(name, .percent, into: &folded)
    return hides(foldedItem: folded)
  }

  /// The same for a name as names are compared.
  func hides(foldedItem name: [UInt8]) -> Bool {
    if hiddenItems.contains(name) { return true }
    if shownItems.contains(name) { return false }
    switch rule {
    case .names: return SecretNames.isSecret(foldedItem: name)
    case .everything: return true
    case .nothing: return false
    }
  }
}

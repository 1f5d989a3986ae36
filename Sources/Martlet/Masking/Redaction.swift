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
/// - the values of query items, form fields, JSON members, and elements and attributes of XML with such a name, or with
///   one such as `key`, `code`, `sig` or `pwd` (except for elements `key` and `code`), and the values that such a name
///   describes elsewhere (`{"name":"password","value":"…"}`);
/// - user names and passwords in URLs, fragments, and parts of paths that look like secrets: JSON Web Tokens, tokens of
///   bots and webhooks, and segments of at least 20 random letters and digits. UUIDs and hexadecimal digests are shown;
/// - whole bodies whose syntax is not examined, such as HTML and scripts, if they contain such a name, and text that
///   should be XML and is not well-formed. Logs show their type and size.
///
/// Other header fields, reason phrases, messages and strings in bodies are searched for the same names, URLs and JSON.
/// Names are compared ignoring case and the marks between their words; escapes are decoded first. Secrets without a
/// telling name stay visible: short ones in a path, those in sentences, or under a custom name, unless you add it with
/// ``masking(headers:queryItems:paths:)``.
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
  private(set) var pathPatterns: [PathPattern] = []

  /// Masks values whose names suggest a secret; the default.
  public static let standard = Redaction(rule: .names)

  /// Masks the value of every header field and query item, and whole bodies.
  ///
  /// Names and lengths remain, and paths as with ``standard``.
  public static let strict = Redaction(rule: .everything)

  /// Masks nothing: shows passwords, tokens and cookies.
  public static let revealingSecrets = Redaction(rule: .nothing)

  private init(rule: Rule) { self.rule = rule }

  /// Returns a redaction that masks additional names.
  ///
  /// - Parameters:
  ///   - headers: Names of header fields.
  ///   - queryItems: Names of query items, form fields, JSON members, and elements and attributes of XML.
  ///   - paths: Patterns of URL paths, such as `/users/*/keys/{key}`. A segment in braces is masked, and so is the part
  ///     of a segment in braces (`/bot{token}`). A `*` is any segment. A pattern may begin at any segment; with a host
  ///     before the first slash (`api.example.com/v1/{key}`), it begins with the path.
  /// - Returns: The redaction.
  public func masking(headers: [String] = [], queryItems: [String] = [], paths: [String] = []) -> Redaction {
    var copy = self
    copy.pathPatterns += paths.map { PathPattern($0) }
    copy.hiddenFields.formUnion(headers.map { SecretNames.folded($0) })
    copy.hiddenItems.formUnion(queryItems.map { SecretNames.folded($0) })
    copy.shownItems.subtract(copy.hiddenItems)
    return copy
  }

  /// Returns a redaction that shows some query values, even if their names suggest a secret.
  ///
  /// - Parameter queryItems: Names of query items, form fields, JSON members, and elements and attributes of XML.
  /// - Returns: The redaction.
  public func showing(queryItems: [String]) -> Redaction {
    var copy = self
    copy.shownItems.formUnion(queryItems.map { SecretNames.folded($0) })
    copy.hiddenItems.subtract(copy.shownItems)
    return copy
  }

  /// Whether whole bodies are masked, as with ``strict``.
  public var hidesBodies: Bool { rule == .everything }

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

  /// Whether a header field is secret by its name, or because the program masks it, regardless of what logs show.
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
    hides(name: name.contains(UInt8(ascii: "%")) ? PercentEncoding.decode(name)[...] : name)
  }

  /// Whether values with a decoded name, or with the last part of a compound name, are masked: `user[pwd]`, `config.key`.
  func hides(name: ArraySlice<UInt8>) -> Bool {
    if hides(foldedItem: SecretNames.folded(name)) { return true }
    if name.starts(with: "data-".utf8) { return hides(foldedItem: SecretNames.folded(name.dropFirst(5))) }
    guard let mark = name.lastIndex(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "[") }) else { return false }
    return hides(foldedItem: SecretNames.folded(name[(mark + 1)...]))
  }

  /// Whether a name suggests a secret, even if all values are masked.
  func isTelling(_ name: ArraySlice<UInt8>) -> Bool {
    guard rule == .everything else { return hides(name: name) }
    var copy = self
    copy.rule = .names
    return copy.hides(name: name)
  }

  /// Whether a name hides no value after a colon in a sentence.
  func isWeak(foldedItem name: [UInt8]) -> Bool { SecretNames.isWeak(name) && !hiddenItems.contains(name) }

  /// Whether the program has added names of items.
  var hasAddedItems: Bool { !hiddenItems.isEmpty }

  /// Whether the program has added patterns of paths.
  var hasPaths: Bool { !pathPatterns.isEmpty }

  /// Whether nothing is masked.
  var hidesNothing: Bool { rule == .nothing && hiddenItems.isEmpty && pathPatterns.isEmpty }

  /// Whether the program has added this name.
  func isAdded(foldedItem name: [UInt8]) -> Bool { hiddenItems.contains(name) }

  func hides(foldedItem name: [UInt8]) -> Bool {
    if hiddenItems.contains(name) { return true }
    if shownItems.contains(name) { return false }
    return rule == .everything || rule == .names && SecretNames.isSecret(foldedItem: name)
  }
}

import MartletBase

/// Decides which header fields another origin may receive (RFC 9110 §15.4).
///
/// Secrets are recognized by their names, as in logs and in the cache. Both redirects and the client's default fields obey
/// these rules.
struct OriginFields: Sendable {
  /// The fields that never leave their origin.
  ///
  /// Some servers expect tokens as subprotocols of a WebSocket.
  static let credentials = [
    "Authorization", "Cookie", "Cookie2", "Proxy-Authorization", "WWW-Authenticate", "Sec-WebSocket-Protocol",
  ]

  /// The default fields that describe the client, the connection or the body, or begin with one of these words.
  private static let common = [
    "accept", "cache-control", "connection", "content", "dnt", "expect", "if", "pragma", "priority", "range", "te",
    "user-agent",
  ]

  private let redaction: Redaction
  /// The names that the program allows, in lower case.
  private let allowed: Set<String>
  /// The default fields that only the origin of the base URL receives.
  private(set) var bound: HTTPHeaders = [:]

  init(redaction: Redaction = .standard, allowed: [String] = [], defaults: HTTPHeaders = [:]) {
    self.redaction = redaction
    self.allowed = Set(allowed.map { FieldSyntax.lowercased($0) })
    bound = HTTPHeaders(defaults.filter { !isCommon($0.name) })
  }

  /// Whether the subprotocols of a WebSocket may leave their origin.
  private var allowsSubprotocols = false

  /// The rules for servers that the program lists: default fields and subprotocols do not stay at their origin.
  var forListedServers: OriginFields {
    var copy = self
    copy.bound = [:]
    copy.allowsSubprotocols = true
    return copy
  }

  /// Whether the value of a field separates users: one that is masked by its name.
  func isSecret(_ name: String) -> Bool { redaction.isSecret(field: name) }

  /// Whether a field of a request stays at its origin.
  func isBound(_ field: HTTPHeaders.Field) -> Bool {
    if allowsSubprotocols, field.isNamed("Sec-WebSocket-Protocol") { return false }
    if Self.credentials.contains(where: field.isNamed) { return true }
    if allowed.contains(FieldSyntax.lowercased(field.name)) { return false }
    return isSecret(field.name) || bound.contains(field)
  }

  /// Removes the fields that stay at their origin; returns their names.
  @discardableResult
  func drop(from headers: inout HTTPHeaders) -> [String] {
    var dropped: [String] = []
    let kept = headers.filter { field in
      guard isBound(field) else { return true }
      if !dropped.contains(where: field.isNamed) { dropped.append(field.name) }
      return false
    }
    if !dropped.isEmpty { headers = HTTPHeaders(kept) }
    return dropped
  }

  /// Whether every origin may receive a default field.
  private func isCommon(_ name: String) -> Bool {
    let name = FieldSyntax.lowercased(name)
    if Self.credentials.contains(where: { FieldSyntax.isSameName($0, name) }) { return false }
    if allowed.contains(name) { return true }
    return !isSecret(name) && Self.common.contains { name == $0 || name.hasPrefix("\($0)-") }
  }
}

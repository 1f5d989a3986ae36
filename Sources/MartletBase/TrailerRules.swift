/// The rules for trailer fields (RFC 9110 §6.5.1).
package enum TrailerRules {
  private static let refused: Set<String> = [
    // Message framing and the connection.
    "connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings",
    // Routing.
    "host", "via", "forwarded",
    // Request modifiers.
    "cache-control", "expect", "max-forwards", "pragma", "range", "if-match", "if-modified-since", "if-none-match",
    "if-range", "if-unmodified-since",
    // Authentication and the client's identity.
    "authorization", "cookie", "proxy-authenticate", "proxy-authorization", "proxy-connection", "set-cookie",
    "www-authenticate",
    // Response controls.
    "age", "date", "expires", "location", "retry-after", "strict-transport-security", "vary", "warning",
    // Content format.
    "content-encoding", "content-range", "content-type",
  ]

  private static let longest = refused.reduce(0) { max($0, $1.utf8.count) }

  package static func allows(_ name: some Collection<UInt8>) -> Bool {
    guard name.count <= longest else { return true }
    return !refused.contains(String(decoding: name.lazy.map(FieldSyntax.lowercased), as: UTF8.self))
  }
}

/// The origin of a request: scheme, host and port (RFC 9110 §4.3.1).
///
/// Credentials belong to one origin. Two spellings of one address are two origins, which is the safe mistake.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
  package let scheme: String
  package let host: String
  package let port: Int

  package init(scheme: String, host: String, port: Int) {
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  package var description: String { "\(scheme)://\(host):\(port)" }
}

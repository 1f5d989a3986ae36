import MartletBase

/// The hosts to which requests may be sent.
///
/// | pattern | allows |
/// |---|---|
/// | `example.com` | this name, at any port |
/// | `*.example.com` | all names below it, but not the name itself |
/// | `10.1.2.3`, `::1`, `[::1]` | this address, in any notation |
/// | any of these with a port: `example.com:8443`, `[::1]:8080` | the same, only at this port |
struct AllowedHosts: Sendable, Hashable {
  private var entries: [HostRule] = []
  /// The problem of the first malformed pattern.
  private(set) var problem: InvalidInput?

  init(_ texts: [String]) {
    for text in texts {
      do throws(InvalidInput) {
        entries.append(try Self.read(String(FieldSyntax.trimmed(text))))
      } catch {
        problem =
          problem ?? InvalidInput("allowedHosts has \"\(URLRedaction.printable(text))\": \(error.message)")
      }
    }
  }

  /// Whether requests may be sent to a host, as in a parsed URL, and a port.
  func allows(_ host: String, port: Int) -> Bool { entries.cover(host, port: port) }

  private static func read(_ text: String) throws(InvalidInput) -> HostRule {
    // Without brackets, the end of an IPv6 address would be parsed as a port.
    if let address = IPAddress(text) { return .network(IPNetwork(address), port: nil) }
    let isPattern = text.hasPrefix("*.")
    let rest = isPattern ? text.dropFirst(2) : text[...]
    guard !rest.contains("*") else {
      throw InvalidInput("a star is allowed only at the start, before a dot: *.a.example")
    }
    let authority = try URLAuthority(keepingPortOf: Array(rest.utf8)[...])
    guard authority.user == nil else { throw InvalidInput("it is not a host name") }
    if let address = IPAddress(authority.host) {
      guard !isPattern else { throw InvalidInput("an IP address has no subdomains: write it without '*.'") }
      return .network(IPNetwork(address), port: authority.port)
    }
    let name = URLHost.withoutRoot(authority.host)
    return isPattern ? .below(name, port: authority.port) : .name(name, port: authority.port)
  }
}

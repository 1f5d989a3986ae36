import MartletBase

/// The hosts that are reached without a proxy.
///
/// | entry | covers |
/// |---|---|
/// | `*` | everything |
/// | `example.com`, `.example.com`, `*.example.com` | this name and all its subdomains |
/// | `10.1.2.3`, `::1`, `[::1]` | this address, in any notation |
/// | `10.0.0.0/8`, `fd00::/8`, `192.168.*` | the addresses of this network |
/// | `<local>` | host names without a dot |
/// | a name or an address, with a port: `a.example:8080`, `[::1]:8080` | the same, on this port |
struct NoProxy: Sendable, Equatable {
  private var entries: [HostRule] = []
  /// The entries as written, for ``NetworkPartition``.
  private(set) var partition = ""
  /// The first invalid entry; it covers nothing.
  private(set) var problem: InvalidInput?
  /// All invalid entries.
  private(set) var unread: [String] = []

  init(_ texts: [String]) {
    for text in texts {
      let entry = FieldSyntax.lowercased(FieldSyntax.trimmed(text))
      guard !entry.isEmpty else { continue }
      if let read = Self.read(entry) {
        entries += read
        partition += " \(entry)"
      } else {
        let shown = InvalidInput.printable(text)
        unread.append(shown)
        problem = problem ?? InvalidInput("the proxy exception \"\(shown)\" is malformed")
      }
    }
  }

  /// Whether an entry covers a host of a parsed URL, which is then reached directly.
  func covers(_ host: String, port: Int) -> Bool { entries.cover(host, port: port) }

  private static func read(_ text: String) -> [HostRule]? {
    if text == "*" { return [.everything] }
    if text == "<local>" { return [.undotted] }
    if let network = IPNetwork(wildcards: text) { return [.network(network, port: nil)] }
    if let network = IPNetwork(text) { return [.network(network, port: nil)] }
    if text.contains("/") { return nil }
    var host = text[...]
    var port: Int?
    if let colon = text.lastIndex(of: ":") {
      guard let number = FieldSyntax.parseDigits(text[text.index(after: colon)...]), (1...65535).contains(number) else {
        return nil
      }
      host = text[..<colon]
      port = Int(number)
    }
    if let network = IPNetwork(String(host)) { return [.network(network, port: port)] }
    if host.hasPrefix("*.") { host = host.dropFirst(2) } else if host.hasPrefix(".") { host = host.dropFirst() }
    if host.hasSuffix(".") { host = host.dropLast() }
    guard !host.contains("*"), let name = try? URLHost.parse(Array(host.utf8)[...]) else { return nil }
    return [.name(name, port: port), .below(name, port: port)]
  }
}

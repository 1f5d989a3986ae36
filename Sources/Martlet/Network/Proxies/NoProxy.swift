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
  private enum Entry: Sendable, Equatable {
    case everything
    case undotted
    case name(String, port: Int?)
    case network(IPNetwork, port: Int?)
  }

  private var entries: [Entry] = []
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
        entries.append(read)
        partition += " \(entry)"
      } else {
        let shown = InvalidInput.printable(text)
        unread.append(shown)
        problem = problem ?? InvalidInput("the host without proxy \"\(shown)\" is malformed")
      }
    }
  }

  /// Whether an entry covers a host of a parsed URL, which is then reached directly.
  func covers(_ host: String, port: Int) -> Bool {
    if entries.isEmpty { return false }
    let address = IPAddress(host)
    let name = URLHost.withoutRoot(host)
    return entries.contains { entry in
      switch entry {
      case .everything: return true
      case .undotted: return address == nil && !name.contains(".")
      case .name(let entry, let only):
        guard address == nil, only ?? port == port else { return false }
        return name == entry || name.hasSuffix(".\(entry)")
      case .network(let network, let only):
        guard let address, only ?? port == port else { return false }
        return network.contains(address)
      }
    }
  }

  private static func read(_ text: String) -> Entry? {
    if text == "*" { return .everything }
    if text == "<local>" { return .undotted }
    if let network = IPNetwork(wildcards: text) { return .network(network, port: nil) }
    if let network = IPNetwork(text) { return .network(network, port: nil) }
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
    if let network = IPNetwork(String(host)) { return .network(network, port: port) }
    if host.hasPrefix("*.") { host = host.dropFirst(2) } else if host.hasPrefix(".") { host = host.dropFirst() }
    if host.hasSuffix(".") { host = host.dropLast() }
    guard !host.contains("*"), let name = try? URLHost.parse(Array(host.utf8)[...]) else { return nil }
    return .name(name, port: port)
  }
}

/// A rule for the hosts of parsed URLs.
enum HostRule: Sendable, Hashable {
  case everything
  /// Names without a dot.
  case undotted
  case name(String, port: Int?)
  /// All subdomains of a name.
  case below(String, port: Int?)
  case network(IPNetwork, port: Int?)
}

extension [HostRule] {
  /// Whether a rule covers a host of a parsed URL.
  func cover(_ host: String, port: Int) -> Bool {
    if isEmpty { return false }
    let address = IPAddress(host)
    let name = URLHost.withoutRoot(host)
    return contains { rule in
      switch rule {
      case .everything: true
      case .undotted: address == nil && !name.contains(".")
      case .name(let own, let only): address == nil && only ?? port == port && name == own
      case .below(let parent, let only): address == nil && only ?? port == port && name.hasSuffix(".\(parent)")
      case .network(let network, let only): only ?? port == port && address.map(network.contains) ?? false
      }
    }
  }
}

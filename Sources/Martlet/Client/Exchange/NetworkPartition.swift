import MartletBase

/// Digests of a client's settings that vouch for the source of responses.
///
/// State stored from a response is used again only under the same settings, by any client and in any process (decision
/// 0035). A digest is empty if nothing is set, and reveals no secret.
struct NetworkPartition: Sendable, Hashable {
  /// Determines which server may answer for a host.
  ///
  /// Trust, pins, the minimum TLS version, `allowsMissingCloseNotify`, addresses, `resolve`, Unix socket.
  let authority: String
  /// ``authority`` and the route: proxy and interface.
  let name: String
  /// The client certificate, which identifies the client; `nil` for none.
  let certificate: String?
  /// Whether certificates and names of servers are checked.
  let checksServers: Bool
  /// Whether another process can have the same partition.
  ///
  /// A closure has a meaning only in this process.
  let isLasting: Bool

  init(_ settings: TransportSettings) {
    let who = Self.trust(settings.tls) + Self.addresses(settings)
    var way: [String] = []
    if let proxy = settings.proxy.partition { way.append("proxy \(proxy)") }
    if let interface = settings.localInterface { way.append("interface \(interface)") }
    authority = Self.digest(who)
    name = way.isEmpty ? authority : Self.digest([authority] + way)
    certificate = settings.tls.clientCertificate.map(Self.identity)
    checksServers = settings.tls.trust != .anything
    if case .resolver = settings.proxy.rule { isLasting = false } else { isLasting = true }
  }

  private static func trust(_ tls: TLSSettings) -> [String] {
    var parts: [String] = []
    switch tls.trust {
    case .system: break
    case .systemAnd(let roots): parts.append("system and \(digest(roots))")
    case .only(let roots): parts.append("only \(digest(roots))")
    case .anything: parts.append("anything")
    }
    if let pins = tls.normalizedPins { parts.append("pins \(Set(pins).sorted().joined(separator: " "))") }
    // A client with this setting may have stored a truncated body.
    if tls.allowsMissingCloseNotify { parts.append("missing close_notify") }
    if tls.minimumVersion != .v1_2 { parts.append("TLS \(tls.minimumVersion.rawValue)") }
    return parts
  }

  private static func identity(_ certificate: TLSSettings.ClientCertificate) -> String {
    if case .keychain(let label) = certificate.source { return digest(["keychain", label]) }
    return certificate.materials.map(digest).joined(separator: " ")
  }

  private static func addresses(_ settings: TransportSettings) -> [String] {
    var parts = settings.addresses.map { ["public \($0.partition)"] } ?? []
    for (host, addresses) in settings.resolve.ordered(by: { $0.key < $1.key }) {
      parts.append("resolve \(host) \(addresses.joined(separator: " "))")
    }
    if let path = settings.unixSocket { parts.append("socket \(path)") }
    return parts
  }

  private static func digest(_ material: TLSMaterial) -> String {
    SHA2.sha256(Array(material.bytes)).hexadecimal
  }

  /// A digest of texts with their lengths, so different lists have different digests.
  private static func digest(_ parts: [String]) -> String {
    guard !parts.isEmpty else { return "" }
    let text = parts.map { "\($0.utf8.count):\($0)" }.joined()
    return SHA2.sha256(Array(text.utf8)).prefix(16).hexadecimal
  }
}

extension ProxySettings {
  /// A random number that is unique to this process.
  private static let process = UInt64.random(in: 0...UInt64.max)

  /// Identifies the settings without passwords; `nil` if there is never a proxy.
  fileprivate var partition: String? {
    switch rule {
    case .none: nil
    case .environment: (try? ProxyEnvironment(ProcessInfo.processInfo.environment))?.partition
    case .fixed(let proxy, let except): "\(proxy.partition) except \(except.partition)"
    case .resolver(let resolver): "resolver \(Self.process) \(resolver.number)"
    }
  }
}

extension Proxy {
  /// Identifies the proxy without its password.
  var partition: String { "\(address) \(user ?? "")" }
}

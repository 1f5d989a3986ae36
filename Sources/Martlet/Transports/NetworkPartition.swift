import Foundation

/// The settings of a client that vouch for where an answer came from, as digests.
///
/// What is kept of an answer is used again under the same settings only, by whichever client and in whichever process
/// (decision 0035). A digest is empty if nothing is set, and tells nothing of a secret.
struct NetworkPartition: Sendable, Hashable {
  /// Who may answer for a host, and how: trust, pins, the oldest version of TLS, `allowsMissingCloseNotify`, addresses,
  /// `resolve`, unix socket.
  let authority: String
  /// ``authority``, and the way there: proxy and interface.
  let name: String
  /// The client certificate, if there is one: it says who asks.
  let certificate: String?
  /// Whether certificates and names of servers are checked, so that what they say can be trusted.
  let checksServers: Bool
  /// Whether another process could have the same partition: a closure means something in this one only.
  let isLasting: Bool

  /// `identity` is the number of the settings, which stands for what cannot be compared.
  init(_ settings: TransportSettings, identity: Int) {
    let who = Self.trust(settings.tls) + Self.addresses(settings)
    var way: [String] = []
    if let proxy = settings.proxy.partition(identity) { way.append("proxy \(proxy)") }
    if let interface = settings.localInterface { way.append("interface \(interface)") }
    authority = Self.digest(who)
    name = way.isEmpty ? authority : Self.digest([authority] + way)
    certificate = settings.tls.clientCertificate.map(Self.certificate)
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
    // Such a client may have stored a truncated body.
    if tls.allowsMissingCloseNotify { parts.append("missing close_notify") }
    if tls.minimumVersion != .v1_2 { parts.append("TLS \(tls.minimumVersion.rawValue)") }
    return parts
  }

  private static func addresses(_ settings: TransportSettings) -> [String] {
    var parts = settings.addresses.map { ["public \($0.partition)"] } ?? []
    for (host, addresses) in settings.resolve.sorted(by: { $0.key < $1.key }) {
      parts.append("resolve \(host) \(addresses.joined(separator: " "))")
    }
    if let path = settings.unixSocket { parts.append("socket \(path)") }
    return parts
  }

  private static func certificate(_ certificate: TLSSettings.ClientCertificate) -> String {
    switch certificate.form {
    case .pem(let certificate, let key): "\(digest(certificate)) \(digest(key))"
    case .pkcs12(let material): digest(material)
    }
  }

  private static func digest(_ material: TLSMaterial) -> String {
    DigestAlgorithm.hexadecimal(SHA2.sha256(Array(material.bytes)))
  }

  /// A digest of texts, each with its length, so that no two lists look the same.
  private static func digest(_ parts: [String]) -> String {
    guard !parts.isEmpty else { return "" }
    let text = parts.map { "\($0.utf8.count):\($0)" }.joined()
    return DigestAlgorithm.hexadecimal(SHA2.sha256(Array(text.utf8)).prefix(16))
  }
}

extension ProxySettings {
  /// Random numbers of the process, for what no other process can have.
  private static let process = UInt64.random(in: 0...UInt64.max)

  /// What tells the settings from others, without passwords; `nil` if there is never a proxy.
  fileprivate func partition(_ identity: Int) -> String? {
    switch rule {
    case .none: nil
    case .environment: (try? ProxyEnvironment(ProcessInfo.processInfo.environment))?.partition
    case .fixed(let proxy, let except): "\(proxy.partition) except \(except.partition)"
    case .resolver: "resolver \(Self.process) \(identity)"
    }
  }
}

extension Proxy {
  /// What tells it from others, without its password.
  var partition: String { "\(address) \(user ?? "")" }
}

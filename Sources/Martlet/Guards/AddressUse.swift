/// The special use of an address that is not on the public internet.
///
/// The cases follow IANA's registries of special-purpose addresses (RFC 6890, RFC 8190). Unassigned addresses are
/// `reserved`, so addresses assigned later are rejected until they have been reviewed.
enum AddressUse: String, Sendable, CaseIterable {
  case unspecified = "an unspecified address"
  case loopback = "a loopback address"
  case `private` = "an address of a private network"
  case shared = "an address that a provider shares among its customers"
  case linkLocal = "a link-local address"
  case metadata = "the address of a cloud's metadata service"
  case multicast = "a multicast address"
  case broadcast = "the broadcast address"
  case documentation = "an address for documentation"
  case benchmark = "an address for benchmarks"
  case reserved = "a reserved address"

  /// Determines the use of an address; `nil` for the public internet.
  init?(of address: IPAddress) {
    let listed = Self.networks.first { $0.network.contains(address) }?.use
    guard let use = listed ?? (address.bytes.count == 4 ? nil : Self.ofSixteen(address)) else { return nil }
    self = use
  }

  /// The use of an unlisted IPv6 address, or of the IPv4 address embedded in it, which receives its packets.
  private static func ofSixteen(_ address: IPAddress) -> AddressUse? {
    let bytes = address.bytes
    func inner(_ start: Int, flipping mask: UInt8 = 0) -> AddressUse? {
      AddressUse(of: IPAddress(bytes: bytes[start..<(start + 4)].map { $0 ^ mask }))
    }
    // ::ffff:0:0/96: mapped (RFC 4291 §2.5.5.2); 64:ff9b::/96: NAT64 (RFC 6052 §2.1).
    if address.unmapped != address || address.isIn(nat64) { return inner(12) }
    // 2002::/16: 6to4 (RFC 3056 §2).
    if address.isIn(sixToFour) { return inner(2) }
    // 2001::/32: Teredo, with the addresses of its server and, with all bits inverted, of its client (RFC 4380 §4).
    if address.isIn(teredo) { return inner(4) ?? inner(12, flipping: 0xFF) }
    // ::/96: compatible, deprecated (RFC 4291 §2.5.5.1).
    if address.isIn(compatible) { return inner(12) ?? .reserved }
    return address.isIn(protocols) || !address.isIn(unicast) ? .reserved : nil
  }

  // MARK: The registries

  private static let nat64 = IPNetwork("64:ff9b::/96")
  private static let sixToFour = IPNetwork("2002::/16")
  private static let teredo = IPNetwork("2001::/32")
  private static let compatible = IPNetwork("::/96")
  private static let protocols = IPNetwork("2001::/23")
  private static let unicast = IPNetwork("2000::/3")

  /// The table of special-purpose addresses; the first match applies.
  static let lines: [(text: String, use: AddressUse)] = [
    ("0.0.0.0/8", .unspecified), ("127.0.0.0/8", .loopback), ("255.255.255.255", .broadcast),
    // AWS, Azure, Google and most others; ECS; the second one of Azure; Alibaba; Oracle.
    ("169.254.169.254", .metadata), ("169.254.170.2", .metadata), ("168.63.129.16", .metadata),
    ("100.100.100.200", .metadata), ("192.0.0.192", .metadata),
    ("10.0.0.0/8", .private), ("172.16.0.0/12", .private), ("192.168.0.0/16", .private), ("100.64.0.0/10", .shared),
    ("169.254.0.0/16", .linkLocal), ("192.0.2.0/24", .documentation), ("198.51.100.0/24", .documentation),
    ("203.0.113.0/24", .documentation), ("233.252.0.0/24", .documentation), ("198.18.0.0/15", .benchmark),
    ("192.0.0.0/24", .reserved), ("192.88.99.0/24", .reserved), ("224.0.0.0/4", .multicast), ("240.0.0.0/4", .reserved),
    ("::", .unspecified), ("::1", .loopback),
    // AWS; containers of AWS; Google; Oracle; Scaleway.
    ("fd00:ec2::254", .metadata), ("fd00:ec2::23", .metadata), ("fd20:ce::254", .metadata),
    ("fd00:c1::a9fe:a9fe", .metadata), ("fd00:42::42", .metadata),
    ("fc00::/7", .private), ("fec0::/10", .private), ("fe80::/10", .linkLocal), ("ff00::/8", .multicast),
    ("2001:db8::/32", .documentation), ("3fff::/20", .documentation), ("2001:2::/48", .benchmark),
    ("64:ff9b:1::/48", .private), ("100::/64", .reserved),
  ]

  private static let networks = lines.compactMap { line in IPNetwork(line.text).map { (network: $0, use: line.use) } }
}

extension IPAddress {
  fileprivate func isIn(_ network: IPNetwork?) -> Bool { network?.contains(self) ?? false }

  /// The IPv4 address in an IPv4-mapped IPv6 address (`::ffff:127.0.0.1`), otherwise the address itself.
  var unmapped: IPAddress {
    guard bytes.count == 16, bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF else {
      return self
    }
    return IPAddress(bytes: Array(bytes[12...]))
  }
}

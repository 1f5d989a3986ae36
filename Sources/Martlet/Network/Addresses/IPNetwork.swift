import MartletBase

/// An IP network, such as `10.0.0.0/8`.
struct IPNetwork: Hashable, Sendable {
  let address: IPAddress
  /// The number of significant bits.
  let prefix: Int

  /// Parses a network in CIDR notation (RFC 4632 §3.1, RFC 4291 §2.3).
  ///
  /// An address is a network of one.
  init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let address = IPAddress(String(first)) else { return nil }
    let bits = UInt64(address.bytes.count * 8)
    guard let prefix = parts.count == 2 ? FieldSyntax.parseDigits(parts[1]) : bits, prefix <= bits else { return nil }
    self.address = address
    self.prefix = Int(prefix)
  }

  /// The network of one address.
  init(_ address: IPAddress) { (self.address, prefix) = (address, 8 * address.bytes.count) }

  func contains(_ other: IPAddress) -> Bool {
    guard other.bytes.count == address.bytes.count else { return false }
    let (whole, bits) = prefix.quotientAndRemainder(dividingBy: 8)
    guard other.bytes.prefix(whole) == address.bytes.prefix(whole) else { return false }
    return bits == 0 || (other.bytes[whole] ^ address.bytes[whole]) >> UInt8(8 - bits) == 0
  }
}

extension IPNetwork {
  /// Parses an IPv4 network whose last parts are asterisks, such as `192.168.*` or `10.*.*.*`.
  init?(wildcards text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let known = parts.prefix { $0 != "*" }
    guard (1...3).contains(known.count), parts.count <= 4, parts.count > known.count,
      parts.dropFirst(known.count).allSatisfy({ $0 == "*" })
    else { return nil }
    self.init("\((known + Array(repeating: "0", count: 4 - known.count)).joined(separator: "."))/\(8 * known.count)")
  }
}

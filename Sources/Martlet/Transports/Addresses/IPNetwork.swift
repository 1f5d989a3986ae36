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
    let bits = address.bytes.count * 8
    guard parts.count == 2 else {
      self.address = address
      prefix = bits
      return
    }
    guard let prefix = FieldSyntax.parseDigits(parts[1]), prefix <= bits else { return nil }
    self.address = address
    self.prefix = Int(prefix)
  }

  func contains(_ other: IPAddress) -> Bool { other.isInNetwork(address, prefix: prefix) }
}

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

  func contains(_ other: IPAddress) -> Bool {
    guard other.bytes.count == address.bytes.count else { return false }
    var rest = prefix
    for (own, other) in zip(address.bytes, other.bytes) {
      guard rest > 0 else { return true }
      let mask: UInt8 = rest >= 8 ? 0xFF : 0xFF << UInt8(8 - rest)
      guard own & mask == other & mask else { return false }
      rest -= 8
    }
    return true
  }
}

/// An address of IPv4 or IPv6, as its 4 or 16 bytes.
struct IPAddress: Hashable, Sendable {
  let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Reads a dotted quad, or an IPv6 address with or without brackets and without a zone.
  init?(_ text: String) {
    let octets = Array(text.utf8)[...]
    if URLHost.isIPv4(octets) {
      bytes = Self.quad(octets)
      return
    }
    let isBracketed = octets.first == UInt8(ascii: "[") && octets.last == UInt8(ascii: "]") && octets.count > 2
    let inner = isBracketed ? octets.dropFirst().dropLast() : octets
    guard URLHost.isIPv6(inner) else { return nil }
    bytes = Self.groups(inner)
  }

  /// Whether the first bits of the two are the same.
  func isInNetwork(_ network: IPAddress, prefix: Int) -> Bool {
    guard bytes.count == network.bytes.count else { return false }
    var rest = prefix
    for (own, other) in zip(bytes, network.bytes) {
      guard rest > 0 else { return true }
      let mask: UInt8 = rest >= 8 ? 0xFF : 0xFF << UInt8(8 - rest)
      guard own & mask == other & mask else { return false }
      rest -= 8
    }
    return true
  }

  /// Its usual text, without brackets (RFC 5952 §4).
  var text: String {
    if bytes.count == 4 { return bytes.map(String.init).joined(separator: ".") }
    let groups = stride(from: 0, to: bytes.count - 1, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
    var gap = 0..<0
    for start in groups.indices {
      let zeros = groups[start...].prefix { $0 == 0 }
      if zeros.count > max(1, gap.count) { gap = zeros.indices }
    }
    func shown(_ part: ArraySlice<UInt16>) -> String { part.map { String($0, radix: 16) }.joined(separator: ":") }
    return gap.isEmpty ? shown(groups[...]) : "\(shown(groups[..<gap.lowerBound]))::\(shown(groups[gap.upperBound...]))"
  }

  /// The bytes of text that is known to be a dotted quad.
  private static func quad(_ text: ArraySlice<UInt8>) -> [UInt8] {
    text.split(separator: UInt8(ascii: ".")).map { UInt8(String(decoding: $0, as: UTF8.self)) ?? 0 }
  }

  /// The bytes of text that is known to be an IPv6 address.
  private static func groups(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var head: [UInt8] = []
    var tail: [UInt8]?
    let groups = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    for (index, group) in groups.enumerated() {
      var made: [UInt8] = []
      if group.isEmpty {
        // `::`, also at an end, where it leaves two empty groups.
        if tail == nil && index + 1 < groups.count { tail = [] }
      } else if group.contains(UInt8(ascii: ".")) {
        made = quad(group)
      } else {
        let value = UInt16(String(decoding: group, as: UTF8.self), radix: 16) ?? 0
        made = [UInt8(value >> 8), UInt8(value & 0xFF)]
      }
      if tail == nil { head += made } else { tail? += made }
    }
    guard let tail else { return head }
    return head + [UInt8](repeating: 0, count: max(0, 16 - head.count - tail.count)) + tail
  }
}

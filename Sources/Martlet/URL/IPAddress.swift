import MartletBase

/// An IPv4 or IPv6 address, as its 4 or 16 bytes.
struct IPAddress: Hashable, Sendable {
  let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// Parses a dotted quad or an IPv6 address.
  ///
  /// IPv6 addresses may have brackets, but no zone.
  init?(_ text: String) {
    let octets = Array(text.utf8)[...]
    let isBracketed = octets.first == UInt8(ascii: "[") && octets.last == UInt8(ascii: "]") && octets.count > 2
    let read = Self.four(octets) ?? Self.six(isBracketed ? octets.dropFirst().dropLast() : octets)
    guard let read else { return nil }
    self = read
  }

  /// Four decimal numbers up to 255, without leading zeros, which could be octal.
  static func four(_ text: ArraySlice<UInt8>) -> IPAddress? { read(text, AF_INET, 4) }

  /// An IPv6 address without a zone (RFC 3986 §3.2.2).
  static func six(_ text: ArraySlice<UInt8>) -> IPAddress? { read(text, AF_INET6, 16) }

  @inline(never) private static func read(_ text: ArraySlice<UInt8>, _ family: Int32, _ count: Int) -> IPAddress? {
    var bytes = [UInt8](repeating: 0, count: count)
    guard text.count < Int(INET6_ADDRSTRLEN), !text.contains(0),
      inet_pton(family, String(decoding: text, as: UTF8.self), &bytes) == 1
    else { return nil }
    return IPAddress(bytes: bytes)
  }

  /// The canonical text, without brackets (RFC 5952 §4).
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
}

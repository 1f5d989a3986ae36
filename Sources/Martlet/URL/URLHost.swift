import Foundation

/// The host of a URL: a name, a dotted quad, or an IPv6 literal in brackets (RFC 3986 §3.2.2).
enum URLHost {
  /// Checks and normalises a host.
  ///
  /// Names become lower case, and international ones become ASCII (RFC 5891).
  static func parse(_ bytes: ArraySlice<UInt8>) throws(InvalidInput) -> String {
    if bytes.first == UInt8(ascii: "[") {
      let inner = bytes.dropFirst().dropLast()
      guard bytes.last == UInt8(ascii: "]"), isIPv6(inner) else { throw refusal(bytes, "is not an IPv6 address") }
      return String(decoding: bytes, as: UTF8.self).lowercased()
    }
    let host = try asciiName(bytes).lowercased()
    try checkLabels(Array(host.utf8)[...])
    return host
  }

  /// `example.com.` is `example.com` (RFC 1034 §3.1).
  static func withoutRoot(_ host: String) -> String { host.hasSuffix(".") ? String(host.dropLast()) : host }

  private static func refusal(_ bytes: ArraySlice<UInt8>, _ reason: String) -> InvalidInput {
    InvalidInput("host \"\(InvalidInput.printable(String(decoding: bytes, as: UTF8.self)))\" \(reason)")
  }

  private static func asciiName(_ bytes: ArraySlice<UInt8>) throws(InvalidInput) -> String {
    if bytes.allSatisfy(ASCIISet.host.contains) { return String(decoding: bytes, as: UTF8.self) }
    let isWellFormed = bytes.indices.allSatisfy {
      bytes[$0] != UInt8(ascii: "%") || PercentEncoding.triplet(at: $0, in: bytes) != nil
    }
    let decoded = PercentEncoding.decode(bytes)
    guard isWellFormed, decoded.allSatisfy({ $0 >= 0x80 || ASCIISet.host.contains($0) }),
      let text = String(validating: decoded, as: UTF8.self)
    else { throw refusal(bytes, "has illegal characters") }
    guard decoded.contains(where: { $0 >= 0x80 }) else { return text }
    // Foundation carries the tables of UTS #46; what comes back is checked like any other host.
    guard let mapped = URL(string: "http://\(text)/")?.absoluteString,
      mapped.hasPrefix("http://"), mapped.hasSuffix("/")
    else { throw refusal(bytes, "is not a valid international name") }
    let name = mapped.dropFirst(7).dropLast()
    guard !name.isEmpty, name.utf8.allSatisfy(ASCIISet.host.contains) else {
      throw refusal(bytes, "is not a valid international name")
    }
    return String(name)
  }

  /// Refuses empty and overlong labels, and numbers that some parsers take for an IPv4 address.
  private static func checkLabels(_ host: ArraySlice<UInt8>) throws(InvalidInput) {
    let hasRootDot = host.count > 1 && host.last == UInt8(ascii: ".")
    let labels = hasRootDot ? host.dropLast() : host
    var start = labels.startIndex
    var isLong = host.count > 254
    for index in labels.indices where labels[index] == UInt8(ascii: ".") {
      guard index > start else { throw refusal(host, "has an empty label") }
      isLong = isLong || index - start > 63
      start = index + 1
    }
    let last = labels[start...]
    guard !last.isEmpty else { throw refusal(host, "has an empty label") }
    guard !isLong, last.count <= 63 else { throw refusal(host, "is longer than a host name can be") }
    // `127.1`, `0x7f000001` and `2130706433` are 127.0.0.1 to some parsers and names to others.
    guard isNumber(last) else { return }
    guard !hasRootDot, isIPv4(host) else {
      throw refusal(host, "is a number, but not an IPv4 address of four parts")
    }
  }

  private static func isNumber(_ label: ArraySlice<UInt8>) -> Bool {
    if label.allSatisfy(isDigit) { return true }
    return label.starts(with: "0x".utf8) && label.dropFirst(2).allSatisfy { PercentEncoding.hexValue($0) != nil }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }

  /// Whether the bytes are four decimal numbers up to 255, without leading zeros (which could be octal).
  static func isIPv4(_ bytes: ArraySlice<UInt8>) -> Bool {
    var rest = bytes
    for number in 1...4 {
      let part = rest.prefix { $0 != UInt8(ascii: ".") }
      guard !part.isEmpty, part.count <= 3, part.allSatisfy(isDigit) else { return false }
      guard part.count == 1 || part.first != UInt8(ascii: "0") else { return false }
      guard part.reduce(0, { $0 * 10 + Int($1 - UInt8(ascii: "0")) }) <= 255 else { return false }
      rest = rest.dropFirst(part.count)
      guard number < 4 else { break }
      guard rest.first == UInt8(ascii: ".") else { return false }
      rest = rest.dropFirst()
    }
    return rest.isEmpty
  }

  /// Whether the bytes are an IPv6 address without a zone (RFC 3986 §3.2.2).
  static func isIPv6(_ bytes: ArraySlice<UInt8>) -> Bool {
    let groups = bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard groups.count >= 3, groups.count <= 9 else { return false }
    var width = 0
    var gaps = 0
    for (index, group) in groups.enumerated() {
      let isLast = index == groups.count - 1
      if group.isEmpty {
        // A colon at either end is only right as half of `::`.
        if index == 0 {
          guard groups[1].isEmpty else { return false }
        } else if isLast {
          guard groups[index - 1].isEmpty else { return false }
        } else {
          gaps += 1
        }
      } else if isLast, group.contains(UInt8(ascii: ".")) {
        guard isIPv4(group) else { return false }
        width += 2
      } else {
        guard group.count <= 4, group.allSatisfy({ PercentEncoding.hexValue($0) != nil }) else { return false }
        width += 1
      }
    }
    return gaps == 0 ? width == 8 : gaps == 1 && width <= 7
  }
}

import CMartletShim
import MartletBase

/// The host of a URL: a name, a dotted quad, or an IPv6 literal in brackets (RFC 3986 §3.2.2).
enum URLHost {
  /// Checks and normalizes a host: names become lower case, and international ones become ASCII (RFC 5891).
  static func parse(_ bytes: ArraySlice<UInt8>) throws(InvalidInput) -> String {
    if bytes.first == UInt8(ascii: "[") {
      let inner = bytes.dropFirst().dropLast()
      guard bytes.last == UInt8(ascii: "]"), IPAddress.six(inner) != nil else {
        let hasZone = IPAddress.six(inner.prefix { $0 != UInt8(ascii: "%") }) != nil
        let remedy = hasZone ? ": a URL has no zone (RFC 9844); name the interface in localInterface" : ""
        throw refusal(bytes, "is not an IPv6 address\(remedy)")
      }
      return String(decoding: bytes, as: UTF8.self).lowercased()
    }
    let host = try asciiName(bytes).lowercased()
    try checkLabels(Array(host.utf8)[...])
    return host
  }

  /// Removes the root dot: `example.com.` is `example.com` (RFC 1034 §3.1).
  static func withoutRoot(_ host: String) -> String { host.hasSuffix(".") ? String(host.dropLast()) : host }

  private static func refusal(_ bytes: ArraySlice<UInt8>, _ reason: String) -> InvalidInput {
    InvalidInput("host \"\(InvalidInput.printable(String(decoding: bytes, as: UTF8.self)))\" \(reason)")
  }

  private static func asciiName(_ bytes: ArraySlice<UInt8>) throws(InvalidInput) -> String {
    if bytes.allSatisfy(ASCIISet.host.contains) { return String(decoding: bytes, as: UTF8.self) }
    guard let decoded = PercentEncoding.decode(bytes, allowing: { _ in true }),
      decoded.allSatisfy({ $0 >= 0x80 || ASCIISet.host.contains($0) }),
      let text = String(validating: decoded, as: UTF8.self)
    else { throw refusal(bytes, "contains illegal characters") }
    guard decoded.contains(where: { $0 >= 0x80 }) else { return text }
    // The mapped name is checked like any other host.
    guard let name = mapped(text), !name.isEmpty, name.utf8.allSatisfy(ASCIISet.host.contains) else {
      throw refusal(
        bytes,
        canMap
          ? "is not a valid international name"
          : "is an international name, which needs libidn2 or the trait URLSession; or write it as xn--…")
    }
    return name
  }

  #if canImport(Darwin) || URLSession
    private static var canMap: Bool { true }

    /// Foundation contains the tables of UTS #46.
    private static func mapped(_ name: String) -> String? {
      guard let url = URL(string: "http://\(name)/")?.absoluteString, url.hasPrefix("http://"), url.hasSuffix("/")
      else { return nil }
      return String(url.dropFirst(7).dropLast())
    }
  #else
    private static var canMap: Bool { martlet_idn_is_usable() }

    private static func mapped(_ name: String) -> String? { mappedByLibrary(name) }
  #endif

  #if os(Linux)
    /// Uses libidn2, as libcurl does; it does not support names with symbols, such as emoji.
    static func mappedByLibrary(_ name: String) -> String? {
      guard let mapped = martlet_idn_to_ascii(name) else { return nil }
      defer { free(mapped) }
      return String(cString: mapped)
    }
  #endif

  /// Rejects empty or overlong labels, and ambiguous IPv4 addresses.
  private static func checkLabels(_ host: ArraySlice<UInt8>) throws(InvalidInput) {
    let hasRootDot = host.count > 1 && host.last == UInt8(ascii: ".")
    let labels = hasRootDot ? host.dropLast() : host
    var start = labels.startIndex
    var isLong = host.count > 254
    for index in labels.indices where labels[index] == UInt8(ascii: ".") {
      guard index > start else { throw refusal(host, "contains an empty label") }
      isLong = isLong || index - start > 63
      start = index + 1
    }
    let last = labels[start...]
    guard !last.isEmpty else { throw refusal(host, "contains an empty label") }
    guard !isLong, last.count <= 63 else { throw refusal(host, "is longer than a host name can be") }
    // `127.1`, `0x7f000001` and `2130706433` are 127.0.0.1 to some parsers and names to others.
    guard isNumber(last) else { return }
    guard !hasRootDot, IPAddress.four(host) != nil else {
      throw refusal(host, "is a number, but not an IPv4 address of four parts")
    }
  }

  private static func isNumber(_ label: ArraySlice<UInt8>) -> Bool {
    if label.allSatisfy({ 0x30...0x39 ~= $0 }) { return true }
    return label.starts(with: "0x".utf8) && label.dropFirst(2).allSatisfy { PercentEncoding.hexValue($0) != nil }
  }
}

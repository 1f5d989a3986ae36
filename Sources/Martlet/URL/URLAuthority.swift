/// The userinfo, host and port of a URL (RFC 3986 §3.2).
struct URLAuthority {
  var user: String?
  var password: String?
  var host: String
  var port: Int?
}

extension URLAuthority {
  /// Parses the text between `//` and the next `/`, `?` or `#`.
  ///
  /// Errors never quote userinfo, or a port that is not a number: it may be the end of a password.
  init(parsing bytes: ArraySlice<UInt8>, scheme: String) throws(InvalidInput) {
    var rest = bytes
    if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
      (user, password) = try Self.userinfo(rest[..<at])
      rest = rest[(at + 1)...]
    }
    let (hostBytes, portBytes) = try Self.split(rest)
    guard !hostBytes.isEmpty else { throw InvalidInput("no host after \"\(scheme)://\"") }
    host = try URLHost.parse(hostBytes)
    guard let portBytes, let number = try Self.port(portBytes, host: host) else { return }
    port = number == (scheme == "https" ? 443 : 80) ? nil : number
  }

  /// Parses such a text without a scheme, and keeps its port even if that is the default of a scheme.
  init(keepingPortOf bytes: ArraySlice<UInt8>) throws(InvalidInput) {
    self = try URLAuthority(parsing: bytes, scheme: "http")
    // Port 80 is dropped as the default of http.
    if port == nil { port = try URLAuthority(parsing: bytes, scheme: "https").port }
  }

  private static func userinfo(_ bytes: ArraySlice<UInt8>) throws(InvalidInput) -> (String?, String?) {
    guard !bytes.isEmpty else { return (nil, nil) }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return (try decodedUserinfo(bytes), nil) }
    return (try decodedUserinfo(bytes[..<colon]), try decodedUserinfo(bytes[(colon + 1)...]))
  }

  private static func decodedUserinfo(_ bytes: ArraySlice<UInt8>) throws(InvalidInput) -> String {
    let decoded = PercentEncoding.decode(bytes) { ASCIISet.userinfo.contains($0) || $0 == UInt8(ascii: ":") }
    guard let decoded, let text = String(validating: decoded, as: UTF8.self),
      !decoded.contains(where: { $0 < 0x20 || $0 == 0x7F })
    else {
      throw InvalidInput("illegal characters in the user name or password of the URL: percent-encode them")
    }
    return text
  }

  /// Splits host from port; an IPv6 literal keeps its brackets.
  private static func split(
    _ bytes: ArraySlice<UInt8>
  ) throws(InvalidInput) -> (host: ArraySlice<UInt8>, port: ArraySlice<UInt8>?) {
    guard bytes.first == UInt8(ascii: "[") else {
      guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return (bytes, nil) }
      return (bytes[..<colon], bytes[(colon + 1)...])
    }
    guard let end = bytes.firstIndex(of: UInt8(ascii: "]")) else {
      throw InvalidInput("the closing bracket of the IPv6 host is missing: write it as [::1]")
    }
    let rest = bytes[(end + 1)...]
    guard let first = rest.first else { return (bytes[...end], nil) }
    guard first == UInt8(ascii: ":") else { throw InvalidInput("only a port may follow an IPv6 host") }
    return (bytes[...end], rest.dropFirst())
  }

  /// Parses a port; an empty one means the scheme's default (RFC 3986 §3.2.3).
  private static func port(_ digits: ArraySlice<UInt8>, host: String) throws(InvalidInput) -> Int? {
    guard !digits.isEmpty else { return nil }
    guard digits.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
      throw InvalidInput("the port after host \"\(InvalidInput.printable(host))\" is not a number")
    }
    let text = String(decoding: digits, as: UTF8.self)
    guard let port = Int(text), (1...65535).contains(port) else {
      // A longer number may be a password, because the host is missing.
      throw InvalidInput("port \(InvalidInput.printable(text, limit: 5)) is outside 1...65535")
    }
    return port
  }
}

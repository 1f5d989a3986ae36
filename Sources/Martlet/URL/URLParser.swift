import MartletBase

/// The parts of a URI reference (RFC 3986, appendix B), as they were written.
struct URLParts {
  var scheme: ArraySlice<UInt8>?
  var authority: ArraySlice<UInt8>?
  var path: ArraySlice<UInt8>
  var query: ArraySlice<UInt8>?
  var fragment: ArraySlice<UInt8>?

  init(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    if let mark = rest.firstIndex(of: UInt8(ascii: "#")) {
      fragment = rest[(mark + 1)...]
      rest = rest[..<mark]
    }
    if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
      query = rest[(mark + 1)...]
      rest = rest[..<mark]
    }
    if let colon = Self.schemeEnd(in: rest) {
      scheme = rest[..<colon]
      rest = rest[(colon + 1)...]
    }
    if rest.starts(with: [UInt8(ascii: "/"), UInt8(ascii: "/")]) {
      rest = rest.dropFirst(2)
      let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
      authority = rest[..<end]
      rest = rest[end...]
    }
    path = rest
  }

  /// Whether browsers, which treat a backslash as a slash, read a host in the path (WHATWG URL, relative slash state).
  var hasHostForBrowsers: Bool {
    let (slash, backslash) = (UInt8(ascii: "/"), UInt8(ascii: "\\"))
    return scheme == nil && authority == nil && (path.first == backslash || path.starts(with: [slash, backslash]))
  }

  /// Whether a relative path has a colon before its first slash, which RFC 3986 §4.2 forbids.
  var hasColonInFirstSegment: Bool {
    guard scheme == nil, authority == nil else { return false }
    return path.prefix { $0 != UInt8(ascii: "/") }.contains(UInt8(ascii: ":"))
  }

  private static func schemeEnd(in bytes: ArraySlice<UInt8>) -> Int? {
    guard let colon = bytes.firstIndex(where: { !ASCIISet.scheme.contains($0) }),
      bytes[colon] == UInt8(ascii: ":"),
      let first = bytes.first, first | 0x20 >= UInt8(ascii: "a"), first | 0x20 <= UInt8(ascii: "z")
    else { return nil }
    return colon
  }
}

extension AbsoluteURL {
  /// Parses an http or https URL: strict about structure, lenient about encoding.
  ///
  /// Characters that are not allowed in path, query or fragment are percent-encoded as UTF-8, a stray `%` becomes
  /// `%25`, and dot segments are removed (RFC 3986 §5.2.4), even if they are spelled `%2e`. All other text that two
  /// parsers could read differently is rejected: control characters, one slash or three after the scheme, odd hosts,
  /// numbers that some parsers read as an IPv4 address, ports outside 1...65535.
  package static func parse(_ text: String) throws(InvalidInput) -> AbsoluteURL {
    try parse(octets: Array(text.utf8))
  }

  /// Parses a URL whose octets may not be UTF-8; they are percent-encoded as they are.
  static func parse(octets: [UInt8]) throws(InvalidInput) -> AbsoluteURL {
    try URLParser.refuseControls(in: octets[...])
    return try URLParser.absolute(URLParts(octets[...]), text: ReceivedFields.text(octets))
  }
}

enum URLParser {
  /// Rejects control characters.
  static func refuseControls(in bytes: ArraySlice<UInt8>) throws(InvalidInput) {
    guard let index = bytes.firstIndex(where: { $0 < 0x20 || $0 == 0x7F }) else { return }
    let text = String(decoding: bytes, as: UTF8.self)
    let shown = URLRedaction.printable(text)
    if let edge = InvalidInput.edge(of: text, isLegal: { $0.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }) {
      throw InvalidInput("the URL \"\(shown)\" \(edge)")
    }
    throw InvalidInput("control character 0x\([bytes[index]].hexadecimal.uppercased()) in the URL \"\(shown)\"")
  }

  /// Rejects a leading space, which is a mistake and not part of a path.
  static func refuseLeadingBlank(in text: String) throws(InvalidInput) {
    guard text.utf8.first == UInt8(ascii: " "), let edge = InvalidInput.edge(of: text, isLegal: { _ in true }) else {
      return
    }
    throw InvalidInput("the URL \"\(URLRedaction.printable(text))\" \(edge)")
  }

  /// Creates a URL from parts that must include a scheme and an authority.
  static func absolute(_ parts: URLParts, text: String) throws(InvalidInput) -> AbsoluteURL {
    guard let scheme = parts.scheme else {
      try refuseLeadingBlank(in: text)
      throw InvalidInput(
        "no scheme in \"\(URLRedaction.printable(text))\": write a full URL, such as https://a.example/")
    }
    let name = try supportedScheme(scheme, followedBy: parts)
    guard let authority = parts.authority else {
      throw InvalidInput("no host after \"\(name):\": write \"\(name)://\" and a host")
    }
    return try AbsoluteURL(
      scheme: name,
      authority: URLAuthority(parsing: authority, scheme: name),
      path: normalisedPath(PercentEncoding.repair(parts.path, keeping: .path)),
      query: parts.query.map { PercentEncoding.repair($0, keeping: .query) },
      fragment: parts.fragment.map { PercentEncoding.repair($0, keeping: .query) })
  }

  private static func supportedScheme(
    _ scheme: ArraySlice<UInt8>, followedBy parts: URLParts
  ) throws(InvalidInput) -> String {
    let name = String(decoding: scheme, as: UTF8.self).lowercased()
    if name == "https" || name == "http" { return name }
    let shown = InvalidInput.printable(name)
    // `localhost:8080/x` is formally a URI with the scheme "localhost", but never intended as one.
    if parts.authority == nil, let next = parts.path.first, PercentEncoding.hexValue(next).map({ $0 < 10 }) == true {
      throw InvalidInput("no scheme before \"\(shown):\": write \"http://\(shown):…\" or \"https://\(shown):…\"")
    }
    let remedy = name == "ws" || name == "wss" ? "; for a WebSocket, import MartletWebSocket and use webSocket(_:)" : ""
    throw InvalidInput("unsupported scheme \"\(shown)\": only http and https are supported\(remedy)")
  }
}

import MartletBase

extension AbsoluteURL {
  /// Resolves a reference against this URL, as in `Location` (RFC 3986 §5.2, strict).
  ///
  /// The result never inherits the user name and password of this URL, not even for the same origin: the owner of the
  /// credentials decides that. Userinfo in an absolute reference is kept.
  ///
  /// References are parsed as leniently as in ``parse(_:)``; schemes other than http and https are rejected. With
  /// `inheritingFragment` the result inherits this URL's fragment if the reference has none, as redirects require (RFC
  /// 9110 §10.2.2).
  ///
  /// The octets may not be UTF-8; they are percent-encoded as they are.
  func resolving(octets: [UInt8], inheritingFragment: Bool = true) throws(InvalidInput) -> AbsoluteURL {
    let reference = ReceivedFields.text(octets)
    let bytes = octets[...]
    try URLParser.refuseControls(in: bytes)
    let parts = URLParts(bytes)
    let target = try URLParser.resolve(parts, text: reference, against: self)
    guard inheritingFragment, target.fragment == nil, let fragment else { return target }
    return try AbsoluteURL(
      scheme: target.scheme, authority: target.authority, path: target.path, query: target.query, fragment: fragment)
  }
}

extension URLParser {
  fileprivate static func resolve(
    _ parts: URLParts, text: String, against base: AbsoluteURL
  ) throws(InvalidInput) -> AbsoluteURL {
    if parts.scheme != nil { return try absolute(parts, text: text) }
    guard !parts.hasHostForBrowsers else {
      let shown = URLRedaction.printable(text)
      throw InvalidInput("\"\(shown)\" has a backslash at its start, which other clients read as another host")
    }
    var authority = URLAuthority(host: base.host, port: base.port)
    var path = PercentEncoding.repair(parts.path, keeping: .path)
    var query = parts.query.map { PercentEncoding.repair($0, keeping: .query) }
    if let own = parts.authority {
      authority = try URLAuthority(parsing: own, scheme: base.scheme)
      path = normalisedPath(path)
    } else if path.isEmpty {
      path = base.path
      query = query ?? base.query
    } else {
      let slash = base.path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? base.path.startIndex
      path = normalisedPath((path.hasPrefix("/") ? "" : base.path.prefix(through: slash)) + path)
    }
    return try AbsoluteURL(
      scheme: base.scheme, authority: authority, path: path, query: query,
      fragment: parts.fragment.map { PercentEncoding.repair($0, keeping: .query) })
  }

  /// Removes dot segments (RFC 3986 §5.2.4) and adds a missing leading slash.
  ///
  /// `%2e` counts as a dot (RFC 3986 §6.2.2.2): a server that decodes it first would go up a directory.
  static func normalisedPath(_ path: String) -> String {
    let rooted = path.utf8.first == UInt8(ascii: "/") ? path : "/" + path
    guard mayHaveDots(rooted) else { return rooted }
    let segments = Array(rooted.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
    guard segments.contains(where: { dots($0) != nil }) else { return rooted }
    var kept: [ArraySlice<UInt8>] = []
    for index in segments.indices {
      switch dots(segments[index]) {
      case 1: break
      case 2: _ = kept.popLast()
      default:
        kept.append(segments[index])
        continue
      }
      if index == segments.endIndex - 1 { kept.append([]) }
    }
    return String(decoding: [UInt8(ascii: "/")] + kept.joined(separator: [UInt8(ascii: "/")]), as: UTF8.self)
  }

  /// Whether a segment begins with `.` or `%`, which is rare.
  private static func mayHaveDots(_ path: String) -> Bool {
    var isStart = false
    for octet in path.utf8 {
      if isStart && (octet == UInt8(ascii: ".") || octet == UInt8(ascii: "%")) { return true }
      isStart = octet == UInt8(ascii: "/")
    }
    return false
  }

  /// The number of dots in a dot segment, one or two, or `nil` for other segments.
  static func dots(_ segment: ArraySlice<UInt8>) -> Int? {
    guard let first = segment.first, first == UInt8(ascii: ".") || first == UInt8(ascii: "%"),
      segment.count <= "%2E%2E".utf8.count
    else { return nil }
    let decoded = PercentEncoding.decode(segment)
    return decoded.count <= 2 && decoded.allSatisfy { $0 == UInt8(ascii: ".") } ? decoded.count : nil
  }
}

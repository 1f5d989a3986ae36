import MartletBase

/// The rules for accepting and sending cookies (RFC 6265bis §5.1.3, §5.1.4, §5.7, §5.8).
extension Cookie {
  /// The maximum size of a `Cookie` field; further cookies are left out.
  static let maximumHeaderBytes = 8190

  /// Creates the cookie that a response sets (RFC 6265bis §5.7).
  ///
  /// Throws if the cookie violates a rule that does not depend on the jar's contents.
  init(_ line: SetCookie, from url: AbsoluteURL, now: Date) throws(Explanation.Reason) {
    var domain = line.domain ?? ""
    guard domain.utf8.allSatisfy({ $0 < 0x80 }) else { throw Self.foreignDomain(domain) }
    if !domain.isEmpty, Self.isAddress(url.host) || PublicSuffix.isSuffix(domain) {
      // A host that is a public suffix or an address may set a cookie for itself alone.
      guard domain == url.host else {
        throw Self.domainMatches(url.host, domain) ? Self.publicSuffix(domain) : Self.foreignDomain(domain)
      }
      domain = ""
    }
    if !domain.isEmpty {
      guard Self.domainMatches(url.host, domain) else { throw Self.foreignDomain(domain) }
      // Others can register names below a domain above the registrable one (RFC 6265bis §5.7, 9).
      guard Self.domainMatches(URLHost.withoutRoot(domain), PublicSuffix.registrable(url.host)) else {
        throw Self.publicSuffix(domain)
      }
    }
    guard url.isSecure || !line.isSecure else {
      throw .init("notSecure", "it has Secure, but was not received over https")
    }
    self.init(
      line.name, line.value, domain: domain.isEmpty ? url.host : domain, isHostOnly: domain.isEmpty,
      path: line.path.flatMap { $0.utf8.first == UInt8(ascii: "/") ? $0 : nil } ?? Self.defaultPath(url.path),
      expires: line.expires, isSecure: line.isSecure, isHTTPOnly: line.isHTTPOnly, sameSite: line.sameSite)
    // `__Host-` requires a Path attribute and forbids a Domain attribute, whatever their effect.
    let isPlain = line.path != nil && line.domain == nil
    guard sameSite != SameSite.unrestricted || isSecure else {
      throw .init("unrestricted", "it has SameSite=None, but not Secure")
    }
    guard keepsPromises, isPlain || !Self.hasPrefix("__host-", line.name) else {
      throw .init("prefix", "its name begins with __Secure- or __Host-, but it lacks what that requires")
    }
    created = now
    lastAccess = now
    adoptOctets(of: line)
  }

  /// The normalized cookie; `nil` if no server could have set it.
  ///
  /// Validates cookies from programs and files.
  func checked() -> Cookie? {
    var cookie = self
    let name = domain.utf8.first == UInt8(ascii: ".") ? domain.dropFirst() : domain[...]
    guard isWellFormed, let host = try? URLHost.parse(Array(name.utf8)[...]) else { return nil }
    cookie.domain = host
    guard isHostOnly || !Self.isAddress(host) && !PublicSuffix.isSuffix(host) else { return nil }
    return cookie.keepsPromises ? cookie : nil
  }

  /// Whether name, value and path are valid in a field.
  var isWellFormed: Bool {
    func isPlain(_ octets: some Sequence<UInt8>) -> Bool {
      !octets.contains { SetCookie.isControl($0) || $0 == UInt8(ascii: ";") }
    }
    let (name, value) = octets
    return isPlain(name) && !name.contains(UInt8(ascii: "=")) && isPlain(value) && isPlain(path.utf8) && hasTrueTexts
      && path.utf8.first == UInt8(ascii: "/") && path.utf8.count <= SetCookie.maximumAttributeBytes
      && name.count + value.count <= SetCookie.maximumBytes && !(name.isEmpty && value.isEmpty)
  }

  /// Whether the cookie meets the requirements of its prefix and `SameSite`.
  ///
  /// See RFC 6265bis §5.7, 19 to 22.
  private var keepsPromises: Bool {
    if sameSite == SameSite.unrestricted && !isSecure { return false }
    if name.isEmpty { return !Self.hasPrefix("__secure-", value) && !Self.hasPrefix("__host-", value) }
    if Self.hasPrefix("__secure-", name) { return isSecure }
    if Self.hasPrefix("__host-", name) { return isSecure && isHostOnly && path == "/" }
    return true
  }

  private static func hasPrefix(_ prefix: String, _ text: String) -> Bool {
    text.utf8.prefix(prefix.utf8.count).map(FieldSyntax.lowercased).elementsEqual(prefix.utf8)
  }

  /// Whether the host of a URL is an address, which has no subdomains.
  static func isAddress(_ host: String) -> Bool {
    host.utf8.first == UInt8(ascii: "[") || IPAddress.four(Array(host.utf8)[...]) != nil
  }

  /// Whether a host equals a domain or is below it (RFC 6265bis §5.1.3).
  static func domainMatches(_ host: String, _ domain: String) -> Bool {
    let (name, end) = (host.utf8, domain.utf8)
    guard name.count >= end.count, name.suffix(end.count).elementsEqual(end) else { return false }
    if name.count == end.count { return true }
    return name.dropLast(end.count).last == UInt8(ascii: ".") && !isAddress(host)
  }

  /// Whether a path equals a cookie's path or is below it (RFC 6265bis §5.1.4).
  static func pathMatches(_ path: String, _ cookiePath: String) -> Bool {
    let (path, own) = (path.utf8, cookiePath.utf8)
    guard path.starts(with: own) else { return false }
    return path.count == own.count || own.last == UInt8(ascii: "/") || path.dropFirst(own.count).first == 0x2F
  }

  /// The default path: the URL's path before its last slash (RFC 6265bis §5.1.4).
  static func defaultPath(_ path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.utf8.startIndex else { return "/" }
    return String(path[..<slash])
  }

  /// Whether the cookie is sent with a request to a matching host (RFC 6265bis §5.8).
  func goes(to url: AbsoluteURL, _ relation: SiteRelation, now: Date) -> Bool {
    !isExpired(now) && withholding(from: url, relation) == nil
  }

  /// Why an unexpired cookie is not sent with a request to a matching host, or `nil`.
  func withholding(from url: AbsoluteURL, _ relation: SiteRelation) -> Explanation.CookieWithholding? {
    guard url.isSecure || !isSecure else { return .secureOnly }
    guard Self.pathMatches(url.path, path) else { return .path(path) }
    switch (relation, sameSite) {
    case (.same, _), (_, SameSite.unrestricted?): return nil
    case (.crossReading, .strict?): return .sameSite
    case (.crossReading, _): return nil
    case (.crossWriting, _): return .sameSite
    }
  }

  private var pair: String { name.isEmpty ? wireValue : "\(wireName)=\(wireValue)" }

  /// The value of the `Cookie` field as ``WireText``; `nil` without cookies (RFC 6265bis §5.8).
  static func field(_ cookies: some Sequence<Cookie>) -> String? { fitting(cookies).field }

  /// The value of the `Cookie` field, and the number of cookies that fit into it.
  static func fitting(_ cookies: some Sequence<Cookie>) -> (field: String?, count: Int) {
    var (field, count) = ("", 0)
    for cookie in cookies {
      let pair = cookie.pair
      guard field.utf8.count + pair.utf8.count + 2 <= maximumHeaderBytes else { break }
      field += field.isEmpty ? pair : "; \(pair)"
      count += 1
    }
    return (field.isEmpty ? nil : field, count)
  }
}

/// The relation between the sites of a redirect chain (RFC 6265bis §5.2).
enum SiteRelation: Sendable {
  /// All URLs in the chain belong to the same site.
  case same
  /// The chain includes another site, and the method is safe.
  case crossReading
  /// The chain includes another site, and the method is unsafe.
  case crossWriting

  /// Compares a URL with the call's previous URLs.
  init(_ url: AbsoluteURL, _ method: HTTPMethod, before: [AbsoluteURL]) {
    let isSame = before.allSatisfy {
      $0.scheme == url.scheme
        && ($0.host == url.host || PublicSuffix.registrable($0.host) == PublicSuffix.registrable(url.host))
    }
    self = isSame ? .same : method.isSafe ? .crossReading : .crossWriting
  }
}

extension Cookie {
  /// The reason to refuse a cookie whose domain is neither the host nor one of its parent domains.
  private static func foreignDomain(_ domain: String) -> Explanation.Reason {
    .init("foreignDomain", "its domain \(InvalidInput.printable(domain)) is not that of the host")
  }

  /// The reason to refuse a cookie whose domain is a public suffix, or above the registrable domain.
  private static func publicSuffix(_ domain: String) -> Explanation.Reason {
    .init("publicSuffix", "others can register names below its domain \(InvalidInput.printable(domain))")
  }
}

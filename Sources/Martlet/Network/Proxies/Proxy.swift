/// A proxy server.
///
/// Written as a URL: `http://proxy.example:3128`, `https://…` for TLS to the proxy itself, `socks5://…`. The URL may
/// contain a user name and a password, percent-encoded; they can also be passed separately. The default ports are 80,
/// 443 and 1080.
///
/// - `http` and `https`: an https URL is reached through a tunnel (`CONNECT`, RFC 9110 §9.3.6), an http URL is
///   requested in absolute form (RFC 9112 §3.2.2), or on Apple platforms also through a tunnel. The credentials are sent preemptively, as `Basic` (RFC 7617), and to
///   the proxy only; a proxy that requests Digest gets Digest from then on. See
///   ``Authenticators/OriginPattern/proxy(_:)`` for credentials that are sent only after a challenge.
/// - `socks5` (RFC 1928, RFC 1929): the proxy resolves names, not this machine; `socks5h` means the same.
///
/// The certificate of an `https` proxy is checked against the roots of ``TLSSettings``, even by a client that trusts
/// any server.
///
/// A malformed URL makes every request that would use it throw ``HTTPError/Kind/invalidRequest``, before anything is
/// sent. No description contains the password.
public struct Proxy: Sendable, Hashable, ExpressibleByStringLiteral {
  enum Scheme: String, Sendable {
    case http, https
    case socks5 = "socks5h"

    var port: Int {
      switch self {
      case .http: 80
      case .https: 443
      case .socks5: 1080
      }
    }
  }

  let scheme: Scheme
  /// A name in ASCII, a dotted quad, or an IPv6 address in brackets.
  let host: String
  let port: Int
  let user: String?
  let password: String?
  let problem: InvalidInput?

  /// Creates a proxy from its URL.
  ///
  /// - Parameters:
  ///   - url: The URL: scheme, host and port, and nothing after them.
  ///   - user: The user name, instead of the one in the URL; without a colon, except for SOCKS.
  ///   - password: The password, instead of the one in the URL.
  public init(_ url: String, user: String? = nil, password: String? = nil) {
    var parts: (scheme: Scheme, authority: URLAuthority) = (.http, URLAuthority(host: ""))
    var problem: InvalidInput?
    do throws(InvalidInput) {
      parts = try Self.parts(of: url)
      parts.authority.user = user ?? parts.authority.user
      parts.authority.password = password ?? parts.authority.password
      try Self.check(parts.authority, parts.scheme)
    } catch {
      problem = InvalidInput("the proxy \"\(URLRedaction.printable(url))\": \(error.message)")
    }
    scheme = parts.scheme
    host = parts.authority.host
    port = parts.authority.port ?? parts.scheme.port
    self.user = parts.authority.user
    self.password = parts.authority.password
    self.problem = problem
  }

  /// Creates a proxy from a URL literal.
  public init(stringLiteral url: String) { self.init(url) }

  var hasCredentials: Bool { user != nil || password != nil }

  /// Scheme, host and port, in the form that libcurl accepts.
  var address: String { "\(scheme.rawValue)://\(host):\(port)" }

  private static func parts(of url: String) throws(InvalidInput) -> (Scheme, URLAuthority) {
    let bytes = Array(url.utf8)[...]
    guard !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { throw InvalidInput("illegal control character") }
    let parts = URLParts(bytes)
    guard let name = parts.scheme, let authority = parts.authority else {
      throw InvalidInput("write a scheme and a host, such as http://proxy.example:3128")
    }
    let scheme: Scheme
    switch String(decoding: name, as: UTF8.self).lowercased() {
    case "http": scheme = .http
    case "https": scheme = .https
    case "socks5", "socks5h": scheme = .socks5
    default: throw InvalidInput("the schemes of proxies are http, https and socks5")
    }
    guard parts.path.isEmpty || parts.path.elementsEqual([UInt8(ascii: "/")]), parts.query == nil, parts.fragment == nil
    else { throw InvalidInput("nothing may follow its host and port") }
    return (scheme, try URLAuthority(keepingPortOf: authority))
  }

  private static func check(_ authority: URLAuthority, _ scheme: Scheme) throws(InvalidInput) {
    let both = [authority.user, authority.password].compactMap { $0 }
    guard !both.contains(where: { $0.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) }) else {
      throw InvalidInput("its user name or password contains a control character")
    }
    switch scheme {
    case .http, .https:
      guard authority.user?.utf8.contains(UInt8(ascii: ":")) != true else {
        throw InvalidInput("its user name contains a colon (RFC 7617 §2)")
      }
    case .socks5:
      guard both.allSatisfy({ $0.utf8.count <= 255 }) else {
        throw InvalidInput("its user name or password exceeds 255 bytes (RFC 1929 §2)")
      }
    }
  }
}

extension Proxy: CustomStringConvertible, CustomReflectable {
  /// Scheme, host and port, without credentials.
  public var description: String {
    problem == nil ? "\(scheme == .socks5 ? "socks5" : scheme.rawValue)://\(host):\(port)" : "an unreadable proxy"
  }

  /// A mirror without children, so no dump shows a password.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

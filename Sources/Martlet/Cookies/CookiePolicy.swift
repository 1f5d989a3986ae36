/// Which cookies a request sends and stores.
public struct CookiePolicy: Sendable {
  enum Kind: Sendable {
    case automatic
    case none
    case jar(CookieJar)
    case only([Cookie])
  }

  let kind: Kind

  /// Uses the client's jar.
  public static let automatic = CookiePolicy(kind: .automatic)

  /// Sends no cookies and stores none.
  public static let off = CookiePolicy(kind: .none)

  /// Uses another jar in place of the client's.
  public static func jar(_ jar: CookieJar) -> CookiePolicy { CookiePolicy(kind: .jar(jar)) }

  /// Sends only these cookies and stores none.
  ///
  /// A cookie without a domain is sent only to the origin of the call; one with a domain, to matching URLs. A name or
  /// value that is not valid in a header field makes the request fail.
  public static func only(_ cookies: [Cookie]) -> CookiePolicy { CookiePolicy(kind: .only(cookies)) }

  var problem: String? {
    guard case .only(let cookies) = kind else { return nil }
    return cookies.first { !$0.isWellFormed || !$0.domain.isEmpty && $0.checked() == nil }.map {
      "the cookie \($0) cannot be sent: its name, value, path or domain is not legal"
    }
  }
}

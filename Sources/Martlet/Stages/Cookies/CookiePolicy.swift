/// Which cookies a request sends and stores.
public struct CookiePolicy: Sendable {
  enum Kind: Sendable {
    case automatic
    case none
    case jar(CookieJar)
    case only([Cookie])
  }

  let kind: Kind

  /// The client's jar: what it holds for each URL is sent, and what responses set is kept.
  public static let automatic = CookiePolicy(kind: .automatic)

  /// Sends no cookies and stores none.
  public static let off = CookiePolicy(kind: .none)

  /// Uses another jar in place of the client's.
  public static func jar(_ jar: CookieJar) -> CookiePolicy { CookiePolicy(kind: .jar(jar)) }

  /// Sends only these cookies and stores none.
  ///
  /// A cookie without a domain goes to the origin of the call only; one with a domain goes where it belongs. Name and
  /// value must be fit for a header field, or the request is refused.
  public static func only(_ cookies: [Cookie]) -> CookiePolicy { CookiePolicy(kind: .only(cookies)) }

  var problem: String? {
    guard case .only(let cookies) = kind else { return nil }
    return cookies.first { !$0.isWellFormed || !$0.domain.isEmpty && $0.checked() == nil }.map {
      "the cookie \($0) cannot be sent: its name, value, path or domain is not legal"
    }
  }
}

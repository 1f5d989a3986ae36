#if canImport(Darwin)
  import Foundation

  /// `HTTPCookieStorage.shared` as the storage of a jar.
  enum SystemCookies {
    /// Runs a closure with all cookies of the storage, and saves its changes.
    static func withTable<Result>(_ now: Date, _ body: (inout CookieTable) -> Result) -> Result {
      let storage = HTTPCookieStorage.shared
      let stored = storage.cookies ?? []
      var table = CookieTable(journal: .everything)
      table.put(stored.map { Cookie($0) }, now: now)
      _ = table.takeChanges()
      let result = body(&table)
      for change in table.takeChanges() {
        if let cookie = change.cookie {
          if let made = HTTPCookie(cookie) { storage.setCookie(made) }
        } else {
          for cookie in stored where Cookie(cookie).key.excludes(change.key) { storage.deleteCookie(cookie) }
        }
      }
      return result
    }
  }

  extension Cookie {
    init(_ cookie: HTTPCookie) {
      let isHostOnly = !cookie.domain.hasPrefix(".")
      self.init(
        cookie.name, cookie.value, domain: isHostOnly ? cookie.domain : String(cookie.domain.dropFirst()),
        isHostOnly: isHostOnly, path: cookie.path, expires: cookie.expiresDate, isSecure: cookie.isSecure,
        isHTTPOnly: cookie.isHTTPOnly, sameSite: cookie.sameSitePolicy.flatMap { SameSite(rawValue: $0.rawValue) })
    }
  }

  extension HTTPCookie {
    convenience init?(_ cookie: Cookie) {
      var properties: [HTTPCookiePropertyKey: Any] = [
        .name: cookie.name, .value: cookie.value, .path: cookie.path,
        .domain: cookie.isHostOnly ? cookie.domain : ".\(cookie.domain)",
      ]
      if let expires = cookie.expires { properties[.expires] = expires } else { properties[.discard] = "TRUE" }
      if cookie.isSecure { properties[.secure] = "TRUE" }
      if cookie.isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
      switch cookie.sameSite {
      case .lax?: properties[.sameSitePolicy] = HTTPCookieStringPolicy.sameSiteLax
      case .strict?: properties[.sameSitePolicy] = HTTPCookieStringPolicy.sameSiteStrict
      case SameSite.unrestricted?, nil: break
      }
      self.init(properties: properties)
    }

    private typealias SameSite = Cookie.SameSite
  }
#endif

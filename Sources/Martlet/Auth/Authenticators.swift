package import MartletBase

/// Authenticators by origin.
///
/// ```swift
/// $0.authenticators[.baseURL] = .basic(user: "ada", password: secret)
/// $0.authenticators[.host("*.example.com")] = .oauth2(token) { old in try await renew(old) }
/// ```
///
/// The most specific pattern applies: an origin or the base URL before a host pattern, a host pattern before
/// everywhere; if several host patterns match, the one that was set first. Copies of the configuration share the record
/// of accepted credentials, so a derived client does not authenticate again, unless its TLS trust differs. Setting the
/// authenticator again discards that knowledge.
public struct Authenticators: Sendable {
  private struct Entry: Sendable {
    let place: OriginPattern
    let session: AuthSession
    /// The session for the proxies that the pattern matches.
    let proxySession: AuthSession
  }

  private var entries: [Entry] = []
  /// Answers with stored credentials if no other entry does.
  private var storeEntry: Entry?

  /// The store for accepted credentials; also answers for origins without an authenticator.
  var store: (any CredentialStore)? {
    didSet {
      let nobody = CredentialAuthenticator { _ in nil }
      storeEntry = store == nil ? nil : Self.entry(.everywhere, nobody)
    }
  }

  init() {}

  /// The authenticator for an origin pattern.
  public subscript(place: OriginPattern) -> (any Authenticator)? {
    get { entries.first { $0.place == place }?.session.authenticator }
    set {
      let index = entries.firstIndex { $0.place == place }
      switch (index, newValue) {
      case (nil, nil): break
      case (let index?, nil): entries.remove(at: index)
      case (nil, let new?): entries.append(Self.entry(place, new))
      case (let index?, let new?): entries[index] = Self.entry(place, new)
      }
    }
  }

  /// Whether there are no authenticators.
  public var isEmpty: Bool { entries.isEmpty && store == nil }

  private static func entry(_ place: OriginPattern, _ authenticator: any Authenticator) -> Entry {
    Entry(
      place: place, session: AuthSession(authenticator, sharedName: place.hostPattern),
      proxySession: AuthSession(authenticator, isProxy: true))
  }

  func session(for origin: Origin, base: Origin?) -> AuthSession? {
    var best: (exactness: Int, session: AuthSession)?
    for entry in entries {
      let exactness = entry.place.exactness(for: origin, base: base)
      if exactness > best?.exactness ?? 0 { best = (exactness, entry.session) }
    }
    return best?.session ?? storeEntry?.session
  }

  /// Whether a proxy has its own authenticator.
  func hasAuthenticator(for proxy: Origin) -> Bool { entries.contains { $0.place.proxy == proxy } }

  /// The session for a proxy: its own authenticator's, otherwise that of `.everywhere`.
  func proxySession(for proxy: Origin) -> AuthSession? {
    let own = entries.first { $0.place.proxy == proxy } ?? entries.first { $0.place == .everywhere }
    return (own ?? storeEntry)?.proxySession
  }

  var problem: InvalidInput? {
    for entry in entries {
      if let problem = entry.place.problem { return problem }
      let authenticator = entry.session.authenticator
      if entry.place.proxy != nil, authenticator is TokenAuthenticator {
        return InvalidInput("a proxy accepts a user name and password, not a token")
      }
      guard entry.place == .everywhere else { continue }
      if authenticator is TokenAuthenticator || (authenticator as? CredentialAuthenticator)?.isFixed == true {
        return InvalidInput("credential for .everywhere: restrict it to an origin or hosts")
      }
    }
    return nil
  }

  func signOut() async {
    for entry in entries + [storeEntry].compactMap({ $0 }) {
      await entry.session.signOut()
      await entry.proxySession.signOut()
    }
  }
}

extension Authenticators {
  /// The origins, or the proxy, that a credential is restricted to.
  public struct OriginPattern: Sendable, Hashable {
    private enum AuthenticatorKey: Sendable, Hashable {
      case baseURL
      case origin(Origin)
      case host(Origin)
      case subdomains(String)
      case proxy(Origin)
      case everywhere
      case invalid(InvalidInput)
    }

    private let place: AuthenticatorKey

    /// The origin of ``HTTPClient/Configuration/baseURL``.
    public static let baseURL = OriginPattern(place: .baseURL)

    /// All origins and proxies.
    ///
    /// Only for authenticators that check the origin of a challenge, such as
    /// ``Authenticator/ask(schemes:timeout:_:)``. A fixed credential makes every request throw
    /// ``HTTPError/Kind/invalidRequest``.
    public static let everywhere = OriginPattern(place: .everywhere)

    /// One origin: a scheme, a host and a port.
    ///
    /// - Parameter url: A URL such as `https://api.example.com` or `http://127.0.0.1:8080`; its path is ignored. A
    ///   malformed URL makes every request throw ``HTTPError/Kind/invalidRequest``.
    /// - Returns: The pattern.
    public static func origin(_ url: String) -> OriginPattern {
      do throws(InvalidInput) {
        return OriginPattern(place: .origin(try AbsoluteURL.parse(url).origin))
      } catch {
        return OriginPattern(place: .invalid(error))
      }
    }

    /// A host, or all its subdomains, over https on port 443.
    ///
    /// - Parameter pattern: A host name, or `*.` and a host name: `*.example.com` matches `api.example.com` and
    ///   `a.b.example.com`, but not `example.com`. Any other star makes every request throw
    ///   ``HTTPError/Kind/invalidRequest``: `api.*` would also match `api.evil.example`.
    /// - Returns: The pattern.
    public static func host(_ pattern: String) -> OriginPattern {
      let isPattern = pattern.hasPrefix("*.")
      let name = isPattern ? String(pattern.dropFirst(2)) : pattern
      do throws(InvalidInput) {
        let url = try AbsoluteURL.parse("https://\(name)")
        guard url.port == nil, url.path == "/", url.query == nil, url.fragment == nil, url.user == nil,
          !name.contains("*"), !isPattern || url.host.contains(".")
        else {
          let shown = InvalidInput.printable(pattern)
          throw InvalidInput("'\(shown)' is not a host pattern: write a name, or '*.' and a name")
        }
        return OriginPattern(place: isPattern ? .subdomains(url.host) : .host(url.origin))
      } catch {
        return OriginPattern(place: .invalid(error))
      }
    }

    /// One proxy, for its own credentials.
    ///
    /// They are never sent to a server or to another proxy. Credentials in the proxy's URL, or passed to ``Proxy``,
    /// take precedence. On Apple platforms, only those are supported: without them, requests through the proxy throw
    /// ``HTTPError/Kind/unsupported``.
    ///
    /// - Parameter url: An http or https URL such as `http://proxy.example:3128`, as in
    ///   ``HTTPClient/Configuration/proxy``. A URL that is malformed, has another scheme or has a user name makes every
    ///   request throw ``HTTPError/Kind/invalidRequest``.
    /// - Returns: The pattern.
    public static func proxy(_ url: String) -> OriginPattern {
      let proxy = Proxy(url)
      if let problem = proxy.problem { return OriginPattern(place: .invalid(problem)) }
      guard proxy.scheme != .socks5, proxy.user == nil, proxy.password == nil else {
        let message = "authenticator for the proxy \(proxy): write an http or https URL without a user name"
        return OriginPattern(place: .invalid(InvalidInput(message)))
      }
      return OriginPattern(place: .proxy(proxy.origin))
    }

    var proxy: Origin? { if case .proxy(let proxy) = place { proxy } else { nil } }

    /// The `*.` pattern of subdomains; `nil` for other patterns.
    var hostPattern: String? { if case .subdomains(let name) = place { "*.\(name)" } else { nil } }

    var problem: InvalidInput? { if case .invalid(let problem) = place { problem } else { nil } }

    /// Whether a signer may sign requests to an origin.
    ///
    /// Throws if the pattern is invalid, or does not restrict signatures to servers.
    package func includes(_ origin: Origin, base: Origin?) throws(InvalidInput) -> Bool {
      if let problem { throw problem }
      guard place != .everywhere, proxy == nil else { throw InvalidInput("restrict them to an origin or hosts") }
      return exactness(for: origin, base: base) > 0
    }

    /// The specificity of the match with an origin; 0 for no match.
    func exactness(for origin: Origin, base: Origin?) -> Int {
      switch place {
      case .baseURL: base == origin ? 3 : 0
      case .origin(let own), .host(let own): own == origin ? 3 : 0
      case .subdomains(let name):
        origin.scheme == "https" && origin.port == 443 && origin.host.hasSuffix(".\(name)") ? 2 : 0
      case .everywhere: 1
      case .proxy, .invalid: 0
      }
    }
  }
}

#if os(Linux)
  import CurlEngine
  import MartletBase
  import CMartletShim

  /// Determines the route of each request.
  final class CurlRouter: Sendable {
    private let proxies: ProxyRouter
    private let addresses: AddressOverrides
    private let isPlain: Bool
    private let checksAddresses: Bool
    private let hasUnixSocket: Bool
    private let hasTLSSettings: Bool
    private let identities = ProxyIdentities()

    init(_ settings: TransportSettings) {
      proxies = ProxyRouter(settings.proxy)
      addresses = AddressOverrides(settings.resolve)
      hasUnixSocket = settings.unixSocket != nil
      hasTLSSettings = settings.tls != .system
      isPlain = proxies.isDirect && addresses.isEmpty && !hasUnixSocket
      checksAddresses = settings.addresses != nil
    }

    /// Whether a request needs no route, because neither settings nor options require one.
    func isDirect(_ request: HTTPRequest, _ job: CurlJob, _ context: RequestContext) -> Bool {
      guard isPlain, context.httpVersion == .automatic, request.body?.trailers == nil else { return false }
      return context.handshake == nil && !job.lines.hasProxyCredentials && !job.isUpgrade
    }

    /// The route of a request, or `nil` if it has no special requirements.
    ///
    /// Throws before anything is sent.
    func route(
      for request: HTTPRequest, _ job: CurlJob, _ context: RequestContext
    ) async throws -> CurlRoute? {
      let origin = job.origin
      // In the TLS handshake the server reports its versions.
      let isClear = origin.scheme != "https"
      var version = context.httpVersion == .http2PriorKnowledge && !isClear ? .http2 : context.httpVersion
      // Before the checks of HTTP/2, whose remedies do not help an upgrade.
      if job.isUpgrade { version = try upgradeVersion(version, request, context) }
      guard version != .http2 || !isClear else {
        let way = "for a server that supports it without TLS, set httpVersion to .http2PriorKnowledge"
        throw request.unsupported("HTTP/2 requires https; \(way)")
      }
      guard version != .http2 && version != .http2PriorKnowledge || martlet_curl_has_http2() else {
        let reason =
          martlet_curl_is_built_with_http2()
          ? "may lose responses over HTTP/2: use 7.88 or newer with shared OpenSSL and nghttp2, but not 8.5.0"
          : "was built without HTTP/2"
        throw request.unsupported("the system's libcurl \(CurlLibrary.version ?? "") \(reason)")
      }
      if version == .http3 {
        let problem = Self.http3Problem(
          isSupported: CurlLibrary.hasHTTP3, isSecure: !isClear, hasUnixSocket: hasUnixSocket,
          hasTLSSettings: hasTLSSettings)
        if let problem { throw request.unsupported(problem) }
      }
      guard version != .http1_0 || job.length != nil else {
        throw request.unsupported("HTTP/1.0 cannot send a body of unknown length: give it a length, or use HTTP/1.1")
      }
      do {
        let proxy = proxies.isDirect ? nil : try await proxies.proxy(for: origin, abort: context.exchange.abortSource)
        if job.lines.hasProxyCredentials { try check(to: origin, proxy, isUpgrade: job.isUpgrade) }
        // A connection without addresses cannot be checked for stray bytes before it is reused (decision 0036).
        var sharesConnections = !hasUnixSocket && !job.isUpgrade
        // The engine examines connections over TCP only, so none over QUIC is kept.
        if version == .http3 { sharesConnections = false }
        if version == .http2PriorKnowledge, CurlLibrary.reusesNoClearHTTP2 { sharesConnections = false }
        var proxyAuthorization: String?
        if let proxy {
          guard !checksAddresses else {
            throw request.unsupported(
              "publicAddressesOnly cannot see where the proxy \(proxy) would connect to for \(origin.host)")
          }
          guard version != .http2PriorKnowledge || proxy.scheme == .socks5 else {
            throw request.unsupported("HTTP/2 with prior knowledge cannot be used through the proxy \(proxy)")
          }
          guard version != .http3 else {
            throw request.unsupported(
              "HTTP/3 cannot be used through the proxy \(proxy): leave httpVersion at .automatic")
          }
          let authenticators = context.call.settings.configuration.authenticators
          if job.isPreconnect, proxy.scheme != .socks5,
            proxy.hasCredentials || authenticators.hasAuthenticator(for: proxy.origin)
          {
            // A tunnel belongs to the credentials that the proxy accepts, and only a request can answer its challenge.
            throw request.unsupported(
              "cannot open connections in advance: the proxy \(proxy) may require credentials, which only requests send"
            )
          }
          let (identity, field) = try await authorize(proxy, request, job, context)
          proxyAuthorization = field
          if !identities.sharesConnections(proxy, identity) { sharesConnections = false }
        }
        if request.body?.trailers != nil {
          guard version == .automatic || version == .http1_1 else {
            throw request.unsupported(
              "libcurl sends trailers of requests over HTTP/1.1 only: leave httpVersion at .automatic")
          }
          // Over HTTP/2 libcurl would omit them.
          version = .http1_1
        }
        if let handshake = context.handshake {
          try check(handshake, version, proxy, request, job.origin)
          version = .http1_1
          sharesConnections = false
        }
        let address = addresses.entry(for: proxy?.host ?? origin.host, port: proxy?.port ?? origin.port)
        guard proxy != nil || address != nil || version != .automatic || !sharesConnections else { return nil }
        return CurlRoute(
          proxy: proxy.map { CurlRoute.Proxy($0) }, proxyAuthorization: proxyAuthorization, address: address,
          version: CurlRoute.Version(version),
          handshake: context.handshake.map { .init(isNTLM: $0.scheme == .ntlm, user: $0.user, password: $0.password) },
          sharesConnections: sharesConnections, needsTunnel: job.isUpgrade)
      } catch let error as InvalidInput {
        throw HTTPError(.invalidRequest, error.message, request: request)
      }
    }

    /// Why a request cannot use HTTP/3, or `nil`.
    static func http3Problem(
      isSupported: Bool, isSecure: Bool, hasUnixSocket: Bool, hasTLSSettings: Bool
    ) -> String? {
      let cure = "leave httpVersion at .automatic"
      if !isSecure { return "HTTP/3 requires https: \(cure)" }
      if hasUnixSocket { return "HTTP/3 cannot be used over a Unix socket: \(cure)" }
      if hasTLSSettings { return "HTTP/3 cannot be used with the client's TLS settings: \(cure)" }
      if isSupported { return nil }
      let way = "install 7.88 or newer, built with HTTP/3, or \(cure)"
      return "the system's libcurl \(CurlLibrary.version ?? "") does not support HTTP/3: \(way)"
    }

    /// The version of a request for another protocol, which HTTP/2 does not have (RFC 9113 §8.6).
    private func upgradeVersion(
      _ version: RequestOptions.HTTPVersionPolicy, _ request: HTTPRequest, _ context: RequestContext
    ) throws -> RequestOptions.HTTPVersionPolicy {
      guard version == .automatic || version == .http1_1 else {
        throw request.unsupported("an upgrade requires HTTP/1.1: leave httpVersion at .automatic")
      }
      if let handshake = context.handshake {
        throw request.unsupported("\(handshake.scheme) cannot authenticate an upgrade: use another scheme")
      }
      return .http1_1
    }

    /// Checks that credentials for a proxy reach only the proxy.
    private func check(to origin: Origin, _ proxy: Proxy?, isUpgrade: Bool) throws(InvalidInput) {
      if let proxy, proxy.scheme != .socks5, origin.scheme == "http", !isUpgrade { return }
      throw InvalidInput(
        "the header 'Proxy-Authorization' would reach \(origin.host): put the credentials into the proxy setting")
    }

    /// Checks that connection-based authentication is possible and authenticates the right connection.
    private func check(
      _ handshake: Handshake, _ version: RequestOptions.HTTPVersionPolicy, _ proxy: Proxy?, _ request: HTTPRequest,
      _ origin: Origin
    ) throws {
      guard origin == handshake.origin else {
        let kind = "a request that uses \(handshake.scheme) for \(handshake.origin.host)"
        throw InvalidInput("exchange middleware changed the origin of \(kind)")
      }
      guard version == .automatic || version == .http1_1 else {
        throw request.unsupported("\(handshake.scheme) requires HTTP/1.1: leave httpVersion at .automatic")
      }
      if let proxy, proxy.scheme != .socks5, origin.scheme == "http" {
        // This would authenticate the connection to the proxy, and the proxy's own connections also serve other
        // clients.
        throw request.unsupported("\(handshake.scheme) for an http URL cannot be used through the proxy \(proxy)")
      }
    }

    /// The credentials for the proxy, and the field that sends them.
    private func authorize(
      _ proxy: Proxy, _ request: HTTPRequest, _ job: CurlJob, _ context: RequestContext
    ) async throws -> (identity: Credential?, field: String?) {
      let own = proxy.hasCredentials ? Credential.user(proxy.user ?? "", password: proxy.password ?? "") : nil
      // The program's own field is sent unchanged.
      if proxy.scheme == .socks5 || request.headers.contains("Proxy-Authorization") { return (own, nil) }
      let isTunnel = job.origin.scheme == "https" || job.isUpgrade
      let (method, target) =
        isTunnel ? ("CONNECT", "\(job.origin.host):\(job.origin.port)") : (job.method, job.url)
      guard let exchange = context.proxyExchange else {
        // No stage handles proxy challenges, so send the credentials preemptively.
        return (own, try own.map { try Answer(unasked: $0).field(method: method, uri: target) })
      }
      guard let (identity, field) = try await exchange.begin(proxy, method: method, target: target) else {
        return (nil, nil)
      }
      exchange.onOutcome { [identities] in identities.record(proxy, identity, isAccepted: $0) }
      return (identity, field)
    }
  }

  /// The owner of a client's connections to each proxy: the first credentials that it accepted.
  ///
  /// libcurl lets a request use a tunnel that was opened with other credentials (CVE-2026-3784).
  final class ProxyIdentities: Sendable {
    private struct Owner {
      let identity: Credential
      var isAccepted = false
    }

    private let owners = Locked<[String: Owner]>([:])

    /// Whether a request may share connections with others.
    ///
    /// Connections that a proxy allows without credentials have no owner until there are credentials.
    func sharesConnections(_ proxy: Proxy, _ identity: Credential?) -> Bool {
      owners.withLock { owners in
        if let owner = owners[proxy.address] { return owner.identity == identity }
        guard let identity else { return true }
        guard owners.count < 1000 else { return false }
        // A SOCKS proxy reports nothing more about them.
        owners[proxy.address] = Owner(identity: identity, isAccepted: proxy.scheme == .socks5)
        return true
      }
    }

    /// Records the response of a proxy to credentials.
    ///
    /// Credentials that were never accepted opened no connection.
    func record(_ proxy: Proxy, _ identity: Credential, isAccepted: Bool) {
      owners.withLock { owners in
        guard let owner = owners[proxy.address], owner.identity == identity, !owner.isAccepted else { return }
        if isAccepted { owners[proxy.address]?.isAccepted = true } else { owners[proxy.address] = nil }
      }
    }
  }

  extension CurlRoute.Proxy {
    init(_ proxy: Proxy) {
      let kind: Kind =
        switch proxy.scheme {
        case .http: .http
        case .https: .https
        case .socks5: .socks5
        }
      self.init(
        name: "\(proxy)", kind: kind, address: proxy.address, user: proxy.user, password: proxy.password)
    }
  }

  extension CurlRoute.Version {
    init(_ version: RequestOptions.HTTPVersionPolicy) {
      switch version {
      case .http1_0: self = .http1_0
      case .http1_1: self = .http1_1
      case .http2PriorKnowledge: self = .priorKnowledge
      case .http3: self = .http3
      case .automatic, .http2: self = .automatic
      }
    }
  }
#endif

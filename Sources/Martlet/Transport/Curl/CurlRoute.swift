#if os(Linux)
  import CMartletShim

  /// What one exchange needs of its connection, where it is not what all of the client's need.
  struct CurlRoute: Sendable {
    var proxy: Proxy?
    /// The value of `Proxy-Authorization`.
    var proxyAuthorization: String?
    /// Where the name is not to be looked up, as `CURLOPT_RESOLVE` takes it.
    var address: String?
    var version = HTTPVersion.automatic
    /// How libcurl has to prove who the client is.
    var handshake: Handshake?
    /// Whether it may share a connection with others.
    var sharesConnections = true

    /// Sets it, on a handle that was just reset and is reset before its next use.
    ///
    /// - Returns: libcurl's code.
    func apply(to handle: CurlHandle) -> CInt {
      let easy = handle.easy
      var code: CInt = 0
      func set(_ option: Int, _ value: Int) {
        if code == 0 { code = martlet_easy_set_number(easy, CInt(option), value) }
      }
      func set(_ option: Int, _ text: String) {
        if code == 0 { code = martlet_easy_set_text(easy, CInt(option), text) }
      }
      if let proxy {
        set(martlet_opt_proxy, proxy.address)
        if code == 0, proxy.scheme == .https { code = handle.loop.tls.applyToProxy(easy) }
        // Nothing of the request is for a proxy that only passes bytes on, and nothing of this list for a server.
        set(martlet_opt_header_separation, 1)
        if let proxyAuthorization {
          guard let list = martlet_list_append(nil, "Proxy-Authorization: \(proxyAuthorization)") else { return 27 }
          handle.keep(list)
          if code == 0 { code = martlet_easy_set_pointer(easy, CInt(martlet_opt_proxy_header), list) }
        }
        if proxy.scheme == .socks5 {
          if proxy.user != nil || proxy.password != nil {
            set(martlet_opt_proxy_user, proxy.user ?? "")
            set(martlet_opt_proxy_password, proxy.password ?? "")
            set(martlet_opt_socks5_auth, 1)
          }
        } else {
          // In the answer to CONNECT stands what the proxy asks for.
          set(martlet_opt_suppress_connect_headers, 0)
        }
      }
      if let address {
        guard let list = martlet_list_append(nil, address) else { return 27 }  // OUT_OF_MEMORY
        handle.keep(list)
        if code == 0 { code = martlet_easy_set_pointer(easy, CInt(martlet_opt_resolve), list) }
      }
      switch version {
      case .http1_0: set(martlet_opt_http_version, 1)
      case .http1_1: set(martlet_opt_http_version, 2)
      case .http2PriorKnowledge: set(martlet_opt_http_version, 5)
      default: break  // As prepared: HTTP/2 where TLS offers it.
      }
      if let handshake {
        // Exactly one scheme: libcurl then begins at once, and takes no other that the server might prefer.
        set(martlet_opt_http_auth, handshake.scheme == .ntlm ? 8 : 4)
        set(martlet_opt_user, handshake.user)
        // NTLM's hash is one of UTF-16, which libcurl makes by widening each octet: right for ISO 8859-1, and for no UTF-8.
        let password = handshake.password.unicodeScalars.map { CChar(truncatingIfNeeded: $0.value) } + [0]
        if code == 0 { code = martlet_easy_set_text(easy, CInt(martlet_opt_password), password) }
      }
      return code
    }

    /// Why the proxy would not connect, if that is what went wrong.
    func refusal(_ easy: UnsafeMutableRawPointer) -> CurlErrors.Refusal? {
      guard let proxy else { return nil }
      let status = martlet_easy_number(easy, CInt(martlet_info_connect_status))
      // 401 is what tinyproxy says to wrong credentials.
      if status >= 300 {
        return CurlErrors.Refusal(proxy: proxy, status: status, isOfCredentials: status == 407 || status == 401)
      }
      // CURLPX_NO_AUTH, CURLPX_USER_REJECTED
      let problem = martlet_easy_number(easy, CInt(martlet_info_proxy_problem))
      return [12, 33].contains(problem) ? CurlErrors.Refusal(proxy: proxy, status: nil, isOfCredentials: true) : nil
    }
  }

  /// Finds the route of each request.
  final class CurlRouter: Sendable {
    private let proxies: ProxyRouter
    private let addresses: AddressOverrides
    private let isPlain: Bool
    private let checksAddresses: Bool
    private let hasUnixSocket: Bool
    private let identities = ProxyIdentities()

    init(_ settings: TransportSettings) {
      proxies = ProxyRouter(settings.proxy)
      addresses = AddressOverrides(settings.resolve)
      hasUnixSocket = settings.unixSocket != nil
      isPlain = proxies.isDirect && addresses.isEmpty && !hasUnixSocket
      checksAddresses = settings.addresses != nil
    }

    /// Whether there is nothing special about any route, but for what a request chooses by itself.
    func isDirect(_ wire: CurlRequest, _ context: RequestContext) -> Bool {
      guard isPlain, context.httpVersion == .automatic, wire.trailers == nil else { return false }
      return context.handshake == nil && !wire.lines.hasProxyCredentials
    }

    /// The route of a request, or `nil` if there is nothing special about it.
    ///
    /// - Throws: ``HTTPError``, before anything is sent.
    func route(for wire: CurlRequest, _ context: RequestContext) async throws -> CurlRoute? {
      let origin = wire.origin
      // In the handshake of TLS the server says what it speaks.
      let isClear = origin.scheme != "https"
      let version = context.httpVersion == .http2PriorKnowledge && !isClear ? .http2 : context.httpVersion
      guard version != .http2 || !isClear else {
        let way = "a server that is known to speak it without TLS is asked with httpVersion .http2PriorKnowledge"
        throw HTTPError(.unsupported, "HTTP/2 is spoken over TLS only; \(way)", request: wire.request)
      }
      guard version != .http2 && version != .http2PriorKnowledge || martlet_curl_has_http2() else {
        let isBuiltWithout = CurlLibrary.tellsBeforeSending
        let reason = isBuiltWithout ? "was built without HTTP/2" : "is older than 7.80, which HTTP/2 takes"
        let message = "the system's libcurl \(CurlLibrary.version ?? "") \(reason)"
        throw HTTPError(.unsupported, message, request: wire.request)
      }
      guard version != .http1_0 || wire.length != nil else {
        throw HTTPError(.unsupported, "HTTP/1.0 has no bodies of unknown length", request: wire.request)
      }
      do {
        var route = CurlRoute(version: version)
        if !proxies.isDirect {
          route.proxy = try await proxies.proxy(for: origin, abort: context.exchange.abortSource)
        }
        if wire.lines.hasProxyCredentials { try check(to: origin, route.proxy) }
        if let proxy = route.proxy {
          guard !checksAddresses else {
            throw HTTPError(
              .unsupported,
              "publicAddressesOnly cannot see where the proxy \(proxy) would connect to for \(origin.host)",
              request: wire.request)
          }
          guard version != .http2PriorKnowledge || proxy.scheme == .socks5 else {
            let message = "HTTP/2 with prior knowledge cannot pass the proxy \(proxy)"
            throw HTTPError(.unsupported, message, request: wire.request)
          }
          route.address = addresses.entry(for: proxy.host, port: proxy.port)
          let identity = try await authorize(&route, proxy, wire, context)
          route.sharesConnections = identities.sharesConnections(proxy, identity)
        } else {
          route.address = addresses.entry(for: origin.host, port: origin.port)
        }
        // A connection without addresses cannot be checked for stray bytes before it is reused (decision 0036).
        if hasUnixSocket { route.sharesConnections = false }
        if version == .http2PriorKnowledge, CurlLibrary.reusesNoClearHTTP2 { route.sharesConnections = false }
        if wire.trailers != nil { try prepareForTrailers(&route, wire) }
        if let handshake = context.handshake { try prepare(&route, for: handshake, wire) }
        let isSpecial =
          route.proxy != nil || route.address != nil || route.version != .automatic || !route.sharesConnections
        return isSpecial ? route : nil
      } catch let error as InvalidInput {
        throw HTTPError(.invalidRequest, error.message, request: wire.request)
      }
    }

    /// Keeps credentials for a proxy from those who are none.
    private func check(to origin: Origin, _ proxy: Proxy?) throws(InvalidInput) {
      if let proxy, proxy.scheme != .socks5, origin.scheme == "http" { return }
      throw InvalidInput(
        "the header 'Proxy-Authorization' would reach \(origin.host): put the credentials into the proxy setting")
    }

    /// Gives a handshake a connection of its own.
    private func prepare(_ route: inout CurlRoute, for handshake: Handshake, _ wire: CurlRequest) throws {
      guard wire.origin == handshake.origin else {
        throw InvalidInput(
          "attempt middleware has sent what was for \(handshake.origin.host) with \(handshake.scheme) elsewhere")
      }
      guard route.version == .automatic || route.version == .http1_1 else {
        throw HTTPError(.unsupported, "\(handshake.scheme) is for HTTP/1.1 only", request: wire.request)
      }
      if let proxy = route.proxy, proxy.scheme != .socks5, wire.origin.scheme == "http" {
        // What it would prove holds for the connection to the proxy, which serves others with its own connections.
        throw HTTPError(
          .unsupported, "\(handshake.scheme) for an http URL cannot pass the proxy \(proxy)", request: wire.request)
      }
      route.handshake = handshake
      route.version = .http1_1
      route.sharesConnections = false
    }

    /// Puts in what the proxy is told of who the client is.
    private func authorize(
      _ route: inout CurlRoute, _ proxy: Proxy, _ wire: CurlRequest, _ context: RequestContext
    ) async throws -> Credential? {
      let own =
        proxy.user == nil && proxy.password == nil
        ? nil : Credential.user(proxy.user ?? "", password: proxy.password ?? "")
      // The program's own field goes as it is.
      if proxy.scheme == .socks5 || wire.request.headers.contains("Proxy-Authorization") { return own }
      let isTunnel = wire.origin.scheme == "https"
      let (method, target) =
        isTunnel ? ("CONNECT", "\(wire.origin.host):\(wire.origin.port)") : (wire.method.rawValue, wire.url)
      guard let exchange = context.proxyExchange else {
        // Without the stage that answers proxies: as if it were asked for nothing.
        route.proxyAuthorization = try own.map { try Answer(unasked: $0).field(method: method, uri: target) }
        return own
      }
      guard let (identity, field) = try await exchange.begin(proxy, method: method, target: target) else { return nil }
      route.proxyAuthorization = field
      exchange.onOutcome { [identities] in identities.note(proxy, identity, isAccepted: $0) }
      return identity
    }
  }

  /// Who the connections of a client belong to, for each proxy: the first credentials that it has accepted.
  ///
  /// libcurl lets a request use a tunnel that was opened with other credentials (CVE-2026-3784).
  final class ProxyIdentities: Sendable {
    private struct Owner {
      let identity: Credential
      var isAccepted = false
    }

    private let owners = Locked<[String: Owner]>([:])

    /// Whether a request may use the connections of others, and leave them its own.
    ///
    /// Those that a proxy lets pass without credentials belong to nobody, until there are some.
    func sharesConnections(_ proxy: Proxy, _ identity: Credential?) -> Bool {
      owners.withLock { owners in
        if let owner = owners[proxy.address] { return owner.identity == identity }
        guard let identity else { return true }
        guard owners.count < 1000 else { return false }
        // A SOCKS proxy says nothing more about it.
        owners[proxy.address] = Owner(identity: identity, isAccepted: proxy.scheme == .socks5)
        return true
      }
    }

    /// Takes note of what a proxy said: with credentials that were never accepted, no connection was opened.
    func note(_ proxy: Proxy, _ identity: Credential, isAccepted: Bool) {
      owners.withLock { owners in
        guard let owner = owners[proxy.address], owner.identity == identity, !owner.isAccepted else { return }
        if isAccepted { owners[proxy.address]?.isAccepted = true } else { owners[proxy.address] = nil }
      }
    }
  }
#endif

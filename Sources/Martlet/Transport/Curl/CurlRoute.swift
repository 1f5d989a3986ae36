#if os(Linux)
  import CMartletShim

  /// What one exchange needs of its connection, where it is not what all of the client's need.
  struct CurlRoute: Sendable {
    var proxy: Proxy?
    /// Where the name is not to be looked up, as `CURLOPT_RESOLVE` takes it.
    var address: String?
    var version = HTTPVersion.automatic
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
        // Nothing of the request is for a proxy that only passes bytes on.
        set(martlet_opt_header_separation, 1)
        if proxy.user != nil || proxy.password != nil {
          set(martlet_opt_proxy_user, proxy.user ?? "")
          set(martlet_opt_proxy_password, proxy.password ?? "")
          set(martlet_opt_proxy_auth, 1)
          set(martlet_opt_socks5_auth, 1)
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
      default: break  // As prepared: HTTP/2 where TLS offers it.
      }
      if !sharesConnections {
        set(martlet_opt_fresh_connect, 1)
        set(martlet_opt_forbid_reuse, 1)
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
    /// The first credentials used for each proxy.
    private let known = Locked<[String: Proxy]>([:])

    init(_ settings: TransportSettings) {
      proxies = ProxyRouter(settings.proxy)
      addresses = AddressOverrides(settings.resolve)
      isPlain = proxies.isDirect && addresses.isEmpty
      checksAddresses = settings.addresses != nil
    }

    /// Whether there is nothing special about any route, but for what a request chooses by itself.
    func isDirect(_ wire: CurlRequest, _ context: RequestContext) -> Bool {
      isPlain && context.call.options.httpVersion == .automatic && !wire.lines.hasProxyCredentials
    }

    /// The route of a request, or `nil` if there is nothing special about it.
    ///
    /// - Throws: ``HTTPError``, before anything is sent.
    func route(for wire: CurlRequest, _ context: RequestContext) async throws -> CurlRoute? {
      let version = context.call.options.httpVersion
      let origin = wire.origin
      guard version != .http2 || origin.scheme == "https" else {
        throw HTTPError(.unsupported, "HTTP/2 is spoken over TLS only", request: wire.request)
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
          route.address = addresses.entry(for: proxy.host, port: proxy.port)
          route.sharesConnections = isFirst(proxy)
        } else {
          route.address = addresses.entry(for: origin.host, port: origin.port)
        }
        let isSpecial = route.proxy != nil || route.address != nil || version != .automatic
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

    /// Whether a proxy was used with these credentials from its first use on.
    ///
    /// libcurl lets a request use a tunnel that was opened with other credentials (CVE-2026-3784).
    private func isFirst(_ proxy: Proxy) -> Bool {
      known.withLock { known in
        if let first = known[proxy.address] { return first == proxy }
        guard known.count < 1000 else { return false }
        known[proxy.address] = proxy
        return true
      }
    }
  }
#endif

#if canImport(Security)
  import Foundation
  import MartletBase
  import Network
  import Security

  /// Determines the route of each request where `URLSession` connects to proxies.
  struct SystemRouter: Sendable {
    private let proxies: ProxyRouter

    init(_ settings: ProxySettings) { proxies = ProxyRouter(settings) }

    /// The route of a request; throws before anything is sent.
    func route(for request: HTTPRequest, to origin: Origin, _ context: RequestContext) async throws -> SessionRoute {
      if proxies.isDirect { return .system }
      let proxy: Proxy?
      do {
        proxy = try await proxies.proxy(for: origin, abort: context.exchange.abortSource)
      } catch {
        throw RequestGate.problem(error, of: request)
      }
      guard let proxy else { return .direct }
      let authenticators = context.call.settings.configuration.authenticators
      guard proxy.hasCredentials || !authenticators.hasAuthenticator(for: proxy.origin) else {
        let what = "an authenticator for the proxy \(proxy)"
        throw HTTPError(
          .unsupported, "URLSession does not support \(what); put its credentials into its URL", request: request)
      }
      return .proxy(proxy)
    }
  }

  extension SessionRoute {
    /// Applies the route to the configuration of a session.
    func apply(to configuration: URLSessionConfiguration, _ tls: TLSSettings) throws(InvalidInput) {
      switch self {
      case .system: break
      case .direct:
        configuration.connectionProxyDictionary = [:]
        configuration.proxyConfigurations = []
      case .proxy(let proxy): configuration.proxyConfigurations = [try proxy.systemConfiguration(tls)]
      }
    }
  }

  extension Proxy {
    /// The proxy in the system's form, which never lets a request bypass it.
    ///
    /// http URLs are tunneled as well.
    fileprivate func systemConfiguration(_ tls: TLSSettings) throws(InvalidInput) -> ProxyConfiguration {
      guard let number = UInt16(exactly: port), let port = NWEndpoint.Port(rawValue: number) else {
        throw InvalidInput("the proxy \(self) has an invalid port")
      }
      let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
      let endpoint = NWEndpoint.hostPort(host: NWEndpoint.Host(name), port: port)
      var configuration =
        switch scheme {
        case .http: ProxyConfiguration(httpCONNECTProxy: endpoint, tlsOptions: nil)
        case .https: ProxyConfiguration(httpCONNECTProxy: endpoint, tlsOptions: try tlsOptions(tls, name))
        case .socks5: ProxyConfiguration(socksv5Proxy: endpoint)
        }
      configuration.allowFailover = false
      if hasCredentials { configuration.applyCredential(username: user ?? "", password: password ?? "") }
      return configuration
    }

    /// TLS to the proxy itself: only the roots and the minimum version apply.
    private func tlsOptions(_ tls: TLSSettings, _ name: String) throws(InvalidInput) -> NWProtocolTLS.Options {
      let options = NWProtocolTLS.Options()
      sec_protocol_options_set_min_tls_protocol_version(options.securityProtocolOptions, tls.systemMinimumVersion)
      let roots = try SystemTrust.roots(of: tls)
      let peer = ServerTrust.Peer(host: name, challenged: name, isProxy: true)
      let trust = ServerTrust(tls: tls)
      guard trust.step(for: peer) == .evaluate else { return options }
      let verify: sec_protocol_verify_t = { _, handle, complete in
        let handle = sec_trust_copy_ref(handle).takeRetainedValue()
        let (chain, verdict) = SystemTrust.evaluated(handle, roots)
        complete(trust.decide(peer, chain: chain, verdict: verdict) == .accept)
      }
      sec_protocol_options_set_verify_block(options.securityProtocolOptions, verify, SystemTrust.blockingQueue)
      return options
    }
  }

  extension TLSSettings {
    var systemMinimumVersion: tls_protocol_version_t { minimumVersion == .v1_3 ? .TLSv13 : .TLSv12 }
  }
#endif

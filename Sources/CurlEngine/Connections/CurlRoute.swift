import CMartletShim

/// The requirements of one exchange for its connection beyond the client's settings.
///
/// An immutable class, because hardly any exchange has one.
package final class CurlRoute: Sendable {
  package struct Proxy: Sendable {
    package enum Kind {
      case http, https, socks5
    }

    /// The name in error messages.
    package var name: String
    package var kind: Kind
    /// In the form that `CURLOPT_PROXY` accepts.
    package var address: String
    package var user: String?
    package var password: String?

    package init(name: String, kind: Kind, address: String, user: String? = nil, password: String? = nil) {
      self.name = name
      self.kind = kind
      self.address = address
      self.user = user
      self.password = password
    }
  }

  /// Connection-based authentication by libcurl.
  package struct Handshake: Sendable {
    /// The maximum number of requests of one authentication; NTLM needs two.
    package static let maximumRequests = 4

    /// Whether the scheme is NTLM; otherwise it is Negotiate.
    package var isNTLM: Bool
    package var user: String
    package var password: String

    package init(isNTLM: Bool, user: String, password: String) {
      self.isNTLM = isNTLM
      self.user = user
      self.password = password
    }
  }

  /// The versions, with their numbers for `CURLOPT_HTTP_VERSION`.
  package enum Version: Int {
    /// HTTP/2 if TLS negotiates it; a handle is prepared for it.
    case automatic = 0
    case http1_0 = 1
    case http1_1 = 2
    case priorKnowledge = 5
    /// HTTP/3, and at the same time an older version in case QUIC does not work.
    case http3 = 30
  }

  package let proxy: Proxy?
  package let proxyAuthorization: String?
  /// The host's static addresses, in the form that `CURLOPT_RESOLVE` accepts.
  package let address: String?
  package let version: Version
  package let handshake: Handshake?
  package let sharesConnections: Bool
  /// Whether even an `http` request needs a tunnel through the proxy, because its protocol changes.
  package let needsTunnel: Bool

  package init(
    proxy: Proxy?, proxyAuthorization: String?, address: String?, version: Version, handshake: Handshake?,
    sharesConnections: Bool, needsTunnel: Bool = false
  ) {
    self.proxy = proxy
    self.proxyAuthorization = proxyAuthorization
    self.address = address
    self.version = version
    self.handshake = handshake
    self.sharesConnections = sharesConnections
    self.needsTunnel = needsTunnel
  }

  /// Applies the route to a handle that was just reset, and is reset before its next use.
  func apply(to handle: CurlHandle, _ options: inout EasyOptions) {
    if let proxy {
      options.set(martlet_opt_proxy, proxy.address)
      if proxy.kind == .https { handle.loop.tls.applyToProxy(&options) }
      // A proxy that only forwards bytes gets no field of the request, and a server gets no field of this list.
      options.set(martlet_opt_header_separation, 1)
      if let proxyAuthorization {
        handle.setList(martlet_opt_proxy_header, "Proxy-Authorization: \(proxyAuthorization)", &options)
      }
      if proxy.kind == .socks5 {
        if proxy.user != nil || proxy.password != nil {
          options.set(martlet_opt_proxy_user, proxy.user ?? "")
          options.set(martlet_opt_proxy_password, proxy.password ?? "")
          options.set(martlet_opt_socks5_auth, 1)
        }
      } else {
        if needsTunnel { options.set(martlet_opt_http_proxy_tunnel, 1) }
        // The response to CONNECT contains the proxy's challenge.
        options.set(martlet_opt_suppress_connect_headers, 0)
      }
    }
    if let address { handle.setList(martlet_opt_resolve, address, &options) }
    if version != .automatic { options.set(martlet_opt_http_version, version.rawValue) }
    if let handshake {
      // Exactly one scheme: libcurl then begins at once, and uses no other scheme that the server might prefer.
      options.set(martlet_opt_http_auth, handshake.isNTLM ? 8 : 4)
      options.set(martlet_opt_user, handshake.user)
      // NTLM hashes UTF-16, which libcurl makes by widening each octet. That is right for ISO 8859-1, but not for
      // UTF-8.
      let password = handshake.password.unicodeScalars.map { CChar(truncatingIfNeeded: $0.value) } + [0]
      options.set(martlet_opt_password, characters: password)
    }
  }

  /// How the proxy refused to connect, if that caused the failure.
  func refusal(_ easy: UnsafeMutableRawPointer) -> CurlRefusal? {
    guard proxy != nil else { return nil }
    let status = martlet_easy_number(easy, CInt(martlet_info_connect_status))
    // tinyproxy responds to wrong credentials with 401.
    if status >= 300 { return CurlRefusal(status: status, isOfCredentials: status == 407 || status == 401) }
    // CURLPX_NO_AUTH, CURLPX_USER_REJECTED
    let problem = martlet_easy_number(easy, CInt(martlet_info_proxy_problem))
    guard [12, 33].contains(problem) else { return nil }
    let hadCredentials = proxy?.user != nil || proxy?.password != nil
    return CurlRefusal(status: nil, isOfCredentials: true, hadCredentials: hadCredentials, isOfMethods: problem == 12)
  }
}

// Reveals no properties, so no dump shows a password.
extension CurlRoute.Proxy: CustomStringConvertible, CustomReflectable {
  package var description: String { name }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

// As above.
extension CurlRoute.Handshake: CustomStringConvertible, CustomReflectable {
  package var description: String { isNTLM ? "NTLM" : "Negotiate" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

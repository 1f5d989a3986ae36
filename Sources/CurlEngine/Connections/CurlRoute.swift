import CMartletShim

/// What one exchange needs of its connection, where it is not what all of the client's need.
package struct CurlRoute: Sendable {
  /// A server that connects to others.
  package struct Proxy: Sendable {
    package enum Kind {
      case http, https, socks5
    }

    /// What errors call it.
    package var name: String
    package var kind: Kind
    /// As `CURLOPT_PROXY` takes it.
    package var address: String
    package var user: String?
    package var password: String?

    package init(
      name: String, kind: Kind, address: String, user: String? = nil, password: String? = nil
    ) {
      self.name = name
      self.kind = kind
      self.address = address
      self.user = user
      self.password = password
    }
  }

  /// How libcurl has to prove who the client is, to the end of its connection.
  package struct Handshake: Sendable {
    /// The most requests of one handshake: NTLM has two.
    package static let maximumRequests = 4

    /// NTLM, or Negotiate.
    package var isNTLM: Bool
    package var user: String
    package var password: String

    package init(
      isNTLM: Bool, user: String, password: String
    ) {
      self.isNTLM = isNTLM
      self.user = user
      self.password = password
    }
  }

  /// The versions of HTTP that may be spoken.
  package enum Version {
    /// HTTP/2 where TLS offers it.
    case automatic
    case http1_0, http1_1
    /// HTTP/2 without TLS.
    case priorKnowledge
  }

  package var proxy: Proxy?
  package var proxyAuthorization: String?
  /// Where the name is not to be looked up, as `CURLOPT_RESOLVE` takes it.
  package var address: String?
  package var version = Version.automatic
  package var handshake: Handshake?
  package var sharesConnections = true

  /// The route of a request about which nothing is special.
  package init() {}

  /// Sets it, on a handle that was just reset and is reset before its next use; returns libcurl's code.
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
      if code == 0, proxy.kind == .https { code = handle.loop.tls.applyToProxy(easy) }
      // Nothing of the request is for a proxy that only passes bytes on, and nothing of this list for a server.
      set(martlet_opt_header_separation, 1)
      if let proxyAuthorization {
        guard let list = martlet_list_append(nil, "Proxy-Authorization: \(proxyAuthorization)") else { return 27 }
        handle.keep(list)
        if code == 0 { code = martlet_easy_set_pointer(easy, CInt(martlet_opt_proxy_header), list) }
      }
      if proxy.kind == .socks5 {
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
    case .priorKnowledge: set(martlet_opt_http_version, 5)
    case .automatic: break  // As prepared.
    }
    if let handshake {
      // Exactly one scheme: libcurl then begins at once, and takes no other that the server might prefer.
      set(martlet_opt_http_auth, handshake.isNTLM ? 8 : 4)
      set(martlet_opt_user, handshake.user)
      // NTLM's hash is one of UTF-16, which libcurl makes by widening each octet: right for ISO 8859-1, and for no UTF-8.
      let password = handshake.password.unicodeScalars.map { CChar(truncatingIfNeeded: $0.value) } + [0]
      if code == 0 { code = martlet_easy_set_text(easy, CInt(martlet_opt_password), password) }
    }
    return code
  }

  /// Why the proxy would not connect, if that is what went wrong.
  func refusal(_ easy: UnsafeMutableRawPointer) -> CurlRefusal? {
    guard proxy != nil else { return nil }
    let status = martlet_easy_number(easy, CInt(martlet_info_connect_status))
    // 401 is what tinyproxy says to wrong credentials.
    if status >= 300 {
      return CurlRefusal(status: status, isOfCredentials: status == 407 || status == 401)
    }
    // CURLPX_NO_AUTH, CURLPX_USER_REJECTED
    let problem = martlet_easy_number(easy, CInt(martlet_info_proxy_problem))
    return [12, 33].contains(problem) ? CurlRefusal(status: nil, isOfCredentials: true) : nil
  }
}

// Shows nothing of its own, so that no dump leaks a password.
extension CurlRoute.Proxy: CustomStringConvertible, CustomReflectable {
  package var description: String { name }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

// As above.
extension CurlRoute.Handshake: CustomStringConvertible, CustomReflectable {
  package var description: String { isNTLM ? "NTLM" : "Negotiate" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

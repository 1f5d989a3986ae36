import MartletBase

struct ProxyEnvironment: Sendable {
  private var http: Proxy?
  private var https: Proxy?
  private var except = NoProxy([])

  /// Reads the variables; an error names the one with an invalid value.
  init(_ variables: [String: String]) throws(InvalidInput) {
    // A CGI process gets the client's header field `Proxy` as HTTP_PROXY (CVE-2016-5386).
    guard variables["REQUEST_METHOD"] == nil else { return }
    let all = try Self.proxy(["all_proxy", "ALL_PROXY"], variables)
    // HTTP_PROXY is ignored, because it could contain that header field even without REQUEST_METHOD.
    http = try Self.proxy(["http_proxy"], variables) ?? all
    https = try Self.proxy(["https_proxy", "HTTPS_PROXY"], variables) ?? all
    let list = variables["no_proxy"] ?? variables["NO_PROXY"] ?? ""
    // Invalid entries are ignored, as in other programs, so the proxy is used for their hosts.
    except = NoProxy(list.split { $0 == "," || $0 == " " }.map(String.init))
  }

  /// The entries of `no_proxy` that cover nothing, for ``HTTPClient/Diagnostics``.
  var warnings: [String] {
    except.unread.map { "no_proxy contains \"\($0)\", which is malformed and covers no host" }
  }

  func proxy(for origin: Origin) -> Proxy? {
    guard let proxy = origin.scheme == "https" ? https : http, !except.covers(origin.host, port: origin.port) else {
      return nil
    }
    return proxy
  }

  /// Identifies the proxies without passwords; `nil` if there are none.
  var partition: String? {
    guard http != nil || https != nil else { return nil }
    return "http \(http?.partition ?? "") https \(https?.partition ?? "") except \(except.partition)"
  }

  private static func proxy(_ names: [String], _ variables: [String: String]) throws(InvalidInput) -> Proxy? {
    for name in names {
      guard let value = variables[name], !value.isEmpty else { continue }
      // U+FFFD replaces invalid octets, so the value would name another host or password.
      if value.unicodeScalars.contains("\u{FFFD}") { throw InvalidInput("environment variable \(name) is not UTF-8") }
      let proxy = Proxy(value.contains("://") ? value : "http://\(value)")
      if let problem = proxy.problem { throw InvalidInput("environment variable \(name): \(problem.message)") }
      return proxy
    }
    return nil
  }
}

import MartletBase

/// The proxies that environment variables name.
struct ProxyEnvironment: Sendable {
  private var http: Proxy?
  private var https: Proxy?
  private var except = NoProxy([])

  /// Reads the variables; an error names the one whose value is no proxy.
  init(_ variables: [String: String]) throws(InvalidInput) {
    // A CGI gets the header field `Proxy` of whoever asks it as HTTP_PROXY (CVE-2016-5386).
    guard variables["REQUEST_METHOD"] == nil else { return }
    let all = try Self.proxy(["all_proxy", "ALL_PROXY"], variables)
    // In upper case it could be that header field, also where REQUEST_METHOD was taken away.
    http = try Self.proxy(["http_proxy"], variables) ?? all
    https = try Self.proxy(["https_proxy", "HTTPS_PROXY"], variables) ?? all
    let list = variables["no_proxy"] ?? variables["NO_PROXY"] ?? ""
    // What nobody can read in it is left out, as everywhere: then the proxy is used.
    except = NoProxy(list.split { $0 == "," || $0 == " " }.map(String.init))
  }

  func proxy(for origin: Origin) -> Proxy? {
    guard let proxy = origin.scheme == "https" ? https : http, !except.covers(origin.host, port: origin.port) else {
      return nil
    }
    return proxy
  }

  /// What tells it from others, without passwords; `nil` if no proxy is named.
  var partition: String? {
    guard http != nil || https != nil else { return nil }
    return "http \(http?.partition ?? "") https \(https?.partition ?? "") except \(except.partition)"
  }

  private static func proxy(_ names: [String], _ variables: [String: String]) throws(InvalidInput) -> Proxy? {
    for name in names {
      guard let value = variables[name], !value.isEmpty else { continue }
      let proxy = Proxy(value.contains("://") ? value : "http://\(value)")
      if let problem = proxy.problem { throw InvalidInput("environment variable \(name): \(problem.message)") }
      return proxy
    }
    return nil
  }
}

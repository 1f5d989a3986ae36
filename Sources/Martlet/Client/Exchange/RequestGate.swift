import MartletBase

/// The check that a request must pass before any byte is sent.
enum RequestGate {
  /// Creates the first request of a call: complete URL, default header fields, all checks.
  ///
  /// `options` are the merged options; `credential` is from the request's own options.
  static func admit(
    _ asked: HTTPRequest, settings: ClientSettings, options: ResolvedOptions, credential: Credential?
  ) throws -> (Hop, CallCredential?) {
    do {
      if let problem = settings.problem, settings.isUnread {
        var error = HTTPError(.fileFailed, problem.message, request: asked)
        error.isExhaustion = true
        throw error
      }
      if let problem = settings.problem ?? options.problem { throw problem }
      let url = try settings.targets.url(of: asked.target, adding: asked.query)
      var headers = settings.defaultHeaders
      let base = try settings.baseOrigin.get()
      if let base, base != url.origin {
        // Configured fields are only for the client's own server.
        settings.originFields.drop(from: &headers)
      }
      // Userinfo is a credential for the URL's origin, and is never sent in the URL (RFC 3986 §3.2.1).
      let own = url.user.map { Credential.user($0, password: url.password ?? "", isPreemptive: true) }
      // The configured credential is also for the client's own server.
      let configured = base == url.origin ? settings.configuration.options.credential : nil
      let credential = own ?? credential ?? configured
      if credential != nil { headers.remove("Authorization") }
      headers.replace(with: asked.headers)
      try Referrer.clean(&headers, for: url)
      if let type = asked.body?.contentType, !headers.contains("Content-Type") { headers["Content-Type"] = type }
      var request = HTTPRequest(asked.method, RequestTarget(url), headers: headers, body: asked.body)
      request.encodeBody(with: settings.configuration.coders)
      try check(request, url, settings)
      try request.announceCoding()
      return (Hop(request, at: url), credential.map { CallCredential(credential: $0, origin: url.origin) })
    } catch {
      throw problem(error, of: asked)
    }
  }

  /// Explains what `admit` has changed in a request, and what its options switch off.
  static func explain(_ call: Call) {
    let (settings, url) = (call.settings, call.first.url)
    if case .none = call.options.cookies.kind {
      call.decided("cookies.off", "the cookie jar is not used: the policy is off")
    }
    if call.options.cache.isSuperset(of: .off) {
      call.decided("cache.off", "the cache is not used: the policy is off")
    }
    let host = url.host
    if url.user != nil {
      call.decided(
        "request.movedURLCredential",
        "the user name and the password of the URL are a credential for \(host), and are not sent in the URL",
        "RFC 3986 §3.2.1")
    }
    guard let base = try? settings.baseOrigin.get(), base != url.origin else { return }
    var defaults = settings.defaultHeaders
    let names = settings.originFields.drop(from: &defaults)
    if !names.isEmpty {
      call.decided(
        "request.withheldDefaults",
        "the client's \(Explanation.list(names)) is for the server of its base URL only, "
          + "and is not sent to \(host)")
    }
  }

  /// Resolves and checks a request that middleware or a redirect closure passes on.
  ///
  /// Its body is encoded once for all later redirects, attempts and answers to a 401.
  static func replaced(_ request: HTTPRequest, settings: ClientSettings) throws -> Hop {
    do {
      var request = request
      request.encodeBody(with: settings.configuration.coders)
      let url = try request.target.resolve(against: settings.configuration.baseURL, adding: request.query)
      try Referrer.clean(&request.headers, for: url)
      try check(request, url, settings)
      return Hop(request, at: url)
    } catch {
      throw problem(error, of: request)
    }
  }

  /// Compresses a body that middleware has marked, and adds its content coding.
  ///
  /// Not in `replaced`, because other middleware may replace the body.
  static func compressed(_ hop: Hop) throws -> Hop {
    guard hop.body?.compression != nil else { return hop }
    do {
      var request = hop.request
      try request.announceCoding()
      return Hop(request, at: hop.url)
    } catch {
      throw problem(error, of: hop.request)
    }
  }

  /// The error for a problem of a request, which it names; errors from other code are unchanged.
  static func problem(_ error: any Error, of request: HTTPRequest) -> any Error {
    switch error {
    case let error as InvalidInput: HTTPError(.invalidRequest, error.message, request: request)
    case let error as HTTPError: error.described(request)
    default: error
    }
  }

  /// Whether all fields are valid.
  static func areSound(_ headers: HTTPHeaders) -> Bool { (try? FieldRules.check(headers)) != nil }

  private static func check(_ request: HTTPRequest, _ url: AbsoluteURL, _ settings: ClientSettings) throws {
    try FieldRules.check(url)
    guard request.method.isValid else {
      throw InvalidInput("the method '\(InvalidInput.printable(request.method.rawValue))' is not a token")
    }
    guard request.method != .connect else {
      throw InvalidInput("the method CONNECT cannot be sent: for a tunnel, set a proxy in the configuration")
    }
    let isUsual = settings.areDefaultHeadersSound && request.headers.isIdentical(to: settings.defaultHeaders)
    if !isUsual { try FieldRules.check(request.headers) }
    if request.method == .head && request.body != nil { throw InvalidInput("a HEAD request has no body") }
    _ = try request.body?.check()
  }
}

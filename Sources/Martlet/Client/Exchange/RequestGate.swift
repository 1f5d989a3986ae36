import Foundation

/// The check that a request must pass before any byte is sent.
enum RequestGate {
  /// Creates the first request of a call: complete URL, default header fields, all checks.
  ///
  /// `options` are the merged options; `credential` is from the request's own options.
  static func admit(
    _ asked: HTTPRequest, settings: ClientSettings, options: ResolvedOptions, credential: Credential?
  ) throws -> (HTTPRequest, host: String, CallCredential?) {
    do {
      if let problem = settings.problem, settings.isUnread {
        var error = HTTPError(.file, problem.message, request: asked)
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
      let own = url.user.map { Credential.user($0, password: url.password ?? "", isSentUnasked: true) }
      // The configured credential is for the client's own server, too.
      let configured = base == url.origin ? settings.configuration.options.credential : nil
      let credential = own ?? credential ?? configured
      if credential != nil { headers.remove("Authorization") }
      headers.replace(with: asked.headers)
      try Referrer.clean(&headers, for: url)
      if let type = asked.body?.contentType, !headers.contains("Content-Type") { headers["Content-Type"] = type }
      var request = HTTPRequest(asked.method, RequestTarget(url), headers: headers, body: asked.body)
      request.encodeBody(with: settings.configuration.encoder)
      try check(request, url, settings)
      try request.announceCoding()
      return (request, url.host, credential.map { CallCredential(credential: $0, origin: url.origin) })
    } catch let error as InvalidInput {
      throw HTTPError(.invalidRequest, error.message, request: asked)
    } catch let error as InvalidBody {
      throw HTTPRequest.error(error, of: asked)
    }
  }

  /// Explains what `admit` has changed in a request, and what its options switch off.
  static func explain(_ asked: HTTPRequest, _ call: Call) {
    let settings = call.settings
    if case .none = call.options.cookies.kind { call.note(.cookies(.off)) }
    if call.options.cache.isSuperset(of: .off) { call.note(.cache(.off)) }
    guard let url = try? settings.targets.url(of: asked.target, adding: asked.query) else { return }
    if url.user != nil { call.note(.request(.movedURLCredential(host: url.host))) }
    guard let base = try? settings.baseOrigin.get(), base != url.origin else { return }
    var defaults = settings.defaultHeaders
    let names = settings.originFields.drop(from: &defaults)
    if !names.isEmpty { call.note(.request(.withheldDefaults(names, host: url.host))) }
  }

  /// Checks a request again after stages that may have changed it.
  static func checkAgain(_ request: HTTPRequest, settings: ClientSettings) throws -> HTTPRequest {
    do {
      var request = request
      request.encodeBody(with: settings.configuration.encoder)
      let url = try request.target.resolve(against: settings.configuration.baseURL, adding: request.query)
      request.target = RequestTarget(url)
      request.query = [:]
      try Referrer.clean(&request.headers, for: url)
      try check(request, url, settings)
      try request.announceCoding()
      return request
    } catch let error as InvalidInput {
      throw HTTPError(.invalidRequest, error.message, request: request)
    } catch let error as InvalidBody {
      throw HTTPRequest.error(error, of: request)
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

extension HTTPRequest {
  static func error(_ error: InvalidBody, of request: HTTPRequest?) -> HTTPError {
    var made =
      switch error {
      case .invalid(let input): HTTPError(.invalidRequest, input.message)
      case .file(let message): HTTPError(.file, message)
      case .unsupported(let message): HTTPError(.unsupported, message)
      case .used: BodySource.used
      }
    if let request { made.describe(request) }
    return made
  }
}

import Foundation

/// Sends a URL's cookies and stores those of its response (RFC 6265bis §5.4, §5.8).
///
/// The stage handles every exchange, including each hop and retry. It adds cookies only to the request that it passes
/// down, so they cannot reach another origin. A `Cookie` field that the caller has set is sent unchanged.
struct CookieStage: Stage {
  /// The client's jar.
  let jar: CookieJar

  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let call = context.call
    let shelf: CookieShelf
    switch call.options.cookies.kind {
    case .none: return try await next(request, context)
    case .only(let cookies): return try await next(adding(cookies, to: request, context), context)
    case .automatic: shelf = jar.shelf
    case .jar(let other): shelf = other.shelf
    }
    let partition = call.settings.partition.authority
    var sent = request
    if !shelf.isEmpty, !request.headers.contains("Cookie"), let url = url(of: request, context),
      let field = shelf.field(
        for: url, relation(url, request, context), in: partition, now: call.settings.configuration.now())
    {
      sent.headers["Cookie"] = field
    }
    let response = try await next(sent, context)
    // Cookies of a cached response were stored when it came from the server.
    guard response.source != .cache, response.source != .fallback else { return response }
    let lines = response.headers[all: "Set-Cookie"]
    guard !lines.isEmpty, let url = url(of: request, context) else { return response }
    if shelf.receive(lines, from: url, in: partition, now: call.settings.configuration.now()) {
      // A file that cannot be written does not fail the request; ``CookieJar/problem`` has the error. The wait ends
      // with the call.
      try await withAbort(call.abortSource) { try? await shelf.save(isAsked: false) }
    }
    return response
  }

  /// Adds the cookies of ``CookiePolicy/only(_:)`` to a request.
  private func adding(_ cookies: [Cookie], to request: HTTPRequest, _ context: RequestContext) -> HTTPRequest {
    guard !request.headers.contains("Cookie"), let url = url(of: request, context) else {
      return request
    }
    let origin = (try? context.call.request.target.resolve(against: nil).origin).map(context.call.settings.upgraded)
    let relation = relation(url, request, context)
    let now = context.call.settings.configuration.now()
    let chosen = cookies.filter { cookie in
      guard cookie.goes(to: url, relation, now: now) else { return false }
      guard let checked = cookie.domain.isEmpty ? cookie : cookie.checked() else { return false }
      if checked.domain.isEmpty { return url.origin == origin }
      return checked.isHostOnly ? url.host == checked.domain : Cookie.domainMatches(url.host, checked.domain)
    }
    var request = request
    if let field = Cookie.field(chosen) { request.headers["Cookie"] = field }
    return request
  }

  /// The URL as the last stage resolves it; middleware may have set a relative target.
  private func url(of request: HTTPRequest, _ context: RequestContext) -> AbsoluteURL? {
    try? request.target.resolve(against: context.call.settings.configuration.baseURL)
  }

  private func relation(_ url: AbsoluteURL, _ request: HTTPRequest, _ context: RequestContext) -> SiteRelation {
    guard context.hop > 0 else { return .same }
    let before = context.call.redirects.compactMap { try? AbsoluteURL.parse($0.from.absoluteString) }
    return SiteRelation(url, request.method, before: before)
  }
}

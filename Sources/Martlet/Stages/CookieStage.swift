import MartletBase
import Foundation

/// Sends a URL's cookies and stores those of its response (RFC 6265bis §5.4, §5.8).
///
/// The stage handles every exchange, including each hop and retry. It adds cookies only to the request that it passes
/// down, so they cannot reach another origin. A `Cookie` field that the caller has set is sent unchanged.
struct CookieStage: Stage {
  /// The client's jar.
  let jar: CookieJar

  @inline(__always)
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
    if call.explains, request.headers.contains("Cookie") { call.note(.cookies(.ownField)) }
    if !shelf.isEmpty, !request.headers.contains("Cookie"), let url = url(of: request, context) {
      let (relation, now) = (relation(url, request, context), call.settings.configuration.now())
      let cookies = shelf.cookies(for: url, relation, in: partition, now: now)
      if let field = Cookie.field(cookies) { sent.headers[wire: "Cookie"] = field }
      if call.explains {
        Self.explain(cookies, shelf.withTable { $0.withheld(from: url, relation, in: partition, now: now) }, call)
      }
    }
    let response = try await next(sent, context)
    // Cookies of a cached response were stored when it came from the server.
    guard response.source != .cache, response.source != .fallback else { return response }
    let lines = response.headers[wires: "Set-Cookie"]
    guard !lines.isEmpty, let url = url(of: request, context) else { return response }
    let now = call.settings.configuration.now()
    let parsed = lines.prefix(SetCookie.maximumLines).compactMap { SetCookie(WireText.octets($0), now: now) }
    let (refusals, hasChanges) = shelf.receive(parsed, from: url, in: partition, now: now)
    if call.explains { Self.explain(parsed, refusals, of: lines, now: now, call) }
    if hasChanges {
      // A file that cannot be written does not fail the request; ``CookieJar/problem`` has the error. The wait ends
      // with the call.
      try await withAbort(context.abortSource) { try? await shelf.save(isAsked: false) }
    }
    return response
  }

  @inline(never) private static func explain(_ cookies: [Cookie], _ withheld: [CookieTable.Withheld], _ call: Call) {
    let sent = cookies.prefix(Cookie.fitting(cookies).count)
    if !sent.isEmpty { call.note(.cookies(.added(sent.map { Explanation.short($0.name) }))) }
    for cookie in cookies.dropFirst(sent.count) {
      call.note(
        .cookies(.withheld(name: Explanation.short(cookie.name), .fieldFull(maximum: Cookie.maximumHeaderBytes))))
    }
    for cookie in withheld { call.note(.cookies(.withheld(name: Explanation.short(cookie.name), cookie.reason))) }
  }

  @inline(never) private static func explain(
    _ parsed: [SetCookie], _ refusals: [Explanation.Cookies.Refusal?], of lines: [String], now: Date, _ call: Call
  ) {
    let accepted = zip(parsed, refusals).filter { $0.1 == nil }.map(\.0)
    let (removed, stored) = (accepted.filter { $0.isExpired(now) }, accepted.filter { !$0.isExpired(now) })
    if !stored.isEmpty { call.note(.cookies(.stored(stored.map { Explanation.short($0.name) }))) }
    if !removed.isEmpty { call.note(.cookies(.removed(removed.map { Explanation.short($0.name) }))) }
    for (line, refusal) in zip(parsed, refusals) {
      if let refusal { call.note(.cookies(.refused(name: Explanation.short(line.name), refusal))) }
    }
    if lines.count > SetCookie.maximumLines {
      call.note(.cookies(.refused(name: "", .tooMany(maximum: SetCookie.maximumLines))))
    }
    for _ in 0..<(min(lines.count, SetCookie.maximumLines) - parsed.count) {
      call.note(.cookies(.refused(name: "", .malformed)))
    }
  }

  /// Adds the cookies of ``CookiePolicy/only(_:)`` to a request.
  private func adding(_ cookies: [Cookie], to request: HTTPRequest, _ context: RequestContext) -> HTTPRequest {
    guard !request.headers.contains("Cookie"), let url = url(of: request, context) else { return request }
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
    if let field = Cookie.field(chosen) { request.headers[wire: "Cookie"] = field }
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

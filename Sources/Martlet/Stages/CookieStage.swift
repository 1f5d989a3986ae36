import MartletBase

/// Sends a URL's cookies and stores those of its response (RFC 6265bis §5.4, §5.8).
///
/// The stage handles every exchange, including each hop and retry. It adds cookies only to the request that it passes
/// down, so they cannot reach another origin. A `Cookie` field that the caller has set is sent unchanged.
struct CookieStage: Stage {
  /// The client's jar.
  let jar: CookieJar

  @inline(__always)
  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let call = context.call
    let shelf: CookieStorage
    switch call.options.cookies.kind {
    case .none: return try await next(hop, context)
    case .only(let cookies): return try await next(adding(cookies, to: hop, context), context)
    case .automatic: shelf = jar.shelf
    case .jar(let other): shelf = other.shelf
    }
    let partition = call.settings.partition.authority
    var sent = hop
    if call.explains, hop.headers.contains("Cookie") {
      call.decided("cookies.ownField", "no cookies were added: the request has a Cookie field already")
    }
    if !shelf.isEmpty, !hop.headers.contains("Cookie") {
      let (relation, now) = (
        SiteRelation(hop.url, hop.method, before: context.previousURLs), call.settings.configuration.now()
      )
      let cookies = shelf.cookies(for: hop.url, relation, in: partition, now: now)
      if let field = Cookie.field(cookies) { sent.headers[wire: "Cookie"] = field }
      if call.explains {
        Self.explain(cookies, shelf.withTable { $0.withheld(from: hop.url, relation, in: partition, now: now) }, call)
      }
    }
    let response = try await next(sent, context)
    // Cookies of a cached response were stored when it came from the server.
    guard response.source != .cache, response.source != .fallback else { return response }
    let lines = response.headers[wires: "Set-Cookie"]
    guard !lines.isEmpty else { return response }
    let now = call.settings.configuration.now()
    let parsed = lines.prefix(SetCookie.maximumLines).compactMap { SetCookie(WireText.octets($0), now: now) }
    let (refusals, hasChanges) = shelf.withTable { table in
      let refusals = parsed.map { table.receive($0, from: hop.url, in: partition, now: now) }
      return (refusals, !parsed.isEmpty && table.hasChanges)
    }
    if call.explains { Self.explain(parsed, refusals, of: lines, now: now, call) }
    if hasChanges {
      // A file that cannot be written does not fail the request; ``CookieJar/problem`` has the error. The wait ends
      // with the call.
      try await withAbort(context.abortSource) { try? await shelf.save(isAsked: false) }
    }
    return response
  }

  private static func explain(_ cookies: [Cookie], _ withheld: [CookieTable.Withheld], _ call: Call) {
    let sent = cookies.prefix(Cookie.fitting(cookies).count)
    if !sent.isEmpty {
      call.report(.decided(.cookies("cookies.added", "cookies were added to the request", sent.map(\.name))))
    }
    for cookie in cookies.dropFirst(sent.count) {
      call.report(.decided(.withheld(cookie.name, .fieldFull(maximum: Cookie.maximumHeaderBytes))))
    }
    for cookie in withheld {
      call.report(.decided(.withheld(cookie.name, cookie.reason)))
    }
  }

  private static func explain(
    _ parsed: [SetCookie], _ refusals: [Explanation.Reason?], of lines: [String], now: Date, _ call: Call
  ) {
    let accepted = zip(parsed, refusals).filter { $0.1 == nil }.map(\.0)
    let (removed, stored) = (accepted.filter { $0.isExpired(now) }, accepted.filter { !$0.isExpired(now) })
    if !stored.isEmpty { call.report(.decided(.cookies("cookies.stored", "cookies were stored", stored.map(\.name)))) }
    if !removed.isEmpty {
      call.report(.decided(.cookies("cookies.removed", "cookies were removed", removed.map(\.name))))
    }
    for (line, refusal) in zip(parsed, refusals) {
      if let refusal { call.report(.decided(.refused(line.name, refusal))) }
    }
    if lines.count > SetCookie.maximumLines {
      let maximum = SetCookie.maximumLines
      call.report(
        .decided(.refused("", .init("tooMany", "only \(maximum) cookies of a response are processed"), isOwn: true)))
    }
    for _ in 0..<(min(lines.count, SetCookie.maximumLines) - parsed.count) {
      call.report(.decided(.refused("", .init("malformed", "the line is malformed or too long"))))
    }
  }

  /// Adds the cookies of ``CookiePolicy/only(_:)`` to a request.
  private func adding(_ cookies: [Cookie], to hop: Hop, _ context: RequestContext) -> Hop {
    guard !hop.headers.contains("Cookie") else { return hop }
    let (call, url) = (context.call, hop.url)
    let origin = call.settings.upgraded(call.first.origin)
    let relation = SiteRelation(url, hop.method, before: context.previousURLs)
    let now = call.settings.configuration.now()
    let chosen = cookies.filter { cookie in
      guard cookie.goes(to: url, relation, now: now) else { return false }
      guard let checked = cookie.domain.isEmpty ? cookie : cookie.checked() else { return false }
      if checked.domain.isEmpty { return url.origin == origin }
      return checked.isHostOnly ? url.host == checked.domain : Cookie.domainMatches(url.host, checked.domain)
    }
    var hop = hop
    if let field = Cookie.field(chosen) { hop.headers[wire: "Cookie"] = field }
    return hop
  }
}

extension Explanation.Decision {
  /// A decision about cookies of these names.
  fileprivate static func cookies(_ code: String, _ text: String, _ names: [String]) -> Self {
    let names = names.map(Explanation.short)
    return Self(
      code, "\(text): \(Explanation.list(names))",
      code == "cookies.added" ? "RFC 6265bis §5.8" : "RFC 6265bis §5.7")
  }

  fileprivate static func withheld(_ name: String, _ reason: Explanation.CookieWithholding) -> Self {
    let name = InvalidInput.printable(Explanation.short(name))
    return Self("cookies.withheld", "the cookie '\(name)' was omitted", because: reason)
  }

  fileprivate static func refused(_ name: String, _ reason: Explanation.Reason, isOwn: Bool = false) -> Self {
    let cookie = name.isEmpty ? "a cookie" : "the cookie '\(InvalidInput.printable(Explanation.short(name)))'"
    return Self("cookies.refused", "\(cookie) was refused", because: reason, isOwn ? nil : "RFC 6265bis §5.7")
  }
}

/// Follows redirects; each hop passes through all stages below.
struct RedirectStage: Stage {
  @inline(__always)
  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let response = try await next(hop, context)
    guard Redirection.isRedirect(response.status) else { return response }
    return try await follow(response, hop, context, next)
  }

  private func follow(
    _ first: StreamedResponse, _ hop: Hop, _ context: RequestContext, _ next: Next
  ) async throws -> StreamedResponse {
    let policy = context.call.options.redirects
    let settings = context.call.settings
    var response = first
    var context = context
    var hop = hop
    while Redirection.isRedirect(response.status) {
      let usesCluster = settings.usesCluster(hop)
      var server: Int?
      // A stage below has changed the URL to https for an HSTS host.
      hop = settings.upgraded(settings.located(hop, by: response))
      let step = Redirection.step(
        status: response.status, headers: response.headers, hop, policy: policy,
        changesProtocol: context.call.upgrade != nil, fields: settings.originFields,
        upgrade: { url in
          var url = settings.upgraded(url)
          guard usesCluster else { return url }
          let isRelative = !Redirection.namesHost(response.status, response.headers)
          (url, server) = settings.redirected(url, isRelative: isRelative)
          return url
        })
      switch step {
      case .none(let reason):
        context.call.explain(Self.notFollowed(response.status, reason))
        return response
      case .refused(let reason): throw try await error(reason, response, hop, context)
      case .next(let proposed, let changes):
        guard context.hop < policy.maximumHops else {
          throw try await error(.tooMany(maximum: policy.maximumHops), response, hop, context)
        }
        guard let (following, isReplaced) = try await decide(proposed, hop, response, context, policy) else {
          context.call.report(.decided(Self.notFollowed(response.status, .stopped)))
          return response
        }
        // The file of a body may be gone since the last hop.
        if following.body != nil { _ = try RequestGate.replaced(following.request, settings: settings) }
        record(response.status, from: hop, to: following, isReplaced ? nil : changes, context.call)
        context.leave(hop.url, toServer: following.url == proposed.url ? server : nil)
        hop = following
      }
      response = try await next(hop, context)
    }
    return response
  }

  /// Calls the policy's closure, if there is one; `nil` delivers the response.
  private func decide(
    _ proposed: Hop, _ hop: Hop, _ response: StreamedResponse, _ context: RequestContext,
    _ policy: RedirectPolicy
  ) async throws -> (Hop, isReplaced: Bool)? {
    guard let ask = policy.ask else { return (proposed, false) }
    let redirect = RedirectPolicy.Hop(
      status: response.status, headers: response.headers, request: hop.request, next: proposed.request,
      count: context.hop)
    let decision = try await withAbort(context.abortSource) { try await ask(redirect) }
    switch decision {
    case .follow: return (proposed, false)
    case .stop: return nil
    case .replace(var replacement):
      if context.call.upgrade != nil { replacement.target = replacement.target.withHTTPScheme }
      let settings = context.call.settings
      var replaced = settings.upgraded(try RequestGate.replaced(replacement, settings: settings))
      if hop.url.isSecure, !replaced.url.isSecure, !policy.allowsDowngrade {
        throw try await error(.downgrade(to: replaced.url.redacted), response, hop, context)
      }
      if hop.origin != replaced.origin { Self.strip(&replaced, comingFrom: hop, settings.originFields) }
      return (replaced, true)
    }
  }

  /// Removes the fields that a replacement only carried over to another origin.
  ///
  /// Fields with a value other than in the previous request are kept, because the program has set them again.
  private static func strip(_ replaced: inout Hop, comingFrom hop: Hop, _ fields: OriginFields) {
    let given = replaced.headers
    let dropped = fields.drop(from: &replaced.headers)
    if given["Referer"] == hop.headers["Referer"] {
      Referrer.sanitize(&replaced.headers, redirectedFrom: hop.url, to: replaced.url)
    }
    replaced.headers.remove("Host")
    for name in dropped + ["Host"] {
      let values = given[wires: name]
      if values != hop.headers[wires: name] { replaced.headers[wires: name] = values }
    }
  }

  /// Reports that a redirect is followed; without changes, the policy's closure has replaced the request.
  private func record(
    _ status: HTTPStatus, from: Hop, to: Hop, _ changes: Redirection.Changes?, _ call: Call
  ) {
    let (old, new) = (from.origin, to.origin)
    let url = Explanation.short(call.settings.configuration.redaction.text(of: to.url))
    var decisions: [Explanation.Decision] = [
      changes == nil
        ? .init("redirect.replaced", "the redirect policy's closure sent the request to \(url) instead")
        : .init(
          "redirect.followed", "the redirect (\(status.rawValue)) to \(url) was followed", Self.section(status))
    ]
    if let method = changes?.method {
      let new = to.method
      decisions.append(
        .init(
          "redirect.methodChanged",
          "after \(status.rawValue), the request is a \(new) without a body instead of a \(method)",
          Self.section(status)))
    }
    if old != new {
      let dropped =
        changes?.dropped ?? OriginFields.credentials.filter { from.headers.contains($0) && !to.headers.contains($0) }
      if !dropped.isEmpty {
        decisions.append(
          .init(
            "redirect.fieldsDropped",
            "\(Explanation.list(dropped)) \(dropped.count == 1 ? "was" : "were") removed, "
              + "because the redirect leads from \(old) to \(new)", "RFC 9110 §15.4"))
      }
      if let credential = call.credential, credential.origin == old {
        decisions.append(
          .init("redirect.credentialDropped", "the credential for \(old) is not used for \(new)", "RFC 9110 §15.4"))
      }
    }
    let redirect = HTTPResponse.Redirect(
      status: status, method: from.method, from: from.url.url, to: to.url.url)
    call.report(.redirected(redirect, decisions))
  }

  static func notFollowed(_ status: HTTPStatus, _ reason: Redirection.Reason) -> Explanation.Decision {
    .init(
      "redirect.notFollowed", "the redirect (\(status.rawValue)) was not followed", because: reason,
      reason.isOwn ? nil : section(status))
  }

  /// The section of the status of a redirect; §15.4 describes 300 to 308 in order, from §15.4.1 on.
  private static func section(_ status: HTTPStatus) -> String { "RFC 9110 §15.4.\(status.rawValue - 299)" }

  private func error(
    _ reason: Redirection.Reason, _ response: StreamedResponse, _ hop: Hop, _ context: RequestContext
  ) async throws -> HTTPError {
    let call = context.call
    let decision = Self.notFollowed(response.status, reason)
    call.report(.decided(decision))
    let (body, isWhole) = try await response.body.read(upTo: call.options.maximumErrorBodyBytes)
    var whole = response.whole(body, asked: call.request, coders: nil)
    if !isWhole { whole.isBodyTruncated = true }
    whole.redirects = call.redirects
    whole.attempts = call.attempts
    return HTTPError(reason.kind, decision.sentence, request: hop.request, response: whole)
  }
}

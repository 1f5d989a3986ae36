/// Follows redirects; each hop passes through all stages below.
struct RedirectStage: Stage {
  @inline(__always)
  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let response = try await next(request, context)
    guard Redirection.isRedirect(response.status) else { return response }
    return try await follow(response, request, context, next)
  }

  @inline(never) private func follow(
    _ first: StreamedResponse, _ request: HTTPRequest, _ context: RequestContext, _ next: Next
  ) async throws -> StreamedResponse {
    let policy = context.call.options.redirects
    let settings = context.call.settings
    var response = first
    var context = context
    // The request as it was sent: a stage below may have changed its URL to https.
    var request = settings.upgraded(request)
    while Redirection.isRedirect(response.status) {
      let step = Redirection.step(
        status: response.status, headers: response.headers, request: request, policy: policy,
        fields: settings.originFields, upgrade: { settings.upgraded($0) })
      switch step {
      case .none(let reason):
        context.call.explain(.redirect(.notFollowed(response.status, reason)))
        return response
      case .refused(let reason): throw try await error(reason, response, request, context)
      case .next(let proposed, let changes):
        guard context.hop < policy.maximumHops else {
          throw try await error(.tooMany(maximum: policy.maximumHops), response, request, context)
        }
        guard let (following, isReplaced) = try await decide(proposed, request, response, context, policy) else {
          context.call.note(.redirect(.notFollowed(response.status, .stopped)))
          return response
        }
        // The file of a body may be gone since the last hop.
        if following.body != nil { _ = try RequestGate.checkAgain(following, settings: settings) }
        record(response.status, from: request, to: following, isReplaced ? nil : changes, context.call)
        request = following
        context.hop += 1
      }
      response = try await next(request, context)
    }
    return response
  }

  /// Calls the policy's closure, if there is one; `nil` delivers the response.
  @inline(never) private func decide(
    _ proposed: HTTPRequest, _ request: HTTPRequest, _ response: StreamedResponse, _ context: RequestContext,
    _ policy: RedirectPolicy
  ) async throws -> (HTTPRequest, isReplaced: Bool)? {
    guard let ask = policy.ask else { return (proposed, false) }
    let hop = RedirectPolicy.Hop(
      status: response.status, headers: response.headers, request: request, next: proposed, count: context.hop)
    let decision = try await withAbort(context.abortSource) { try await ask(hop) }
    switch decision {
    case .follow: return (proposed, false)
    case .stop: return nil
    case .replace(let replacement):
      let settings = context.call.settings
      let checked = settings.upgraded(try RequestGate.checkAgain(replacement, settings: settings))
      let old = try? request.target.resolve(against: nil)
      let new = try? checked.target.resolve(against: nil)
      if old?.isSecure == true, let new, !new.isSecure, !policy.allowsDowngrade {
        throw try await error(.downgrade(to: new.redacted), response, request, context)
      }
      guard let old, let new, old.origin != new.origin else { return (checked, true) }
      return (Self.strip(checked, comingFrom: request, old, new, settings.originFields), true)
    }
  }

  /// Removes the fields that a replacement only carried over to another origin.
  ///
  /// Fields with a value other than in the previous request are kept, because the program set them anew.
  @inline(never) private static func strip(
    _ replacement: HTTPRequest, comingFrom request: HTTPRequest, _ old: AbsoluteURL, _ new: AbsoluteURL,
    _ fields: OriginFields
  ) -> HTTPRequest {
    var stripped = replacement
    let dropped = fields.drop(from: &stripped.headers)
    if replacement.headers["Referer"] == request.headers["Referer"] {
      Referrer.keepModest(&stripped.headers, redirectedFrom: old, to: new)
    }
    stripped.headers.remove("Host")
    for name in dropped + ["Host"] {
      let values = replacement.headers[wires: name]
      if values != request.headers[wires: name] { stripped.headers[wires: name] = values }
    }
    return stripped
  }

  @inline(never) private func record(
    _ status: HTTPStatus, from: HTTPRequest, to: HTTPRequest, _ changes: Redirection.Changes?, _ call: Call
  ) {
    guard let source = from.url, let destination = to.url else { return }
    explain(status, from: from, to: to, changes, call)
    call.record(HTTPResponse.Redirect(status: status, method: from.method, from: source, to: destination))
  }

  /// Explains a redirect that is followed; without changes, the policy's closure has replaced the request.
  private func explain(
    _ status: HTTPStatus, from: HTTPRequest, to: HTTPRequest, _ changes: Redirection.Changes?, _ call: Call
  ) {
    guard let old = try? from.target.resolve(against: nil), let new = try? to.target.resolve(against: nil) else {
      return
    }
    let url = Explanation.short(call.settings.configuration.redaction.text(of: new))
    call.note(.redirect(changes == nil ? .replaced(to: url) : .followed(status, to: url)))
    if let method = changes?.method { call.note(.redirect(.methodChanged(status, from: method, to: to.method))) }
    let dropped =
      changes?.dropped ?? OriginFields.credentials.filter { from.headers.contains($0) && !to.headers.contains($0) }
    if !dropped.isEmpty, old.origin != new.origin {
      call.note(.redirect(.fieldsDropped(dropped, from: "\(old.origin)", to: "\(new.origin)")))
    }
    if old.origin != new.origin, let credential = call.credential, credential.origin == old.origin {
      call.note(.redirect(.credentialDropped(from: "\(old.origin)", to: "\(new.origin)")))
    }
  }

  @inline(never) private func error(
    _ reason: Redirection.Reason, _ response: StreamedResponse, _ request: HTTPRequest, _ context: RequestContext
  ) async throws -> HTTPError {
    let call = context.call
    let decision = Explanation.Decision.redirect(.notFollowed(response.status, reason))
    call.note(decision)
    let (body, isWhole) = try await response.body.read(upTo: call.options.maximumErrorBodyBytes)
    var whole = response.whole(body, asked: call.request, decoder: nil)
    if !isWhole { whole.isBodyTruncated = true }
    whole.redirects = call.redirects
    whole.attempts = call.attempts
    return HTTPError(reason.kind, decision.sentence, request: request, response: whole)
  }
}

extension Redirection.Reason {
  fileprivate var kind: HTTPError.Kind {
    switch self {
    case .tooMany: .tooManyRedirects
    case .bodyNotReplayable: .bodyNotReplayable
    default: .redirectRefused
    }
  }
}

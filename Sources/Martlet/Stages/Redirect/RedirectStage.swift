/// Follows redirects; each hop passes through all stages below.
struct RedirectStage: Stage {
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
        upgrade: { settings.upgraded($0) })
      switch step {
      case .none: return response
      case .refused(let kind, let message): throw try await error(kind, message, response, request, context)
      case .next(let proposed):
        guard context.hop < policy.maximumHops else {
          let message = "more than \(policy.maximumHops) redirects"
          throw try await error(.tooManyRedirects, message, response, request, context)
        }
        guard let following = try await decide(proposed, request, response, context, policy) else { return response }
        // The file of a body may be gone since the last hop.
        if following.body != nil { _ = try RequestGate.checkAgain(following, settings: settings) }
        record(response.status, from: request, to: following, context.call)
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
  ) async throws -> HTTPRequest? {
    guard let ask = policy.ask else { return proposed }
    let hop = RedirectPolicy.Hop(
      status: response.status, headers: response.headers, request: request, next: proposed, count: context.hop)
    let decision = try await withAbort(context.call.abortSource) { try await ask(hop) }
    switch decision {
    case .follow: return proposed
    case .stop: return nil
    case .replace(let replacement):
      let settings = context.call.settings
      let checked = settings.upgraded(try RequestGate.checkAgain(replacement, settings: settings))
      let old = try? request.target.resolve(against: nil)
      let new = try? checked.target.resolve(against: nil)
      if old?.isSecure == true, new?.isSecure == false, !policy.allowsDowngrade {
        let message = "a redirect from https to http (\(checked.target)) is not followed"
        throw try await error(.redirectRefused, message, response, request, context)
      }
      guard let old, let new, old.origin != new.origin else { return checked }
      return Self.strip(checked, comingFrom: request, old, new)
    }
  }

  /// Removes the fields that a replacement only carried over to another origin.
  ///
  /// Fields with a value other than in the previous request are kept, because the program set them anew.
  @inline(never) private static func strip(
    _ replacement: HTTPRequest, comingFrom request: HTTPRequest, _ old: AbsoluteURL, _ new: AbsoluteURL
  ) -> HTTPRequest {
    var stripped = replacement
    Redirection.dropCredentials(of: &stripped)
    if replacement.headers["Referer"] == request.headers["Referer"] {
      Referrer.keepModest(&stripped.headers, redirectedFrom: old, to: new)
    }
    stripped.headers.remove("Host")
    for name in ["Authorization", "Cookie", "Proxy-Authorization", "Host"] {
      guard let value = replacement.headers[name], value != request.headers[name] else { continue }
      stripped.headers[name] = value
    }
    return stripped
  }

  @inline(never) private func record(_ status: HTTPStatus, from: HTTPRequest, to: HTTPRequest, _ call: Call) {
    guard let source = from.url, let destination = to.url else { return }
    call.record(HTTPResponse.Redirect(status: status, method: from.method, from: source, to: destination))
  }

  @inline(never) private func error(
    _ kind: HTTPError.Kind, _ message: String, _ response: StreamedResponse, _ request: HTTPRequest,
    _ context: RequestContext
  ) async throws -> HTTPError {
    let (body, isWhole) = try await response.body.read(upTo: context.call.options.maximumErrorBodyBytes)
    var whole = response.whole(body, asked: context.call.request, decoder: nil)
    if !isWhole { whole.isBodyTruncated = true }
    whole.redirects = context.call.redirects
    whole.attempts = context.call.attempts
    return HTTPError(kind, message, request: request, response: whole)
  }
}

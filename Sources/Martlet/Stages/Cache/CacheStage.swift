import Foundation

/// Answers from what is stored, asks whether it still holds, and stores what comes (RFC 9111).
///
/// What to do is decided by ``CacheDecision``, what may be stored by ``CacheRules``: here it is only done.
struct CacheStage: Stage {
  let cache: ResponseCache

  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let call = context.call
    guard let url = try? request.target.resolve(against: call.settings.configuration.baseURL, adding: request.query)
    else { return try await next(request, context) }
    guard request.method == .get || request.method == .head, request.body == nil else {
      return try await change(request, url, context, next)
    }
    guard !call.options.cache.isSuperset(of: .off) else { return try await next(request, context) }
    let visit = CacheVisit(cache: cache, request: request, url: url.requestString, context: context, next: next)
    return try await visit.run()
  }

  /// Sends what may change something, and forgets what that makes worthless (RFC 9111 §4.4).
  private func change(
    _ request: HTTPRequest, _ url: AbsoluteURL, _ context: RequestContext, _ next: Next
  ) async throws -> StreamedResponse {
    let sentAt = context.call.settings.configuration.now()
    var response = try await next(request, context)
    guard !request.method.isSafe, 200..<400 ~= response.status.rawValue, !cache.isOff else { return response }
    if !cache.isSurelyEmpty {
      // What the request changed, what it made, and what it was about; only of the same origin.
      var others: [AbsoluteURL] = [url]
      for name in ["Location", "Content-Location"] {
        guard let value = response.headers[name], let other = try? url.resolving(value),
          other.origin == url.origin
        else { continue }
        others.append(other)
      }
      for other in Set(others.map(\.requestString)) { try? await cache.invalidate(other) }
    }
    // The response may be one to a later GET, if it says so (RFC 9110 §9.3.3).
    guard request.method == .post, response.status == .ok, Self.describes(url, response) else { return response }
    let visit = CacheVisit(cache: cache, request: request, url: url.requestString, context: context, next: next)
    response = await visit.stored(response, askedAt: sentAt, previous: nil, lease: nil)
    return response
  }

  /// Whether a response says that it is what a `GET` of the URL would have got, and for how long.
  private static func describes(_ url: AbsoluteURL, _ response: StreamedResponse) -> Bool {
    guard let value = response.headers["Content-Location"],
      let place = try? url.resolving(value), place.requestString == url.requestString
    else { return false }
    return CacheControl(response.headers).has("max-age") || response.headers.contains("Expires")
  }
}

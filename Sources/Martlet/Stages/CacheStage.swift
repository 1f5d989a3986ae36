import Foundation

/// Serves stored responses, revalidates them, and stores new ones (RFC 9111).
///
/// ``CacheDecision`` decides how to serve a request, and ``CacheRules`` what may be stored. The stage carries that out.
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

  /// Sends an unsafe request, and invalidates the stored responses that it affects (RFC 9111 §4.4).
  private func change(
    _ request: HTTPRequest, _ url: AbsoluteURL, _ context: RequestContext, _ next: Next
  ) async throws -> StreamedResponse {
    let sentAt = context.call.settings.configuration.now()
    var response = try await next(request, context)
    guard !request.method.isSafe, 200..<400 ~= response.status.rawValue, !cache.isOff else { return response }
    if !cache.isSurelyEmpty {
      // Invalidate the request's URL and, on the same origin, those of `Location` and `Content-Location`.
      var others: [AbsoluteURL] = [url]
      for name in ["Location", "Content-Location"] {
        guard let value = response.headers[octets: name], let other = try? url.resolving(octets: value),
          other.origin == url.origin
        else { continue }
        others.append(other)
      }
      for other in Set(others.map(\.requestString)) { try? await cache.invalidate(other) }
    }
    // A POST response with explicit freshness and a matching Content-Location may serve a later GET (RFC 9110 §9.3.3).
    guard request.method == .post, response.status == .ok, Self.describes(url, response) else { return response }
    let visit = CacheVisit(cache: cache, request: request, url: url.requestString, context: context, next: next)
    response = await visit.stored(response, askedAt: sentAt, previous: nil, lease: nil)
    return response
  }

  /// Whether a response represents a `GET` of the URL, with explicit freshness.
  private static func describes(_ url: AbsoluteURL, _ response: StreamedResponse) -> Bool {
    guard let value = response.headers[octets: "Content-Location"],
      let place = try? url.resolving(octets: value), place.requestString == url.requestString
    else { return false }
    return CacheControl(response.headers).has("max-age") || response.headers.contains("Expires")
  }
}

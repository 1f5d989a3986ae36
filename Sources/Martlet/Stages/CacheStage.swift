import MartletBase

/// Serves stored responses, revalidates them, and stores new ones (RFC 9111).
///
/// ``CacheDecision`` decides how to serve a request, and ``CacheRules`` what may be stored. The stage carries that out.
struct CacheStage: Stage {
  let cache: ResponseCache

  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    guard hop.method == .get || hop.method == .head, hop.body == nil else {
      return try await hop.method == .query ? query(hop, context, next) : change(hop, context, next)
    }
    guard !context.call.options.cache.isSuperset(of: .off) else { return try await next(hop, context) }
    return try await CacheTransaction(cache: cache, hop: hop, context: context, next: next).run()
  }

  /// Serves a `QUERY`, whose content is part of the key (RFC 10008 §2.7).
  private func query(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let policy = context.call.options.cache
    guard !policy.isSuperset(of: .off) else { return try await next(hop, context) }
    // A range would select a part of the result, which the cache cannot combine with others.
    let isCached = !cache.isOff && !hop.headers.contains("Range")
    if isCached, let content = CacheContent(hop.body, hop.headers) {
      return try await CacheTransaction(cache: cache, hop: hop, context: context, next: next, content: content).run()
    }
    guard policy.contains(.onlyCached) || CacheControl(hop.headers).has("only-if-cached") else {
      return try await next(hop, context)
    }
    context.call.explain(.cache(.fail(.notStored), nil))
    return try CacheTransaction(cache: cache, hop: hop, context: context, next: next).refusal(.notStored)
  }

  /// Sends an unsafe request, and invalidates the stored responses that it affects (RFC 9111 §4.4).
  private func change(
    _ hop: Hop, _ context: RequestContext, _ next: Next
  ) async throws -> StreamedResponse {
    let sentAt = context.call.settings.configuration.now()
    let url = hop.url
    let response = try await next(hop, context)
    guard !hop.method.isSafe, 200..<400 ~= response.status.rawValue, !cache.isOff else { return response }
    if !cache.isSurelyEmpty {
      // Invalidate the request's URL and, on the same origin, those of `Location` and `Content-Location`.
      let others = ["Location", "Content-Location"].compactMap { response.headers[octets: $0] }
        .compactMap { try? url.resolving(octets: $0) }.filter { $0.origin == url.origin }
      for other in Set(([url] + others).map(\.requestString)) { try? await cache.invalidate(other) }
    }
    // A POST response with explicit freshness and a matching Content-Location may serve a later GET (RFC 9110 §9.3.3).
    guard hop.method == .post, response.status == .ok, Self.describes(url, response) else { return response }
    return await CacheTransaction(cache: cache, hop: hop, context: context, next: next)
      .received(response, askedAt: sentAt, previous: nil, lease: nil)
  }

  /// Whether a response represents a `GET` of the URL, with explicit freshness.
  private static func describes(_ url: AbsoluteURL, _ response: StreamedResponse) -> Bool {
    guard let value = response.headers[octets: "Content-Location"],
      let place = try? url.resolving(octets: value), place.requestString == url.requestString
    else { return false }
    return CacheControl(response.headers).has("max-age") || response.headers.contains("Expires")
  }
}

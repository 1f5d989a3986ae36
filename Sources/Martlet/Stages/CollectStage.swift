/// Reads bodies that the caller wants whole, and bodies that are not delivered.
///
/// The stage is below ``RetryStage``, so a truncated body is a failed attempt. ``ClientCore`` applies the same limits
/// to bodies that middleware above the stage creates.
struct CollectStage: Stage {
  /// The number of body bytes to keep of a redirect.
  private static let redirectBodyBytes = 64 << 10

  /// Whether the caller reads the body of an accepted response.
  let isStreamed: Bool

  @inline(__always)
  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    try await limited(try await next(hop, context), context.call)
  }

  /// Reads the body up to its limit, or leaves it to the caller.
  @inline(__always)
  func limited(_ streamed: StreamedResponse, _ call: Call) async throws -> StreamedResponse {
    var response = streamed
    guard let (limit, isHard) = limit(for: response, call.options) else { return response }
    if isHard {
      do {
        response.body = ResponseBody(try await response.body.whole(upTo: limit))
      } catch let error as HTTPError where error.kind == .bodyTooLarge {
        call.decided("limit.bodyBytes", "the body exceeds \(limit) bytes")
        throw error
      }
    } else {
      let wasTruncated = response.isBodyTruncated
      try await response.truncateBody(upTo: limit)
      if response.isBodyTruncated, !wasTruncated, Self.redirectLimit(for: response, call.options) == nil {
        call.decided("limit.errorBodyBytes", "only the first \(limit) bytes of the body were kept")
      }
    }
    return response
  }

  /// The body limit, and whether exceeding it is an error; `nil` leaves the body to the caller.
  private func limit(for response: StreamedResponse, _ options: ResolvedOptions) -> (Int, isHard: Bool)? {
    if let limit = Self.redirectLimit(for: response, options) { return (limit, false) }
    switch options.accepts.accepts(response.status) {
    case false?: return (options.maximumErrorBodyBytes, false)
    case true? where isStreamed: return nil
    case nil, true?: return (options.maximumBodyBytes, true)
    }
  }

  /// The body limit of a response that is not delivered.
  static func errorLimit(for response: StreamedResponse, _ options: ResolvedOptions) -> Int {
    redirectLimit(for: response, options) ?? options.maximumErrorBodyBytes
  }

  /// The body limit of a redirect that is followed; `nil` for other responses.
  static func redirectLimit(for response: StreamedResponse, _ options: ResolvedOptions) -> Int? {
    let redirects = options.redirects
    // With `ask`, the program may want the complete redirect.
    guard redirects.isFollowing, redirects.ask == nil else { return nil }
    return Redirection.location(response.status, response.headers) == nil ? nil : redirectBodyBytes
  }
}

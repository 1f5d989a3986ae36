/// Reads the body where the caller wants it whole, and the body of what will not be delivered.
///
/// It stands below the retries, so that a body that breaks off counts as a failed attempt.
struct CollectStage: Stage {
  /// What is kept of the body of a redirect.
  private static let redirectBodyBytes = 64 << 10

  /// Whether the caller reads the body of an accepted response.
  let isStreamed: Bool

  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    var response = try await next(request, context)
    let call = context.call
    guard let (limit, isHard) = limit(for: response, call.options) else { return response }
    if isHard {
      response.body = ResponseBody(try await response.body.collect(upTo: limit))
    } else {
      try await response.truncateBody(upTo: limit)
    }
    return response
  }

  /// How much to read, and whether more than that is an error; `nil` leaves the body to the caller.
  private func limit(for response: StreamedResponse, _ options: ResolvedOptions) -> (Int, isHard: Bool)? {
    if let limit = Self.redirectLimit(for: response, options) { return (limit, false) }
    switch options.accepts.accepts(response.status) {
    case false?: return (options.maximumErrorBodyBytes, false)
    case true? where isStreamed: return nil
    case nil, true?: return (options.maximumBodyBytes, true)
    }
  }

  /// How much to read of a response that only says where to go; `nil` if it is another one.
  static func redirectLimit(for response: StreamedResponse, _ options: ResolvedOptions) -> Int? {
    let redirects = options.redirects
    // Who is asked may want the redirect itself, whole.
    guard redirects.isFollowing, redirects.ask == nil else { return nil }
    return Redirection.location(response.status, response.headers) == nil ? nil : redirectBodyBytes
  }
}

/// Reads the body where the caller wants it whole, and the body of what will not be delivered.
///
/// It stands below the retries, so that a body that breaks off counts as a failed attempt.
struct CollectMiddleware: Stage {
  /// What is kept of the body of a redirect.
  private static let redirectBodyBytes = 64 << 10

  let delivery: Pipeline.Delivery

  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    var response = try await next(request, context)
    let call = context.call
    guard let (limit, isHard) = limit(for: response, call.options) else { return response }
    guard limit > 0 || isHard else {
      response.body = ResponseBody()
      return response
    }
    let (data, isWhole) = try await response.body.read(upTo: limit)
    if isHard && !isWhole {
      throw HTTPError(.bodyTooLarge, "the body is larger than \(limit) bytes", phase: .receiving)
    }
    response.body = ResponseBody(data)
    return response
  }

  /// How much to read, and whether more than that is an error; `nil` leaves the body to the caller.
  private func limit(for response: StreamedResponse, _ options: ResolvedOptions) -> (Int, isHard: Bool)? {
    let redirects = options.redirects
    // Who is asked may want the redirect itself, whole.
    if redirects.isFollowing, redirects.ask == nil, Redirection.location(response.status, response.headers) != nil {
      return (Self.redirectBodyBytes, false)
    }
    switch (options.accepts.accepts(response.status), delivery) {
    case (false?, _): return (options.errorBodyBytes, false)
    case (true?, .stream): return nil
    case (nil, .stream), (_, .whole): return (options.maximumBodyBytes, true)
    }
  }
}

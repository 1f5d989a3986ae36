import MartletBase

/// Serves a stored response when all attempts have failed (RFC 5861 §4).
///
/// A failure is a missing connection, a timeout, a load limit, an open circuit, or a 5xx. The stage is above
/// ``RetryStage``; ``CacheStage`` offers the stored response during an attempt.
struct FallbackStage: Stage {
  let cache: ResponseCache

  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    guard hop.method == .get || hop.method == .head || hop.method == .query, !cache.isSurelyEmpty else {
      return try await next(hop, context)
    }
    let box = Fallback()
    var context = context
    context.fallback = box
    // Breaks a reference cycle: the context of the offered transaction refers to the box.
    defer { box.forget() }
    var result = await Result.awaiting { try await next(hop, context) }
    try standIn(for: &result, box, context.abortSource)
    return try result.get()
  }

  /// Replaces a failure with the stored response, if that is allowed.
  private func standIn(
    for result: inout Result<StreamedResponse, any Error>, _ box: Fallback, _ abortSource: AbortSource
  ) throws {
    let reason: HTTPError
    switch result {
    case .success(let response):
      guard response.status.rawValue >= 500, response.source == .network else { return }
      reason = HTTPError(
        .status, "\(response.status.rawValue) \(response.status.reasonPhrase)", request: response.request)
    case .failure(let error as HTTPError)
    where error.isConnectivity || error.isTimeout || error.isLoadLimit:
      // A call that was aborted, for example by its total limit, already has its error.
      try abortSource.check()
      reason = error
    case .failure: return
    }
    guard var answer = box.answer() else { return }
    answer.fallbackReason = reason
    result = .success(answer)
  }
}

/// Uses what is stored when all attempts have failed: without a connection, in time, or with 5xx (RFC 5861 §4).
///
/// It stands above the retries. What may be used the stage of the cache has found on the way down.
struct FallbackMiddleware: Stage {
  let cache: ResponseCache

  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    guard request.method == .get || request.method == .head, !cache.isSurelyEmpty else {
      return try await next(request, context)
    }
    let box = Fallback()
    var context = context
    context.fallback = box
    let reason: HTTPError
    do {
      let response = try await next(request, context)
      guard response.status.rawValue >= 500, response.source == .network, box.mayStandIn else { return response }
      reason = HTTPError(
        .status, "\(response.status.rawValue) \(response.status.reasonPhrase)", request: response.request)
    } catch let error as HTTPError where error.isConnectivity || error.isTimeout {
      // A call that was ended, by its total limit too, has its end already.
      try context.call.abortSource.check()
      guard box.mayStandIn else { throw error }
      reason = error
    }
    guard var answer = box.answer else { throw reason }
    answer.fallbackReason = reason
    return answer
  }
}

/// Where the cache leaves word of what may be used if the server does not answer.
final class Fallback: Sendable {
  private let offered = Locked<(visit: CacheVisit, candidate: CacheCandidate)?>(nil)

  func offer(_ visit: CacheVisit, _ candidate: CacheCandidate) { offered.withLock { $0 = (visit, candidate) } }

  var mayStandIn: Bool {
    guard let (visit, candidate) = offered.withLock({ $0 }) else { return false }
    return visit.mayStandIn(candidate)
  }

  var answer: StreamedResponse? {
    offered.withLock { $0 }.map { $0.visit.answer($0.candidate, .fallback, .unreachable) }
  }
}

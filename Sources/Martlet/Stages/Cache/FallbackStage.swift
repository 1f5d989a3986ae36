import MartletBase

/// Uses what is stored when all attempts have failed: without a connection, in time, or with 5xx (RFC 5861 §4).
///
/// It stands above the retries. What may be used the stage of the cache has found on the way down.
struct FallbackStage: Stage {
  let cache: ResponseCache

  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    guard request.method == .get || request.method == .head, !cache.isSurelyEmpty else {
      return try await next(request, context)
    }
    let box = Fallback()
    var context = context
    context.fallback = box
    // What it was offered knows it, too.
    defer { box.forget() }
    var result: Result<StreamedResponse, any Error>
    do { result = .success(try await next(request, context)) } catch { result = .failure(error) }
    try standIn(for: &result, box, context.call)
    return try result.get()
  }

  /// Puts what is stored in the place of a failure, if it may be used.
  ///
  /// Not inlined: an asynchronous function keeps room for all that is in it as long as a request waits.
  @inline(never) private func standIn(
    for result: inout Result<StreamedResponse, any Error>, _ box: Fallback, _ call: Call
  ) throws {
    let reason: HTTPError
    switch result {
    case .success(let response):
      guard response.status.rawValue >= 500, response.source == .network, box.mayStandIn else { return }
      reason = HTTPError(
        .status, "\(response.status.rawValue) \(response.status.reasonPhrase)", request: response.request)
    case .failure(let error as HTTPError) where error.isConnectivity || error.isTimeout:
      // A call that was ended, by its total limit too, has its end already.
      try call.abortSource.check()
      guard box.mayStandIn else { return }
      reason = error
    case .failure: return
    }
    guard var answer = box.answer else { throw reason }
    answer.fallbackReason = reason
    result = .success(answer)
  }
}

/// Where the cache leaves word of what may be used if the server does not answer.
final class Fallback: Sendable {
  private let offered = Locked<(visit: CacheVisit, candidate: CacheCandidate)?>(nil)

  func offer(_ visit: CacheVisit, _ candidate: CacheCandidate) { offered.withLock { $0 = (visit, candidate) } }

  func forget() {
    let offered = offered.withLock { offered in
      defer { offered = nil }
      return offered
    }
    // Released after unlocking.
    _ = offered
  }

  var mayStandIn: Bool {
    guard let (visit, candidate) = offered.withLock({ $0 }) else { return false }
    return visit.mayStandIn(candidate)
  }

  var answer: StreamedResponse? {
    offered.withLock { $0 }.map { $0.visit.answer($0.candidate, .fallback, .unreachable) }
  }
}

import MartletBase

/// Serves a stored response when all attempts have failed (RFC 5861 §4).
///
/// A failure is a missing connection, a timeout, a limit on the load of the server, an open circuit, or a 5xx. The stage is above ``RetryStage``; ``CacheStage`` offers the
/// stored response during an attempt.
struct FallbackStage: Stage {
  let cache: ResponseCache

  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    guard request.method == .get || request.method == .head, !cache.isSurelyEmpty else {
      return try await next(request, context)
    }
    let box = Fallback()
    var context = context
    context.fallback = box
    // Breaks a reference cycle: the context of the offered transaction refers to the box.
    defer { box.forget() }
    var result: Result<StreamedResponse, any Error>
    do { result = .success(try await next(request, context)) } catch { result = .failure(error) }
    try standIn(for: &result, box, context.call)
    return try result.get()
  }

  /// Replaces a failure with the stored response, if that is allowed.
  ///
  /// Not inlined: an async function reserves memory for its inlined callees while it waits.
  @inline(never) private func standIn(
    for result: inout Result<StreamedResponse, any Error>, _ box: Fallback, _ call: Call
  ) throws {
    let reason: HTTPError
    switch result {
    case .success(let response):
      guard response.status.rawValue >= 500, response.source == .network, box.mayStandIn else { return }
      reason = HTTPError(
        .status, "\(response.status.rawValue) \(response.status.reasonPhrase)", request: response.request)
    case .failure(let error as HTTPError)
    where error.isConnectivity || error.isTimeout || error.isLoadLimit:
      // An aborted call, for example by its total limit, has its error already.
      try call.abortSource.check()
      guard box.mayStandIn else { return }
      reason = error
    case .failure: return
    }
    guard var answer = box.answer else { throw reason }
    answer.fallbackReason = reason
    if let freshness = box.freshness { call.note(.cache(.fallback(freshness))) }
    result = .success(answer)
  }
}

/// The stored response that the cache offers as a fallback if the server fails.
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

  /// The age and the lifetime of the offered response.
  var freshness: Explanation.Freshness? {
    offered.withLock { $0 }.map { .init(Freshness($0.candidate.entry, at: $0.visit.now)) }
  }

  var answer: StreamedResponse? {
    offered.withLock { $0 }.map { $0.visit.answer($0.candidate, .fallback, .unreachable) }
  }
}

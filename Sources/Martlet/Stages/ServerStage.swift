import MartletBase

/// Records whether a server of the cluster responds.
///
/// The stage is right above the load limits, so it sees the failures of the server only, and not those of other stages.
struct ServerStage: Stage {
  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    // Middleware may have changed the destination.
    guard let use = context.server, hop.url.isLocated(at: use.url) else { return try await next(hop, context) }
    do {
      let response = try await next(hop, context)
      context.servers?.record(response.status, attempt: context.attempt)
      record(Self.outcome(of: response.status), use, context.call)
      return response
    } catch let error as HTTPError {
      context.servers?.record(error, attempt: context.attempt)
      if error.concernsServer {
        record(.failure(error, isUnreached: error.isUnreached), use, context.call)
      }
      throw error
    }
  }

  /// The outcome of a response: a gateway that cannot reach its server counts as one that does not respond.
  static func outcome(of status: HTTPStatus) -> ServerTable.Outcome {
    guard (502...504).contains(status.rawValue) else { return .response }
    return .failure(HTTPError(.status, "\(status.rawValue) \(status.reasonPhrase)"), isUnreached: false)
  }

  private func record(_ outcome: ServerTable.Outcome, _ use: ServerUse, _ call: Call) {
    guard let pause = use.respond(outcome, random: call.settings.configuration.random()) else { return }
    let origin = use.url.origin
    call.decided("cluster.leftOut", "\(origin) is left out for \(pause.shown): its last requests failed")
  }
}

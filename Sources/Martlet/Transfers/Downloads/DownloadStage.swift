import MartletBase

/// Writes the body to a file instead of collecting it.
///
/// It runs below the retries, so each attempt resumes where the last one stopped.
struct DownloadStage: Stage {
  let job: DownloadJob
  let role: DownloadJob.Role

  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let options = context.call.options
    while let work = job.take(role) {
      defer { job.requeue(work) }
      var part = hop
      part.headers = work.headers(from: hop.headers)
      var response = try await next(part, context)
      let isAccepted = options.accepts.accepts(response.status) ?? true
      let isForFile = isAccepted || work.isRange && response.status == 416
      guard isForFile, try await job.receive(response, from: context.servers?.ownServer, for: work, role) else {
        try await response.truncateBody(upTo: CollectStage.errorLimit(for: response, options))
        return response
      }
    }
    return job.head ?? StreamedResponse(status: .noContent, request: hop.request)
  }
}

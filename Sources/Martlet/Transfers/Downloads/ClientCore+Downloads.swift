import MartletBase

/// The parameters of a download besides its request.
struct DownloadParameters: Sendable {
  var destination: URL?
  var options: DownloadOptions
  var progress: (@Sendable (TransferProgress) -> Void)?
}

extension ClientCore {
  /// Downloads a file for a task that awaits it.
  @concurrent func download(
    _ request: HTTPRequest, _ order: DownloadParameters, options: RequestOptions
  ) async throws -> DownloadedFile {
    let call = try begin(request, options: options, isManaged: false)
    defer { call.endLeftovers() }
    return try await call.awaited { try await fetch(call, order) }
  }

  /// Performs a download: opens its part file, fetches the bytes, names the file.
  func fetch(_ call: Call, _ order: DownloadParameters) async throws -> DownloadedFile {
    try await ending(call) {
      try check(call.request, order)
      let url = call.first.url
      let place = try DownloadDestination(order.destination, of: url, order.options)
      let part = try await PartFile.open(
        place.partPath, url: url.requestString, partition: call.settings.partition.authority,
        resume: order.options.resume)
      part.change { $0.name = place.path.map { DiskCalls.split($0).name } }
      let job = DownloadJob(
        part, order.options, isResumable: call.request.method == .get,
        DownloadProgress(timeline, order.progress))
      do {
        try await fill(job, call)
        var file = try await job.finish(at: place, asked: call.request, coders: call.settings.configuration.coders)
        let response = file.response
        file.response.explanation = call.explanation
        return (file, response, response.status, response.source)
      } catch {
        job.leave(isKept: place.isFindable && order.options.resume != .never)
        throw error
      }
    }
  }

  /// Checks a download before anything is sent.
  private func check(_ request: HTTPRequest, _ order: DownloadParameters) throws {
    do throws(InvalidInput) {
      if let problem = order.options.problem { throw problem }
      for name in ["Range", "If-Range"] where request.headers.contains(name) {
        throw InvalidInput("the header '\(name)' is set by the download itself: remove it")
      }
      if request.method == .head { throw InvalidInput("a HEAD request has no body to download") }
    } catch {
      throw HTTPError(.invalidRequest, error.message, request: request)
    }
  }

  private func fill(_ job: DownloadJob, _ call: Call) async throws {
    while true {
      let response = try await Pipeline.run(call, .own(DownloadStage(job: job, role: .first)))
      if !job.isComplete && !job.isSplit { throw try await refusal(response, call) }
      if job.isComplete { return try judge(job, call) }
      do {
        try await share(job, call)
      } catch is DownloadJob.RangeMissing {}
      if job.isComplete { return try judge(job, call) }
      // Its next request shows whether the file has changed.
      job.continueAlone()
    }
  }

  /// Fetches the missing bytes over several connections, as far as the server allows that.
  private func share(_ job: DownloadJob, _ call: Call) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<job.options.segments { group.addTask { try await self.fetchSegments(job, call) } }
      // The first error cancels the others, which `waitForAll` would not do.
      for try await _ in group {}
    }
  }

  /// Fetches segments over one of several connections, each segment with a separate call.
  ///
  /// A refused or broken connection returns its segment, which the other connections or the call itself then fetch.
  private func fetchSegments(_ job: DownloadJob, _ call: Call) async throws {
    while job.hasWork {
      do {
        try await fetchSegment(job, call)
      } catch {
        try call.abortSource.check()
        switch error {
        case is CancellationError: throw error
        case let error as DownloadJob.RangeMissing where error.isOfOtherVersion: throw error
        case let error as HTTPError where error.kind == .fileFailed || error.kind == .bodyTooLarge: throw error
        default: return
        }
      }
    }
  }

  private func fetchSegment(_ job: DownloadJob, _ call: Call) async throws {
    try call.abortSource.check()
    var options = call.options.source
    options.onProgress = nil
    let helper = try begin(call.request, options: options, isManaged: false)
    let token = call.abortSource.onAbort { helper.abort($0) }
    defer {
      call.abortSource.remove(token)
      helper.endLeftovers()
    }
    try await helper.awaited {
      try await ending(helper) {
        let response = try await Pipeline.run(helper, .own(DownloadStage(job: job, role: .helper)))
        guard response.status.isSuccess else { throw try await refusal(response, helper) }
        return ((), nil, response.status, response.source)
      }
    }
  }

  /// The error of a response that does not contain the file.
  private func refusal(_ streamed: StreamedResponse, _ call: Call) async throws -> HTTPError {
    var streamed = streamed
    // The stage has truncated the body, unless middleware has replaced it with one that may be large or never end.
    if !call.settings.isAbortAware { streamed.body = streamed.body.abortable(call.abortSource) }
    try await streamed.truncateBody(upTo: CollectStage.errorLimit(for: streamed, call.options))
    let response = streamed.whole(
      streamed.body.immediate ?? Data(), asked: call.request, coders: call.settings.configuration.coders)
    return call.refusal(of: response)
  }

  /// Applies the caller's closure to the response without its body.
  private func judge(_ job: DownloadJob, _ call: Call) throws {
    guard case .response(let isAccepted) = call.options.accepts.rule, let head = job.head else { return }
    let response = head.whole(Data(), asked: call.request, coders: call.settings.configuration.coders)
    guard try isAccepted(response) else { throw call.refusal(of: response) }
  }
}

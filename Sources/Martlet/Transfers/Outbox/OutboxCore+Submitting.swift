import MartletBase
import Foundation

extension ClientCore {
  @concurrent func outbox(at directory: URL, _ options: Outbox.Options) async throws -> Outbox {
    if let problem = options.problem { throw HTTPError(.invalidRequest, problem) }
    guard directory.isFileURL else { throw HTTPError(.file, "the folder of an outbox needs a file URL") }
    let journal = try await onFileQueue { () throws(HTTPError) in try OutboxJournal(directory) }
    let core = OutboxCore(self, journal, options)
    let loop = OutboxLoop(core)
    try await loop.open()
    try enter(core)
    // The task runs until the outbox is closed, or released and empty.
    Task {
      await TraceContext.$current.withValue(nil) { await Deadline.$current.withValue(nil) { await loop.run() } }
    }
    return Outbox(core)
  }
}

extension OutboxCore {
  func ask<Answer: Sendable>(_ message: (Promise<Answer>) -> Message) async throws -> Answer {
    let answer = Promise<Answer>()
    let message = message(answer)
    if !post(message) { refuse(message) }
    return try await answer.take()
  }

  @concurrent func submit(_ asked: HTTPRequest, key: String?) async throws -> UUID {
    let id = UUID()
    var asked = asked
    let encoder = client.settings.configuration.encoder
    asked.encodeBody(with: encoder)
    for spool in asked.body?.content.emptySpools ?? [] { try await spool.fill(encoder) }
    if !asked.headers.contains("Idempotency-Key") { asked.headers["Idempotency-Key"] = "\"\(id.uuidString)\"" }
    let (request, url) = try check(asked)
    var headers = asked.headers
    for name in ["Content-Type", "Content-Encoding"] where !headers.contains(name) {
      headers[name] = request.headers[name]
    }
    let body = try await OutboxBody.store(request.body, of: id, in: journal.folder, limit: options.maximumBytes)
    do {
      let entry = OutboxEntry(
        id: id, key: key, host: url.origin.description, bodyLength: body.length, submittedAt: now)
      let contents = OutboxContents(
        method: request.method.rawValue, url: url.requestString, headers: headers, body: body.bytes)
      let line = try OutboxLine(.submitted(entry), contents)
      guard line.bytes.count <= OutboxLine.maximumBytes else {
        throw HTTPError(.invalidRequest, "the header fields are larger than an outbox stores", request: asked)
      }
      try await ask { .submit(line, $0) } as Void
      return id
    } catch {
      body.discard()
      throw error
    }
  }

  /// Checks a request as if it were sent.
  private func check(_ asked: HTTPRequest) throws -> (HTTPRequest, url: AbsoluteURL) {
    let settings = client.settings
    let options = ResolvedOptions(options.request.over(settings.configuration.options))
    let (hop, _) = try RequestGate.admit(asked, settings: settings, options: options, credential: nil)
    guard hop.url.user == nil else {
      throw HTTPError(
        .invalidRequest, "the URL has a user name, and its password would be stored; set the client's credential",
        request: asked)
    }
    return (hop.request, hop.url)
  }

  func close(within timeout: Duration?) async {
    beginClosing()
    guard let timeout else { return await closed() }
    if await !isClosed(within: timeout) {
      abort()
      _ = await isClosed(within: ClientCore.workPatience)
    }
  }

  /// Waits for the end of the loop, up to a limit; returns whether it has ended.
  func isClosed(within limit: Duration) async -> Bool {
    try? await race([{ await self.closed() }, { [client] in try await client.timeline.pause(limit) }])
    return shared.withLock { $0.isOver }
  }
}

import Martlet
import MartletBase

extension OutboxCore {
  /// The minimum time for cancelled requests and file operations to end.
  private static let patience = Duration.seconds(2)

  @concurrent static func open(
    _ client: HTTPClient, at directory: URL, _ options: Outbox.Options
  ) async throws -> Outbox {
    if let problem = options.problem { throw HTTPError(.invalidRequest, problem) }
    guard directory.isFileURL else { throw HTTPError(.fileFailed, "the folder of an outbox needs a file URL") }
    let journal = try await onFileQueue { () throws(HTTPError) in try OutboxJournal(directory) }
    let core = OutboxCore(client, journal, options)
    let loop = OutboxLoop(core)
    try await loop.open()
    try client.attach(core)
    // The task runs until the outbox is closed, or released and empty.
    Task {
      await TraceContext.$current.withValue(nil) { await Deadline.$current.withValue(nil) { await loop.run() } }
    }
    return Outbox(core)
  }

  func ask<Answer: Sendable>(_ message: (Promise<Answer>) -> Message) async throws -> Answer {
    let answer = Promise<Answer>()
    let message = message(answer)
    if !post(message) { refuse(message) }
    return try await answer.take()
  }

  @concurrent func submit(_ asked: HTTPRequest, key: String?) async throws -> UUID {
    let id = UUID()
    var asked = asked
    if !asked.headers.contains("Idempotency-Key") { asked.headers["Idempotency-Key"] = "\"\(id.uuidString)\"" }
    let request = try await client.prepare(asked, options: options.request)
    let body = try await OutboxBody.store(request.body, of: id, in: journal.folder, limit: options.maximumBytes)
    do {
      let entry = OutboxEntry(
        id: id, key: key, host: request.url.map(Self.origin) ?? "", bodyLength: body.length, submittedAt: now)
      let contents = OutboxContents(
        method: request.method.rawValue, url: request.url?.absoluteString ?? "", headers: request.headers,
        body: body.bytes)
      let line = try OutboxLine(.submitted(entry), contents)
      guard line.bytes.count <= OutboxLine.maximumBytes else {
        var error = HTTPError(.invalidRequest, "the header fields exceed the limit of an outbox")
        (error.method, error.url, error.redactedURL) = (request.method, request.url, "\(request.target)")
        throw error
      }
      try await ask { .submit(line, $0) } as Void
      return id
    } catch {
      body.discard()
      throw error
    }
  }

  /// The origin of a URL (RFC 9110 §4.3.1), with its port.
  private static func origin(_ url: URL) -> String {
    let (scheme, host) = (url.scheme ?? "", url.host(percentEncoded: true) ?? "")
    return "\(scheme)://\(host):\(url.port ?? (scheme == "https" ? 443 : 80))"
  }

  func finishDraining(within timeout: Duration?) async {
    beginDraining()
    guard let timeout else { return await closed() }
    if await !isClosed(within: timeout) {
      abort()
      _ = await isClosed(within: Self.patience)
    }
  }

  /// Waits for the end of the loop, up to a limit; returns whether it has ended.
  func isClosed(within limit: Duration) async -> Bool {
    try? await race([{ await self.closed() }, { [timeline] in try await timeline.pause(limit) }])
    return shared.withLock { $0.isOver }
  }
}

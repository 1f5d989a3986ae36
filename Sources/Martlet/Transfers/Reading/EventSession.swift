import MartletBase

/// The events of one reader, over all its connections.
///
/// ```
///   next ─▶ connecting ──200, an event stream──▶ reading ──an event──▶ next
///              │  ▲                                │
///            204  └──pause── ended, broken ◀───────┘
///              ▼              │ otherwise, see `EventRules`
///            over             ▼
///                     over, or the error
/// ```
final class EventSession {
  private let core: ClientCore
  private let request: HTTPRequest
  private let settings: ServerSentEvents.Options
  private let options: RequestOptions
  private var parser: EventParser
  private var pauses: EventPauses
  private var connection: StreamedCall?
  private var body: ResponseBody.AsyncIterator?
  /// Whether there has been a connection; later ones are reconnects.
  private var hasConnected = false
  private var isOver = false
  /// Whether the current connection has delivered an event.
  private var hasEvent = false
  /// The number of consecutive failed reconnects.
  private var failures = 0
  private var pause = Duration.zero
  /// The end of the total limit, if there is one; it covers all connections together.
  private var end: Duration?

  init(_ core: ClientCore, _ request: HTTPRequest, _ settings: ServerSentEvents.Options) {
    self.core = core
    self.request = request
    self.settings = settings
    options = settings.request.over(.timeout(nil))
    let id = settings.lastEventID.isEmpty ? request.headers["Last-Event-ID"] ?? "" : settings.lastEventID
    parser = EventParser(lastEventID: id, upTo: settings.maximumEventBytes)
    pauses = EventPauses(settings)
  }

  /// The next event, or `nil` after the last one.
  func next() async throws -> ServerSentEvents.Event? {
    if !hasConnected { try begin() }
    while !isOver {
      do {
        if var event = try parser.next() {
          hasEvent = true
          event.coders.value = core.settings.configuration.coders
          return event
        }
      } catch {
        guard let connection else { throw error }
        throw await connection.fail(error)
      }
      if let connection, body != nil {
        try await read(connection)
      } else {
        try await connect()
      }
    }
    return nil
  }

  private func begin() throws {
    if settings.maximumEventBytes < 1 {
      let message = "maximumEventBytes is \(settings.maximumEventBytes): at least 1"
      throw HTTPError(.invalidRequest, message, request: request)
    }
    guard case .set(let total?) = options.timeout.totalLimit else { return }
    end = core.timeline.now().adding(total)
  }

  // MARK: Reading

  private func read(_ connection: StreamedCall) async throws {
    do {
      guard var body else { return }
      // Taken out, so it is not copied while it is used: there is one reader.
      self.body = nil
      let piece = try await connection.next(&body)
      guard let piece else {
        isOver = rules.outcome(of: .complete) == .over
        return isOver ? () : planReconnect(after: connection)
      }
      self.body = body
      parser.push(piece)
    } catch let error as HTTPError {
      guard rules.outcome(of: .init(error, isReading: true)) == .reconnects, !isLate else { throw error }
      planReconnect(after: connection)
    }
  }

  private func planReconnect(after connection: StreamedCall) {
    if let asked = parser.pause { pauses.ask(for: asked) }
    let hasLasted = connection.elapsed - pause >= pauses.last
    // Comments and silence do not count: a server without events is not requested again and again.
    pause = pauses.next(wasOfUse: hasEvent && (hasLasted || !pauses.isHasty), random: random)
    // An event without a final blank line is dropped.
    parser = EventParser(lastEventID: parser.lastEventID, upTo: settings.maximumEventBytes)
    self.connection = nil
    hasEvent = false
    body = nil
  }

  // MARK: Connecting

  private func connect() async throws {
    do {
      let call = try await core.open(asked, options: limited, after: pause)
      try await take(call)
      hasConnected = true
      failures = 0
    } catch let error as HTTPError where rules.outcome(of: .init(error, isReading: false)) == .reconnects {
      failures += 1
      guard failures < settings.maximumFailures, !isLate else {
        var error = error
        error.message += " (\(failures) reconnects failed)"
        throw error
      }
      let asked = error.response.flatMap { $0.headers.retryAfter(now: core.settings.configuration.now()) }
      pause = pauses.next(wasOfUse: false, asked: asked, random: random)
    }
  }

  private func take(_ call: StreamedCall) async throws {
    let response = call.response
    switch response.status {
    case .noContent:
      try await call.succeed()
      isOver = true
    case .ok where response.contentType?.essence == "text/event-stream":
      connection = call
      body = response.body.makeAsyncIterator()
    case .ok:
      let type = response.headers["Content-Type"].map { "'\(InvalidInput.printable($0))'" } ?? "missing"
      throw await call.refuse(.decoding, "the Content-Type is \(type), not text/event-stream")
    default:
      throw await call.refuse(.status, "the status is \(response.status.rawValue), not 200 or 204")
    }
  }

  private var asked: HTTPRequest {
    var asked = request
    if !asked.headers.contains("Accept") { asked.headers["Accept"] = "text/event-stream" }
    // As Fetch does for an EventSource, whose cache mode is "no-store".
    for name in ["Cache-Control", "Pragma"] where !asked.headers.contains(name) { asked.headers[name] = "no-cache" }
    let id = parser.lastEventID
    // An identifier with a control character cannot be sent.
    asked.headers["Last-Event-ID"] = id.isEmpty || !FieldSyntax.isFieldValue(id) ? nil : id
    return asked
  }

  private var limited: RequestOptions {
    var limited = options
    limited.accepts = .statuses(200..<205)
    limited.cache = .off
    limited.coalesces = false
    // Reconnects are counted here: the policy is for the first connection.
    if hasConnected { limited.retry = .standard }
    if let end { limited.timeout.total = max(end - core.timeline.now(), .milliseconds(1)) }
    return limited
  }

  private var rules: EventRules {
    let options = options.over(core.settings.configuration.options)
    return EventRules(repeats: settings.repeats(request, options), isReconnect: hasConnected)
  }

  private var random: Double { core.settings.configuration.random() }

  private var isLate: Bool { end.map { core.timeline.now() >= $0 } ?? false }
}

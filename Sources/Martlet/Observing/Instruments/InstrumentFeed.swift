import Dispatch
import MartletBase

/// Delivers the events of a client's calls to its instruments, in order and without a lock.
final class InstrumentFeed: Sendable {
  /// The maximum number of waiting events.
  static let limit = 10_000

  private struct State {
    var waiting: [InstrumentEvent] = []
    var isTelling = false
    var dropped = 0
    var flushes: [Suspension<Void>] = []
  }

  let instruments: [any Instrument]
  private let state = Locked(State())
  private let queue = DispatchQueue(label: "martlet.instruments")

  /// `nil` without instruments.
  init?(_ instruments: [any Instrument]) {
    guard !instruments.isEmpty else { return nil }
    self.instruments = instruments
  }

  func tell(_ event: InstrumentEvent) {
    let isFirst = state.withLock { state in
      guard state.waiting.count < Self.limit else {
        state.dropped += 1
        return false
      }
      var event = event
      event.droppedCount = state.dropped
      state.dropped = 0
      state.waiting.append(event)
      defer { state.isTelling = true }
      return !state.isTelling
    }
    if isFirst { queue.async { self.deliver() } }
  }

  private func deliver() {
    while true {
      let (events, flushes): ([InstrumentEvent], [Suspension<Void>]) = state.withLock { state in
        defer { state.waiting = [] }
        guard state.waiting.isEmpty else { return (state.waiting, []) }
        state.isTelling = false
        defer { state.flushes = [] }
        return ([], state.flushes)
      }
      guard !events.isEmpty else {
        for flush in flushes { flush.resume() }
        return
      }
      for event in events {
        for instrument in instruments { instrument.observe(event) }
      }
    }
  }

  /// Waits until all events until now are delivered.
  func flush() async {
    try? await suspend { continuation in
      let isDone = state.withLock { state in
        guard state.isTelling else { return true }
        state.flushes.append(continuation)
        return false
      }
      if isDone { continuation.resume() }
    }
  }
}

extension Call {
  /// Tells the instruments, if there are any.
  func tellInstruments(_ kind: @autoclosure () -> InstrumentEvent.Kind) {
    guard let feed = settings.instruments, let instrumented else { return }
    feed.tell(InstrumentEvent(call: instrumented.value, time: elapsed, kind: kind()))
  }

  /// Announces an exchange; returns the request with the fields that instruments add.
  @inline(never) func instrument(
    _ request: HTTPRequest, _ context: RequestContext, number: Int
  ) throws -> HTTPRequest {
    guard let feed = settings.instruments, let instrumented else { return request }
    func exchange(_ request: HTTPRequest) -> InstrumentEvent.Exchange {
      InstrumentEvent.Exchange(
        call: instrumented.value, number: number, attempt: context.attempt, hop: context.hop, request: request,
        redactedURL: settings.redacted(request))
    }
    var sent = request
    for instrument in feed.instruments {
      let added = instrument.fields(for: exchange(sent)).filter { !sent.headers.contains($0.name) }
      for field in added { sent.headers.append(field.value, for: field.name) }
    }
    if !sent.headers.isIdentical(to: request.headers) {
      do throws(InvalidInput) { try FieldRules.check(sent.headers) } catch {
        throw HTTPError(.invalidRequest, "an instrument added an invalid field: \(error.message)", request: request)
      }
    }
    tellInstruments(.exchangeBegan(exchange(sent)))
    return sent
  }
}

extension ClientSettings {
  /// The redacted URL of a request.
  func redacted(_ request: HTTPRequest) -> String {
    guard let url = try? request.target.resolve(against: configuration.baseURL, adding: request.query) else {
      return request.target.description
    }
    return configuration.redaction.text(of: url)
  }
}

extension InstrumentEvent.Head {
  init(_ response: StreamedResponse) {
    self.init(
      status: response.status, headers: response.headers, reasonPhrase: response.reasonPhrase,
      httpVersion: response.httpVersion, connection: response.connection, timing: response.timing)
  }
}

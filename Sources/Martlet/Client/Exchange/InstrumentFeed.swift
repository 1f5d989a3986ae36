import MartletBase
import Synchronization

/// Delivers the events of a client's calls to its instruments, in order and without a lock.
final class InstrumentFeed: Sendable {
  /// The maximum time for which a client waits for its instruments.
  static let patience = Duration.seconds(5)

  let instruments: [any Instrument]
  /// The number of bytes of each body that are kept for an event.
  let maximumBodyBytes: Int
  private let events: DeliveryQueue<InstrumentEvent>

  /// The fields that an instrument must not add, because other stages have decided about them.
  fileprivate static let reserved: Set<String> = [
    "accept-encoding", "authorization", "cache-control", "connection", "cookie", "expect", "host", "if-match",
    "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "proxy-authorization", "range", "referer",
    "te",
  ]

  /// `nil` without instruments.
  init?(_ instruments: [any Instrument]) {
    guard !instruments.isEmpty else { return nil }
    self.instruments = instruments
    maximumBodyBytes = instruments.map(\.maximumBodyBytes).max() ?? 0
    // Waking the queue for each event would cost more than everything else.
    events = DeliveryQueue("martlet.instruments", maximumBytes: 64 << 20, delay: .milliseconds(5)) { event, dropped in
      guard var event else { return }
      event.droppedCount = dropped
      for instrument in instruments { instrument.observe(event) }
    }
  }

  /// Adds an event, without its bodies if those of undelivered events are too large.
  func deliver(_ event: InstrumentEvent) { events.add(event, bytes: event.bodyBytes, orSmaller: event.withoutBodies) }

  /// Waits until all events so far are delivered, up to a time limit, because an instrument may block.
  func flush(within limit: Duration) async { await events.flush(within: limit) }
}

/// The state of a call's instruments and trace; most calls have neither.
final class CallInstrumentation: Sendable {
  /// The call as instruments see it, if there are any.
  let shown: Boxed<InstrumentEvent.Call>?
  /// The trace of the task that began the call.
  let trace: TraceContext?
  /// The start of the call.
  let start: Duration
  private let exchanges = Atomic(0)

  init(
    _ id: RequestID, _ request: HTTPRequest, _ settings: ClientSettings, _ trace: TraceContext?, tag: String?,
    endpoint: (any Endpoint.Type)?, start: Duration
  ) {
    self.trace = trace
    self.start = start
    shown = settings.instruments.map { _ in
      var bare = request
      bare.body = nil
      return Boxed(
        InstrumentEvent.Call(
          id: id, request: bare, redactedURL: settings.configuration.redaction.url(of: request), tag: tag,
          endpoint: endpoint.map { "\($0)" }, trace: trace, date: settings.configuration.now(),
          redaction: settings.configuration.redaction))
    }
  }

  /// The number of the next exchange, from 1; 0 without instruments.
  func nextExchange() -> Int { shown == nil ? 0 : exchanges.add(1, ordering: .relaxed).newValue }
}

extension Call {
  /// Delivers an event to the instruments, if there are any.
  ///
  /// After the end of the call, only events that are late by nature are delivered.
  func notifyInstruments(_ kind: @autoclosure () -> InstrumentEvent.Kind, isLate: Bool = false) {
    guard let watch, let shown = watch.shown, let feed = settings.instruments, isLate || !stage.isEnded else { return }
    feed.deliver(InstrumentEvent(shown: shown, time: core.timeline.now() - watch.start, kind: kind()))
  }

  /// Announces an exchange; returns the header fields with those that instruments add.
  func instrument(
    _ request: HTTPRequest, number: Int, attempt: Int, hop: Int
  ) throws -> HTTPHeaders {
    guard let feed = settings.instruments, let call = watch?.shown?.value else { return request.headers }
    let isSame = request.target == call.request.target && request.query == call.request.query
    let redactedURL = isSame ? call.redactedURL : settings.configuration.redaction.url(of: request)
    func exchange(_ request: HTTPRequest) -> InstrumentEvent.Exchange {
      var bare = request
      bare.body = nil
      return InstrumentEvent.Exchange(
        call: call, number: number, attempt: attempt, hop: hop, request: bare, redactedURL: redactedURL)
    }
    var sent = request
    do throws(InvalidInput) {
      for instrument in feed.instruments {
        let added = instrument.fields(for: exchange(sent)).filter { !sent.headers.contains($0.name) }
        for field in added {
          guard !InstrumentFeed.reserved.contains(FieldSyntax.lowercased(field.name)) else {
            throw InvalidInput("\(InvalidInput.printable(field.name)) decides about the request: use middleware")
          }
          sent.headers.append(field)
        }
      }
      if !sent.headers.isIdentical(to: request.headers) { try FieldRules.check(sent.headers) }
    } catch {
      throw HTTPError(
        .invalidRequest, "an instrument added a field that it must not add: \(error.message)", request: request)
    }
    if let trace = watch?.trace { trace.pass(to: &sent.headers) }
    notifyInstruments(.exchangeBegan(exchange(sent)))
    return sent.headers
  }
}

extension InstrumentEvent.Head {
  init(_ response: StreamedResponse) {
    self.init(
      status: response.status, headers: response.headers, reasonPhrase: response.reasonPhrase,
      httpVersion: response.httpVersion, connection: response.connection, timing: response.timing)
  }
}

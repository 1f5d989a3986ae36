import Dispatch
import MartletBase
import Synchronization

/// Delivers the events of a client's calls to its instruments, in order and without a lock.
final class InstrumentFeed: Sendable {
  /// The maximum number of undelivered events.
  static let limit = 10_000
  /// The maximum number of bytes of bodies in undelivered events; further events have no bodies.
  static let maximumBytes = 64 << 20
  /// The time for which events are gathered.
  private static let delay = DispatchTimeInterval.milliseconds(5)
  /// The maximum time for which a client waits for its instruments.
  static let patience = Duration.seconds(5)

  private struct State {
    var waiting: [InstrumentEvent] = []
    var isTelling = false
    /// The number of events that were taken.
    var taken = 0
    var dropped = 0
    var flushes: [Int: (target: Int, caller: Suspension<Void>)] = [:]
    var nextFlush = 0
  }

  let instruments: [any Instrument]
  /// The number of bytes of each body that are kept for an event.
  let maximumBodyBytes: Int
  private let state = Locked(State())
  /// The number of events that were delivered.
  private let delivered = Atomic(0)
  /// The number of bytes of bodies in undelivered events.
  private let waitingBytes = Atomic(0)
  private let queue = DispatchQueue(label: "martlet.instruments")

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
  }

  func tell(_ event: InstrumentEvent) {
    let isFirst = state.withLock { state in
      guard state.taken - delivered.load(ordering: .relaxed) < Self.limit else {
        state.dropped += 1
        return false
      }
      var event = event
      let bytes = event.bodyBytes
      if bytes > 0 {
        if waitingBytes.load(ordering: .relaxed) + bytes > Self.maximumBytes {
          event = event.withoutBodies
        } else {
          waitingBytes.add(bytes, ordering: .relaxed)
        }
      }
      event.droppedCount = state.dropped
      state.dropped = 0
      state.waiting.append(event)
      state.taken += 1
      defer { state.isTelling = true }
      return !state.isTelling
    }
    // Waking the queue for each event would cost more than all else.
    if isFirst { queue.asyncAfter(deadline: .now() + Self.delay) { self.deliver() } }
  }

  private func deliver() {
    while true {
      let (events, callers): ([InstrumentEvent], [Suspension<Void>]) = state.withLock { state in
        defer { state.waiting = [] }
        if state.waiting.isEmpty { state.isTelling = false }
        let ready = state.flushes.filter { $0.value.target <= delivered.load(ordering: .relaxed) }
        for number in ready.keys { state.flushes[number] = nil }
        return (state.waiting, ready.values.map(\.caller))
      }
      for caller in callers { caller.resume() }
      if events.isEmpty { return }
      for event in events {
        for instrument in instruments { instrument.observe(event) }
        if event.bodyBytes > 0 { waitingBytes.subtract(event.bodyBytes, ordering: .relaxed) }
        delivered.add(1, ordering: .relaxed)
      }
    }
  }

  /// Waits until the events until now are delivered, but no longer than a limit: an instrument may block.
  func flush(within limit: Duration) async {
    try? await suspend { continuation in
      let number: Int? = state.withLock { state in
        guard delivered.load(ordering: .relaxed) < state.taken else { return nil }
        state.nextFlush += 1
        state.flushes[state.nextFlush] = (state.taken, continuation)
        return state.nextFlush
      }
      guard let number else { return continuation.resume() }
      queue.async { self.deliver() }
      DispatchQueue.global().asyncAfter(deadline: .now() + limit.inSeconds) { [weak self] in
        self?.state.withLock { $0.flushes.removeValue(forKey: number) }?.caller.resume()
      }
    }
  }
}

/// What a call keeps for its instruments and its trace; most calls have neither.
final class CallWatch: Sendable {
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
          id: id, request: bare, redactedURL: settings.redacted(request), tag: tag,
          endpoint: endpoint.map { "\($0)" }, trace: trace, date: settings.configuration.now(),
          redaction: settings.configuration.redaction))
    }
  }

  /// The number of the next exchange, from 1; 0 without instruments.
  func nextExchange() -> Int { shown == nil ? 0 : exchanges.add(1, ordering: .relaxed).newValue }
}

extension Call {
  /// Tells the instruments, if there are any.
  ///
  /// After the end of the call, only events that are late by nature are told.
  func tellInstruments(_ kind: @autoclosure () -> InstrumentEvent.Kind, isLate: Bool = false) {
    guard let watch, let shown = watch.shown, let feed = settings.instruments, isLate || !stage.isEnded else { return }
    feed.tell(InstrumentEvent(shown: shown, time: core.timeline.now() - watch.start, kind: kind()))
  }

  /// Announces an exchange; returns the request with the fields that instruments add.
  @inline(never) func instrument(
    _ request: HTTPRequest, number: Int, attempt: Int, hop: Int
  ) throws -> HTTPRequest {
    guard let feed = settings.instruments, let call = watch?.shown?.value else { return request }
    let isSame = request.target == call.request.target && request.query == call.request.query
    let redactedURL = isSame ? call.redactedURL : settings.redacted(request)
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
    tellInstruments(.exchangeBegan(exchange(sent)))
    return sent
  }
}

extension ClientSettings {
  /// The redacted URL of a request.
  fileprivate func redacted(_ request: HTTPRequest) -> String {
    configuration.redaction.url(of: request, configuration.baseURL)
  }
}

extension InstrumentEvent.Head {
  init(_ response: StreamedResponse) {
    self.init(
      status: response.status, headers: response.headers, reasonPhrase: response.reasonPhrase,
      httpVersion: response.httpVersion, connection: response.connection, timing: response.timing)
  }
}

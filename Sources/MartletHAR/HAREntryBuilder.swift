import Martlet
import MartletBase

/// Composes entries from the events of calls.
///
/// An entry is complete when its exchange is over, and the next exchange has begun or the call has ended: decisions
/// made in between belong to the entry.
struct HAREntryBuilder {
  /// The maximum number of calls; if events are lost, some calls never end.
  static let limit = 10_000

  /// Masks entries in place of the redaction of their client.
  let redaction: Redaction?
  /// The maximum number of bytes to record of each body.
  let maximumBodyBytes: Int
  private var calls: [RequestID: CallDraft] = [:]
  /// The number of calls that were discarded because there were too many.
  private(set) var lostCount = 0

  init(redaction: Redaction?, maximumBodyBytes: Int) {
    (self.redaction, self.maximumBodyBytes) = (redaction, maximumBodyBytes)
  }

  var isEmpty: Bool { calls.isEmpty }

  /// The entries of finished exchanges, without waiting for further decisions; when closing, of all exchanges.
  mutating func takeEntries(isClosing: Bool = false) -> [HAREntry] {
    calls.keys.sorted().flatMap { calls[$0]?.takeEntries(isClosing: isClosing) ?? [] }
  }

  /// Records an event, and returns the entries that it completes.
  mutating func take(_ event: InstrumentEvent) -> [HAREntry] {
    let id = event.call.id
    if case .began = event.kind {
      if calls.count >= Self.limit, let oldest = calls.keys.min() {
        calls[oldest] = nil
        lostCount += 1
      }
      calls[id] = CallDraft(redaction: redaction ?? event.call.redaction, maximumBodyBytes: maximumBodyBytes)
      return []
    }
    guard let index = calls.index(forKey: id) else { return [] }
    let entries = calls.values[index].take(event)
    if calls.values[index].isDone { calls.remove(at: index) }
    return entries
  }
}

/// The recorded state of a call.
private struct CallDraft {
  let redaction: Redaction
  let maximumBodyBytes: Int
  var drafts: [Int: ExchangeDraft] = [:]
  var decisions: [Explanation.Entry] = []
  /// The number of the last exchange; 0 before the first.
  var last = 0
  var isOver = false
  var failure: String?

  var isDone: Bool { isOver && drafts.isEmpty }

  mutating func take(_ event: InstrumentEvent) -> [HAREntry] {
    switch event.kind {
    case .began, .attempt, .informational: return []
    case .exchangeBegan(let exchange):
      defer { drafts[exchange.number] = ExchangeDraft(exchange: exchange, start: event.time) }
      last = exchange.number
      return takeEntries()
    case .phase(let phase, let exchange): drafts[exchange]?.phases[phase] = event.time
    case .head(let head, let exchange): drafts[exchange]?.head = (head, event.time)
    case .message(let message, let exchange):
      let date = event.call.date.addingTimeInterval(event.time.inSeconds)
      drafts[exchange]?.messages.add(message, at: date, redaction, maximumBodyBytes: maximumBodyBytes)
    case .decision(let entry): decisions.append(entry)
    case .exchangeEnded(let summary, let exchange):
      drafts[exchange]?.summary = (summary, event.time)
      if isOver { return takeEntries() }
    case .ended(let end, let source):
      isOver = true
      switch end {
      case .succeeded: break
      case .failed(let error as HTTPError): failure = "\(error.kind): \(redaction.recorded(error.message))"
      case .failed(let error): failure = "\(type(of: error))"
      case .cancelled: failure = "cancelled"
      }
      return last > 0 ? takeEntries() : [entry(of: event.call, end, source, event.time)]
    @unknown default: return []
    }
    return []
  }

  /// The entries of finished exchanges; when closing, of all exchanges.
  mutating func takeEntries(isClosing: Bool = false) -> [HAREntry] {
    let ready = drafts.filter { isClosing || $0.value.summary != nil }.sorted { $0.key < $1.key }
    return ready.map { number, draft in
      drafts[number] = nil
      // Decisions about a later hop or attempt belong to its exchange.
      let takesAll = (isOver || isClosing) && number == last
      let place = (draft.exchange.hop, draft.exchange.attempt)
      let later = takesAll ? [] : decisions.filter { ($0.hop, $0.attempt) > place }
      let own = takesAll ? decisions : decisions.filter { ($0.hop, $0.attempt) <= place }
      decisions = later
      var entry = draft.entry(own, redaction, maximumBodyBytes)
      // The error of the call is more detailed than its kind.
      if takesAll, let failure { entry.failure = failure }
      if isClosing { entry.failure = entry.failure ?? "unfinished when the recording ended" }
      return entry
    }
  }

  /// The entry of a call that needed no exchange.
  private func entry(
    of call: InstrumentEvent.Call, _ end: RequestEvent.End, _ source: HTTPResponse.Source?, _ time: Duration
  ) -> HAREntry {
    var response = HAREntry.Response(status: 0)
    if case .succeeded(let status) = end {
      response = HAREntry.Response(status: status.rawValue, statusText: status.reasonPhrase)
    }
    var entry = HAREntry(
      startedAt: call.date, request: HAREntry.Request(call.request, body: nil, redaction: redaction),
      response: response, failure: failure, explanation: redaction.recorded(decisions),
      codes: decisions.map(\.code.rawValue), call: "\(call.id)", tag: call.tag.map(redaction.recorded),
      isFromCache: source == .cache || source == .fallback)
    entry.timings.wait = time
    return entry
  }
}

/// The recorded state of an exchange.
private struct ExchangeDraft {
  let exchange: InstrumentEvent.Exchange
  let start: Duration
  var head: (InstrumentEvent.Head, at: Duration)?
  var phases: [HTTPError.Phase: Duration] = [:]
  var summary: (InstrumentEvent.Summary, at: Duration)?
  var messages = RecordedMessages()

  func entry(_ decisions: [Explanation.Entry], _ redaction: Redaction, _ limit: Int) -> HAREntry {
    let (head, summary) = (head?.0, summary?.0)
    let connection = head?.connection ?? summary?.connection
    func body(_ body: InstrumentEvent.Body?, _ headers: HTTPHeaders) -> HAREntry.Body? {
      guard limit > 0, let body else { return nil }
      // Another instrument may have requested more.
      let data = body.data.prefix(limit)
      return HAREntry.Body(
        Data(data), of: body.count, isWhole: body.isWhole && data.count == body.data.count,
        type: headers["Content-Type"], coding: headers["Content-Encoding"], redaction)
    }
    var response =
      head.map {
        HAREntry.Response(
          $0.status, reason: $0.reasonPhrase, version: $0.httpVersion ?? summary?.httpVersion, $0.headers, redaction)
      }
      ?? HAREntry.Response(status: 0)
    if let head {
      // If the content is missing, the entry still has the type and the size.
      let received = max(summary?.receivedBytes ?? 0, 0)
      var content =
        body(summary?.receivedBody, head.headers)
        ?? HAREntry.Body(
          mimeType: head.headers["Content-Type"] ?? "", content: .none, size: received, isWhole: received == 0,
          comment: received == 0 ? nil : "not recorded")
      // For an unread body, only the number of received bytes is known.
      if content.size == 0, !content.isWhole { content.size = received }
      // The bytes of another protocol are not the response's body.
      if head.status == .switchingProtocols {
        content = HAREntry.Body(mimeType: content.mimeType, content: .none, size: 0)
      }
      response.body = content
    }
    response.bodySize = Self.size(summary?.receivedBytes, response.body)
    var request = HAREntry.Request(exchange.request, body: nil, redaction: redaction)
    request.httpVersion = response.httpVersion
    request.body = body(summary?.sentBody, exchange.request.headers)
    request.bodySize = Self.size(summary?.sentBytes, request.body)
    var entry = HAREntry(
      startedAt: exchange.call.date.addingTimeInterval(start.inSeconds), request: request, response: response,
      timings: timings(until: self.summary?.at ?? start), remoteAddress: connection?.remoteAddress,
      connection: connection?.localPort.map { "\($0)" }, failure: summary?.failure.map { "\($0)" },
      explanation: redaction.recorded(decisions), codes: decisions.map(\.code.rawValue),
      call: "\(exchange.call.id)", attempt: exchange.attempt, hop: exchange.hop,
      tag: exchange.call.tag.map(redaction.recorded))
    if let head, head.status == .switchingProtocols, Self.isWebSocket(head.headers) {
      (entry.webSocketMessages, entry.omittedMessageCount) = (messages.messages, messages.omittedCount)
    }
    return entry
  }

  private static func isWebSocket(_ headers: HTTPHeaders) -> Bool {
    headers[all: "Upgrade"].contains { FieldSyntax.isSameName($0, "websocket") }
  }

  /// The durations of the phases, whose sum is the duration of the exchange.
  private func timings(until end: Duration) -> HAREntry.Timings {
    var timings = HAREntry.Timings()
    let headAt = max(head?.at ?? end, start)
    var rest = headAt - start
    /// Limited to the remaining time, because the transport's measurements and the events come from different clocks.
    func take(_ wanted: Duration) -> Duration {
      let taken = min(max(wanted, .zero), rest)
      rest -= taken
      return taken
    }
    // The system's loader measures only at the end.
    let measured = head.map { summary?.0.timing ?? $0.0.timing }
    let firstPhase = phases.filter { $0.key != .queued }.map(\.value).min() ?? start
    timings.blocked = take(measured?.queued ?? firstPhase - start)
    if let measured, (head?.0.connection ?? summary?.0.connection)?.isReused == false, let connect = measured.connect {
      timings.dns = measured.nameLookup.map(take)
      let handshake = measured.tls ?? .zero
      timings.connect = take(connect - (measured.nameLookup ?? .zero) + handshake)
      timings.ssl = measured.tls.map { min($0, timings.connect ?? $0) }
    } else if measured == nil, let connecting = phases[.connecting] {
      timings.connect = take((phases[.sending] ?? phases[.waiting] ?? headAt) - connecting)
    }
    if let waiting = phases[.waiting], let sending = phases[.sending] { timings.send = take(waiting - sending) }
    timings.wait = rest
    timings.receive = max(end - headAt, .zero)
    return timings
  }

  /// The number of bytes on the wire, or -1 from a transport that does not count them.
  private static func size(_ counted: Int64?, _ body: HAREntry.Body?) -> Int64 {
    counted == 0 && (body?.size ?? 0) > 0 ? -1 : counted ?? -1
  }
}

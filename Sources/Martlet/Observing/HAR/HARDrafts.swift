import MartletBase
import Foundation

/// Composes entries from the events of calls.
///
/// An entry is complete when its exchange is over, and the next one has begun or the call has ended: decisions that are
/// made in between belong to it.
struct HARDrafts {
  /// The maximum number of calls; events may be lost, so that calls never end.
  static let limit = 10_000

  fileprivate struct Draft {
    let exchange: InstrumentEvent.Exchange
    let start: Duration
    var head: (InstrumentEvent.Head, at: Duration)?
    var phases: [HTTPError.Phase: Duration] = [:]
    var summary: (InstrumentEvent.Summary, at: Duration)?
  }

  fileprivate struct Call {
    var drafts: [Int: Draft] = [:]
    var decisions: [Explanation.Entry] = []
    var hasExchanged = false
    var isOver = false
  }

  private var calls: [RequestID: Call] = [:]

  var isEmpty: Bool { calls.isEmpty }

  /// Notes an event; returns the entries that it completes.
  mutating func take(_ event: InstrumentEvent, _ redaction: Redaction) -> [HAREntry] {
    let id = event.call.id
    if case .began = event.kind {
      if calls.count >= Self.limit, let oldest = calls.keys.min() { calls[oldest] = nil }
      calls[id] = Call()
      return []
    }
    guard let index = calls.index(forKey: id) else { return [] }
    let entries = calls.values[index].take(event, redaction)
    if calls.values[index].isDone { calls.remove(at: index) }
    return entries
  }
}

extension HARDrafts.Call {
  fileprivate var isDone: Bool { isOver && drafts.isEmpty }

  fileprivate mutating func take(_ event: InstrumentEvent, _ redaction: Redaction) -> [HAREntry] {
    switch event.kind {
    case .began, .attempt: return []
    case .exchangeBegan(let exchange):
      defer { drafts[exchange.number] = HARDrafts.Draft(exchange: exchange, start: event.time) }
      hasExchanged = true
      return takeOver(redaction)
    case .phase(let phase, let exchange): drafts[exchange]?.phases[phase] = event.time
    case .head(let head, let exchange): drafts[exchange]?.head = (head, event.time)
    case .decision(let entry): decisions.append(entry)
    case .exchangeEnded(let summary, let exchange):
      drafts[exchange]?.summary = (summary, event.time)
      if isOver { return takeOver(redaction) }
    case .ended(let end):
      isOver = true
      guard hasExchanged else { return [entry(of: event.call, end, event.time, redaction)] }
      return takeOver(redaction)
    }
    return []
  }

  /// The entries of exchanges that are over.
  fileprivate mutating func takeOver(_ redaction: Redaction) -> [HAREntry] {
    let over = drafts.filter { $0.value.summary != nil }.sorted { $0.key < $1.key }
    return over.map { number, draft in
      drafts[number] = nil
      // Those of a later hop or attempt belong to its exchange.
      let place = (draft.exchange.hop, draft.exchange.attempt)
      let own = decisions.filter { isOver || ($0.hop, $0.attempt) <= place }
      if isOver { decisions = [] } else { decisions.removeAll { ($0.hop, $0.attempt) <= place } }
      return draft.entry(Self.sentences(own, redaction), redaction)
    }
  }

  private static func sentences(_ decisions: [Explanation.Entry], _ redaction: Redaction) -> [String] {
    decisions.map { Explanation.short(redaction.text($0.description)) }
  }

  /// The entry of a call that needed no exchange.
  fileprivate func entry(
    of call: InstrumentEvent.Call, _ end: RequestEvent.End, _ time: Duration, _ redaction: Redaction
  ) -> HAREntry {
    let request = HAREntry.Request(
      method: call.request.method.rawValue, url: redaction.url(of: call.request), headers: call.request.headers)
    var entry = HAREntry(startedAt: call.date, request: request, response: HAREntry.Response(status: 0))
    switch end {
    case .succeeded(let status):
      entry.response.status = status.rawValue
      entry.response.statusText = status.reasonPhrase
      entry.isFromCache = true
    case .failed(let error): entry.failure = Self.text(of: error, redaction)
    case .cancelled: entry.failure = "cancelled"
    }
    entry.timings.wait = time
    entry.explanation = Self.sentences(decisions, redaction)
    entry.add(call)
    return entry
  }

  private static func text(of error: any Error, _ redaction: Redaction) -> String {
    guard let error = error as? HTTPError else { return "\(type(of: error))" }
    return "\(error.kind): \(Explanation.short(redaction.text(error.message)))"
  }
}

extension HARDrafts.Draft {
  fileprivate func entry(_ decisions: [String], _ redaction: Redaction) -> HAREntry {
    let end = summary?.at ?? start
    let sent = exchange.request
    var request = HAREntry.Request(method: sent.method.rawValue, url: redaction.url(of: sent), headers: sent.headers)
    let version = head.flatMap(\.0.httpVersion).map { "HTTP/\($0)" } ?? ""
    request.httpVersion = version
    request.body = summary?.0.sentBody.map { Self.body($0, sent.headers, redaction) }
    request.bodySize = Self.size(summary?.0.sentBytes, request.body)
    var response = HAREntry.Response(status: head?.0.status.rawValue ?? 0)
    if let head = head?.0 {
      response.statusText = Explanation.short(head.reasonPhrase ?? head.status.reasonPhrase)
      response.httpVersion = version
      response.headers = head.headers
      response.body = summary?.0.receivedBody.map { Self.body($0, head.headers, redaction) }
    }
    response.bodySize = Self.size(summary?.0.receivedBytes, response.body)
    let elapsed = start / .seconds(1)
    var entry = HAREntry(
      startedAt: exchange.call.date.addingTimeInterval(elapsed), request: request, response: response)
    entry.timings = timings(until: end)
    if let connection = head?.0.connection {
      entry.remoteAddress = connection.remoteAddress
      entry.connection = connection.localPort.map { "\($0)" }
    }
    entry.failure = summary?.0.failure.map { "\($0)" }
    entry.explanation = decisions
    entry.attempt = exchange.attempt
    entry.hop = exchange.hop
    entry.add(exchange.call)
    return entry
  }

  /// The durations of the phases, whose sum is the duration of the exchange.
  private func timings(until end: Duration) -> HAREntry.Timings {
    var timings = HAREntry.Timings()
    let headAt = max(head?.at ?? end, start)
    var rest = headAt - start
    /// At most what remains: the transport's measurements and the events come from different clocks.
    func take(_ wanted: Duration) -> Duration {
      let taken = min(max(wanted, .zero), rest)
      rest -= taken
      return taken
    }
    let measured = head?.0.timing
    let firstPhase = phases.filter { $0.key != .queued }.map(\.value).min() ?? start
    timings.blocked = take(measured?.queued ?? firstPhase - start)
    if let measured, head?.0.connection?.isReused == false, let connect = measured.connect {
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

  private static func body(_ body: InstrumentEvent.Body, _ headers: HTTPHeaders, _ redaction: Redaction)
    -> HAREntry.Body
  {
    HAREntry.Body(
      body.data, of: body.count, isWhole: body.isWhole, type: headers["Content-Type"],
      coding: headers["Content-Encoding"], redaction)
  }
}

extension HAREntry.Body {
  /// The types in which nothing can be masked, and nothing is usually secret.
  private static let media: Set = ["image", "font", "audio", "video"]

  /// A body with its secrets masked, or without its content if that is impossible.
  init(
    _ data: Data, of count: Int64, isWhole: Bool, type: String?, coding: String?, _ redaction: Redaction
  ) {
    self.init(mimeType: type ?? "", content: .none, size: count, isWhole: isWhole)
    if redaction.hidesBodies {
      comment = "not recorded: the redaction masks bodies"
    } else if BodyMask.isText(data, contentType: type, coding: coding) {
      // A character may be cut at the end.
      content = .text(String(decoding: BodyMask.masked(data, contentType: type, redaction), as: UTF8.self))
    } else if redaction.revealsSecrets
      || coding == nil && MediaType(type ?? "").map({ Self.media.contains($0.type) }) == true
    {
      content = .bytes(data)
    } else {
      comment = "not recorded: secrets in it could not be masked"
    }
    if !isWhole, comment == nil { comment = "truncated" }
  }
}

extension HAREntry {
  fileprivate mutating func add(_ call: InstrumentEvent.Call) {
    self.call = "\(call.id)"
    tag = call.tag
  }
}

import MartletBase

/// The log lines of one exchange.
struct ExchangeLog: Sendable {
  let detail: LoggingMiddleware.Detail
  let redaction: Redaction
  let maximumBodyBytes: Int
  private let sink: LogSink
  private let prefix: String
  private let timeline: Timeline
  private let start: Duration
  private let throttledTime: ThrottledTime?
  /// The throttled time of earlier exchanges of the call.
  private let throttledBefore: Duration

  init(_ logging: LoggingMiddleware, _ context: RequestContext) {
    detail = logging.detail
    redaction = logging.redaction ?? context.call.settings.configuration.redaction
    maximumBodyBytes = logging.maximumBodyBytes
    sink = logging.sink
    prefix = "\(context.id)-\(context.hop)-\(context.attempt)"
    timeline = context.call.core.timeline
    start = timeline.now()
    throttledTime = detail.contains(.throttle) ? context.call.throttledTime : nil
    throttledBefore = throttledTime?.total ?? .zero
  }

  func sends(_ request: HTTPRequest) {
    if detail.contains(.lifecycle) {
      let method = InvalidInput.printable(request.method.rawValue)
      let body = request.body.map { " (\(Self.summary(of: $0)))" } ?? ""
      write("> \(method) \(redaction.url(of: request))\(body)")
    }
    if detail.contains(.headers) { write(request.headers, ">") }
    if detail.contains(.auth), let value = request.headers["Authorization"] {
      write("* answers with \(Self.scheme(of: value))")
    }
    if detail.contains(.body), case .data(let data)? = request.body?.content {
      let type = request.headers["Content-Type"] ?? request.body?.contentType
      write(data.prefix(maximumBodyBytes), of: data.count, type, request.headers["Content-Encoding"], ">|")
    }
  }

  func received(_ response: StreamedResponse) {
    if detail.contains(.connection) { write(response.connection, response.timing) }
    if detail.contains(.lifecycle) {
      let reason =
        response.reasonPhrase.map { InvalidInput.printable(redaction.text($0)) } ?? response.status.reasonPhrase
      write("< \(response.status.rawValue) \(reason) in \(elapsed)")
    }
    if detail.contains(.headers) { write(response.headers, "<") }
    if detail.contains(.auth) { writeChallenges(of: response) }
  }

  func wasThrottled() {
    guard let time = throttledTime.map({ $0.total - throttledBefore }), time >= .milliseconds(1) else { return }
    write("* held back for \(time.shown) by the bandwidth limit")
  }

  func failed(_ error: any Error) {
    guard detail.contains(.lifecycle) else { return }
    if error is CancellationError { return write("! cancelled after \(elapsed)") }
    write("! \(text(of: error)) after \(elapsed)")
  }

  /// Logs the end of the body, or that its reader has stopped.
  func ended(_ kept: Data, count: Int, contentType: String?, coding: String?, isWhole: Bool) {
    wasThrottled()
    if detail.contains(.body), count > 0 { write(kept, of: count, contentType, coding, "<|") }
    guard detail.contains(.lifecycle) else { return }
    write("= \(LogText.bytes(count)) in \(elapsed)\(isWhole ? "" : ", not read to the end")")
  }

  private func write(_ line: String) { sink.write("\(prefix) \(line)") }

  private func write(_ headers: HTTPHeaders, _ mark: String) {
    for field in headers { write("\(mark) \(LogText.field(field, redaction))") }
  }

  private func write(_ beginning: Data, of count: Int, _ contentType: String?, _ coding: String?, _ mark: String) {
    guard count > 0, maximumBodyBytes > 0 else { return }
    guard !redaction.hidesBodies, BodyMask.isText(beginning, contentType: contentType, coding: coding),
      let masked = BodyMask.masked(beginning, contentType: contentType, redaction)
    else { return write("\(mark) \(BodyMask.summary(of: count, contentType: contentType))") }
    write("\(mark) \(LogText.line(masked))\(beginning.count < count ? "…" : "")")
  }

  private func write(_ connection: HTTPResponse.Connection?, _ timing: HTTPResponse.Timing) {
    guard let connection else { return }
    var line = connection.isReused ? "* used again: " : "* connected: "
    line += InvalidInput.printable(connection.remoteAddress ?? "a unix socket")
    if let port = connection.remotePort { line += " port \(port)" }
    if timing.queued >= .milliseconds(1) { line += ", waited \(timing.queued.shown) for a slot" }
    if !connection.isReused {
      if let lookup = timing.nameLookup { line += ", name \(lookup.shown)" }
      if let connect = timing.connect { line += ", connect \(connect.shown)" }
      if let tls = timing.tls { line += ", TLS \(tls.shown)" }
    }
    write(line)
  }

  private func writeChallenges(of response: StreamedResponse) {
    for (name, who) in [("WWW-Authenticate", "the server"), ("Proxy-Authenticate", "the proxy")] {
      for challenge in Challenge.parse(response.headers[all: name]) {
        let realm = challenge.realm.map { " for \"\(InvalidInput.printable(redaction.text($0)))\"" } ?? ""
        write("* \(who) asks for \(InvalidInput.printable("\(challenge.scheme)"))\(realm)")
      }
    }
  }

  private var elapsed: String { (timeline.now() - start).shown }

  private func text(of error: any Error) -> String {
    guard let error = error as? HTTPError else {
      // The text of other errors may contain anything.
      let text = redaction.revealsSecrets ? "\(error)" : "\(type(of: error))"
      return InvalidInput.printable(text, limit: LogText.maximumFieldScalars)
    }
    let phase = error.phase.map { " while \($0.rawValue)" } ?? ""
    return "\(error.kind)\(phase): \(InvalidInput.printable(redaction.text(error.message), limit: .max))"
  }

  private static func summary(of body: HTTPBody) -> String {
    if case .data(let data) = body.content { LogText.bytes(data.count) } else { body.description }
  }

  /// The scheme of a credential; an unknown word may be the credential itself.
  private static func scheme(of value: String) -> String {
    let word = FieldSyntax.lowercased(value.prefix { $0 != " " })
    let known = ["basic", "bearer", "digest", "negotiate", "ntlm", "hawk", "aws4-hmac-sha256"]
    return known.contains(word) ? "\(AuthenticationScheme(word))" : "an unknown scheme"
  }
}

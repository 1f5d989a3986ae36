import MartletBase

/// The last stage: one exchange on the wire, within its limits.
struct ExchangeStage: Stage {
  private let transport: any Transport
  private let isTransportAbortAware: Bool

  init(transport: any Transport) {
    self.transport = transport
    isTransportAbortAware = transport is any AbortAwareTransport
  }

  @inline(__always)
  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    var context = context
    let (request, lifetime) = try begin(hop, &context)
    do {
      if request.body != nil { try await fill(request, lifetime.control) }
      var response =
        isTransportAbortAware
        ? try await transport.send(request, context: context) : try await sendWithAbort(request, context)
      received(&response, to: request, lifetime)
      return response
    } catch {
      lifetime.end(error)
      // The abort reason of the exchange takes precedence over the transport's error.
      throw lifetime.control.abortSource.error ?? error
    }
  }

  private func begin(
    _ hop: Hop, _ context: inout RequestContext
  ) throws -> (HTTPRequest, ExchangeLifetime) {
    let call = context.call
    var hop = try RequestGate.compressed(hop)
    let start = call.core.timeline.now()
    // The watchdog may be a few milliseconds late.
    _ = call.checkLimits(now: start)
    if let header = call.settings.configuration.deadlineHeader { try announceEnd(header, &hop, context) }
    if let fields = call.upgrade?.freshFields { hop.headers.replace(with: fields()) }
    let control = ExchangeControl(call: call, number: call.watch?.nextExchange() ?? 0, start: start)
    context.exchange = control
    if control.number > 0 {
      try context.abortSource.check()
      hop.headers = try call.instrument(
        hop.request, number: control.number, attempt: context.attempt, hop: context.hop)
      control.capture?.sends(hop.body)
    }
    if let trace = call.watch?.trace { trace.pass(to: &hop.headers) }
    let request = hop.request
    if context.lane?.isHedge != true { call.setCurrent(request, control) }
    if call.settings.configuration.dataLedger != nil {
      call.count(
        request.headers.wireBytes(line: 12 + request.method.rawValue.utf8.count + hop.url.string.utf8.count))
    }
    let token = context.abortSource.onAbort { control.abortSource.abort($0) }
    context.lane?.use(control)
    context.pass?.use(control)
    let lifetime = ExchangeLifetime(control, context, token)
    guard let reason = control.abortSource.error else { return (request, lifetime) }
    lifetime.end()
    throw reason
  }

  /// Adds the deadline header.
  private func announceEnd(
    _ header: Deadline.Header, _ hop: inout Hop, _ context: RequestContext
  ) throws {
    let call = context.call
    guard let end = call.end, !hop.headers.contains(header.name),
      header.applies(to: hop.origin) || header.applies(to: context.service(of: hop.url))
    else { return }
    let remaining = (end - call.core.timeline.now()).adding(.zero - header.margin.bounded)
    guard remaining > .zero else {
      var error = call.endError
      error.message += ", less the deadline header's margin"
      error.phase = .queued
      error.mayHaveReachedServer = !call.attempts.isEmpty
      // The first exchange of a hedged request may still get a response.
      if context.lane?.isHedge == true { throw NoCapacityForHedge() }
      // It would be the same with every further attempt.
      call.complete(&error)
      call.abort(error)
      throw error
    }
    hop.headers[header.name] = header.value(for: remaining, now: call.settings.configuration.now())
  }

  private func received(
    _ response: inout StreamedResponse, to request: HTTPRequest, _ lifetime: ExchangeLifetime
  ) {
    let control = lifetime.control
    let now = lifetime.call.core.timeline.now()
    response.request = request
    response.timing = control.timing(at: now)
    control.didReceiveStatus(response.status)
    lifetime.call.report(.head(response, exchange: control.number))
    if lifetime.call.explains { explain(response, lifetime.call) }
    if response.upgradeWriter != nil { lifetime.upgraded() }
    let capture = response.upgradeWriter == nil ? control.capture : nil
    control.enter(.receiving, at: now)
    if lifetime.call.settings.configuration.dataLedger != nil {
      lifetime.call.count(response.headers.wireBytes(line: 15))
    }
    if let capture { response.body = capture.receiving(response.body) }
    // The exchange stays alive until its body ends.
    response.body = response.body.keeping(lifetime)
  }

  private func explain(_ response: StreamedResponse, _ call: Call) {
    if response.upgradeWriter != nil, let name = call.upgrade?.protocolName {
      call.decided("upgrade.accepted", "the connection has changed to the protocol \(name)", "RFC 9110 §7.8")
    }
    if let connection = response.connection { call.report(.decided(.connection(connection, response.httpVersion))) }
    if response.wasCompressed {
      call.decided(
        "contentCoding.decoded", "the body is decoded, and Content-Encoding and Content-Length are removed",
        "RFC 9110 §8.4")
    } else if let coding = response.headers["Content-Encoding"].map(Explanation.short), coding != "identity",
      !response.isWithoutBody
    {
      let stays = "the body stays encoded (\(InvalidInput.printable(coding)))"
      if call.options.decompression == .off {
        let reason = Explanation.Reason("off", "decompression is off")
        call.report(.decided(.init("contentCoding.kept", stays, because: reason)))
      } else if response.status == .partialContent {
        let reason = Explanation.Reason("partialContent", "a range of an encoded body cannot be decoded")
        call.report(.decided(.init("contentCoding.kept", stays, because: reason, "RFC 9110 §8.4")))
      }
    }
  }

  /// Writes the parts of the body that must be in a file before they can be sent.
  private func fill(_ request: HTTPRequest, _ control: ExchangeControl) async throws {
    guard let spools = request.body?.content.emptySpools, !spools.isEmpty else { return }
    let encoder = control.call.settings.configuration.encoder
    try await withAbort(control.abortSource) { for spool in spools { try await spool.fill(encoder) } }
  }

  private func sendWithAbort(
    _ request: HTTPRequest, _ context: RequestContext
  ) async throws -> StreamedResponse {
    let transport = transport
    context.exchange.enter(.waiting)
    var response = try await withAbort(context.exchange.abortSource) {
      try await transport.send(request, context: context)
    }
    response.body = response.body.abortable(context.exchange)
    return response
  }
}

/// Ends an exchange when its body ends or is released.
final class ExchangeLifetime: BodyLifetime {
  let control: ExchangeControl
  let call: Call
  private let branch: AbortBranch?
  private let token: Int
  private let pass: AdmissionPermit?
  private let server: ServerUse.Hold?

  init(_ control: ExchangeControl, _ context: RequestContext, _ token: Int) {
    self.control = control
    self.token = token
    (call, branch, pass) = (context.call, context.branch, context.pass)
    server = context.server.flatMap { ServerUse.Hold($0) }
  }

  deinit { end() }

  func end(_ error: (any Error)? = nil) {
    control.end(error)
    (branch?.source ?? call.abortSource).remove(token)
    pass?.end()
    server?.end()
  }

  /// Ends the part of the exchange that the client's limits count: the rest is not HTTP.
  func upgraded() {
    pass?.end()
    control.upgraded()
  }

  func cancel() { control.abortSource.abort(call.failure ?? CancellationError()) }
}

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
  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    var context = context
    let (request, lifetime) = try begin(request, &context)
    do {
      if request.body != nil { try await fill(request, lifetime.control) }
      var response =
        isTransportAbortAware
        ? try await transport.send(request, context: context) : try await sendWithAbort(request, context)
      received(&response, to: request, lifetime)
      return response
    } catch {
      throw ended(lifetime, error)
    }
  }

  // The functions below are not inlined: an async function reserves memory for its inlined callees while it waits.

  @inline(never) private func begin(
    _ request: HTTPRequest, _ context: inout RequestContext
  ) throws -> (HTTPRequest, ExchangeLifetime) {
    let call = context.call
    // Internal stages pass on requests that the gate has checked; only middleware can change them.
    var request = call.settings.isAbortAware ? request : try RequestGate.checkAgain(request, settings: call.settings)
    let start = call.core.timeline.now()
    // The watchdog may be a few milliseconds late.
    _ = call.checkLimits(now: start)
    if let header = call.settings.configuration.deadlineHeader { try announceEnd(header, &request, context) }
    let control = ExchangeControl(call: call, number: call.watch?.nextExchange() ?? 0, start: start)
    context.exchange = control
    if control.number > 0 {
      try context.abortSource.check()
      request = try call.instrument(
        request, number: control.number, attempt: context.attempt, hop: context.hop)
      control.capture?.sends(request.body)
    }
    if let trace = call.watch?.trace { trace.pass(to: &request.headers) }
    if context.lane?.isHedge != true { call.setCurrent(request, control) }
    if call.settings.configuration.dataLedger != nil {
      let target = try? request.target.resolve(against: nil)
      call.count(
        request.headers.wireBytes(line: 12 + request.method.rawValue.utf8.count + (target?.string.utf8.count ?? 0)))
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
  @inline(never) private func announceEnd(
    _ header: DeadlineHeader, _ request: inout HTTPRequest, _ context: RequestContext
  ) throws {
    let call = context.call
    guard let end = call.end, !request.headers.contains(header.name) else { return }
    guard let origin = try? request.target.resolve(against: nil).origin, header.applies(to: origin) else { return }
    let remaining = (end - call.core.timeline.now()).adding(.zero - header.margin.bounded)
    guard remaining > .zero else {
      var error = call.endError
      error.message += ", less the margin of the deadline header"
      error.phase = .queued
      error.mayHaveReachedServer = !call.attempts.isEmpty
      // The first exchange of a hedged request may still be answered.
      if context.lane?.isHedge == true { throw LoadBusy() }
      // It would be the same with every further attempt.
      call.complete(&error)
      call.abort(error)
      throw error
    }
    request.headers[header.name] = header.value(for: remaining, now: call.settings.configuration.now())
  }

  @inline(never) private func ended(_ lifetime: ExchangeLifetime, _ error: any Error) -> any Error {
    lifetime.end(error)
    // The abort reason of the exchange takes precedence over the transport's error.
    return lifetime.control.abortSource.error ?? error
  }

  @inline(never) private func received(
    _ response: inout StreamedResponse, to request: HTTPRequest, _ lifetime: ExchangeLifetime
  ) {
    let control = lifetime.control
    let now = lifetime.call.core.timeline.now()
    response.request = request
    response.timing = control.timing(at: now)
    control.didReceiveStatus(response.status)
    lifetime.call.emit(.head(response.status))
    lifetime.call.tellInstruments(.head(InstrumentEvent.Head(response), exchange: control.number))
    if lifetime.call.explains { explain(response, lifetime.call) }
    control.enter(.receiving, at: now)
    if lifetime.call.settings.configuration.dataLedger != nil {
      lifetime.call.count(response.headers.wireBytes(line: 15))
    }
    if let capture = control.capture { response.body = capture.receiving(response.body) }
    // The exchange stays alive until its body ends.
    response.body = response.body.keeping(lifetime)
  }

  private func explain(_ response: StreamedResponse, _ call: Call) {
    if let connection = response.connection {
      let address = connection.remoteAddress.map { address in
        let host = address.contains(":") ? "[\(address)]" : address
        return connection.remotePort.map { "\(host):\($0)" } ?? host
      }
      call.note(
        .connection(
          connection.isReused
            ? .reused(to: address, response.httpVersion) : .opened(to: address, response.httpVersion)))
    }
    if response.wasCompressed {
      call.note(.contentCoding(.decoded))
    } else if let coding = response.headers["Content-Encoding"].map(Explanation.short), coding != "identity",
      !response.isWithoutBody
    {
      if call.options.decompression == .off {
        call.note(.contentCoding(.kept(coding, .off)))
      } else if response.status == .partialContent {
        call.note(.contentCoding(.kept(coding, .partialContent)))
      }
    }
  }

  /// Writes the parts of the body that must be in a file before they can be sent.
  @inline(never) private func fill(_ request: HTTPRequest, _ control: ExchangeControl) async throws {
    guard let spools = request.body?.content.emptySpools, !spools.isEmpty else { return }
    let encoder = control.call.settings.configuration.encoder
    try await withAbort(control.abortSource) { for spool in spools { try await spool.fill(encoder) } }
  }

  @inline(never) private func sendWithAbort(
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
  private let pass: LoadPass?

  init(_ control: ExchangeControl, _ context: RequestContext, _ token: Int) {
    self.control = control
    self.token = token
    (call, branch, pass) = (context.call, context.branch, context.pass)
  }

  deinit { end() }

  func end(_ error: (any Error)? = nil) {
    control.end(error)
    (branch?.source ?? call.abortSource).remove(token)
    pass?.end()
  }

  func cancel() { control.abortSource.abort(call.failure ?? CancellationError()) }
}

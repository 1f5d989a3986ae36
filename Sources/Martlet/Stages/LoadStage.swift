import MartletBase

/// Lets an exchange go when the limits for its rate and its origin allow it.
///
/// The stage is right above ``ExchangeStage``, so that it knows the final origin, and counts every exchange.
struct LoadStage: Stage {
  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let pass = try pass(request, context)
    // The rate of a tag or an endpoint, the rate of the origin, its concurrency and its circuit.
    while let waiter = try pass.advance(context) { try await wait(waiter, pass, context) }
    var context = context
    context.pass = pass
    do {
      let response = try await next(request, context)
      heard(response, request, pass, context)
      return response
    } catch {
      throw failed(error, pass, context)
    }
  }

  @inline(never) private func pass(_ request: HTTPRequest, _ context: RequestContext) throws -> LoadPass {
    LoadPass(origin: try request.target.resolve(against: nil).origin, context.call)
  }

  /// Waits for the turn of a request; throws why it does not go.
  private func wait(_ waiter: LoadLine.Waiter, _ pass: LoadPass, _ context: RequestContext) async throws {
    let call = context.call
    call.report(.waiting(.turn))
    let wait = LoadLine.Wait(waiter, since: call.core.timeline.now())
    call.core.watchdog.watch(wait, at: wait.place, next: wait.end)
    let token = context.abortSource.onAbort { waiter.leave($0) }
    defer {
      call.core.watchdog.forget(wait, at: wait.place)
      context.abortSource.remove(token)
    }
    do {
      pass.entered(isProbe: try await waiter.result.value())
    } catch let refusal as LoadRefusal {
      throw pass.error(refusal.refusal, call)
    }
    pass.heedPause()
    call.report(.running)
    call.note(.load(.waited(call.core.timeline.now() - wait.since)))
  }

  @inline(never) private func heard(
    _ response: StreamedResponse, _ request: HTTPRequest, _ pass: LoadPass, _ context: RequestContext
  ) {
    let call = context.call
    if call.options.rate.obeysServers, !call.options.rate.isOff,
      let asked = ServerLimits.pause(response.status, response.headers, now: call.settings.configuration.now()),
      asked > .zero
    {
      let pause = min(asked, call.options.rate.maximumPause)
      call.core.gates.pause(pass.origin, for: pause)
      call.note(.load(.paused("\(pass.origin)", for: pause, asked: asked)))
    }
    if response.status.rawValue == 429 || response.status.rawValue == 503 {
      pass.respond(.refusal, call)
    } else {
      // The time of a large upload says nothing about the server.
      let isSmall = request.body.map { ($0.length ?? .max) <= 64 << 10 } ?? true
      let latency = response.timing.firstByte.map { $0 - response.timing.queued }
      pass.respond(.response(after: isSmall ? latency : nil), call)
    }
    // A stream may last for hours, at the pace of its reader.
    if context.isStreamed { pass.end() }
  }

  @inline(never) private func failed(_ error: any Error, _ pass: LoadPass, _ context: RequestContext) -> any Error {
    // An exchange that ended while it waited for the client itself says nothing about the server.
    if let error = error as? HTTPError, error.phase != .queued,
      error.isConnectivity || error.isTimeout || error.kind == .tls || error.kind == .protocolViolation
    {
      let now = context.call.core.timeline.now()
      pass.respond(.failure(error, after: now - (pass.control?.networkStart ?? now)), context.call)
    } else {
      pass.respond(.cancelled, context.call)
    }
    pass.end()
    return error
  }
}

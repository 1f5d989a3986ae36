import MartletBase

/// Sends an exchange when its rate limit and its origin's limits admit it.
///
/// The stage is right above ``ExchangeStage``, so it knows the final origin, and counts every exchange.
struct LoadStage: Stage {
  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let pass = AdmissionPermit(origin: hop.origin, context.call)
    // The rate of a tag or an endpoint, the rate of the origin, its concurrency and its circuit.
    while let waiter = try pass.advance(context) { try await wait(waiter, pass, context) }
    var context = context
    context.pass = pass
    do {
      let response = try await next(hop, context)
      heard(response, hop.request, pass, context)
      return response
    } catch {
      throw failed(error, pass, context)
    }
  }

  /// Waits for a request's turn; throws the reason if the request is not admitted.
  private func wait(_ waiter: AdmissionQueue.Waiter, _ pass: AdmissionPermit, _ context: RequestContext) async throws {
    let call = context.call
    call.report(.waiting(.turn))
    call.core.watchdog.watch(waiter, at: waiter.place, next: waiter.end)
    let token = context.abortSource.onAbort { waiter.leave($0) }
    defer {
      call.core.watchdog.forget(waiter, at: waiter.place)
      context.abortSource.remove(token)
      call.report(.running)
    }
    do {
      try await waiter.result.take()
    } catch let refusal as AdmissionController.Refusal {
      throw pass.error(refusal, call)
    }
    pass.entered(isProbe: false)
    pass.observePause()
    let time = call.core.timeline.now() - waiter.since
    call.decided("load.waited", "the request waited \(time.shown) for its turn")
  }

  private func heard(
    _ response: StreamedResponse, _ request: HTTPRequest, _ pass: AdmissionPermit, _ context: RequestContext
  ) {
    let call = context.call
    if call.options.rate.obeysServers, !call.options.rate.isOff,
      let asked = ServerLimits.pause(response.status, response.headers, now: call.settings.configuration.now()),
      asked > .zero
    {
      let pause = min(asked, call.options.rate.maximumPause)
      call.core.gates.pause(pass.origin, for: pause)
      let (origin, isBounded) = (pass.origin, pause < asked)
      call.decided(
        "load.paused",
        "\(origin) gets no requests for \(pause.shown), because it requested "
          + (isBounded ? "\(asked.shown), which exceeds the maximum" : "this pause"))
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

  private func failed(_ error: any Error, _ pass: AdmissionPermit, _ context: RequestContext) -> any Error {
    if let error = error as? HTTPError, error.concernsServer {
      let now = context.call.core.timeline.now()
      pass.respond(.failure(error, after: now - (pass.control?.networkStart ?? now)), context.call)
    } else {
      pass.respond(.cancelled, context.call)
    }
    pass.end()
    return error
  }
}

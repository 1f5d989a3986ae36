/// The last stage: one exchange on the wire, within its limits.
struct ExchangeStage: Stage {
  private let transport: any Transport
  private let isTransportAbortAware: Bool

  init(transport: any Transport) {
    self.transport = transport
    isTransportAbortAware = transport is any AbortAwareTransport
  }

  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let call = context.call
    // Our own stages send on what passed the gate; only middleware can have put in something else.
    let request = call.settings.isAbortAware ? request : try RequestGate.checkAgain(request, settings: call.settings)
    var context = context
    let control = ExchangeControl(call: call)
    context.exchange = control
    call.setCurrent(request, control)
    let token = call.abortSource.onAbort { control.abortSource.abort($0) }
    let lifetime = ExchangeLifetime(control: control, call: call, token: token)
    do {
      try control.abortSource.check()
      if let spools = request.body?.content.emptySpools, !spools.isEmpty {
        try await withAbort(control.abortSource) { for spool in spools { try await spool.fill() } }
      }
      var response = try await send(request, context)
      response.request = request
      response.timing = control.timing()
      control.didReceiveStatus(response.status)
      call.emit(.head(response.status))
      control.enter(.receiving)
      // The exchange lives as long as its body is read.
      response.body = response.body.keeping(lifetime)
      return response
    } catch {
      lifetime.end()
      // Why the exchange was ended matters, not how the transport put it.
      throw control.abortSource.error ?? error
    }
  }

  private func send(_ request: HTTPRequest, _ context: RequestContext) async throws -> StreamedResponse {
    if isTransportAbortAware { return try await transport.send(request, context: context) }
    let transport = transport
    context.exchange.enter(.waiting)
    var response = try await withAbort(context.exchange.abortSource) {
      try await transport.send(request, context: context)
    }
    response.body = response.body.abortable(context.exchange)
    return response
  }
}

/// Ends the bookkeeping of an exchange once its body is at its end or dropped.
final class ExchangeLifetime: Sendable {
  private let control: ExchangeControl
  private let call: Call
  private let token: Int

  init(control: ExchangeControl, call: Call, token: Int) {
    self.control = control
    self.call = call
    self.token = token
  }

  deinit { end() }

  func end() {
    control.end()
    call.abortSource.remove(token)
  }
}

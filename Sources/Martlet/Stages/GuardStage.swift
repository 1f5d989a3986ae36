/// Applies the guards to each exchange, and records HSTS hosts from responses.
///
/// The stage is above credentials and cookies, so these are chosen for the final URL. It is repeated below attempt
/// middleware, which may have changed the request.
struct GuardStage: Stage {
  let guards: GuardSet
  /// Whether to record HSTS hosts, which is necessary once for each exchange.
  var listens = true

  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let call = context.call
    let admitted = try guards.admit(hop, call)
    if admitted.url !== hop.url { call.report(.upgraded(host: admitted.url.host)) }
    if listens {
      let host = admitted.url.host
      call.explain(.init("guards.admitted", "the guards admit \(host)"))
    }
    let response = try await next(admitted, context)
    guard listens, let hosts = guards.hosts, let value = response.headers[all: "Strict-Transport-Security"].first,
      response.source == .network, let source = response.request.absoluteURL
    else { return response }
    let isVerified = call.settings.partition.checksServers
    call.explain(.hsts(value, from: source, isVerified: isVerified))
    guard isVerified else { return response }
    let now = call.settings.configuration.now()
    if hosts.receive(value, from: source, now: now) {
      // A file that cannot be written does not fail the request. The wait for it ends with the call.
      try await withAbort(context.abortSource) { await hosts.save(now: now) }
    }
    return response
  }
}

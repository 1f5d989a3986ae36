/// Asks the guards about each exchange, and lets them hear what hosts say of themselves.
///
/// It stands above credentials and cookies, so that these are chosen for the URL that is sent, and once more below
/// attempt middleware, which may have made something else of the request.
struct GuardStage: Stage {
  let guards: GuardSet
  /// Whether it listens to what hosts say: once for each exchange is enough.
  var listens = true

  func run(_ request: HTTPRequest, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    let call = context.call
    let (admitted, url, isUpgraded) = try guards.admit(request, call.settings)
    if isUpgraded { call.emit(.upgraded(host: url.host)) }
    let response = try await next(admitted, context)
    guard listens, let hosts = guards.hosts, let value = response.headers[all: "Strict-Transport-Security"].first,
      response.source == .network, call.settings.partition.checksServers,
      let source = try? response.request.target.resolve(against: nil)
    else { return response }
    let now = call.settings.configuration.now()
    if hosts.hear(value, from: source, now: now) {
      // A file that cannot be written is not the request's problem; and the wait for it can be ended.
      try await withAbort(call.abortSource) { await hosts.save(now: now) }
    }
    return response
  }
}

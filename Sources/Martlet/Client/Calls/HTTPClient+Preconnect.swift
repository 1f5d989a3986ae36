import MartletBase

extension HTTPClient {
  /// Opens connections to a server, so the next requests need not wait for them.
  ///
  /// ```swift
  /// try await client.preconnect(to: "https://api.example.com", count: 2)
  /// ```
  ///
  /// The function looks the host up, connects, and completes the TLS handshake, through the proxy if there is one.
  /// Nothing is sent to the server after that. The connections are then idle, and stay open for
  /// ``HTTPClient/Configuration/idleConnectionLifetime``; the server may close them earlier. If the server selects
  /// HTTP/2, one connection serves all requests, and `count` has no effect. Streamed bodies over HTTP/2 have their own
  /// connections.
  ///
  /// With a ``HTTPClient/Configuration/cluster``, connections to the base URL's origin are opened to each server of the
  /// cluster. The function throws if no server could be reached.
  ///
  /// Limits, guards, HSTS, ``TimeoutPolicy/connect``, ``TimeoutPolicy/total`` and deadlines apply as for requests;
  /// middleware and instruments see nothing. The calling task, ``HTTPClient/cancelAll()`` and
  /// ``HTTPClient/drain(timeout:)`` also end the wait for a free connection.
  ///
  /// Requires the Linux engine with libcurl 7.80 or later. With GnuTLS and TLS 1.3, a server's session ticket ends an
  /// HTTP/1 connection before it is used.
  ///
  /// - Parameters:
  ///   - target: The URL, of which only scheme, host and port count; relative to the client's base URL.
  ///   - count: The number of new connections to each server, from 1, by default, to
  ///     ``TransportSettings/maximumConnectionsPerHost``.
  /// - Throws: ``HTTPError``: ``HTTPError/Kind/invalidRequest`` for an invalid URL or count,
  ///   ``HTTPError/Kind/refusedByGuard``, ``HTTPError/Kind/cannotConnect``, ``HTTPError/Kind/tls`` and
  ///   ``HTTPError/Kind/timedOut`` as for a request, and ``HTTPError/Kind/unsupported`` if no request could use the
  ///   connection later, such as with a Unix socket, or if there are credentials for the http or https proxy.
  ///   `CancellationError`.
  public nonisolated func preconnect(to target: RequestTarget, count: Int = 1) async throws {
    try Task.checkCancellation()
    try await core.preconnect(to: target, count: count)
  }
}

extension ClientCore {
  @concurrent fileprivate func preconnect(to target: RequestTarget, count: Int) async throws {
    let settings = freshSettings
    let asked = HTTPRequest(.head, target)
    let (hop, _) = try RequestGate.admit(asked, settings: settings, options: settings.options, credential: nil)
    let limit = settings.configuration.transportSettings.maximumConnectionsPerHost
    guard (1...max(1, limit)).contains(count) else {
      let rule = "it must be from 1 to maximumConnectionsPerHost, which is \(limit)"
      throw HTTPError(.invalidRequest, "count is \(count): \(rule)", request: hop.request)
    }
    let call = Call(
      id: ClientCore.nextID(), core: self, settings: settings, first: hop, credential: nil, options: settings.options,
      endpoint: nil, retryOf: nil, isManaged: false, isObserved: false)
    if let deadline = call.deadline, deadline.deadline.hasPassed { throw call.complete(deadline.error) }
    let hops = try settings.hopsAtServers(hop)
    guard let transport = settings.transport as? any PreconnectingTransport else {
      throw HTTPError(
        .unsupported, "this transport cannot open connections in advance; on Linux, use .curl or .urlSession",
        request: hop.request)
    }
    guard let work = enterForeign("preconnect", endedBy: call.abortSource) else {
      throw HTTPError(.clientClosed, "the client is drained and opens no new connections", request: hop.request)
    }
    if let end = call.end { watchdog.watch(call, at: call.watchPlace, next: end) }
    defer {
      watchdog.forget(call, at: call.watchPlace)
      leaveForeign(work)
    }
    try await withTaskCancellationHandler {
      let failures = await withTaskGroup(of: (any Error)?.self) { group in
        for hop in hops { group.addTask { await Self.preconnect(hop, count, transport, call) } }
        return await group.reduce(into: [any Error]()) { if let error = $1 { $0.append(error) } }
      }
      try Task.checkCancellation()
      if failures.count == hops.count, let failure = failures.first { throw failure }
    } onCancel: {
      call.abortSource.abort(CancellationError())
    }
  }

  /// Opens connections to a server; returns the error.
  private static func preconnect(
    _ hop: Hop, _ count: Int, _ transport: any PreconnectingTransport, _ call: Call
  ) async -> (any Error)? {
    var request = hop.request
    do {
      request = try call.settings.guards?.admit(hop, call).request ?? request
      try await transport.preconnect(for: request, count: count, context: RequestContext(call: call))
      return nil
    } catch {
      return RequestGate.problem(error, of: request)
    }
  }
}

extension ClientSettings {
  /// A request at each server of the cluster, if it is sent to the cluster; otherwise the request itself.
  fileprivate func hopsAtServers(_ hop: Hop) throws -> [Hop] {
    guard let servers, usesCluster(hop) else { return [hop] }
    return try servers.urls.map { url in try servers.cluster.place(hop, at: url, originFields).hop }
  }
}

import MartletBase

/// Sends an attempt to a server of the cluster.
///
/// The stage is above the stages that use credentials, cookies and stored responses if each server has its own. If all
/// servers are one service, it is below them, so they use the URL of the service.
struct ClusterStage: Stage {
  let servers: ServerPool

  func run(_ hop: Hop, _ context: RequestContext, _ next: Next) async throws -> StreamedResponse {
    guard let trail = context.servers else { return try await next(hop, context) }
    let use = trail.use(for: context.attempt, isHedge: context.lane?.isHedge == true)
    defer { use.end() }
    let placed = try place(hop, use, context.call)
    var context = context
    context.server = use
    var response = try await next(placed, context)
    guard servers.cluster.isOneService, let url = response.request.absoluteURL, url.isLocated(at: placed.url),
      let serviceURL = try? url.moved(to: hop.url)
    else { return response }
    response.request.target = RequestTarget(serviceURL)
    return response
  }

  private func place(_ hop: Hop, _ use: ServerUse, _ call: Call) throws -> Hop {
    let placed: Cluster.Placed
    do {
      placed = try servers.cluster.place(hop, at: use.url, call.settings.originFields)
    } catch {
      throw RequestGate.problem(error, of: hop.request)
    }
    let origin = placed.hop.origin
    if call.explains {
      call.decided(
        "cluster.chosen",
        use.choice.isProbe
          ? "the request is sent to \(origin), which was left out, to test it" : "the request is sent to \(origin)")
      if !placed.dropped.isEmpty {
        call.decided(
          "cluster.fieldsDropped",
          "\(Explanation.list(placed.dropped)) \(placed.dropped.count == 1 ? "was" : "were") removed, because "
            + "\(origin) is not the base URL's origin and the cluster is not one service")
      }
    }
    return placed.hop
  }
}

extension ClientSettings {
  /// The request at the server that has responded, so a relative redirect stays there.
  ///
  /// If the servers are one service, it is still the request to the service.
  func located(_ hop: Hop, by response: StreamedResponse) -> Hop {
    guard let servers, !servers.cluster.isOneService, usesCluster(hop),
      let url = response.request.absoluteURL, serverIndex(of: url) != nil
    else { return hop }
    return (try? servers.cluster.place(hop, at: url, originFields).hop) ?? hop
  }

  /// The target of a redirect of a request to the cluster, and the number of the server that it leads to.
  ///
  /// If the servers are one service, the target is the URL of the service, and a relative redirect leads to no particular
  /// server.
  func redirected(_ url: AbsoluteURL, isRelative: Bool) -> (target: AbsoluteURL, server: Int?) {
    guard let servers, let index = serverIndex(of: url) else { return (url, nil) }
    guard servers.cluster.isOneService else { return (url, index) }
    return (upgraded((try? url.moved(to: servers.base)) ?? url), isRelative ? nil : index)
  }

  /// The number of the server that a URL belongs to; `nil` for other URLs.
  private func serverIndex(of url: AbsoluteURL) -> Int? {
    servers?.urls.firstIndex { $0.origin == url.origin || upgraded($0.origin) == url.origin }
  }
}

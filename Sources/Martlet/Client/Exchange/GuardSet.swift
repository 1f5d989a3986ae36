import MartletBase

/// The guards of a client; `nil` without guards.
final class GuardSet: Sendable {
  let rules: GuardRules
  /// The known HSTS hosts, if the guards include HSTS.
  let hosts: HSTSHosts?
  /// Whether the transport cannot check addresses, although a guard requires it.
  private let isBlind: Bool

  init?(_ configuration: HTTPClient.Configuration, _ transport: any Transport, reusing previous: GuardSet?) {
    guard !configuration.guards.isEmpty else { return nil }
    rules = configuration.guardRules
    let known = previous?.rules.store == rules.store ? previous?.hosts : nil
    hosts = known ?? rules.store.map { HSTSHosts($0, now: configuration.now()) }
    isBlind = rules.addresses != nil && !(transport is any AddressCheckingTransport)
  }

  /// Applies the guards to a request: changes its URL to https for an HSTS host, and throws if it is rejected.
  func admit(_ hop: Hop, _ call: Call) throws -> Hop {
    if !hop.url.isSecure, let problem = hosts?.problem {
      throw HTTPError(
        .fileFailed, "HSTS state for \(hop.url.host) is unavailable: \(problem.message)", request: hop.request)
    }
    let admitted = call.settings.upgraded(hop)
    if let refusal = rules.refusal(of: admitted.url) {
      call.decided("guards.refused", refusal)
      throw HTTPError(.refusedByGuard, refusal, request: hop.request)
    }
    guard !isBlind else {
      throw HTTPError(
        .unsupported, "this transport does not support publicAddressesOnly; on Linux, use .curl or .urlSession",
        request: hop.request)
    }
    return admitted
  }
}

/// A transport that checks each address before it connects.
///
/// Where it cannot check addresses, it rejects requests.
package protocol AddressCheckingTransport: Transport {}

extension ClientSettings {
  /// The URL, changed to https for an HSTS host (RFC 6797 §8.3).
  func upgraded(_ url: AbsoluteURL) -> AbsoluteURL {
    guard let hosts = guards?.hosts, !url.isSecure, hosts.covers(url.host, now: configuration.now()) else { return url }
    return url.secure ?? url
  }

  /// The request, with its URL changed to https for an HSTS host.
  func upgraded(_ hop: Hop) -> Hop {
    let url = upgraded(hop.url)
    return url === hop.url ? hop : Hop(hop.request, at: url)
  }

  /// The origin that requests to this one use, after the change to https for HSTS hosts.
  func upgraded(_ origin: Origin) -> Origin {
    guard let hosts = guards?.hosts, origin.scheme == "http", hosts.covers(origin.host, now: configuration.now())
    else { return origin }
    return Origin(scheme: "https", host: origin.host, port: origin.port == 80 ? 443 : origin.port)
  }
}

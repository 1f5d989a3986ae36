import MartletBase

/// The guards of a client, ready for use; there is none if none is on.
final class GuardSet: Sendable {
  let rules: GuardRules
  /// The hosts that want https, if they are remembered.
  let hosts: HSTSHosts?
  /// Whether connections would be made that nobody looks at.
  private let isBlind: Bool

  init?(_ configuration: HTTPClient.Configuration, _ transport: any Transport, reusing previous: GuardSet?) {
    guard !configuration.guards.isEmpty else { return nil }
    rules = configuration.guardRules
    if let previous, let hosts = previous.hosts, previous.rules.store == rules.store {
      self.hosts = hosts
    } else {
      hosts = rules.store.map { HSTSHosts($0, now: configuration.now()) }
    }
    isBlind = rules.addresses != nil && !(transport is any AddressCheckingTransport)
  }

  /// Makes a request what it has to be, or refuses it; returns it, and whether its URL was made an https one.
  func admit(_ request: HTTPRequest, _ settings: ClientSettings) throws -> (HTTPRequest, url: AbsoluteURL, Bool) {
    let asked: AbsoluteURL
    do throws(InvalidInput) {
      asked = try request.target.resolve(against: settings.configuration.baseURL, adding: request.query)
    } catch {
      throw HTTPError(.invalidRequest, error.message, request: request)
    }
    if !asked.isSecure, let problem = hosts?.problem {
      throw HTTPError(.file, "HSTS state for \(asked.host) is unavailable: \(problem.message)", request: request)
    }
    let url = settings.upgraded(asked)
    if let refusal = rules.refusal(of: url) { throw HTTPError(.refusedByGuard, refusal, request: request) }
    guard !isBlind else {
      throw HTTPError(
        .unsupported, "this transport does not support publicAddressesOnly; on Linux, use .curl or .urlSession",
        request: request)
    }
    var request = request
    request.target = RequestTarget(url)
    request.query = [:]
    return (request, url, url !== asked)
  }
}

/// A transport that looks at each address before it connects, or refuses to do anything where it cannot.
package protocol AddressCheckingTransport: Transport {}

extension ClientSettings {
  /// The URL, as an https one if its host is known to want that (RFC 6797 §8.3).
  func upgraded(_ url: AbsoluteURL) -> AbsoluteURL {
    guard let hosts = guards?.hosts, !url.isSecure, hosts.covers(url.host, now: configuration.now()) else { return url }
    return url.secure ?? url
  }

  /// The request, with an https URL if its host is known to want that.
  func upgraded(_ request: HTTPRequest) -> HTTPRequest {
    guard guards?.hosts != nil,
      let url = try? request.target.resolve(against: configuration.baseURL, adding: request.query)
    else { return request }
    let upgraded = upgraded(url)
    if upgraded === url { return request }
    var request = request
    request.target = RequestTarget(upgraded)
    request.query = [:]
    return request
  }

  /// The origin that a request to this one really goes to.
  func upgraded(_ origin: Origin) -> Origin {
    guard let hosts = guards?.hosts, origin.scheme == "http", hosts.covers(origin.host, now: configuration.now())
    else { return origin }
    return Origin(scheme: "https", host: origin.host, port: origin.port == 80 ? 443 : origin.port)
  }
}

extension AbsoluteURL {
  /// The same over https: at its usual port instead of http's, and at any other as it is (RFC 6797 §8.3).
  fileprivate var secure: AbsoluteURL? {
    var authority = authority
    if authority.port == 443 { authority.port = nil }
    return try? AbsoluteURL(scheme: "https", authority: authority, path: path, query: query, fragment: fragment)
  }
}

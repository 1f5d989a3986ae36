import MartletBase

/// A configuration of a client, ready for use; a call keeps the one at its start.
final class ClientSettings: Sendable {
  let configuration: HTTPClient.Configuration
  let transport: any Transport
  /// The key that separates stored state by trust, identity and route.
  let partition: NetworkPartition
  let defaultHeaders: HTTPHeaders
  /// Whether the default fields are valid, so requests need not check them again.
  let areDefaultHeadersSound: Bool
  /// Whether the default fields contain credentials, which then separate stored responses.
  let areDefaultHeadersSecret: Bool
  /// The fields that other origins may receive.
  let originFields: OriginFields
  let targets: ParsedTargets
  /// The origin of the base URL, `nil` without one, or the problem of an invalid one.
  let baseOrigin: Result<Origin?, InvalidInput>
  /// The servers of the cluster; `nil` without one.
  let servers: ServerPool?
  let jar: CookieJar
  let cache: ResponseCache
  /// The guards that reject disallowed destinations, or `nil` for none.
  let guards: GuardSet?
  /// Delivers events to the instruments; `nil` if there are none.
  let instruments: InstrumentFeed?
  /// The options of a request without its own options.
  let options: ResolvedOptions
  private let limitsLoad: Bool
  /// Whether all stages end with the call, so no task is necessary to end the wait for them.
  let isAbortAware: Bool
  /// The features that ``options`` need.
  let features: Features
  /// The stages for these features; the first call creates them.
  let usualStages = Locked<UsualStages?>(nil)
  /// A problem of the configuration that prevents all requests, or `nil`.
  let problem: InvalidInput?
  private let transportProblem: InvalidInput?
  private let transportSettings: TransportSettings

  /// Whether a TLS file could not be read for a temporary reason.
  let isUnread: Bool

  init(_ configuration: HTTPClient.Configuration, reusing previous: ClientSettings? = nil) {
    self.configuration = configuration
    transportSettings = configuration.transportSettings
    // The previous settings, if they have the same value there.
    let kept = { (identity: KeyPath<HTTPClient.Configuration, Int>) in
      previous?.configuration[keyPath: identity] == configuration[keyPath: identity] ? previous : nil
    }
    if let previous = kept(\.transportIdentity), previous.transportSettings.isSame(as: transportSettings) {
      transport = previous.transport
      partition = previous.partition
      transportProblem = previous.transportProblem
    } else {
      transportProblem = transportSettings.problem
      transport = configuration.transport.prepared(for: transportSettings)
      partition = NetworkPartition(transportSettings)
    }
    jar = kept(\.cookiesIdentity)?.jar ?? configuration.cookies.makeJar(configuration.now)
    let automatic = ResponseCache.automatic
    let own = previous?.configuration.cache === automatic ? previous?.cache : nil
    cache = configuration.cache === automatic ? own ?? .memory() : configuration.cache
    (cache.permanent as? StoreAdapter)?.keepTime(by: configuration.clock)
    guards = GuardSet(configuration, transport, reusing: previous?.guards)
    instruments = kept(\.instrumentsIdentity).map(\.instruments) ?? InstrumentFeed(configuration.instruments)
    isUnread = transportSettings.tls.isUnread
    let cluster = Result { () throws(InvalidInput) in try configuration.serverPool(reusing: previous?.servers) }
    servers = (try? cluster.get()) ?? nil
    problem =
      transportProblem ?? configuration.authenticationProblem ?? configuration.guardRules.problem
      ?? configuration.bandwidth?.problem ?? configuration.deadlineHeader?.problem
      ?? configuration.concurrency.problem ?? configuration.circuitBreaker.problem
      ?? configuration.dataBudget.problem ?? cluster.failure
    var headers: HTTPHeaders = ["Accept": "*/*", "User-Agent": configuration.userAgent]
    headers.replace(with: configuration.headers)
    defaultHeaders = headers
    areDefaultHeadersSound = RequestGate.areSound(headers)
    let fields = OriginFields(
      redaction: configuration.redaction, allowed: configuration.crossOriginHeaders,
      defaults: configuration.baseURL == nil ? [:] : headers)
    originFields = fields
    areDefaultHeadersSecret = headers.contains { fields.isSecret($0.name) }
    targets = ParsedTargets(base: configuration.baseURL)
    baseOrigin = Result { () throws(InvalidInput) in try configuration.baseURL?.resolve(against: nil).origin }
    options = ResolvedOptions(configuration.options)
    limitsLoad = configuration.limitsLoad
    isAbortAware = (configuration.middleware + configuration.exchangeMiddleware).allSatisfy {
      $0 is any AbortAwareMiddleware
    }
    features = Features(options, limitsLoad: limitsLoad, jar)
  }

  /// The features that options need, without a copy of the configuration, which is large.
  func features(of options: ResolvedOptions) -> Features { Features(options, limitsLoad: limitsLoad, jar) }
}

extension HTTPClient.Configuration {
  /// The servers of the cluster, with their known state; throws if the cluster is invalid.
  fileprivate func serverPool(reusing previous: ServerPool?) throws(InvalidInput) -> ServerPool? {
    guard let cluster else { return nil }
    // An invalid base URL is reported as such.
    let base = try baseURL?.resolve(against: nil)
    let urls = try cluster.urls(for: base)
    guard let base else { return nil }
    if let previous, previous.cluster == cluster, previous.base == base { return previous }
    return ServerPool(cluster, base: base, urls, clock, random: random())
  }
}

extension Result where Failure == InvalidInput {
  fileprivate var failure: InvalidInput? { if case .failure(let problem) = self { problem } else { nil } }
}

extension ClientSettings {
  /// Whether a request is sent to a server of the cluster.
  func usesCluster(_ hop: Hop) -> Bool {
    guard let servers else { return false }
    return hop.origin == servers.base.origin || hop.origin == upgraded(servers.base.origin)
  }

  /// The optional stages that a request's options need.
  struct Features: Equatable {
    let isFollowing, isHedging, isLimited, hasCookies: Bool

    init(_ options: ResolvedOptions, limitsLoad: Bool, _ jar: CookieJar) {
      isFollowing = options.redirects.isFollowing
      isHedging = !options.hedging.isOff
      isLimited = !options.rate.isOff || limitsLoad
      hasCookies =
        switch options.cookies.kind {
        case .automatic: !jar.shelf.keepsNothing
        case .none: false
        case .jar, .only: true
        }
    }
  }
}

/// The stages of calls with the client's usual options.
final class UsualStages: Sendable {
  /// The stages for complete and for streamed responses.
  let whole, stream: [any Stage]

  init(whole: [any Stage], stream: [any Stage]) { (self.whole, self.stream) = (whole, stream) }
}

extension HTTPClient.Configuration {
  /// Removes the default fields that only the program's own server may receive, for a client of another one.
  package mutating func removeSecretHeaders() {
    OriginFields(redaction: redaction, allowed: crossOriginHeaders).drop(from: &headers)
  }
}

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
    problem =
      transportProblem ?? configuration.authenticationProblem ?? configuration.guardRules.problem
      ?? configuration.bandwidth?.problem ?? configuration.deadlineHeader?.problem
      ?? configuration.concurrency.problem ?? configuration.circuitBreaker.problem
      ?? configuration.dataBudget.problem
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

extension ClientSettings {
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

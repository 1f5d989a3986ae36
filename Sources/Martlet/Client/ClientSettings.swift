import MartletBase

/// One state of a client's configuration, ready for use; a call keeps the one that it began with.
final class ClientSettings: Sendable {
  let configuration: HTTPClient.Configuration
  let transport: any Transport
  /// What vouches for the answers that come.
  let partition: NetworkPartition
  let defaultHeaders: HTTPHeaders
  /// Whether the gate has nothing against them, so that it need not look again.
  let areDefaultHeadersSound: Bool
  /// Whether they say who the client is: then what is stored is for that one.
  let areDefaultHeadersSecret: Bool
  let targets: ParsedTargets
  /// The origin of the base URL, if there is one, or what is wrong with it.
  let baseOrigin: Result<Origin?, InvalidInput>
  let jar: CookieJar
  let cache: ResponseCache
  /// What keeps requests from going where they must not, if anything does.
  let guards: GuardSet?
  /// The options of a request that chooses nothing.
  let options: ResolvedOptions
  private let hasCookies: Bool
  private let wholeStages: [any Stage]
  private let streamStages: [any Stage]
  /// What is wrong with the configuration, so that no request can be sent.
  let problem: InvalidInput?
  private let transportProblem: InvalidInput?

  /// Whether a file of theirs could not be read for a reason that passes.
  var isUnread: Bool { configuration.transportSettings.tls.isUnread }

  init(_ configuration: HTTPClient.Configuration, reusing previous: ClientSettings? = nil) {
    self.configuration = configuration
    if let previous, previous.configuration.transportIdentity == configuration.transportIdentity {
      transport = previous.transport
      partition = previous.partition
      transportProblem = previous.transportProblem
    } else {
      transportProblem = configuration.transportSettings.problem
      transport = configuration.transport.prepared(for: configuration.transportSettings)
      partition = NetworkPartition(configuration.transportSettings, identity: configuration.transportIdentity)
    }
    if let previous, previous.configuration.cookiesIdentity == configuration.cookiesIdentity {
      jar = previous.jar
    } else {
      jar = configuration.cookies.makeJar(configuration.now)
    }
    if configuration.cache !== ResponseCache.automatic {
      cache = configuration.cache
    } else if let previous, previous.configuration.cache === ResponseCache.automatic {
      cache = previous.cache
    } else {
      cache = .memory()
    }
    (cache.permanent as? StoreShelf)?.keepTime(by: configuration.clock)
    guards = GuardSet(configuration, transport, reusing: previous?.guards)
    problem =
      transportProblem ?? configuration.authenticationProblem ?? configuration.guardRules.problem
      ?? configuration.bandwidth?.problem
    var headers: HTTPHeaders = ["Accept": "*/*", "User-Agent": configuration.userAgent]
    headers.replace(with: configuration.headers)
    defaultHeaders = headers
    areDefaultHeadersSound = RequestGate.areSound(headers)
    areDefaultHeadersSecret = headers.contains { SecretNames.isSecret(field: $0.name) }
    targets = ParsedTargets(base: configuration.baseURL)
    baseOrigin = Result { () throws(InvalidInput) in try configuration.baseURL?.resolve(against: nil).origin }
    options = ResolvedOptions(configuration.options)
    let isFollowing = options.redirects.isFollowing
    hasCookies = Self.hasCookies(options, jar)
    let cookies = hasCookies ? jar : nil
    wholeStages = Pipeline.stages(
      configuration, transport, guards, isFollowing: isFollowing, cookies: cookies, cache: cache, .whole)
    streamStages = Pipeline.stages(
      configuration, transport, guards, isFollowing: isFollowing, cookies: cookies, cache: cache, .stream)
  }

  /// The stages of a call, which are the same for nearly all of them.
  func stages(
    _ options: ResolvedOptions, hasCredential: Bool = false, _ delivery: Pipeline.Delivery
  ) -> [any Stage] {
    let isFollowing = options.redirects.isFollowing
    let hasCookies = Self.hasCookies(options, jar)
    let isUsual = isFollowing == self.options.redirects.isFollowing && hasCookies == self.hasCookies
    guard isUsual, !hasCredential, !delivery.isOwn else {
      return Pipeline.stages(
        configuration, transport, guards, isFollowing: isFollowing, hasCredential: hasCredential,
        cookies: hasCookies ? jar : nil, cache: cache, delivery)
    }
    return delivery.isWhole ? wholeStages : streamStages
  }

  /// Whether requests with these options have anything to do with cookies.
  private static func hasCookies(_ options: ResolvedOptions, _ jar: CookieJar) -> Bool {
    switch options.cookies.kind {
    case .automatic: !jar.shelf.keepsNothing
    case .none: false
    case .jar, .only: true
    }
  }

  /// Whether every part on the way of a request watches the call for its end, so that no task is needed to end it.
  var isAbortAware: Bool { configuration.middleware.isEmpty && configuration.attemptMiddleware.isEmpty }
}

public import MartletBase
import Synchronization

extension HTTPClient {
  /// The configuration of a client; a request uses the configuration at its start.
  public struct Configuration: Sendable {
    private static let global = Locked(Configuration())

    /// The initial configuration of new clients; a change affects only clients created later.
    public static var `default`: Configuration {
      get { global.withLock { $0 }.unshared }
      set { global.withLock { $0 = newValue.unshared } }
    }

    /// The URL that relative targets are joined to; `nil` by default.
    ///
    /// `/x` and `x` are both appended to its path; a full URL as a target replaces it.
    public var baseURL: RequestTarget?

    /// The servers that requests to ``baseURL`` are sent to; `nil`, the default, for the server of that URL.
    public var cluster: Cluster?

    /// The default header fields; an endpoint or a request replaces them by name.
    ///
    /// With ``baseURL`` set, they are sent to the base URL's origin only. Exceptions are the names in
    /// ``crossOriginHeaders``, and fields that describe the client, the connection or the body: `Accept`, `Accept-…`,
    /// `Cache-Control`, `Connection`, `Content-…`, `DNT`, `Expect`, `If-…`, `Pragma`, `Priority`, `Range`, `TE`, and
    /// `User-Agent`.
    public var headers: HTTPHeaders = [:]

    /// The names of header fields that other origins may receive; none by default.
    ///
    /// A redirect to another origin drops fields whose names suggest a secret, such as `X-Api-Key`, those that
    /// ``redaction`` masks by name, and default ``headers`` of a client with a ``baseURL``. A request to a full URL
    /// elsewhere has no such default fields. Fields that are named here are sent nevertheless. `Authorization`,
    /// `Cookie` and `Proxy-Authorization` always stay at their origin.
    ///
    /// ```swift
    /// $0.crossOriginHeaders = ["X-Request-Signature"]
    /// ```
    public var crossOriginHeaders: [String] = []

    /// The `User-Agent` field; `Martlet/` and the version by default.
    public var userAgent = "Martlet/\(Configuration.version)"

    /// The name of a header field for the request identifier, such as `X-Request-ID`; `nil` by default.
    ///
    /// The field carries a number that is the same for all attempts and redirects of a call, and unique within the
    /// process only. `nil` sends no such field.
    public var requestIDHeader: String?

    /// A header field that reports the remaining time to servers; `nil` by default.
    public var deadlineHeader: Deadline.Header?

    /// The default options of requests; a scope, an endpoint or a request overrides them.
    public var options = RequestOptions()

    /// Credentials by origin; empty by default.
    public var authenticators = Authenticators()

    /// Guards that reject disallowed destinations, including those of redirects and middleware; empty by default.
    ///
    /// Adding ``RequestGuard/publicAddressesOnly`` makes the client open new connections.
    public var guards: [RequestGuard] = [] { didSet { guardRules = GuardRules(guards) } }

    /// Middleware that runs once per call, the first one outermost.
    public var middleware: [any Middleware] = []

    /// Middleware that runs once per exchange: for each attempt, each redirect and each replay after a 401.
    public var exchangeMiddleware: [any Middleware] = []

    /// The transport that sends the requests; `.urlSession` by default, or `.curl` without the trait `URLSession`.
    public var transport: any Transport = Self.standardTransport { didSet { transportIdentity = Self.newIdentity() } }

    /// The maximum number of connections per host; 6 by default.
    ///
    /// With HTTP/1 each request needs its own connection. With HTTP/2, requests whose bodies are collected share one
    /// connection, or as many as the server's limit of streams requires; see ``concurrency``. With the Linux
    /// engine, each streamed response and each streamed request body has its own connection, so a slow reader or
    /// body does not hold up other requests, unless only one connection is allowed. The system's loaders do not report
    /// the version in time: for them this is the maximum number of requests.
    ///
    /// Unless it is set, it is at least the upper bound of ``ConcurrencyPolicy/adaptive(_:)``.
    public var maximumConnectionsPerHost: Int {
      get { perHost ?? max(ownSettings.maximumConnectionsPerHost, concurrency.bounds?.upperBound ?? 1) }
      set { perHost = max(1, newValue) }
    }

    /// How many requests to one origin may be in progress; ``ConcurrencyPolicy/automatic`` by default.
    public var concurrency = ConcurrencyPolicy.automatic

    /// Whether requests to an origin that cannot be reached fail at once; ``CircuitBreaker/off`` by default.
    public var circuitBreaker = CircuitBreaker.off

    /// Whether exchanges are subject to the load limits.
    var limitsLoad: Bool { concurrency.bounds != nil || !circuitBreaker.isOff }

    /// The maximum number of connections, including idle ones; 64 by default.
    ///
    /// With HTTP/1 this also limits the number of requests. With HTTP/2, up to 100 requests to one host count as one.
    /// With the Linux engine, an exchange that ends during its name lookup counts until the lookup ends.
    ///
    /// Unless it is set, it is at least the upper bound of ``ConcurrencyPolicy/adaptive(_:)``.
    public var maximumConnections: Int {
      get { connections ?? max(ownSettings.maximumConnections, concurrency.bounds?.upperBound ?? 1) }
      set { connections = max(1, newValue) }
    }

    /// The maximum number of engine threads on Linux; 1 by default, at most 64.
    ///
    /// One thread carries tens of thousands of small requests, or a gigabyte of TLS, per second. Use more threads for a
    /// client that transfers large bodies over TLS, or that is the main workload of a machine with many processors.
    /// Each thread has its own connections. A request goes to the thread of its host, unless that thread has another
    /// request (over HTTP/2, 100 requests) and another thread has fewer. The connection limits apply to all threads
    /// together, except for idle connections and HTTP/2 connections, for which each thread has its own limit. Upgraded
    /// connections, such as WebSockets, have as many further threads. Values less than 1 are treated as 1, and values
    /// greater than 64 as 64. The system's loaders and other transports ignore this.
    public var engineThreads: Int {
      get { ownSettings.engineThreads }
      set { ownSettings.engineThreads = min(max(1, newValue), 64) }
    }

    /// The bandwidth limit for all requests together, in body bytes per second; `nil`, the default, for none.
    ///
    /// The requests of the client, of clients ``HTTPClient/derived(_:)`` from it, and of all clients made from a copy
    /// of this configuration take turns, until the limit is set again. Running requests keep the limit they started
    /// with. If it is set in ``default``, all clients created later share it. Waiting for the limit does not count as
    /// idle time (``TimeoutPolicy/idle``), but counts towards the total.
    ///
    /// A limit below 1,024 fails every request with ``HTTPError/Kind/invalidRequest``. The limit requires the Linux
    /// engine; with the system's loader every request fails with ``HTTPError/Kind/unsupported``. Both errors are thrown
    /// before anything is sent. Other transports ignore the limit.
    public var bandwidth: BandwidthLimit? {
      didSet {
        if bandwidth != oldValue { bandwidthBudget = bandwidth.map { BandwidthBudget($0) } }
      }
    }

    /// How many bytes may be transferred in a period; ``DataBudget/off`` by default.
    public var dataBudget = DataBudget.off {
      didSet {
        if dataBudget != oldValue { dataLedger = dataBudget.bytes.map { _ in DataLedger(dataBudget) } }
      }
    }

    /// TLS trust and client certificates; ``TLSSettings/system`` by default.
    ///
    /// After a change the client opens new connections, and does not use responses or cookies received under earlier
    /// settings.
    public var tls: TLSSettings {
      get { ownSettings.tls }
      set { ownSettings.tls = newValue }
    }

    /// The cookie storage; ``CookieStore/memory`` by default.
    ///
    /// Setting it gives the client a new jar, even if the storage is the same as before. A client that acts for several
    /// users must keep their cookies apart: use ``CookieStore/off`` here, and a jar for each user in
    /// ``RequestOptions/cookies``.
    public var cookies = CookieStore.memory { didSet { cookiesIdentity = Self.newIdentity() } }

    /// The response cache; ``ResponseCache/automatic`` by default, with 8 MiB of the client's own memory.
    ///
    /// ``RequestOptions/cache`` determines how a request uses it. Clients with the same cache share its contents if
    /// they trust the same servers and reach them in the same way.
    public var cache = ResponseCache.automatic

    /// The redaction of the client's logs, exported commands, errors and activity; ``Redaction/standard`` by default.
    public var redaction = Redaction.standard

    /// The instruments that watch requests; none by default.
    public var instruments: [any Instrument] = [] { didSet { instrumentsIdentity = Self.newIdentity() } }

    /// The encoder of JSON bodies (``HTTPBody/json(_:)-(EncodableSendable)``).
    ///
    /// ```swift
    /// let client = HTTPClient {
    ///   $0.encoder.keyEncodingStrategy = .convertToSnakeCase
    ///   $0.encoder.dateEncodingStrategy = .iso8601
    ///   $0.decoder.keyDecodingStrategy = .convertFromSnakeCase
    ///   $0.decoder.dateDecodingStrategy = .iso8601
    /// }
    /// ```
    ///
    /// By default keys are sorted (`.sortedKeys`), so equal values have equal bytes. Each client has its own
    /// encoder, initially with the strategies of ``default``. Change it here or in ``HTTPClient/update(_:)``. Do not
    /// change the one that ``HTTPClient/configuration`` returns: running requests use it.
    public var encoder: JSONEncoder {
      get { coders.encoder }
      set { coders = coders.replacing(encoder: newValue) }
    }

    /// The decoder of JSON responses, server-sent events and JSON Lines.
    ///
    /// It also decodes the responses of endpoints without a decoder. Like the ``encoder``, each client has its own.
    public var decoder: JSONDecoder {
      get { coders.decoder }
      set { coders = coders.replacing(decoder: newValue) }
    }

    private(set) var coders = JSONCoders()

    /// A copy with its own encoder and decoder, which are objects.
    var unshared: Configuration {
      var copy = self
      copy.coders = coders.copy()
      return copy
    }

    /// The clock for time limits and delays.
    public var clock: any Clock<Duration> = ContinuousClock()

    /// Returns the current date, for expiration.
    ///
    /// A date that is not a number counts as 1 January 1970, and other dates as between `Date.distantPast` and
    /// `Date.distantFuture`.
    public var now: @Sendable () -> Date = { Date() } { didSet { now = { [now] in now().bounded } } }

    /// Returns a random number from 0 up to 1, for the jitter of delays.
    ///
    /// Other numbers count as the nearest of these, and a value that is not a number counts as 0.
    public var random: @Sendable () -> Double = { Double.random(in: 0..<1) } {
      didSet { random = { [random] in random().share } }
    }

    /// The settings that are set here, without those that follow from others.
    var ownSettings = TransportSettings()
    private var perHost: Int?
    private var connections: Int?

    /// The settings for the transport.
    var transportSettings: TransportSettings {
      var settings = ownSettings
      settings.maximumConnectionsPerHost = maximumConnectionsPerHost
      settings.maximumConnections = maximumConnections
      settings.maximumRequestsPerHost =
        switch concurrency.rule {
        case .automatic: nil
        case .fixed(let limit): max(1, limit)
        // Each request needs a connection over HTTP/1, or a hundredth of one.
        case .adaptive(let bounds): max(1, bounds.upperBound)
        }
      settings.addresses = guardRules.addresses
      settings.allowsExpensiveNetworks = dataBudget.allowsExpensiveNetworks
      settings.allowsConstrainedNetworks = dataBudget.allowsConstrainedNetworks
      return settings
    }

    /// The number of the transport that was set.
    private(set) var transportIdentity = Self.newIdentity()
    private(set) var cookiesIdentity = Self.newIdentity()
    private(set) var instrumentsIdentity = Self.newIdentity()
    private(set) var bandwidthBudget: BandwidthBudget?
    private(set) var dataLedger: DataLedger?
    private(set) var guardRules = GuardRules([])

    /// Creates the default configuration.
    public init() {}

    /// The version of this library.
    public static let version = "0.1.0"

    /// The default retry policy of requests; ``RetryPolicy/standard`` by default.
    public var retry: RetryPolicy {
      get { options.retry ?? .standard }
      set { options.retry = newValue }
    }

    /// The default time limits of requests.
    ///
    /// A ``TimeoutPolicy/total`` that is set here also limits streams and downloads; the built-in default of 120 s does
    /// not.
    public var timeout: TimeoutPolicy {
      get { options.timeout }
      set { options.timeout = newValue }
    }

    /// The default redirect policy of requests.
    public var redirects: RedirectPolicy {
      get { options.redirects ?? .follow }
      set { options.redirects = newValue }
    }

    /// The default rate limit of requests; ``RateLimit/off`` by default.
    public var rate: RateLimit {
      get { options.rate ?? .off }
      set { options.rate = newValue }
    }

    /// The default rule for accepted responses.
    public var accepts: RequestOptions.StatusAcceptance {
      get { options.accepts ?? .success }
      set { options.accepts = newValue }
    }

    /// The maximum body bytes kept of an unaccepted response; 64 KiB by default, 0 for none.
    public var maximumErrorBodyBytes: Int {
      get { options.maximumErrorBodyBytes ?? 64 << 10 }
      set { options.maximumErrorBodyBytes = newValue }
    }

    private static let identities = Atomic<Int>(0)

    private static func newIdentity() -> Int { identities.add(1, ordering: .relaxed).newValue }
  }
}

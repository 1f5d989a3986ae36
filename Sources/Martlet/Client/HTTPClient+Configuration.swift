import MartletBase
public import Foundation
import Synchronization

extension HTTPClient {
  /// The configuration of a client; each request uses the value at its start.
  public struct Configuration: Sendable {
    private static let global = Locked(Configuration())

    /// The initial configuration of new clients; a change affects only later ones.
    public static var `default`: Configuration {
      get { global.withLock { $0 }.unshared }
      set { global.withLock { $0 = newValue.unshared } }
    }

    /// The URL that relative targets are joined to; `nil` by default.
    ///
    /// `/x` and `x` are both appended to its path; a whole URL as a target replaces it.
    public var baseURL: RequestTarget?

    /// Header fields of every request, replaced by name by those of an endpoint or a request.
    ///
    /// With ``baseURL`` set, `Authorization`, `Cookie` and `Proxy-Authorization` here go to the base URL's origin only.
    public var headers: HTTPHeaders = [:]

    /// The `User-Agent` field; `Martlet/` and the version by default.
    public var userAgent = "Martlet/\(Configuration.version)"

    /// The name of a header field that carries the number of the call, such as `X-Request-ID`; `nil`, the default,
    /// sends none.
    ///
    /// The number is the same for all attempts and redirects of a call, and unique in the process only.
    public var requestIDHeader: String?

    /// The options of every request, where a scope, an endpoint or the request itself says nothing.
    public var options = RequestOptions()

    /// Credentials by origin; empty by default.
    public var authenticators = Authenticators()

    /// Guards that reject disallowed destinations, also of redirects and middleware; empty by default.
    ///
    /// A client that is given ``RequestGuard/publicAddressesOnly`` opens new connections.
    public var guards: [RequestGuard] = [] {
      didSet {
        guardRules = GuardRules(guards)
        if transportSettings.addresses != guardRules.addresses { transportSettings.addresses = guardRules.addresses }
      }
    }

    /// Middleware run once per call, the first one outermost.
    public var middleware: [any Middleware] = []

    /// Middleware run once per attempt, right above the transport.
    public var attemptMiddleware: [any Middleware] = []

    /// The transport that sends the requests; `.urlSession` by default.
    public var transport: any Transport = URLSessionTransport() { didSet { transportIdentity = Self.newIdentity() } }

    /// The maximum number of connections per host; 6 by default.
    ///
    /// With HTTP/1 each request needs one of its own. With HTTP/2 requests whose bodies are collected share one, or as
    /// many as the server's limit of streams makes necessary; see ``maximumRequestsPerHost``. On the engine of Linux
    /// each streamed response and each streamed request body has its own, so that a reader or a body that sleeps holds
    /// up nobody else, unless there is only one. The system's loaders do not tell the version in time: there it is the
    /// most requests.
    public var maximumConnectionsPerHost: Int {
      get { transportSettings.maximumConnectionsPerHost }
      set { transportSettings.maximumConnectionsPerHost = max(1, newValue) }
    }

    /// The maximum number of concurrent requests per host; `nil` by default.
    ///
    /// `nil` is no limit of its own over HTTP/1, where ``maximumConnectionsPerHost`` is one, and 100 over HTTP/2, or
    /// ``maximumConnectionsPerHost`` if that is more. HTTP/2 counts as spoken from the first TLS handshake on in which
    /// it was agreed on; until then, requests wait as they do for HTTP/1. Less than 1 is taken for 1.
    public var maximumRequestsPerHost: Int? {
      get { transportSettings.maximumRequestsPerHost }
      set { transportSettings.maximumRequestsPerHost = newValue.map { max(1, $0) } }
    }

    /// The maximum number of connections, including idle ones; 64 by default.
    ///
    /// With HTTP/1 it is the most requests, too. Where HTTP/2 is spoken, up to 100 requests with one host count as one.
    /// On the engine of Linux, an exchange that ends while its host is looked up counts until the lookup has ended.
    public var maximumConnections: Int {
      get { transportSettings.maximumConnections }
      set { transportSettings.maximumConnections = max(1, newValue) }
    }

    /// The maximum number of engine threads on Linux; 1 by default, at most 64.
    ///
    /// One thread carries tens of thousands of small requests per second, or a gigabyte of TLS. More of them are for a
    /// client that moves large bodies over TLS, or is the main work of a machine with many processors. Each has
    /// connections of its own. A request goes to the thread of its host as long as that has no other one, or over
    /// HTTP/2 fewer than 100, and else to the thread that has the fewest. The limits of connections hold for all
    /// threads together, but for idle connections, and those of HTTP/2, of which each thread has its own. Fewer than 1
    /// are taken for 1, more than 64 for 64. The system's loaders and other transports know nothing of it.
    public var engineThreads: Int {
      get { transportSettings.engineThreads }
      set { transportSettings.engineThreads = min(max(1, newValue), 64) }
    }

    /// The limit of body bytes per second of all requests together; `nil`, the default, for none.
    ///
    /// Shared, in turns, by the requests of the client, of those ``HTTPClient/derived(_:)`` from it, and of all others
    /// that are made of a copy of this configuration, until it is set to something else; requests that run keep the
    /// limit they began with. Set in ``default``, it is one for all clients made later. Time spent waiting for it is
    /// not idle time (``TimeoutPolicy/idle``), but part of the total.
    ///
    /// A limit below 1,024 fails each request with ``HTTPError/Kind/invalidRequest``. Martlet's own engine on Linux
    /// keeps limits; with the system's loader each request is ``HTTPError/Kind/unsupported``. Both come before
    /// anything is sent. Other transports know nothing of it.
    public var bandwidth: BandwidthLimit? {
      didSet {
        if bandwidth != oldValue { bandwidthBudget = bandwidth.map { BandwidthBudget($0) } }
      }
    }

    /// TLS trust and client certificates; ``TLSSettings/system`` by default.
    ///
    /// A client whose settings change opens new connections, and uses no stored response and no cookie that came under
    /// the earlier ones.
    public var tls: TLSSettings {
      get { transportSettings.tls }
      set { transportSettings.tls = newValue }
    }

    /// Where cookies are stored; ``CookieStore/memory`` by default.
    ///
    /// Setting it gives a client another jar, also when it is the same store again.
    /// A client that acts for many users must keep them apart: with ``CookieStore/off`` here, and a jar for each user
    /// in ``RequestOptions/cookies``.
    public var cookies = CookieStore.memory { didSet { cookiesIdentity = Self.newIdentity() } }

    /// Where responses are kept for later requests; ``ResponseCache/automatic`` by default, 8 MiB of memory of the
    /// client's own.
    ///
    /// What is done with it each request says: ``RequestOptions/cache``. Clients with the same cache share what is in
    /// it, as far as they trust the same servers and reach them in the same way.
    public var cache = ResponseCache.automatic

    /// What is hidden in the logs, exported commands, errors and activity of this client; ``Redaction/standard`` by
    /// default.
    public var redaction = Redaction.standard

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
    /// By default keys are sorted (`.sortedKeys`), so that equal values have equal bytes. Each client has its own, with
    /// the strategies of ``default`` at first. Change it here, or in
    /// ``HTTPClient/update(_:)``: not the one that ``HTTPClient/configuration`` returns, which requests are using.
    public var encoder = JSONEncoder.standard

    /// The decoder of JSON responses, server-sent events and JSON Lines, and of endpoints that have none of their own.
    ///
    /// As ``encoder``, each client has its own.
    public var decoder = JSONDecoder()

    /// The same, with coders of its own: they are objects.
    var unshared: Configuration {
      var copy = self
      (copy.encoder, copy.decoder) = (encoder.copy(), decoder.copy())
      return copy
    }

    /// The clock for time limits and pauses.
    public var clock: any Clock<Duration> = ContinuousClock()

    /// The current date, for expirations.
    public var now: @Sendable () -> Date = { Date() }

    /// A random number from 0 up to 1, for the jitter of pauses.
    public var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    var transportSettings = TransportSettings() { didSet { transportIdentity = Self.newIdentity() } }
    private(set) var transportIdentity = Self.newIdentity()
    private(set) var cookiesIdentity = Self.newIdentity()
    private(set) var bandwidthBudget: BandwidthBudget?
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
    /// A ``TimeoutPolicy/total`` that is changed here limits streams and downloads too; the one of 120 s that is there
    /// by default does not.
    public var timeout: TimeoutPolicy {
      get { options.timeout }
      set { options.timeout = newValue }
    }

    /// The default redirect policy of requests.
    public var redirects: RedirectPolicy {
      get { options.redirects ?? .follow }
      set { options.redirects = newValue }
    }

    /// The default rule for accepted responses.
    public var accepts: RequestOptions.StatusAcceptance {
      get { options.accepts ?? .success }
      set { options.accepts = newValue }
    }

    /// The bytes kept of the body of a response that is not accepted; 64 KiB by default, 0 for none.
    public var maximumErrorBodyBytes: Int {
      get { options.maximumErrorBodyBytes ?? 64 << 10 }
      set { options.maximumErrorBodyBytes = newValue }
    }

    private static let identities = Atomic<Int>(0)

    private static func newIdentity() -> Int { identities.add(1, ordering: .relaxed).newValue }
  }
}

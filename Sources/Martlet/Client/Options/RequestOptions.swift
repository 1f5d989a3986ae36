/// Per-request options, which can also be set at every level above.
///
/// The levels are: the built-in defaults, `HTTPClient.Configuration.default`, the client, the scope, the endpoint, the
/// request. Each field is merged separately: `nil` inherits the value of the level above, and the last level that sets
/// a value wins.
///
/// ```swift
/// try await client.get("/slow", options: .timeout(.seconds(300)).retry(.off))
/// ```
public struct RequestOptions: Sendable {
  /// The retry policy; ``RetryPolicy/standard`` by default.
  public var retry: RetryPolicy?

  /// Whether repeating the request is harmless; ``HTTPRequest/isIdempotent`` by default.
  ///
  /// With `true`, a ``retry`` policy repeats a `POST` like a `GET`, even after a response with 429 or 503 and on a
  /// connection that turns out to be dead. With `false`, it repeats no request that may have reached a server, not even
  /// a `GET`. It applies to every redirect of the call.
  public var isIdempotent: Bool?

  /// Whether a slow request is sent a second time; ``HedgingPolicy/off`` by default.
  public var hedging: HedgingPolicy?

  /// The rate limit of the request; ``RateLimit/off`` by default.
  ///
  /// Requests with the same limit are counted together, as its ``RateLimit/scope`` says.
  public var rate: RateLimit?

  /// The priority among the requests that wait for a limit of the client, from -100 to 100; 0 by default.
  ///
  /// Among those with the highest priority, callers take turns, and each of them gets its oldest request served.
  /// Requests with the same ``tag``, or without a tag the same ``Deadline``, belong to one caller. The priority applies
  /// to ``rate`` and ``HTTPClient/Configuration/concurrency``; a ``RequestQueue`` has its own priorities.
  public var priority: Int?

  /// The redirect policy; ``RedirectPolicy/follow`` by default.
  public var redirects: RedirectPolicy?

  /// The cookie policy; ``CookiePolicy/automatic`` by default.
  ///
  /// A `Cookie` header field that the program sets is sent unchanged, without cookies from the jar; cookies that the
  /// response sets are still stored. The field is sent only to the origin that it was set for.
  public var cookies: CookiePolicy?

  /// Which responses are accepted; ``RequestOptions/StatusAcceptance/success`` by default.
  public var accepts: RequestOptions.StatusAcceptance?

  /// The maximum size of a response body in memory, in bytes after decoding; 100 MiB by default.
  public var maximumBodyBytes: Int?

  /// The maximum body bytes kept of an unaccepted response; 64 KiB by default.
  ///
  /// With 0, the connection is closed as soon as the head has arrived.
  public var maximumErrorBodyBytes: Int?

  /// The cache policy; ``CachePolicy/standard`` by default.
  ///
  /// ``HTTPResponse/source`` reports where the response came from, and ``HTTPResponse/cacheExplanation`` why.
  public var cache: CachePolicy?

  /// The freshness lifetime, instead of the server's; `nil` by default.
  ///
  /// It starts when the response arrives. A response is stored even if its server forbids it.
  public var cacheFor: Duration?

  /// How long responses may be stored; ``ResponseCache/Storage/permanent`` by default.
  public var cacheStorage: ResponseCache.Storage?

  /// The cache partition key, which separates stored responses; `nil` by default.
  ///
  /// Responses to requests with different credentials are separate without a key, and are stored only in memory. With a
  /// key, the program vouches for the user's identity, and the responses may be stored on disk.
  public var cachePartition: String?

  /// Whether equal concurrent `GET` requests share one response; `true` by default.
  ///
  /// A `GET` waits for an equal `GET` in progress, whose response is shared if it may be stored. The wait for the head
  /// is limited to 0.5 seconds, the wait for a response that will be stored to 10 seconds, and both to half of the
  /// request's remaining time. After a response that could not be shared, later requests do not wait. A request with
  /// credentials, conditions or its own range shares nothing.
  public var coalesces: Bool?

  /// Whether bodies are decoded; ``RequestOptions/Decompression/automatic`` by default.
  public var decompression: RequestOptions.Decompression?

  /// The version of HTTP; ``HTTPVersionPolicy/automatic`` by default.
  ///
  /// Requires the Linux engine; the system's loader throws ``HTTPError/Kind/unsupported`` for all but the default.
  public var httpVersion: HTTPVersionPolicy?

  /// Whether to send `Expect: 100-continue` and wait before sending the body (RFC 9110 §10.1.1).
  ///
  /// By default, for bodies known to be larger than 1 MiB. A server that rejects the body sends its final response
  /// before the body is sent. Requires HTTP/1.1 and the Linux engine; the system's loader never sends the expectation.
  /// Without a response, the body is sent after a second. By default, the client does not send the expectation again to
  /// a server that did not respond within that second, nor with a request whose idle limit is less than 2 seconds.
  /// After a 417 response, the request is sent once more without the expectation. The request's own `Expect` header
  /// field takes precedence over this option.
  public var expectsContinue: Bool?

  /// Whether every decision about the request is recorded, for ``HTTPResponse/explanation``; `false` by default.
  ///
  /// At most 256 decisions are recorded for a request.
  public var explains: Bool?

  /// The credential, instead of ``HTTPClient/Configuration/authenticators``; `nil` by default.
  ///
  /// It is sent only to the origin of the request. In the options of a client, it is for the origin of the base URL.
  public var credential: Credential?

  /// A tag for cancelling and counting requests; never sent.
  public var tag: String?

  /// Whether callbacks receive ``HTTPError/Kind/cancelled`` on cancellation; `false` by default.
  public var reportsCancellation: Bool?

  /// Called as bytes are transferred, on one of eight threads that the closures of all requests share.
  ///
  /// It is called at most 20 times a second by the client's clock, one call at a time; a skipped update is part of the
  /// next one, so a slow closure gets fewer calls. The last call comes before the end of the request is reported, with
  /// a ``TransferProgress/fraction`` of 1 if the request succeeded, and the end waits for that call to return. It is
  /// never called after the end.
  public var onProgress: (@Sendable (TransferProgress) -> Void)?

  /// The time limits; each one inherited by default.
  public var timeout = TimeoutPolicy()

  private var values: [ObjectIdentifier: CustomValue] = [:]

  /// Options that inherit everything.
  public init() {}

  /// Creates options.
  ///
  /// - Parameter configure: Sets the options that are not inherited.
  public init(_ configure: (inout RequestOptions) -> Void) {
    self.init()
    configure(&self)
  }

  /// A custom value for middleware; never sent.
  public subscript<K: Key>(_ key: K.Type) -> K.Value? {
    get { values[ObjectIdentifier(key)]?.value as? K.Value }
    set { values[ObjectIdentifier(key)] = newValue.map { CustomValue(value: $0, problem: K.problem($0)) } }
  }

  /// These options, with values from `other` where unset.
  ///
  /// - Parameter other: The options of the level above.
  /// - Returns: The merged options.
  public func over(_ other: RequestOptions) -> RequestOptions {
    var merged = self
    merged.inherit(other)
    return merged
  }

  /// Sets what is unset to the value of the level above.
  private mutating func inherit(_ other: RequestOptions) {
    func inherit<Value>(_ option: inout Value?, _ inherited: Value?) {
      if case nil = option { option = inherited }
    }
    inherit(&retry, other.retry)
    inherit(&isIdempotent, other.isIdempotent)
    inherit(&hedging, other.hedging)
    inherit(&rate, other.rate)
    inherit(&priority, other.priority)
    inherit(&redirects, other.redirects)
    inherit(&cookies, other.cookies)
    inherit(&accepts, other.accepts)
    inherit(&maximumBodyBytes, other.maximumBodyBytes)
    inherit(&maximumErrorBodyBytes, other.maximumErrorBodyBytes)
    inherit(&decompression, other.decompression)
    inherit(&cache, other.cache)
    inherit(&cacheFor, other.cacheFor)
    inherit(&cacheStorage, other.cacheStorage)
    inherit(&cachePartition, other.cachePartition)
    inherit(&coalesces, other.coalesces)
    inherit(&httpVersion, other.httpVersion)
    inherit(&expectsContinue, other.expectsContinue)
    inherit(&credential, other.credential)
    inherit(&explains, other.explains)
    inherit(&tag, other.tag)
    inherit(&reportsCancellation, other.reportsCancellation)
    inherit(&onProgress, other.onProgress)
    timeout = timeout.over(other.timeout)
    if !other.values.isEmpty { values.merge(other.values) { own, _ in own } }
  }

  /// Whether everything is inherited.
  ///
  /// Each request asks this, so nothing is copied.
  var isEmpty: Bool {
    guard case nil = onProgress, case nil = retry, case nil = accepts else { return false }
    guard redirects == nil, cookies == nil, credential == nil, hedging == nil, rate == nil, priority == nil else {
      return false
    }
    guard cache == nil, cacheFor == nil, cacheStorage == nil, cachePartition == nil, coalesces == nil else {
      return false
    }
    guard maximumBodyBytes == nil, maximumErrorBodyBytes == nil, decompression == nil, httpVersion == nil else {
      return false
    }
    guard expectsContinue == nil, isIdempotent == nil, explains == nil, reportsCancellation == nil else { return false }
    return tag == nil && values.isEmpty && timeout.isEmpty
  }
}

extension RequestOptions {
  /// A key for a custom value in ``RequestOptions``.
  public protocol Key {
    /// The type of the value.
    associatedtype Value: Sendable

    /// Checks a value; by default every value is valid.
    ///
    /// A request with an invalid value fails with ``HTTPError/Kind/invalidRequest`` before any byte is sent.
    ///
    /// - Parameter value: The value.
    /// - Returns: `nil`, or what is wrong with the value and what would be valid.
    static func problem(_ value: Value) -> String?
  }

  private struct CustomValue {
    var value: any Sendable
    var problem: String?
  }

  /// The problem of an invalid custom value.
  fileprivate var customProblem: String? { values.isEmpty ? nil : values.values.lazy.compactMap(\.problem).min() }
}

extension RequestOptions.Key {
  public static func problem(_ value: Value) -> String? { nil }
}

/// Options with a value for every field; requests without their own options share one instance.
final class ResolvedOptions: Sendable {
  let source: RequestOptions
  /// The first invalid option, or `nil`.
  let problem: InvalidInput?

  var retry: RetryPolicy { source.retry ?? .standard }
  /// `nil` if the request decides.
  var isIdempotent: Bool? { source.isIdempotent }
  var hedging: HedgingPolicy { source.hedging ?? .off }
  var rate: RateLimit { source.rate ?? .off }
  var priority: Int { source.priority ?? 0 }
  var redirects: RedirectPolicy { source.redirects ?? .follow }
  var cookies: CookiePolicy { source.cookies ?? .automatic }
  var accepts: RequestOptions.StatusAcceptance { source.accepts ?? .success }
  var maximumBodyBytes: Int { source.maximumBodyBytes ?? 100 << 20 }
  var maximumErrorBodyBytes: Int { source.maximumErrorBodyBytes ?? 64 << 10 }
  var decompression: RequestOptions.Decompression { source.decompression ?? .automatic }
  var cache: CachePolicy { source.cache ?? .standard }
  var cacheFor: Duration? { source.cacheFor }
  var cacheStorage: ResponseCache.Storage { source.cacheStorage ?? .permanent }
  var cachePartition: String? { source.cachePartition }
  var coalesces: Bool { source.coalesces ?? true }
  var explains: Bool { source.explains ?? false }
  var timeouts: TimeoutPolicy { source.timeout }
  var httpVersion: RequestOptions.HTTPVersionPolicy { source.httpVersion ?? .automatic }
  /// `nil` if the body and the server decide.
  var expectsContinue: Bool? { source.expectsContinue }

  init(_ options: RequestOptions) {
    source = options
    if let (name, value) = options.timeout.illegalLimit {
      problem = InvalidInput("the \(name) limit is \(value); it must be at least 1 ms, or nil for none")
    } else if let limit = options.maximumBodyBytes, limit < 0 {
      problem = InvalidInput("maximumBodyBytes is \(limit); it must not be negative")
    } else if let limit = options.maximumErrorBodyBytes, limit < 0 {
      problem = InvalidInput("maximumErrorBodyBytes is \(limit); it must not be negative")
    } else if let lifetime = options.cacheFor, lifetime < .zero {
      problem = InvalidInput("cacheFor is \(lifetime); it must not be negative")
    } else {
      let policies = [
        options.cache?.problem, options.retry?.problem, options.redirects?.problem,
        options.cookies?.problem, options.hedging?.problem, options.rate?.problem, options.customProblem,
      ]
      problem = policies.lazy.compactMap { $0 }.first.map { InvalidInput($0) }
    }
  }
}

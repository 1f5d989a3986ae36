/// Per-request options, which can also be set at every level above.
///
/// The levels are: the built-in defaults, `HTTPClient.Configuration.default`, the client, the scope, the endpoint, the
/// request. Every field is merged by itself: what is `nil` is inherited, the last level that says something wins.
///
/// ```swift
/// try await client.get("/slow", options: .timeout(.seconds(300)).retry(.off))
/// ```
public struct RequestOptions: Sendable {
  /// The retry policy; ``RetryPolicy/standard`` by default.
  public var retry: RetryPolicy?

  /// Whether sending the request twice has the effect of sending it once; by default what ``HTTPRequest/isIdempotent``
  /// says.
  ///
  /// With `true` a ``retry`` policy repeats a `POST` as it does a `GET`, also after a response with 429 or 503 and on a
  /// connection that turned out dead. With `false` it repeats no request that may have reached a server, not even a
  /// `GET`. It holds for every redirect of the call.
  public var isIdempotent: Bool?

  /// The redirect policy; ``RedirectPolicy/follow`` by default.
  public var redirects: RedirectPolicy?

  /// The cookie policy; ``CookiePolicy/automatic`` by default.
  ///
  /// A `Cookie` header field that a program sets itself is sent as it is, with nothing from a jar added to it; what the
  /// response sets is kept all the same. The field goes to the origin that it was set for only.
  public var cookies: CookiePolicy?

  /// Which responses are accepted; ``RequestOptions/StatusAcceptance/success`` by default.
  public var accepts: RequestOptions.StatusAcceptance?

  /// The maximum size of a response body in memory, in bytes after decoding; 100 MiB by default.
  public var maximumBodyBytes: Int?

  /// The bytes kept of the body of a response that is not accepted; 64 KiB by default.
  ///
  /// With 0 the connection is ended as soon as the head is there.
  public var maximumErrorBodyBytes: Int?

  /// The cache policy; ``CachePolicy/standard`` by default.
  ///
  /// Where the response came from is in ``HTTPResponse/source``, why in ``HTTPResponse/cacheExplanation``.
  public var cache: CachePolicy?

  /// The freshness lifetime, in place of the server's; `nil` by default.
  ///
  /// A response that its server forbids to store is stored all the same then. Counted from when it came.
  public var cacheFor: Duration?

  /// How long responses may be stored; ``ResponseCache/Storage/permanent`` by default.
  public var cacheStorage: ResponseCache.Storage?

  /// The cache partition key, which keeps stored responses apart; `nil` by default.
  ///
  /// Credentials keep responses apart by themselves, and in memory. With a name the program vouches for who asks, and
  /// they may be kept on disk.
  public var cachePartition: String?

  /// Whether a `GET` waits for the same `GET` that is under way, to share its response if that may be stored; `true` by
  /// default.
  ///
  /// It waits 10 seconds at most. What could not be shared once is not waited for again. A request with credentials,
  /// conditions or a range of its own shares nothing.
  public var coalesces: Bool?

  /// Whether bodies are decoded; ``RequestOptions/Decompression/automatic`` by default.
  public var decompression: RequestOptions.Decompression?

  /// The version of HTTP; ``HTTPVersion/automatic`` by default.
  ///
  /// On the engine of Linux; the system's loader throws ``HTTPError/Kind/unsupported`` for all but the default.
  public var httpVersion: HTTPVersion?

  /// Whether the server is asked for leave before the body is sent (`Expect: 100-continue`, RFC 9110 §10.1.1); by
  /// default for bodies that are known to have more than 1 MiB.
  ///
  /// A server that does not want the body says so with its final response then, before it is sent. Over HTTP/1.1, on
  /// the engine of Linux: the system's loader never asks. Without an answer the body is sent after a second. By
  /// default a server that has let that pass is not asked again by the client, and a request with an idle limit of
  /// less than 2 seconds does not ask. After 417 the request is sent once more without asking. A header field `Expect`
  /// of the request's own counts more than this.
  public var expectsContinue: Bool?

  /// The credential, in place of ``HTTPClient/Configuration/authenticators``; `nil` by default.
  ///
  /// It is for the origin that the request is made to and goes nowhere else. In the options of a client it is for the
  /// base URL's origin.
  public var credential: Credential?

  /// A tag for cancelling and counting requests; never sent.
  public var tag: String?

  /// Whether callbacks receive ``HTTPError/Kind/cancelled`` on cancellation; `false` by default.
  public var reportsCancellation: Bool?

  /// Called as bytes move, on a thread of the library's, of which closures of all requests share eight.
  ///
  /// At most 20 times a second by the client's clock, one call after the other; what is left out is in the next one. A
  /// closure that takes its time gets fewer of them. The last one comes before the request's end is told, with a
  /// ``TransferProgress/fraction`` of 1 if it has succeeded; the end waits for it to return. Not called after the end.
  public var onProgress: (@Sendable (TransferProgress) -> Void)?

  /// The time limits; each one inherited by default.
  public var timeout = TimeoutPolicy()

  private var values: [ObjectIdentifier: any Sendable] = [:]

  /// Options that inherit everything.
  public init() {}

  /// Creates options.
  ///
  /// - Parameter configure: Sets what is not to be inherited.
  public init(_ configure: (inout RequestOptions) -> Void) {
    self.init()
    configure(&self)
  }

  /// A custom value for middleware; never sent.
  public subscript<K: Key>(_ key: K.Type) -> K.Value? {
    get { values[ObjectIdentifier(key)] as? K.Value }
    set { values[ObjectIdentifier(key)] = newValue }
  }

  /// These options, with values from `other` where unset.
  ///
  /// - Parameter other: The options of the level above.
  /// - Returns: The merged options.
  public func over(_ other: RequestOptions) -> RequestOptions {
    var merged = other
    merged.retry = retry ?? other.retry
    merged.isIdempotent = isIdempotent ?? other.isIdempotent
    merged.redirects = redirects ?? other.redirects
    merged.cookies = cookies ?? other.cookies
    merged.accepts = accepts ?? other.accepts
    merged.maximumBodyBytes = maximumBodyBytes ?? other.maximumBodyBytes
    merged.maximumErrorBodyBytes = maximumErrorBodyBytes ?? other.maximumErrorBodyBytes
    merged.decompression = decompression ?? other.decompression
    merged.cache = cache ?? other.cache
    merged.cacheFor = cacheFor ?? other.cacheFor
    merged.cacheStorage = cacheStorage ?? other.cacheStorage
    merged.cachePartition = cachePartition ?? other.cachePartition
    merged.coalesces = coalesces ?? other.coalesces
    merged.httpVersion = httpVersion ?? other.httpVersion
    merged.expectsContinue = expectsContinue ?? other.expectsContinue
    merged.credential = credential ?? other.credential
    merged.tag = tag ?? other.tag
    merged.reportsCancellation = reportsCancellation ?? other.reportsCancellation
    merged.onProgress = onProgress ?? other.onProgress
    merged.timeout = timeout.over(other.timeout)
    if !values.isEmpty { merged.values.merge(values) { _, own in own } }
    return merged
  }
}

extension RequestOptions {
  /// A key for a custom value in ``RequestOptions``.
  public protocol Key {
    /// The type of the value.
    associatedtype Value: Sendable
  }

  /// Whether everything is inherited.
  var isEmpty: Bool {
    guard case nil = onProgress else { return false }
    guard cache == nil, cacheFor == nil, cacheStorage == nil, cachePartition == nil, coalesces == nil else {
      return false
    }
    guard retry == nil, redirects == nil, cookies == nil, credential == nil, accepts == nil else { return false }
    guard expectsContinue == nil, isIdempotent == nil else { return false }
    return maximumBodyBytes == nil && maximumErrorBodyBytes == nil && decompression == nil && httpVersion == nil
      && tag == nil
      && reportsCancellation == nil && values.isEmpty && timeout.isEmpty
  }
}

/// Options with every field filled in; made once for all requests that choose nothing themselves.
final class ResolvedOptions: Sendable {
  let source: RequestOptions
  let retry: RetryPolicy
  /// `nil` for what the request says.
  let isIdempotent: Bool?
  let redirects: RedirectPolicy
  let cookies: CookiePolicy
  let accepts: RequestOptions.StatusAcceptance
  let maximumBodyBytes: Int
  let maximumErrorBodyBytes: Int
  let cache: CachePolicy
  let cacheFor: Duration?
  let cacheStorage: ResponseCache.Storage
  let cachePartition: String?
  let coalesces: Bool
  let decompression: RequestOptions.Decompression
  let timeouts: TimeoutPolicy
  let httpVersion: HTTPVersion
  /// `nil` for what depends on the body and the server.
  let expectsContinue: Bool?
  let problem: InvalidInput?

  init(_ options: RequestOptions) {
    source = options
    retry = options.retry ?? .standard
    isIdempotent = options.isIdempotent
    redirects = options.redirects ?? .follow
    cookies = options.cookies ?? .automatic
    accepts = options.accepts ?? .success
    maximumBodyBytes = options.maximumBodyBytes ?? 100 << 20
    maximumErrorBodyBytes = options.maximumErrorBodyBytes ?? 64 << 10
    decompression = options.decompression ?? .automatic
    cache = options.cache ?? .standard
    cacheFor = options.cacheFor
    cacheStorage = options.cacheStorage ?? .permanent
    cachePartition = options.cachePartition
    coalesces = options.coalesces ?? true
    timeouts = options.timeout
    httpVersion = options.httpVersion ?? .automatic
    expectsContinue = options.expectsContinue
    if let (name, value) = timeouts.illegalLimit {
      problem = InvalidInput("the \(name) limit is \(value); it must be at least 1 ms, or nil for none")
    } else if maximumBodyBytes < 0 {
      problem = InvalidInput("maximumBodyBytes is \(maximumBodyBytes)")
    } else if maximumErrorBodyBytes < 0 {
      problem = InvalidInput("maximumErrorBodyBytes is \(maximumErrorBodyBytes)")
    } else if let lifetime = cacheFor, lifetime < .zero {
      problem = InvalidInput("cacheFor is \(lifetime)")
    } else {
      problem = (httpVersion.problem ?? cache.problem ?? retry.problem ?? redirects.problem ?? cookies.problem).map {
        InvalidInput($0)
      }
    }
  }
}

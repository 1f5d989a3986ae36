/// Options of a transfer, which include those of its request: ``DownloadOptions`` and ``ServerSentEvents/Options``.
///
/// They are written like ``RequestOptions``:
///
/// ```swift
/// let file = try await client.download(url, to: folder, options: .timeout(.seconds(60)).retry(.off))
/// ```
public protocol TransferOptions {
  /// Creates the default options.
  init()

  /// The options of the request.
  var request: RequestOptions { get set }
}

/// The options of the request.
extension TransferOptions {
  /// The request's ``RequestOptions/retry-swift.property``.
  @export(implementation)
  public var retry: RetryPolicy? {
    get { request.retry }
    set { request.retry = newValue }
  }

  /// The request's ``RequestOptions/isIdempotent-swift.property``.
  @export(implementation)
  public var isIdempotent: Bool? {
    get { request.isIdempotent }
    set { request.isIdempotent = newValue }
  }

  /// The request's ``RequestOptions/hedging-swift.property``.
  @export(implementation)
  public var hedging: HedgingPolicy? {
    get { request.hedging }
    set { request.hedging = newValue }
  }

  /// The request's ``RequestOptions/rate-swift.property``.
  @export(implementation)
  public var rate: RateLimit? {
    get { request.rate }
    set { request.rate = newValue }
  }

  /// The request's ``RequestOptions/priority-swift.property``.
  @export(implementation)
  public var priority: Int? {
    get { request.priority }
    set { request.priority = newValue }
  }

  /// The request's ``RequestOptions/redirects-swift.property``.
  @export(implementation)
  public var redirects: RedirectPolicy? {
    get { request.redirects }
    set { request.redirects = newValue }
  }

  /// The request's ``RequestOptions/cookies-swift.property``.
  @export(implementation)
  public var cookies: CookiePolicy? {
    get { request.cookies }
    set { request.cookies = newValue }
  }

  /// The request's ``RequestOptions/accepts-swift.property``.
  @export(implementation)
  public var accepts: RequestOptions.StatusAcceptance? {
    get { request.accepts }
    set { request.accepts = newValue }
  }

  /// The request's ``RequestOptions/maximumBodyBytes-swift.property``.
  @export(implementation)
  public var maximumBodyBytes: Int? {
    get { request.maximumBodyBytes }
    set { request.maximumBodyBytes = newValue }
  }

  /// The request's ``RequestOptions/maximumErrorBodyBytes-swift.property``.
  @export(implementation)
  public var maximumErrorBodyBytes: Int? {
    get { request.maximumErrorBodyBytes }
    set { request.maximumErrorBodyBytes = newValue }
  }

  /// The request's ``RequestOptions/cache-swift.property``.
  @export(implementation)
  public var cache: CachePolicy? {
    get { request.cache }
    set { request.cache = newValue }
  }

  /// The request's ``RequestOptions/cacheFor-swift.property``.
  @export(implementation)
  public var cacheFor: Duration? {
    get { request.cacheFor }
    set { request.cacheFor = newValue }
  }

  /// The request's ``RequestOptions/cacheStorage-swift.property``.
  @export(implementation)
  public var cacheStorage: ResponseCache.Storage? {
    get { request.cacheStorage }
    set { request.cacheStorage = newValue }
  }

  /// The request's ``RequestOptions/cachePartition-swift.property``.
  @export(implementation)
  public var cachePartition: String? {
    get { request.cachePartition }
    set { request.cachePartition = newValue }
  }

  /// The request's ``RequestOptions/coalesces-swift.property``.
  @export(implementation)
  public var coalesces: Bool? {
    get { request.coalesces }
    set { request.coalesces = newValue }
  }

  /// The request's ``RequestOptions/decompression-swift.property``.
  @export(implementation)
  public var decompression: RequestOptions.Decompression? {
    get { request.decompression }
    set { request.decompression = newValue }
  }

  /// The request's ``RequestOptions/httpVersion-swift.property``.
  @export(implementation)
  public var httpVersion: RequestOptions.HTTPVersionPolicy? {
    get { request.httpVersion }
    set { request.httpVersion = newValue }
  }

  /// The request's ``RequestOptions/expectsContinue-swift.property``.
  @export(implementation)
  public var expectsContinue: Bool? {
    get { request.expectsContinue }
    set { request.expectsContinue = newValue }
  }

  /// The request's ``RequestOptions/explains-swift.property``.
  @export(implementation)
  public var explains: Bool? {
    get { request.explains }
    set { request.explains = newValue }
  }

  /// The request's ``RequestOptions/credential-swift.property``.
  @export(implementation)
  public var credential: Credential? {
    get { request.credential }
    set { request.credential = newValue }
  }

  /// The request's ``RequestOptions/tag-swift.property``.
  @export(implementation)
  public var tag: String? {
    get { request.tag }
    set { request.tag = newValue }
  }

  /// The request's ``RequestOptions/reportsCancellation-swift.property``.
  @export(implementation)
  public var reportsCancellation: Bool? {
    get { request.reportsCancellation }
    set { request.reportsCancellation = newValue }
  }

  /// The request's ``RequestOptions/onProgress-swift.property``.
  @export(implementation)
  public var onProgress: (@Sendable (TransferProgress) -> Void)? {
    get { request.onProgress }
    set { request.onProgress = newValue }
  }

  /// The request's ``RequestOptions/timeout-swift.property``.
  @export(implementation)
  public var timeout: TimeoutPolicy {
    get { request.timeout }
    set { request.timeout = newValue }
  }
}

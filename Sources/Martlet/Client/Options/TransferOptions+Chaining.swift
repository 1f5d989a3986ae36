/// Chainable options of the request: `.retry(.off).timeout(.seconds(5))`.
extension TransferOptions {
  @usableFromInline func with(_ change: (inout Self) -> Void) -> Self {
    var copy = self
    change(&copy)
    return copy
  }

  /// Sets ``RequestOptions/retry-swift.property``.
  @export(implementation)
  public func retry(_ policy: RetryPolicy) -> Self { with { $0.request = $0.request.retry(policy) } }
  /// Options that set ``RequestOptions/retry-swift.property``.
  @export(implementation)
  public static func retry(_ policy: RetryPolicy) -> Self { Self().retry(policy) }

  /// Sets ``RequestOptions/hedging-swift.property``.
  @export(implementation)
  public func hedging(_ policy: HedgingPolicy) -> Self { with { $0.request = $0.request.hedging(policy) } }
  /// Options that set ``RequestOptions/hedging-swift.property``.
  @export(implementation)
  public static func hedging(_ policy: HedgingPolicy) -> Self { Self().hedging(policy) }

  /// Sets ``RequestOptions/rate-swift.property``.
  @export(implementation)
  public func rate(_ limit: RateLimit) -> Self { with { $0.request = $0.request.rate(limit) } }
  /// Options that set ``RequestOptions/rate-swift.property``.
  @export(implementation)
  public static func rate(_ limit: RateLimit) -> Self { Self().rate(limit) }

  /// Sets ``RequestOptions/priority-swift.property``.
  @export(implementation)
  public func priority(_ priority: Int) -> Self { with { $0.request = $0.request.priority(priority) } }
  /// Options that set ``RequestOptions/priority-swift.property``.
  @export(implementation)
  public static func priority(_ priority: Int) -> Self { Self().priority(priority) }

  /// Sets ``RequestOptions/redirects-swift.property``.
  @export(implementation)
  public func redirects(_ policy: RedirectPolicy) -> Self { with { $0.request = $0.request.redirects(policy) } }
  /// Options that set ``RequestOptions/redirects-swift.property``.
  @export(implementation)
  public static func redirects(_ policy: RedirectPolicy) -> Self { Self().redirects(policy) }

  /// Sets ``RequestOptions/cookies-swift.property``.
  @export(implementation)
  public func cookies(_ policy: CookiePolicy) -> Self { with { $0.request = $0.request.cookies(policy) } }
  /// Options that set ``RequestOptions/cookies-swift.property``.
  @export(implementation)
  public static func cookies(_ policy: CookiePolicy) -> Self { Self().cookies(policy) }

  /// Sets ``RequestOptions/accepts-swift.property``.
  @export(implementation)
  public func accepts(_ rule: RequestOptions.StatusAcceptance) -> Self {
    with { $0.request = $0.request.accepts(rule) }
  }
  /// Options that set ``RequestOptions/accepts-swift.property``.
  @export(implementation)
  public static func accepts(_ rule: RequestOptions.StatusAcceptance) -> Self { Self().accepts(rule) }

  /// Sets ``RequestOptions/timeout-swift.property``: the limits that a policy sets; the others are inherited.
  @export(implementation)
  public func timeout(_ policy: TimeoutPolicy) -> Self { with { $0.request = $0.request.timeout(policy) } }
  /// Options that set ``RequestOptions/timeout-swift.property``.
  @export(implementation)
  public static func timeout(_ policy: TimeoutPolicy) -> Self { Self().timeout(policy) }

  /// Sets the limit of the whole call; `nil` means no limit.
  @export(implementation)
  public func timeout(_ total: Duration?) -> Self { with { $0.request = $0.request.timeout(total) } }
  /// Options that set the limit of the whole call; `nil` means no limit.
  @export(implementation)
  public static func timeout(_ total: Duration?) -> Self { Self().timeout(total) }

  /// Sets ``TimeoutPolicy/connect``; `nil` means no limit.
  @export(implementation)
  public func timeout(connect: Duration?) -> Self { with { $0.request = $0.request.timeout(connect: connect) } }
  /// Options that set ``TimeoutPolicy/connect``; `nil` means no limit.
  @export(implementation)
  public static func timeout(connect: Duration?) -> Self { Self().timeout(connect: connect) }

  /// Sets ``TimeoutPolicy/idle``; `nil` means no limit.
  @export(implementation)
  public func timeout(idle: Duration?) -> Self { with { $0.request = $0.request.timeout(idle: idle) } }
  /// Options that set ``TimeoutPolicy/idle``; `nil` means no limit.
  @export(implementation)
  public static func timeout(idle: Duration?) -> Self { Self().timeout(idle: idle) }

  /// Sets ``TimeoutPolicy/firstByte``; with `nil`, the idle limit covers that wait.
  @export(implementation)
  public func timeout(firstByte: Duration?) -> Self { with { $0.request = $0.request.timeout(firstByte: firstByte) } }
  /// Options that set ``TimeoutPolicy/firstByte``; with `nil`, the idle limit covers that wait.
  @export(implementation)
  public static func timeout(firstByte: Duration?) -> Self { Self().timeout(firstByte: firstByte) }

  /// Sets ``RequestOptions/maximumBodyBytes-swift.property``.
  @export(implementation)
  public func maximumBodyBytes(_ bytes: Int) -> Self { with { $0.request = $0.request.maximumBodyBytes(bytes) } }
  /// Options that set ``RequestOptions/maximumBodyBytes-swift.property``.
  @export(implementation)
  public static func maximumBodyBytes(_ bytes: Int) -> Self { Self().maximumBodyBytes(bytes) }

  /// Sets ``RequestOptions/maximumErrorBodyBytes-swift.property``.
  @export(implementation)
  public func maximumErrorBodyBytes(_ bytes: Int) -> Self {
    with { $0.request = $0.request.maximumErrorBodyBytes(bytes) }
  }
  /// Options that set ``RequestOptions/maximumErrorBodyBytes-swift.property``.
  @export(implementation)
  public static func maximumErrorBodyBytes(_ bytes: Int) -> Self { Self().maximumErrorBodyBytes(bytes) }

  /// Sets ``RequestOptions/cache-swift.property``.
  @export(implementation)
  public func cache(_ policy: CachePolicy) -> Self { with { $0.request = $0.request.cache(policy) } }
  /// Options that set ``RequestOptions/cache-swift.property``.
  @export(implementation)
  public static func cache(_ policy: CachePolicy) -> Self { Self().cache(policy) }

  /// Sets ``RequestOptions/cacheFor-swift.property``.
  @export(implementation)
  public func cacheFor(_ lifetime: Duration) -> Self { with { $0.request = $0.request.cacheFor(lifetime) } }
  /// Options that set ``RequestOptions/cacheFor-swift.property``.
  @export(implementation)
  public static func cacheFor(_ lifetime: Duration) -> Self { Self().cacheFor(lifetime) }

  /// Sets ``RequestOptions/cacheStorage-swift.property``.
  @export(implementation)
  public func cacheStorage(_ storage: ResponseCache.Storage) -> Self {
    with { $0.request = $0.request.cacheStorage(storage) }
  }
  /// Options that set ``RequestOptions/cacheStorage-swift.property``.
  @export(implementation)
  public static func cacheStorage(_ storage: ResponseCache.Storage) -> Self { Self().cacheStorage(storage) }

  /// Sets ``RequestOptions/cachePartition-swift.property``.
  @export(implementation)
  public func cachePartition(_ name: String) -> Self { with { $0.request = $0.request.cachePartition(name) } }
  /// Options that set ``RequestOptions/cachePartition-swift.property``.
  @export(implementation)
  public static func cachePartition(_ name: String) -> Self { Self().cachePartition(name) }

  /// Sets ``RequestOptions/coalesces-swift.property``.
  @export(implementation)
  public func coalesces(_ isOn: Bool) -> Self { with { $0.request = $0.request.coalesces(isOn) } }
  /// Options that set ``RequestOptions/coalesces-swift.property``.
  @export(implementation)
  public static func coalesces(_ isOn: Bool) -> Self { Self().coalesces(isOn) }

  /// Sets ``RequestOptions/decompression-swift.property``.
  @export(implementation)
  public func decompression(_ mode: RequestOptions.Decompression) -> Self {
    with { $0.request = $0.request.decompression(mode) }
  }
  /// Options that set ``RequestOptions/decompression-swift.property``.
  @export(implementation)
  public static func decompression(_ mode: RequestOptions.Decompression) -> Self { Self().decompression(mode) }

  /// Sets ``RequestOptions/httpVersion-swift.property``.
  @export(implementation)
  public func httpVersion(_ version: RequestOptions.HTTPVersionPolicy) -> Self {
    with { $0.request = $0.request.httpVersion(version) }
  }
  /// Options that set ``RequestOptions/httpVersion-swift.property``.
  @export(implementation)
  public static func httpVersion(_ version: RequestOptions.HTTPVersionPolicy) -> Self { Self().httpVersion(version) }

  /// Sets ``RequestOptions/expectsContinue-swift.property``.
  @export(implementation)
  public func expectsContinue(_ isOn: Bool) -> Self { with { $0.request = $0.request.expectsContinue(isOn) } }
  /// Options that set ``RequestOptions/expectsContinue-swift.property``.
  @export(implementation)
  public static func expectsContinue(_ isOn: Bool) -> Self { Self().expectsContinue(isOn) }

  /// Sets ``RequestOptions/credential-swift.property``.
  @export(implementation)
  public func credential(_ credential: Credential) -> Self { with { $0.request = $0.request.credential(credential) } }
  /// Options that set ``RequestOptions/credential-swift.property``.
  @export(implementation)
  public static func credential(_ credential: Credential) -> Self { Self().credential(credential) }

  /// Sets ``RequestOptions/isIdempotent-swift.property``.
  @export(implementation)
  public func isIdempotent(_ isTrue: Bool = true) -> Self { with { $0.request = $0.request.isIdempotent(isTrue) } }
  /// Options that set ``RequestOptions/isIdempotent-swift.property``.
  @export(implementation)
  public static func isIdempotent(_ isTrue: Bool = true) -> Self { Self().isIdempotent(isTrue) }

  /// Sets ``RequestOptions/explains-swift.property``.
  @export(implementation)
  public func explains(_ isOn: Bool = true) -> Self { with { $0.request = $0.request.explains(isOn) } }
  /// Options that set ``RequestOptions/explains-swift.property``.
  @export(implementation)
  public static func explains(_ isOn: Bool = true) -> Self { Self().explains(isOn) }

  /// Sets ``RequestOptions/tag-swift.property``.
  @export(implementation)
  public func tag(_ tag: String) -> Self { with { $0.request = $0.request.tag(tag) } }
  /// Options that set ``RequestOptions/tag-swift.property``.
  @export(implementation)
  public static func tag(_ tag: String) -> Self { Self().tag(tag) }

  /// Sets ``RequestOptions/reportsCancellation-swift.property``.
  @export(implementation)
  public func reportsCancellation(_ reports: Bool = true) -> Self {
    with { $0.request = $0.request.reportsCancellation(reports) }
  }
  /// Options that set ``RequestOptions/reportsCancellation-swift.property``.
  @export(implementation)
  public static func reportsCancellation(_ reports: Bool = true) -> Self { Self().reportsCancellation(reports) }

  /// Sets ``RequestOptions/onProgress-swift.property``.
  @export(implementation)
  public func onProgress(_ report: @escaping @Sendable (TransferProgress) -> Void) -> Self {
    with { $0.request = $0.request.onProgress(report) }
  }
  /// Options that set ``RequestOptions/onProgress-swift.property``.
  @export(implementation)
  public static func onProgress(_ report: @escaping @Sendable (TransferProgress) -> Void) -> Self {
    Self().onProgress(report)
  }
}

/// Chainable options: `.retry(.off).timeout(.seconds(5))`.
extension RequestOptions {
  @usableFromInline func with(_ change: (inout RequestOptions) -> Void) -> RequestOptions {
    var copy = self
    change(&copy)
    return copy
  }

  /// Sets ``retry``.
  @export(implementation)
  public func retry(_ policy: RetryPolicy) -> RequestOptions { with { $0.retry = policy } }
  /// Options that set ``retry``.
  @export(implementation)
  public static func retry(_ policy: RetryPolicy) -> RequestOptions { RequestOptions().retry(policy) }

  /// Sets ``hedging``.
  @export(implementation)
  public func hedging(_ policy: HedgingPolicy) -> RequestOptions { with { $0.hedging = policy } }
  /// Options that set ``hedging``.
  @export(implementation)
  public static func hedging(_ policy: HedgingPolicy) -> RequestOptions { RequestOptions().hedging(policy) }

  /// Sets ``rate``.
  @export(implementation)
  public func rate(_ limit: RateLimit) -> RequestOptions { with { $0.rate = limit } }
  /// Options that set ``rate``.
  @export(implementation)
  public static func rate(_ limit: RateLimit) -> RequestOptions { RequestOptions().rate(limit) }

  /// Sets ``priority``.
  @export(implementation)
  public func priority(_ priority: Int) -> RequestOptions { with { $0.priority = priority } }
  /// Options that set ``priority``.
  @export(implementation)
  public static func priority(_ priority: Int) -> RequestOptions { RequestOptions().priority(priority) }

  /// Sets ``redirects``.
  @export(implementation)
  public func redirects(_ policy: RedirectPolicy) -> RequestOptions { with { $0.redirects = policy } }
  /// Options that set ``redirects``.
  @export(implementation)
  public static func redirects(_ policy: RedirectPolicy) -> RequestOptions { RequestOptions().redirects(policy) }

  /// Sets ``cookies``.
  @export(implementation)
  public func cookies(_ policy: CookiePolicy) -> RequestOptions { with { $0.cookies = policy } }
  /// Options that set ``cookies``.
  @export(implementation)
  public static func cookies(_ policy: CookiePolicy) -> RequestOptions { RequestOptions().cookies(policy) }

  /// Sets ``accepts``.
  @export(implementation)
  public func accepts(_ rule: StatusAcceptance) -> RequestOptions { with { $0.accepts = rule } }
  /// Options that set ``accepts``.
  @export(implementation)
  public static func accepts(_ rule: StatusAcceptance) -> RequestOptions {
    RequestOptions().accepts(rule)
  }

  /// Sets ``timeout``: the limits that a policy sets; the others are inherited.
  @export(implementation)
  public func timeout(_ policy: TimeoutPolicy) -> RequestOptions { with { $0.timeout = policy } }
  /// Options that set ``timeout``.
  @export(implementation)
  public static func timeout(_ policy: TimeoutPolicy) -> RequestOptions { RequestOptions().timeout(policy) }

  /// Sets the limit of the whole call; `nil` means no limit.
  @export(implementation)
  public func timeout(_ total: Duration?) -> RequestOptions { with { $0.timeout.total = total } }
  /// Options that set the limit of the whole call; `nil` means no limit.
  @export(implementation)
  public static func timeout(_ total: Duration?) -> RequestOptions { RequestOptions().timeout(total) }

  /// Sets ``TimeoutPolicy/connect``; `nil` means no limit.
  @export(implementation)
  public func timeout(connect: Duration?) -> RequestOptions { with { $0.timeout.connect = connect } }
  /// Options that set ``TimeoutPolicy/connect``; `nil` means no limit.
  @export(implementation)
  public static func timeout(connect: Duration?) -> RequestOptions { RequestOptions().timeout(connect: connect) }

  /// Sets ``TimeoutPolicy/idle``; `nil` means no limit.
  @export(implementation)
  public func timeout(idle: Duration?) -> RequestOptions { with { $0.timeout.idle = idle } }
  /// Options that set ``TimeoutPolicy/idle``; `nil` means no limit.
  @export(implementation)
  public static func timeout(idle: Duration?) -> RequestOptions { RequestOptions().timeout(idle: idle) }

  /// Sets ``TimeoutPolicy/firstByte``; with `nil`, the idle limit covers that wait.
  @export(implementation)
  public func timeout(firstByte: Duration?) -> RequestOptions { with { $0.timeout.firstByte = firstByte } }
  /// Options that set ``TimeoutPolicy/firstByte``; with `nil`, the idle limit covers that wait.
  @export(implementation)
  public static func timeout(firstByte: Duration?) -> RequestOptions {
    RequestOptions().timeout(firstByte: firstByte)
  }

  /// Sets ``maximumBodyBytes``.
  @export(implementation)
  public func maximumBodyBytes(_ bytes: Int) -> RequestOptions { with { $0.maximumBodyBytes = bytes } }
  /// Options that set ``maximumBodyBytes``.
  @export(implementation)
  public static func maximumBodyBytes(_ bytes: Int) -> RequestOptions { RequestOptions().maximumBodyBytes(bytes) }

  /// Sets ``maximumErrorBodyBytes``.
  @export(implementation)
  public func maximumErrorBodyBytes(_ bytes: Int) -> RequestOptions { with { $0.maximumErrorBodyBytes = bytes } }
  /// Options that set ``maximumErrorBodyBytes``.
  @export(implementation)
  public static func maximumErrorBodyBytes(_ bytes: Int) -> RequestOptions {
    RequestOptions().maximumErrorBodyBytes(bytes)
  }

  /// Sets ``cache``.
  @export(implementation)
  public func cache(_ policy: CachePolicy) -> RequestOptions { with { $0.cache = policy } }
  /// Options that set ``cache``.
  @export(implementation)
  public static func cache(_ policy: CachePolicy) -> RequestOptions { RequestOptions().cache(policy) }

  /// Sets ``cacheFor``.
  @export(implementation)
  public func cacheFor(_ lifetime: Duration) -> RequestOptions { with { $0.cacheFor = lifetime } }
  /// Options that set ``cacheFor``.
  @export(implementation)
  public static func cacheFor(_ lifetime: Duration) -> RequestOptions { RequestOptions().cacheFor(lifetime) }

  /// Sets ``cacheStorage``.
  @export(implementation)
  public func cacheStorage(_ storage: ResponseCache.Storage) -> RequestOptions { with { $0.cacheStorage = storage } }
  /// Options that set ``cacheStorage``.
  @export(implementation)
  public static func cacheStorage(_ storage: ResponseCache.Storage) -> RequestOptions {
    RequestOptions().cacheStorage(storage)
  }

  /// Sets ``cachePartition``.
  @export(implementation)
  public func cachePartition(_ name: String) -> RequestOptions { with { $0.cachePartition = name } }
  /// Options that set ``cachePartition``.
  @export(implementation)
  public static func cachePartition(_ name: String) -> RequestOptions { RequestOptions().cachePartition(name) }

  /// Sets ``coalesces``.
  @export(implementation)
  public func coalesces(_ isOn: Bool) -> RequestOptions { with { $0.coalesces = isOn } }
  /// Options that set ``coalesces``.
  @export(implementation)
  public static func coalesces(_ isOn: Bool) -> RequestOptions { RequestOptions().coalesces(isOn) }

  /// Sets ``decompression``.
  @export(implementation)
  public func decompression(_ mode: Decompression) -> RequestOptions { with { $0.decompression = mode } }
  /// Options that set ``decompression``.
  @export(implementation)
  public static func decompression(_ mode: Decompression) -> RequestOptions {
    RequestOptions().decompression(mode)
  }

  /// Sets ``httpVersion``.
  @export(implementation)
  public func httpVersion(_ version: HTTPVersionPolicy) -> RequestOptions { with { $0.httpVersion = version } }
  /// Options that set ``httpVersion``.
  @export(implementation)
  public static func httpVersion(_ version: HTTPVersionPolicy) -> RequestOptions {
    RequestOptions().httpVersion(version)
  }

  /// Sets ``expectsContinue``.
  @export(implementation)
  public func expectsContinue(_ isOn: Bool) -> RequestOptions { with { $0.expectsContinue = isOn } }
  /// Options that set ``expectsContinue``.
  @export(implementation)
  public static func expectsContinue(_ isOn: Bool) -> RequestOptions { RequestOptions().expectsContinue(isOn) }

  /// Sets ``credential``.
  @export(implementation)
  public func credential(_ credential: Credential) -> RequestOptions { with { $0.credential = credential } }
  /// Options that set ``credential``.
  @export(implementation)
  public static func credential(_ credential: Credential) -> RequestOptions {
    RequestOptions().credential(credential)
  }

  /// Sets ``isIdempotent``.
  @export(implementation)
  public func isIdempotent(_ isTrue: Bool = true) -> RequestOptions { with { $0.isIdempotent = isTrue } }
  /// Options that set ``isIdempotent``.
  @export(implementation)
  public static func isIdempotent(_ isTrue: Bool = true) -> RequestOptions { RequestOptions().isIdempotent(isTrue) }

  /// Sets ``explains``.
  @export(implementation)
  public func explains(_ isOn: Bool = true) -> RequestOptions { with { $0.explains = isOn } }
  /// Options that set ``explains``.
  @export(implementation)
  public static func explains(_ isOn: Bool = true) -> RequestOptions { RequestOptions().explains(isOn) }

  /// Sets ``tag``.
  @export(implementation)
  public func tag(_ tag: String) -> RequestOptions { with { $0.tag = tag } }
  /// Options that set ``tag``.
  @export(implementation)
  public static func tag(_ tag: String) -> RequestOptions { RequestOptions().tag(tag) }

  /// Sets ``reportsCancellation``.
  @export(implementation)
  public func reportsCancellation(_ reports: Bool = true) -> RequestOptions {
    with { $0.reportsCancellation = reports }
  }
  /// Options that set ``reportsCancellation``.
  @export(implementation)
  public static func reportsCancellation(_ reports: Bool = true) -> RequestOptions {
    RequestOptions().reportsCancellation(reports)
  }

  /// Sets ``onProgress``.
  @export(implementation)
  public func onProgress(_ report: @escaping @Sendable (TransferProgress) -> Void) -> RequestOptions {
    with { $0.onProgress = report }
  }
  /// Options that set ``onProgress``.
  @export(implementation)
  public static func onProgress(_ report: @escaping @Sendable (TransferProgress) -> Void) -> RequestOptions {
    RequestOptions().onProgress(report)
  }
}

/// Chainable options: `.retry(.off).timeout(.seconds(5))`.
extension RequestOptions {
  private func with(_ change: (inout RequestOptions) -> Void) -> RequestOptions {
    var copy = self
    change(&copy)
    return copy
  }

  /// Sets ``retry``.
  public func retry(_ policy: RetryPolicy) -> RequestOptions { with { $0.retry = policy } }
  /// Options that set ``retry``.
  public static func retry(_ policy: RetryPolicy) -> RequestOptions { RequestOptions().retry(policy) }

  /// Sets ``hedging``.
  public func hedging(_ policy: HedgingPolicy) -> RequestOptions { with { $0.hedging = policy } }
  /// Options that set ``hedging``.
  public static func hedging(_ policy: HedgingPolicy) -> RequestOptions { RequestOptions().hedging(policy) }

  /// Sets ``rate``.
  public func rate(_ limit: RateLimit) -> RequestOptions { with { $0.rate = limit } }
  /// Options that set ``rate``.
  public static func rate(_ limit: RateLimit) -> RequestOptions { RequestOptions().rate(limit) }

  /// Sets ``priority``.
  public func priority(_ priority: Int) -> RequestOptions { with { $0.priority = priority } }
  /// Options that set ``priority``.
  public static func priority(_ priority: Int) -> RequestOptions { RequestOptions().priority(priority) }

  /// Sets ``redirects``.
  public func redirects(_ policy: RedirectPolicy) -> RequestOptions { with { $0.redirects = policy } }
  /// Options that set ``redirects``.
  public static func redirects(_ policy: RedirectPolicy) -> RequestOptions { RequestOptions().redirects(policy) }

  /// Sets ``cookies``.
  public func cookies(_ policy: CookiePolicy) -> RequestOptions { with { $0.cookies = policy } }
  /// Options that set ``cookies``.
  public static func cookies(_ policy: CookiePolicy) -> RequestOptions { RequestOptions().cookies(policy) }

  /// Sets ``accepts``.
  public func accepts(_ rule: StatusAcceptance) -> RequestOptions { with { $0.accepts = rule } }
  /// Options that set ``accepts``.
  public static func accepts(_ rule: StatusAcceptance) -> RequestOptions {
    RequestOptions().accepts(rule)
  }

  /// Sets ``timeout``: the limits that a policy sets; the others are inherited.
  public func timeout(_ policy: TimeoutPolicy) -> RequestOptions { with { $0.timeout = policy } }
  /// Options that set ``timeout``.
  public static func timeout(_ policy: TimeoutPolicy) -> RequestOptions { RequestOptions().timeout(policy) }

  /// Sets the limit of the whole call; `nil` means no limit.
  public func timeout(_ total: Duration?) -> RequestOptions { with { $0.timeout.total = total } }
  /// Options that set the limit of the whole call; `nil` means no limit.
  public static func timeout(_ total: Duration?) -> RequestOptions { RequestOptions().timeout(total) }

  /// Sets ``TimeoutPolicy/connect``; `nil` means no limit.
  public func timeout(connect: Duration?) -> RequestOptions { with { $0.timeout.connect = connect } }
  /// Options that set ``TimeoutPolicy/connect``; `nil` means no limit.
  public static func timeout(connect: Duration?) -> RequestOptions { RequestOptions().timeout(connect: connect) }

  /// Sets ``TimeoutPolicy/idle``; `nil` means no limit.
  public func timeout(idle: Duration?) -> RequestOptions { with { $0.timeout.idle = idle } }
  /// Options that set ``TimeoutPolicy/idle``; `nil` means no limit.
  public static func timeout(idle: Duration?) -> RequestOptions { RequestOptions().timeout(idle: idle) }

  /// Sets ``TimeoutPolicy/firstByte``; with `nil`, the idle limit covers that wait.
  public func timeout(firstByte: Duration?) -> RequestOptions { with { $0.timeout.firstByte = firstByte } }
  /// Options that set ``TimeoutPolicy/firstByte``; with `nil`, the idle limit covers that wait.
  public static func timeout(firstByte: Duration?) -> RequestOptions {
    RequestOptions().timeout(firstByte: firstByte)
  }

  /// Sets ``maximumBodyBytes``.
  public func maximumBodyBytes(_ bytes: Int) -> RequestOptions { with { $0.maximumBodyBytes = bytes } }
  /// Options that set ``maximumBodyBytes``.
  public static func maximumBodyBytes(_ bytes: Int) -> RequestOptions { RequestOptions().maximumBodyBytes(bytes) }

  /// Sets ``maximumErrorBodyBytes``.
  public func maximumErrorBodyBytes(_ bytes: Int) -> RequestOptions { with { $0.maximumErrorBodyBytes = bytes } }
  /// Options that set ``maximumErrorBodyBytes``.
  public static func maximumErrorBodyBytes(_ bytes: Int) -> RequestOptions {
    RequestOptions().maximumErrorBodyBytes(bytes)
  }

  /// Sets ``cache``.
  public func cache(_ policy: CachePolicy) -> RequestOptions { with { $0.cache = policy } }
  /// Options that set ``cache``.
  public static func cache(_ policy: CachePolicy) -> RequestOptions { RequestOptions().cache(policy) }

  /// Sets ``cacheFor``.
  public func cacheFor(_ lifetime: Duration) -> RequestOptions { with { $0.cacheFor = lifetime } }
  /// Options that set ``cacheFor``.
  public static func cacheFor(_ lifetime: Duration) -> RequestOptions { RequestOptions().cacheFor(lifetime) }

  /// Sets ``cacheStorage``.
  public func cacheStorage(_ storage: ResponseCache.Storage) -> RequestOptions { with { $0.cacheStorage = storage } }
  /// Options that set ``cacheStorage``.
  public static func cacheStorage(_ storage: ResponseCache.Storage) -> RequestOptions {
    RequestOptions().cacheStorage(storage)
  }

  /// Sets ``cachePartition``.
  public func cachePartition(_ name: String) -> RequestOptions { with { $0.cachePartition = name } }
  /// Options that set ``cachePartition``.
  public static func cachePartition(_ name: String) -> RequestOptions { RequestOptions().cachePartition(name) }

  /// Sets ``coalesces``.
  public func coalesces(_ isOn: Bool) -> RequestOptions { with { $0.coalesces = isOn } }
  /// Options that set ``coalesces``.
  public static func coalesces(_ isOn: Bool) -> RequestOptions { RequestOptions().coalesces(isOn) }

  /// Sets ``decompression``.
  public func decompression(_ mode: Decompression) -> RequestOptions { with { $0.decompression = mode } }
  /// Options that set ``decompression``.
  public static func decompression(_ mode: Decompression) -> RequestOptions {
    RequestOptions().decompression(mode)
  }

  /// Sets ``httpVersion``.
  public func httpVersion(_ version: HTTPVersionPolicy) -> RequestOptions { with { $0.httpVersion = version } }
  /// Options that set ``httpVersion``.
  public static func httpVersion(_ version: HTTPVersionPolicy) -> RequestOptions {
    RequestOptions().httpVersion(version)
  }

  /// Sets ``expectsContinue``.
  public func expectsContinue(_ isOn: Bool) -> RequestOptions { with { $0.expectsContinue = isOn } }
  /// Options that set ``expectsContinue``.
  public static func expectsContinue(_ isOn: Bool) -> RequestOptions { RequestOptions().expectsContinue(isOn) }

  /// Sets ``credential``.
  public func credential(_ credential: Credential) -> RequestOptions { with { $0.credential = credential } }
  /// Options that set ``credential``.
  public static func credential(_ credential: Credential) -> RequestOptions {
    RequestOptions().credential(credential)
  }

  /// Sets ``isIdempotent``.
  public func isIdempotent(_ isTrue: Bool = true) -> RequestOptions { with { $0.isIdempotent = isTrue } }
  /// Options that set ``isIdempotent``.
  public static func isIdempotent(_ isTrue: Bool = true) -> RequestOptions { RequestOptions().isIdempotent(isTrue) }

  /// Sets ``explains``.
  public func explains(_ isOn: Bool = true) -> RequestOptions { with { $0.explains = isOn } }
  /// Options that set ``explains``.
  public static func explains(_ isOn: Bool = true) -> RequestOptions { RequestOptions().explains(isOn) }

  /// Sets ``tag``.
  public func tag(_ tag: String) -> RequestOptions { with { $0.tag = tag } }
  /// Options that set ``tag``.
  public static func tag(_ tag: String) -> RequestOptions { RequestOptions().tag(tag) }

  /// Sets ``reportsCancellation``.
  public func reportsCancellation(_ reports: Bool = true) -> RequestOptions {
    with { $0.reportsCancellation = reports }
  }
  /// Options that set ``reportsCancellation``.
  public static func reportsCancellation(_ reports: Bool = true) -> RequestOptions {
    RequestOptions().reportsCancellation(reports)
  }

  /// Sets ``onProgress``.
  public func onProgress(_ report: @escaping @Sendable (TransferProgress) -> Void) -> RequestOptions {
    with { $0.onProgress = report }
  }
  /// Options that set ``onProgress``.
  public static func onProgress(_ report: @escaping @Sendable (TransferProgress) -> Void) -> RequestOptions {
    RequestOptions().onProgress(report)
  }
}

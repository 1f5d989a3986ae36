/// Chainable options: `.reconnect(.never).initialDelay(.seconds(1))`.
extension ServerSentEvents.Options {
  /// Sets ``ServerSentEvents/Options/reconnect-swift.property``.
  @export(implementation)
  public func reconnect(_ policy: Reconnect) -> Self { with { $0.reconnect = policy } }
  /// Options that set ``ServerSentEvents/Options/reconnect-swift.property``.
  @export(implementation)
  public static func reconnect(_ policy: Reconnect) -> Self { Self().reconnect(policy) }

  /// Sets ``ServerSentEvents/Options/initialDelay-swift.property``.
  @export(implementation)
  public func initialDelay(_ delay: Duration) -> Self { with { $0.initialDelay = delay } }
  /// Options that set ``ServerSentEvents/Options/initialDelay-swift.property``.
  @export(implementation)
  public static func initialDelay(_ delay: Duration) -> Self { Self().initialDelay(delay) }

  /// Sets ``ServerSentEvents/Options/minimumDelay-swift.property``.
  @export(implementation)
  public func minimumDelay(_ delay: Duration) -> Self { with { $0.minimumDelay = delay } }
  /// Options that set ``ServerSentEvents/Options/minimumDelay-swift.property``.
  @export(implementation)
  public static func minimumDelay(_ delay: Duration) -> Self { Self().minimumDelay(delay) }

  /// Sets ``ServerSentEvents/Options/maximumDelay-swift.property``.
  @export(implementation)
  public func maximumDelay(_ delay: Duration) -> Self { with { $0.maximumDelay = delay } }
  /// Options that set ``ServerSentEvents/Options/maximumDelay-swift.property``.
  @export(implementation)
  public static func maximumDelay(_ delay: Duration) -> Self { Self().maximumDelay(delay) }

  /// Sets ``ServerSentEvents/Options/maximumFailures-swift.property``.
  @export(implementation)
  public func maximumFailures(_ count: Int) -> Self { with { $0.maximumFailures = count } }
  /// Options that set ``ServerSentEvents/Options/maximumFailures-swift.property``.
  @export(implementation)
  public static func maximumFailures(_ count: Int) -> Self { Self().maximumFailures(count) }

  /// Sets ``ServerSentEvents/Options/maximumEventBytes-swift.property``.
  @export(implementation)
  public func maximumEventBytes(_ bytes: Int) -> Self { with { $0.maximumEventBytes = bytes } }
  /// Options that set ``ServerSentEvents/Options/maximumEventBytes-swift.property``.
  @export(implementation)
  public static func maximumEventBytes(_ bytes: Int) -> Self { Self().maximumEventBytes(bytes) }

  /// Sets ``ServerSentEvents/Options/lastEventID-swift.property``.
  @export(implementation)
  public func lastEventID(_ identifier: String) -> Self { with { $0.lastEventID = identifier } }
  /// Options that set ``ServerSentEvents/Options/lastEventID-swift.property``.
  @export(implementation)
  public static func lastEventID(_ identifier: String) -> Self { Self().lastEventID(identifier) }
}

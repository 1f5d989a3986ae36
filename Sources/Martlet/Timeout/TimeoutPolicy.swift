import MartletBase

/// The time limits of a call.
///
/// Each limit is set at a level or inherited from the level above (``RequestOptions``); an inherited limit reads as the
/// built-in default. A limit is a `Duration` from 1 ms to 100 years, checked with the client's clock in steps of 5 ms;
/// a longer one counts as 100 years, and `nil` means no limit. When a limit expires, the call throws ``HTTPError/Kind/timedOut``, which names the phase.
///
/// ```swift
/// let client = HTTPClient { $0.timeout.idle = .seconds(60) }
/// let report = try await client.get("/report", options: .timeout(.seconds(300)))
/// ```
public struct TimeoutPolicy: Sendable, Hashable {
  /// A limit at one level.
  enum Limit: Sendable, Hashable {
    case inherited
    case set(Duration?)

    var isSet: Bool { self != .inherited }

    func or(_ standard: Duration?) -> Duration? { if case .set(let value) = self { value?.bounded } else { standard } }

    func over(_ other: Limit) -> Limit { isSet ? self : other }
  }

  var connectLimit = Limit.inherited
  var idleLimit = Limit.inherited
  var firstByteLimit = Limit.inherited
  var totalLimit = Limit.inherited

  /// The limit for the name lookup, the connection and the TLS handshake together; 10 s by default.
  ///
  /// With a transport that does not report when it is connected (``URLSessionTransport`` with the system's loader),
  /// this limit and the one for the response head are added up, and apply to both waits together.
  public var connect: Duration? {
    get { connectLimit.or(.seconds(10)) }
    set { connectLimit = .set(newValue) }
  }

  /// The maximum time without data in either direction, once connected; 30 s by default.
  ///
  /// It includes the wait for the response head unless ``firstByte`` is set. On Linux, an upload is not idle while the
  /// server acknowledges bytes of it, however slowly; this is checked four times within the limit. The system's loader
  /// does not report it.
  public var idle: Duration? {
    get { idleLimit.or(.seconds(30)) }
    set { idleLimit = .set(newValue) }
  }

  /// The limit for the wait between the end of the request and the response head; `nil` by default.
  ///
  /// With `nil`, the ``idle`` limit covers that wait.
  public var firstByte: Duration? {
    get { firstByteLimit.or(nil) }
    set { firstByteLimit = .set(newValue) }
  }

  /// The limit for the whole call; 120 s by default.
  ///
  /// It includes waiting, all attempts, delays, redirects and the body. Decoding cannot be interrupted: it runs to its
  /// end even if the limit expires in the meantime, for a time that the size of the body limits. Streams and downloads
  /// have no such limit unless the request or the client has set one. Server-sent events and outboxes use only the
  /// limit of the request: they continue over many connections, for hours or days, and the limit of a client is meant
  /// for its requests.
  public var total: Duration? {
    get { totalLimit.or(.seconds(120)) }
    set { totalLimit = .set(newValue) }
  }

  /// Creates limits that are all inherited.
  public init() {}

  /// The default argument, which means that no value is given.
  @usableFromInline static let notGiven = Duration(secondsComponent: .min, attosecondsComponent: 0)

  /// Sets the limits that are given; the others are inherited.
  ///
  /// - Parameters:
  ///   - connect: The limit for connecting; `nil` for none.
  ///   - idle: The maximum time without data; `nil` for none.
  ///   - firstByte: The limit for the response head; `nil` leaves that wait to `idle`.
  ///   - total: The limit for the whole call; `nil` for none.
  public init(
    connect: Duration? = TimeoutPolicy.notGiven, idle: Duration? = TimeoutPolicy.notGiven,
    firstByte: Duration? = TimeoutPolicy.notGiven, total: Duration? = TimeoutPolicy.notGiven
  ) {
    func limit(_ value: Duration?) -> Limit { value == TimeoutPolicy.notGiven ? .inherited : .set(value) }
    connectLimit = limit(connect)
    idleLimit = limit(idle)
    firstByteLimit = limit(firstByte)
    totalLimit = limit(total)
  }

  /// No limits.
  public static let unlimited = TimeoutPolicy(connect: nil, idle: nil, firstByte: nil, total: nil)

  /// Whether all limits are inherited.
  var isEmpty: Bool { self == TimeoutPolicy() }

  /// These limits, with those of `other` where inherited.
  func over(_ other: TimeoutPolicy) -> TimeoutPolicy {
    var merged = TimeoutPolicy()
    merged.connectLimit = connectLimit.over(other.connectLimit)
    merged.idleLimit = idleLimit.over(other.idleLimit)
    merged.firstByteLimit = firstByteLimit.over(other.firstByteLimit)
    merged.totalLimit = totalLimit.over(other.totalLimit)
    return merged
  }

  /// The first limit that is not at least 1 ms, by name.
  var illegalLimit: (name: String, value: Duration)? {
    for (name, limit) in [("connect", connect), ("idle", idle), ("firstByte", firstByte), ("total", total)] {
      if let limit, limit < .milliseconds(1) { return (name, limit) }
    }
    return nil
  }
}

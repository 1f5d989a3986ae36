/// The time limits of a call.
///
/// Each field is set at a level, or inherited from the one above (``RequestOptions``): one that is inherited reads as the
/// built-in default. Any `Duration` of 1 ms or more, compared with the client's clock in steps of 5 ms; `nil` means no
/// limit. A limit that passes throws ``HTTPError/Kind/timedOut`` naming the phase.
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

    func or(_ standard: Duration?) -> Duration? { if case .set(let value) = self { value } else { standard } }

    func over(_ other: Limit) -> Limit { isSet ? self : other }
  }

  var connectLimit = Limit.inherited
  var idleLimit = Limit.inherited
  var firstByteLimit = Limit.inherited
  var totalLimit = Limit.inherited

  /// The limit for the name lookup, the connection and the TLS handshake together; 10 s by default.
  ///
  /// A transport that does not tell when it is connected (``URLSessionTransport`` with the system's loader) spends it
  /// together with the wait for the response head.
  public var connect: Duration? {
    get { connectLimit.or(.seconds(10)) }
    set { connectLimit = .set(newValue) }
  }

  /// The longest silence once connected, in both directions; 30 s by default.
  ///
  /// It covers the wait for the head of the response unless ``firstByte`` is set. On Linux an upload is not silent
  /// while the server acknowledges bytes of it, however slowly; that is looked at four times within the limit. The
  /// system's loader does not tell.
  public var idle: Duration? {
    get { idleLimit.or(.seconds(30)) }
    set { idleLimit = .set(newValue) }
  }

  /// The limit for the wait between the end of the request and the head of the response; `nil` by default, which
  /// leaves that wait to ``idle``.
  public var firstByte: Duration? {
    get { firstByteLimit.or(nil) }
    set { firstByteLimit = .set(newValue) }
  }

  /// The limit for the whole call: waiting, all attempts, delays, redirects and the body; 120 s by default.
  ///
  /// Streams and downloads have none by default: there a limit counts if the request or the client has set it.
  /// Server-sent events and outboxes take that of the request only: they go on over many connections, for hours or
  /// days, and the limit of a client is meant for its requests.
  public var total: Duration? {
    get { totalLimit.or(.seconds(120)) }
    set { totalLimit = .set(newValue) }
  }

  /// Limits that are all inherited.
  public init() {}

  /// What stands for an argument that is not given.
  @usableFromInline static let notGiven = Duration(secondsComponent: .min, attosecondsComponent: 0)

  /// Sets the limits that are given; the others are inherited.
  ///
  /// - Parameters:
  ///   - connect: Until connected; `nil` for no limit.
  ///   - idle: The longest silence; `nil` for no limit.
  ///   - firstByte: Until the head of the response; `nil` leaves that wait to `idle`.
  ///   - total: For the whole call; `nil` for no limit.
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

  /// Whether all are inherited.
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
    let least = Duration.milliseconds(1)
    if let connect, connect < least { return ("connect", connect) }
    if let idle, idle < least { return ("idle", idle) }
    if let firstByte, firstByte < least { return ("firstByte", firstByte) }
    if let total, total < least { return ("total", total) }
    return nil
  }
}

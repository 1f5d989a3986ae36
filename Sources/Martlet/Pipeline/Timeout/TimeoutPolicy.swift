/// The time limits of a call.
///
/// Any `Duration` of 1 ms or more, compared with the client's clock in steps of 5 ms; `nil` means no limit. A limit
/// that passes throws ``HTTPError/Kind/timedOut`` naming the phase.
public struct TimeoutPolicy: Sendable, Hashable {
  /// The limit for the name lookup, the connection and the TLS handshake together; 10 s by default.
  ///
  /// A transport that does not tell when it is connected (``URLSessionTransport`` with the system's loader) spends it
  /// together with the wait for the response head.
  public var connect: Duration? = .seconds(10)

  /// The longest silence once connected, in both directions; 30 s by default.
  ///
  /// It covers the wait for the head of the response unless ``firstByte`` is set. On Linux an upload is not silent
  /// while the server acknowledges bytes of it, however slowly; that is looked at four times within the limit. The
  /// system's loader does not tell.
  public var idle: Duration? = .seconds(30)

  /// The limit for the wait between the end of the request and the head of the response; `nil` by default, which
  /// leaves that wait to ``idle``.
  public var firstByte: Duration?

  /// The limit for the whole call: waiting, all attempts, pauses, redirects and the body; 120 s by default.
  ///
  /// Streams and downloads have none by default: there a limit counts if the request or the client has set it.
  /// Server-sent events and outboxes take that of the request only: they go on over many connections, for hours or
  /// days, and the limit of a client is meant for its requests.
  public var total: Duration? = .seconds(120)

  /// The default limits.
  public init() {}

  /// Creates time limits.
  ///
  /// - Parameters:
  ///   - connect: Until connected.
  ///   - idle: The longest silence.
  ///   - firstByte: Until the head of the response.
  ///   - total: For the whole call.
  public init(
    connect: Duration? = .seconds(10), idle: Duration? = .seconds(30), firstByte: Duration? = nil,
    total: Duration? = .seconds(120)
  ) {
    self.connect = connect
    self.idle = idle
    self.firstByte = firstByte
    self.total = total
  }

  /// No limits.
  public static let unlimited = TimeoutPolicy(connect: nil, idle: nil, firstByte: nil, total: nil)

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

/// Limits set at one level; what is not set is inherited.
struct TimeoutOverrides: Sendable, Hashable {
  enum Limit: Sendable, Hashable {
    case inherited
    case set(Duration?)

    func over(_ inherited: Duration?) -> Duration? {
      if case .set(let value) = self { value } else { inherited }
    }

    func over(_ other: Limit) -> Limit {
      if case .inherited = self { other } else { self }
    }
  }

  var connect = Limit.inherited
  var idle = Limit.inherited
  var firstByte = Limit.inherited
  var total = Limit.inherited

  init() {}

  var isEmpty: Bool { self == TimeoutOverrides() }

  init(_ policy: TimeoutPolicy) {
    connect = .set(policy.connect)
    idle = .set(policy.idle)
    firstByte = .set(policy.firstByte)
    total = .set(policy.total)
  }

  /// Sets the limits that are others now.
  mutating func change(from old: TimeoutPolicy, to new: TimeoutPolicy) {
    if new.connect != old.connect { connect = .set(new.connect) }
    if new.idle != old.idle { idle = .set(new.idle) }
    if new.firstByte != old.firstByte { firstByte = .set(new.firstByte) }
    if new.total != old.total { total = .set(new.total) }
  }

  func over(_ other: TimeoutOverrides) -> TimeoutOverrides {
    var merged = TimeoutOverrides()
    merged.connect = connect.over(other.connect)
    merged.idle = idle.over(other.idle)
    merged.firstByte = firstByte.over(other.firstByte)
    merged.total = total.over(other.total)
    return merged
  }

  func over(_ policy: TimeoutPolicy) -> TimeoutPolicy {
    TimeoutPolicy(
      connect: connect.over(policy.connect), idle: idle.over(policy.idle),
      firstByte: firstByte.over(policy.firstByte), total: total.over(policy.total))
  }
}

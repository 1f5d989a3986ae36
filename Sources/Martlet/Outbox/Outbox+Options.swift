extension Outbox {
  /// How an ``Outbox`` delivers, and how much it takes.
  public struct Options: Sendable {
    /// How many requests are sent at a time; 4, and 2 to one host.
    public var limits = RequestQueue.Limits.concurrent(4, perHost: 2)

    /// What is different for its requests: time limits, a tag, a credential.
    ///
    /// Nothing of it is stored. Its retries, its rule of statuses and its cache are not used: the outbox decides those.
    public var request = RequestOptions()

    /// How often a request may be refused for the time being before it is a dead letter; 20.
    ///
    /// Only what a server had a part in counts. Attempts without a connection do not, nor those that
    /// TLS ends before the request: a day offline, or with an expired certificate, kills nothing.
    public var maximumAttempts = 20

    /// How long a request may wait for its delivery before it is a dead letter; 7 days.
    public var maximumAge = Duration.seconds(7 * 24 * 3600)

    /// The pause after the first failure of a host; 1 s.
    ///
    /// It doubles with each further one, up to ``longestPause``, and is shortened at random by up to a half. `Retry-After`
    /// (RFC 9110 §10.2.3) makes it longer, up to a day. While a host pauses, nothing is sent there; then one request tries
    /// for all.
    public var pause = Duration.seconds(1)

    /// The longest pause of a host that does not ask for a longer one; 5 minutes.
    public var longestPause = Duration.seconds(300)

    /// The most bytes that wait, dead letters included; 256 MiB.
    ///
    /// A request that does not fit is refused.
    public var maximumBytes: Int64 = 256 << 20

    /// Whether a status that is no success means that the same request may be accepted later.
    ///
    /// By default 408, 409 (the first one may be under way yet), 425, 429, and 500 to 599 but for 501 and 505. Any other one
    /// makes a dead letter at once.
    public var isTemporary: @Sendable (HTTPStatus) -> Bool = { status in
      switch status.rawValue {
      case 408, 409, 425, 429: true
      case 501, 505: false
      default: (500...599).contains(status.rawValue)
      }
    }

    /// What tells whether there is a network; `nil` learns it from what becomes of requests.
    public var connectivity: (any Connectivity)?

    /// A journal is written anew when it has grown by so many bytes, and less than half of it is needed.
    var compactBytes: Int64 = 1 << 20

    /// The defaults.
    public init() {}

    /// What is wrong with the numbers, if anything.
    var problem: String? {
      if maximumAttempts < 1 { return "an outbox with \(maximumAttempts) attempts; at least 1 is needed" }
      if pause <= .zero || longestPause < pause {
        return "an outbox needs a pause, and none that is longer than the longest"
      }
      if longestPause > .seconds(365 * 24 * 3600) { return "an outbox that may pause for more than a year" }
      if maximumAge <= .zero { return "an outbox whose requests are too old at once" }
      if maximumBytes < 1 { return "an outbox for \(maximumBytes) bytes" }
      return nil
    }
  }
}

/// Tells whether the machine has a network.
///
/// Whoever knows it can save an ``Outbox`` useless attempts, and have it try at once when the network is back.
public protocol Connectivity: Sendable {
  /// The state now, and then each change.
  var states: AsyncStream<ConnectivityState> { get }
}

/// What is known of the network.
public enum ConnectivityState: Sendable, Hashable {
  /// Nothing: what becomes of requests will tell.
  case unknown
  /// There is one.
  case connected
  /// There is none; nothing is sent.
  case disconnected
}

extension Outbox {
  /// How full an ``Outbox`` is.
  public struct Status: Sendable, Hashable {
    /// The requests that wait for their delivery, those that are being sent included.
    public internal(set) var pending = 0
    /// Those that this process is sending now.
    public internal(set) var sending = 0
    /// Those that this process has delivered.
    public internal(set) var delivered = 0
    /// The dead letters.
    public internal(set) var dead = 0
    /// The bytes of all that is kept.
    public internal(set) var bytes: Int64 = 0
    /// Whether this process is the one that sends.
    public internal(set) var isSender = false
    /// The records that could not be read any more, of what a disk has damaged.
    public internal(set) var damaged = 0

    static func + (one: Status, other: Status) -> Status {
      var sum = one
      sum.pending += other.pending
      sum.sending += other.sending
      sum.delivered += other.delivered
      sum.dead += other.dead
      sum.bytes += other.bytes
      sum.damaged += other.damaged
      sum.isSender = one.isSender || other.isSender
      return sum
    }
  }
}

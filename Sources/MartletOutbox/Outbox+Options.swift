public import Martlet
import MartletBase

extension Outbox {
  /// Options for an ``Outbox``.
  public struct Options: Sendable {
    /// The limits on concurrent deliveries; 4, and 2 per host, by default.
    public var limits = RequestQueue.Limits.concurrent(4, perHost: 2)

    /// Per-request options: time limits, a tag, a credential.
    ///
    /// They are not stored. Their retry policy, accepted statuses and cache policy are ignored: the outbox decides
    /// those.
    public var request = RequestOptions()

    /// The maximum number of temporary failures; 20 by default.
    ///
    /// After the last one, the request becomes a dead letter. Only failures that involve a server count. Attempts
    /// without a connection do not count, nor attempts that TLS ends before the request: a day offline, or with an
    /// expired certificate, creates no dead letters.
    public var maximumAttempts = 20

    /// The maximum age of a request; 7 days by default.
    ///
    /// The age counts from the submission or the last retry. An older request becomes a dead letter.
    public var maximumAge = Duration.seconds(7 * 24 * 3600)

    /// The delay after the first failure of a host; 1 second by default.
    ///
    /// It doubles with each further failure, up to ``maximumDelay``, and is shortened at random by up to a half.
    /// `Retry-After` (RFC 9110 §10.2.3) can extend it up to a day. During the delay nothing is sent to the host; then
    /// one request probes it.
    public var initialDelay = Duration.seconds(1)

    /// The maximum delay, unless a host requests more; 5 minutes by default.
    public var maximumDelay = Duration.seconds(300)

    /// The maximum size on disk in bytes; 256 MiB by default.
    ///
    /// It includes dead letters. A request that does not fit is refused. The journal contains small bodies, which
    /// occupy a third more there.
    public var maximumBytes: Int64 = 256 << 20

    /// Whether a status is a temporary failure.
    ///
    /// By default 408, 409 (an earlier attempt may still be in progress), 425, 429, and 500 to 599 except 501 and 505.
    /// Any other failure status makes a dead letter immediately.
    public var isTemporary: @Sendable (HTTPStatus) -> Bool = { status in
      switch status.rawValue {
      case 408, 409, 425, 429: true
      case 501, 505: false
      default: (500...599).contains(status.rawValue)
      }
    }

    /// Observes whether there is a network; `nil` infers it from requests.
    public var connectivity: (any Connectivity)?

    /// The growth in bytes after which a journal is rewritten, if less than half of it is needed.
    var compactBytes: Int64 = 1 << 20

    /// The default options.
    public init() {}

    /// Creates options.
    ///
    /// - Parameter configure: Changes the defaults.
    public init(_ configure: (inout Options) -> Void) {
      self.init()
      configure(&self)
    }

    /// The first invalid option, or `nil`.
    var problem: String? {
      if maximumAttempts < 1 { return "maximumAttempts is \(maximumAttempts); it must be at least 1" }
      if initialDelay <= .zero || maximumDelay < initialDelay {
        return "initialDelay must be positive, and maximumDelay must not be shorter than initialDelay"
      }
      if maximumDelay > .seconds(365 * 24 * 3600) {
        return "maximumDelay is \(maximumDelay); it must be at most a year"
      }
      if maximumAge <= .zero { return "maximumAge is \(maximumAge); it must be positive" }
      if maximumBytes < 1 { return "maximumBytes is \(maximumBytes); it must be at least 1" }
      return nil
    }
  }
}

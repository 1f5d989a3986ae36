import MartletBase

/// A limit on the number of requests in a period.
///
/// ```swift
/// let client = HTTPClient { $0.rate = .perSecond(10, burst: 20) }
/// ```
///
/// Each exchange with a server counts, including retries and redirects; a response from the cache does not. A request
/// beyond the limit waits. It fails with ``HTTPError/Kind/overloaded`` before anything is sent if it would wait too
/// long, or if too many requests wait.
///
/// With a rate, the client also obeys the limits that servers report, for all requests to the origin and not only for
/// the request whose response reported them: `Retry-After` in a response with 429 or 503, and a `RateLimit` or
/// `X-RateLimit-Remaining` field that reports no remaining requests. ``server`` does only that.
public struct RateLimit: Sendable, Hashable {
  /// The requests that are counted together.
  @nonexhaustive public enum Scope: Sendable, Hashable {
    /// The requests to the same origin.
    case origin
    /// The requests with the same ``RequestOptions/tag``, to any origin.
    case tag
    /// The requests of the same ``Endpoint`` type, to any origin.
    case endpoint
  }

  enum Rule: Sendable, Hashable {
    case off
    case server
    case limit(count: Double, interval: Duration, burst: Int)
  }

  let rule: Rule

  /// The requests that are counted together; by default those to the same origin.
  ///
  /// Requests without a tag, or without an endpoint, are counted together.
  public var scope = Scope.origin

  /// Whether to obey the limits that servers report; `true` by default.
  public var obeysServers = true

  /// The longest pause that a server can request; 60 seconds by default, at least zero.
  public var maximumPause = Duration.seconds(60)

  /// The maximum time that a request waits to be sent; 30 seconds by default, at least 1 ms.
  public var maximumWait = Duration.seconds(30)

  /// The maximum number of requests that wait for the same limit; 1,000 by default.
  ///
  /// With 0, no request waits.
  public var maximumWaiting = 1_000

  /// No limit.
  public static let off = RateLimit(rule: .off)

  /// Only the limits that servers report.
  public static let server = RateLimit(rule: .server)

  /// A number of requests per second.
  ///
  /// - Parameters:
  ///   - count: The number, greater than 0; it may be less than 1.
  ///   - burst: The number of requests that may be sent at once after an idle period; 1 by default.
  ///   - scope: The requests that are counted together.
  /// - Returns: The limit.
  public static func perSecond(_ count: Double, burst: Int = 1, scope: Scope = .origin) -> RateLimit {
    limit(count, per: .seconds(1), burst: burst, scope: scope)
  }

  /// A number of requests per minute, evenly spread.
  ///
  /// - Parameters:
  ///   - count: The number, greater than 0.
  ///   - burst: The number of requests that may be sent at once after an idle period; 1 by default.
  ///   - scope: The requests that are counted together.
  /// - Returns: The limit.
  public static func perMinute(_ count: Double, burst: Int = 1, scope: Scope = .origin) -> RateLimit {
    limit(count, per: .seconds(60), burst: burst, scope: scope)
  }

  /// A number of requests per interval, evenly spread.
  ///
  /// - Parameters:
  ///   - count: The number, greater than 0.
  ///   - interval: The interval, from 1 ms to a day.
  ///   - burst: The number of requests that may be sent at once after an idle period; 1 by default.
  ///   - scope: The requests that are counted together.
  /// - Returns: The limit.
  public static func limit(
    _ count: Double, per interval: Duration, burst: Int = 1, scope: Scope = .origin
  ) -> RateLimit {
    RateLimit(rule: .limit(count: count, interval: interval, burst: burst), scope: scope)
  }

  var isOff: Bool { rule == .off }

  /// The tokens, or `nil` without a limit.
  var bucket: RateBucket? {
    guard case .limit(let count, let interval, let burst) = rule else { return nil }
    return RateBucket(perSecond: count / interval.inSeconds, burst: Double(burst))
  }

  var problem: String? {
    if case .limit(let count, let interval, let burst) = rule {
      guard count.isFinite, count > 0 else { return "the rate allows \(count) requests; it must be more than 0" }
      guard interval >= .milliseconds(1), interval <= .seconds(86_400) else {
        return "the rate's interval is \(interval); it must be from 1 ms to a day"
      }
      guard burst >= 1 else { return "the rate's burst is \(burst); it must be at least 1" }
      let perSecond = count / interval.inSeconds
      guard perSecond >= 1e-6, perSecond <= 1e12 else {
        return "the rate allows \(perSecond) requests per second; it must be from 0.000001 to 1000000000000"
      }
    }
    if maximumPause < .zero { return "the rate's maximum pause must not be negative" }
    if maximumWait < .milliseconds(1) {
      return "the rate's maximum wait is \(maximumWait); it must be at least 1 ms"
    }
    return maximumWaiting < 0 ? "the rate's maximumWaiting is \(maximumWaiting); it must not be negative" : nil
  }
}

/// The tokens of a rate: one per request, at most the burst.
struct RateBucket {
  private let perSecond: Double
  private let burst: Double
  private var tokens: Double
  private var updated = Duration.zero

  init(perSecond: Double, burst: Double) { (self.perSecond, self.burst, tokens) = (perSecond, burst, burst) }

  /// Limits the time of the last update, in case the clock was set back.
  mutating func notice(_ now: Duration) { updated = min(updated, now) }

  /// Takes an available token.
  mutating func take(now: Duration) {
    tokens = max(available(now) - 1, 0)
    updated = now
  }

  /// Returns an unused token.
  mutating func refund() { tokens = min(tokens + 1, burst) }

  /// The time of the next token: now, if one is available.
  func next(now: Duration) -> Duration {
    let missing = 1 - available(now)
    // A millionth of a token is within the error of the arithmetic.
    guard missing > 1e-6 else { return now }
    return now + .seconds(min(missing / perSecond, 1e9))
  }

  func isFull(now: Duration) -> Bool { available(now) >= burst - 1e-6 }

  private func available(_ now: Duration) -> Double {
    min(burst, tokens + max((now - updated).inSeconds, 0) * perSecond)
  }
}

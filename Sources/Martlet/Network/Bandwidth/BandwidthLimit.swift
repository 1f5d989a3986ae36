import MartletBase

/// A bandwidth limit for all of a client's requests.
///
/// ```swift
/// let client = HTTPClient { $0.bandwidth = .limit(down: 2_000_000, up: 500_000) }
/// ```
///
/// The limit counts body bytes on the wire, in their content coding, including redirects and repetitions. Header
/// sections and TLS overhead do not count. Over five seconds a limit is accurate to within 15 %; unused bandwidth is
/// not saved up. Requests take turns of 20 ms, and each gets an equal share of what the others leave; those on one
/// HTTP/2 connection arrive in the order in which their server sends. A request that waits for its turn is neither read
/// from nor written to: its connection slows down, and no data accumulates in memory.
public struct BandwidthLimit: Sendable, Hashable {
  /// The minimum rate, in bytes per second.
  static let minimum = 1 << 10

  /// The maximum rate of response bodies, in bytes per second; `nil` for no limit.
  ///
  /// At least 1,024.
  public var down: Int?

  /// The maximum rate of request bodies, in bytes per second; `nil` for no limit.
  ///
  /// At least 1,024.
  public var up: Int?

  /// A limit for one direction or both.
  ///
  /// - Parameters:
  ///   - down: The maximum rate of response bodies, in bytes per second.
  ///   - up: The maximum rate of request bodies, in bytes per second.
  /// - Returns: The limit.
  public static func limit(down: Int? = nil, up: Int? = nil) -> BandwidthLimit { BandwidthLimit(down: down, up: up) }

  var problem: InvalidInput? {
    for (name, rate) in [("down", down), ("up", up)] {
      guard let rate, rate < Self.minimum else { continue }
      return InvalidInput("bandwidth.\(name) is \(rate): at least \(Self.minimum) bytes per second")
    }
    return nil
  }
}

/// The rate limiters of a bandwidth limit, one per direction.
///
/// All copies of the configuration with this limit share them.
final class BandwidthBudget: Sendable {
  let down: RateLimiter?
  let up: RateLimiter?

  init(_ limit: BandwidthLimit) {
    down = limit.down.map { RateLimiter(rate: $0) }
    up = limit.up.map { RateLimiter(rate: $0) }
  }
}

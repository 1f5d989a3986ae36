/// A bandwidth limit for all requests of a client.
///
/// ```swift
/// let client = HTTPClient { $0.bandwidth = .limit(down: 2_000_000, up: 500_000) }
/// ```
///
/// What counts are the bytes of bodies as they are on the wire, coded if they are coded, of all redirects and
/// repetitions too; heads and the overhead of TLS do not count. Over five seconds a limit is exact within 15 %; what
/// was not used is not saved up. Requests take turns of 20 ms, so that each has the same share of what others leave;
/// those on one connection of HTTP/2 come in the order in which their server sends. A request that waits for its turn
/// is not read from, or not sent to: its connection slows down, and nothing piles up in memory.
public struct BandwidthLimit: Sendable, Hashable {
  /// The fewest bytes per second that a direction may be limited to.
  static let minimum = 1 << 10

  /// The most bytes of response bodies per second, at least 1,024; `nil` for no limit.
  public var down: Int?

  /// The most bytes of request bodies per second, at least 1,024; `nil` for no limit.
  public var up: Int?

  /// Limits one direction or both.
  ///
  /// - Parameters:
  ///   - down: The most bytes of response bodies per second.
  ///   - up: The most bytes of request bodies per second.
  public init(down: Int? = nil, up: Int? = nil) {
    self.down = down
    self.up = up
  }

  /// Limits one direction or both.
  ///
  /// - Parameters:
  ///   - down: The most bytes of response bodies per second.
  ///   - up: The most bytes of request bodies per second.
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

import MartletBase

/// The delays between the connections of one WebSocket.
struct ReconnectBackoff {
  /// The longest `Retry-After` to wait for, as for server-sent events.
  static let maximumRetryAfter = Duration.seconds(3600)

  private let initial: Duration
  private let maximum: Duration
  private let stableAfter: Duration
  /// The number of reconnects since the last stable connection.
  private var count = 0

  init(_ options: ReconnectingWebSocket.Options) {
    (initial, maximum) = (options.initialDelay.bounded, options.maximumDelay.bounded)
    stableAfter = options.stableAfter
  }

  /// The delay after a connection, or after a failed reconnect.
  ///
  /// - Parameters:
  ///   - lasted: The time for which the connection was open; `nil` after a failed reconnect.
  ///   - requested: The delay in the server's `Retry-After`.
  ///   - random: A number from 0 up to 1.
  /// - Returns: The delay.
  mutating func next(after lasted: Duration?, requested: Duration? = nil, random: Double) -> Duration {
    if let lasted, lasted >= stableAfter { count = 0 }
    let delay = initial.doubled(count, upTo: maximum) * random
    count = min(count, 1 << 20) + 1
    return max(delay, min(requested ?? .zero, Self.maximumRetryAfter))
  }
}

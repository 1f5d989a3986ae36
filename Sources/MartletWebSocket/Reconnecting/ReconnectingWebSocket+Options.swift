public import Martlet
import MartletBase

extension ReconnectingWebSocket {
  /// Options for a WebSocket that reconnects.
  public struct Options: Sendable {
    /// The settings of each connection.
    ///
    /// ``WebSocketOptions/keepAlive`` is off by default. With it, a dead connection is noticed, and the pongs confirm
    /// messages (``WebSocket/unconfirmedCount``).
    public var webSocket = WebSocketOptions()

    /// The options of the requests.
    ///
    /// The retry policy applies only to the first connection, and `RequestOptions.accepts` is ignored.
    public var request = RequestOptions()

    /// The longest delay before the first reconnect; 1 second by default.
    ///
    /// It doubles for each further reconnect, until a connection was open for ``stableAfter``. The delay is random
    /// between zero and this limit ("full jitter").
    public var initialDelay: Duration = .seconds(1)

    /// The limit up to which delays grow; 60 seconds by default.
    ///
    /// `Retry-After` of a refused handshake can request a longer delay, at most an hour.
    public var maximumDelay: Duration = .seconds(60)

    /// The maximum number of consecutive failed reconnects; 10 by default.
    ///
    /// After them, the last error is thrown. A connection starts a new count when it is open and resumed.
    public var maximumFailures = 10

    /// The duration after which a connection counts as stable; 30 seconds by default.
    ///
    /// Only a stable connection shortens the delays again, because a server may accept connections and close them at
    /// once.
    public var stableAfter: Duration = .seconds(30)

    /// Decides whether to reconnect after an interruption; ``Cause/isTransient`` by default.
    ///
    /// It runs for each interruption whose reconnect ``maximumFailures`` allows.
    public var reconnects: @Sendable (Cause) -> Bool = { $0.isTransient }

    /// Changes the request before each connection, for example to a new ticket, or to the last received number.
    ///
    /// It receives the interruption that the connection follows; `nil` for the first connection. Its error counts as
    /// that of the connection.
    public var prepare: @Sendable (inout HTTPRequest, Interruption?) async throws -> Void = { _, _ in }

    /// The default options.
    public init() {}

    /// Creates options.
    ///
    /// - Parameter configure: Changes the defaults.
    public init(_ configure: (inout Options) -> Void) {
      self.init()
      configure(&self)
    }

    /// The first invalid value and the rule; `nil` if all are valid.
    var problem: String? {
      for (name, value) in [
        ("initialDelay", initialDelay), ("maximumDelay", maximumDelay), ("stableAfter", stableAfter),
      ] where value < .zero { return "\(name) is \(value); it must not be negative" }
      return maximumFailures < 1 ? "maximumFailures is \(maximumFailures); it must be positive" : nil
    }
  }
}

import MartletBase

/// The settings of a WebSocket.
public struct WebSocketOptions: Sendable {
  /// The offered subprotocols, in the order of preference; none by default (RFC 6455 §1.9).
  public var subprotocols: [String] = []

  /// The value of the `Origin` header field; `nil` by default, which sends none (RFC 6455 §4.1).
  public var origin: String?

  /// The compression to offer; ``Compression/off`` by default.
  ///
  /// Requires the Linux engine; on Apple platforms, the WebSocket fails with `HTTPError.Kind.unsupported`.
  public var compression = Compression.off

  /// The maximum size of a message in either direction, in bytes without compression; 16 MiB by default.
  ///
  /// A larger message from the server fails the WebSocket with 1009 (message too big).
  public var maximumMessageBytes = 16 << 20

  /// The maximum size of a frame from the server, in bytes; `nil` by default, which sets no separate limit.
  ///
  /// Requires the Linux engine; on Apple platforms, the WebSocket fails with `HTTPError.Kind.unsupported`.
  public var maximumFrameBytes: Int?

  /// The number of received bytes that may wait for ``WebSocket/receive()``; 1 MiB by default.
  ///
  /// With more, the socket reads no further, which slows the server down. One message may always wait.
  public var maximumUnreadBytes = 1 << 20

  /// The maximum number of messages that wait to be sent; 1,000 by default.
  ///
  /// Each ``WebSocket/send(_:)-(String)`` that waits for others or for the server counts as one. With more, it throws
  /// `HTTPError.Kind.overloaded`.
  public var maximumWaitingMessages = 1_000

  /// Whether large messages can be received in parts before they are complete; `false` by default.
  ///
  /// With `true`, ``WebSocket/receivePart()`` returns bytes as they arrive. On Apple platforms, it returns whole
  /// messages.
  public var deliversParts = false

  /// Automatic pings; ``KeepAlive/off`` by default.
  public var keepAlive = KeepAlive.off

  /// The maximum duration of the closing handshake; 5 s by default.
  ///
  /// After that, the connection is closed without the server's agreement.
  public var closeTimeout: Duration = .seconds(5)

  /// The maximum wait of ``WebSocket/ping()`` for the pong; 10 s by default.
  public var pingTimeout: Duration = .seconds(10)

  /// Receives each control frame from the server before it is handled, for the trace of the tool.
  package var onControlFrame: (@Sendable (WebSocketEvent) -> Void)?

  /// Creates the default options.
  public init() {}

  /// Creates options.
  ///
  /// - Parameter configure: Changes the defaults.
  public init(_ configure: (inout WebSocketOptions) -> Void) {
    self.init()
    configure(&self)
  }
}

extension WebSocketOptions {
  /// Compression of messages, permessage-deflate (RFC 7692).
  ///
  /// Each compressing WebSocket needs up to 300 KiB of memory. Secrets and text of an attacker must not be in the same
  /// compressed message, because its length reveals their similarity.
  public struct Compression: Sendable, Hashable {
    /// No compression.
    public static let off = Compression(level: 0)

    /// Compression with the default settings, if the server agrees and the system has zlib.
    public static let deflate = Compression(level: 6)

    /// The effort of zlib from 1 (fast) to 9 (small); 0 offers no compression.
    public var level: Int

    /// Whether each message of the client is compressed independently, which needs less memory; `false` by default.
    public var clientNoContextTakeover = false

    /// Whether the server has to compress each message independently; `false` by default.
    public var serverNoContextTakeover = false

    /// The maximum window of the server, 8 to 15 bits; 15 by default.
    public var serverMaxWindowBits = 15

    /// The maximum window of the client, 9 to 15 bits; 15 by default.
    ///
    /// The server may reduce it.
    public var clientMaxWindowBits = 15

    /// The size in bytes from which messages are compressed; 64 by default.
    public var minimumBytes = 64

    /// Creates settings with a level of zlib.
    public init(level: Int) { self.level = level }

    var offer: PermessageDeflate.Offer? {
      guard level > 0 else { return nil }
      return PermessageDeflate.Offer(
        serverNoContextTakeover: serverNoContextTakeover, clientNoContextTakeover: clientNoContextTakeover,
        serverMaxWindowBits: serverMaxWindowBits < 15 ? serverMaxWindowBits : nil,
        clientMaxWindowBits: clientMaxWindowBits < 15 ? .bits(clientMaxWindowBits) : .limitable)
    }
  }

  /// Automatic pings, which detect a dead connection and keep a silent one open in routers.
  public struct KeepAlive: Sendable, Hashable {
    /// No automatic pings.
    public static let off = KeepAlive(interval: nil)

    /// The interval between pings; `nil` for none.
    public var interval: Duration?

    /// Creates settings with an interval.
    public init(interval: Duration?) { self.interval = interval }

    /// A ping after each interval; without a pong within ``WebSocketOptions/pingTimeout``, the WebSocket fails.
    ///
    /// - Parameter interval: The interval, at least 1 ms.
    /// - Returns: The settings.
    public static func pings(every interval: Duration) -> KeepAlive { KeepAlive(interval: interval) }
  }

  /// The first invalid value, the rule and the remedy; `nil` if all are valid.
  var problem: String? {
    do { try WebSocketHandshake.check(subprotocols) } catch { return error.message }
    for (name, value) in [
      ("maximumMessageBytes", maximumMessageBytes), ("maximumFrameBytes", maximumFrameBytes ?? 1),
      ("maximumUnreadBytes", maximumUnreadBytes), ("maximumWaitingMessages", maximumWaitingMessages),
    ] where value < 1 { return "\(name) is \(value); it must be positive" }
    for (name, value) in [
      ("closeTimeout", closeTimeout), ("pingTimeout", pingTimeout),
      ("keepAlive.interval", keepAlive.interval ?? .seconds(1)),
    ] where value < .milliseconds(1) { return "\(name) is \(value); it must be at least 1 ms" }
    for (name, value, range) in [
      ("compression.level", compression.level, 0...9),
      ("compression.serverMaxWindowBits", compression.serverMaxWindowBits, 8...15),
      ("compression.clientMaxWindowBits", compression.clientMaxWindowBits, 9...15),
    ] where !range.contains(value) {
      return "\(name) is \(value); it must be from \(range.lowerBound) to \(range.upperBound)"
    }
    return nil
  }
}

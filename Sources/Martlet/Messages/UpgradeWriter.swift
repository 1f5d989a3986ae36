public import MartletBase

/// The sending side of an upgraded connection; implemented by transports.
///
/// All members may be used on any thread, and must not block.
public protocol UpgradeWriter: AnyObject, Sendable {
  /// Whether bytes can be added without waiting for the server.
  var hasRoom: Bool { get }

  /// The number of bytes that the transport has taken to send them.
  var sentCount: Int64 { get }

  /// Adds bytes to send, even without room.
  ///
  /// - Parameter bytes: The bytes.
  /// - Returns: `false` if the connection has ended, or after ``finish()``.
  func write(_ bytes: Data) -> Bool

  /// Calls a closure once: when there is room, or after the end of the connection.
  ///
  /// - Parameter action: The closure; called at once if there is room.
  func onRoom(_ action: @escaping @Sendable () -> Void)

  /// Ends the sending side after the added bytes.
  func finish()
}

/// A writer whose connection can be read on the caller's thread.
protocol InlineReceiver: AnyObject, Sendable {
  /// Receives the next bytes on this thread, if they are likely to arrive soon; returns whether it waited for them.
  func receiveHere() -> Bool
}

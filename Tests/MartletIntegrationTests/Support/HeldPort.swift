@testable import MartletTesting

/// The port of a server that has stopped, held without listening: connecting is refused, and a system gives it to nobody
/// else.
final class HeldPort: Sendable {
  private let socket: Int32?

  /// Holds it until the end of the object, unless the system itself keeps it for connections that have just ended.
  init(_ port: Int) { socket = try? Sockets.bindToLoopback(port).socket }

  deinit { if let socket { Sockets.close(socket) } }
}

extension MockServer {
  /// Stops, and holds the port from then on.
  func stopAndHoldPort() -> HeldPort {
    stop()
    return HeldPort(port)
  }
}

@testable import MartletTesting

/// The port of a stopped server, reserved without listening.
///
/// Connections to it are refused, and the system does not assign the port again.
final class HeldPort: Sendable {
  private let socket: Int32?

  /// Reserves the port for the object's lifetime, unless the system still holds it for recently closed connections.
  init(_ port: Int) { socket = try? Sockets.bindToLoopback(port).socket }

  deinit { if let socket { Sockets.close(socket) } }
}

extension MockServer {
  /// Stops the server and reserves its port.
  func stopAndHoldPort() -> HeldPort {
    stop()
    return HeldPort(port)
  }
}

import MartletBase
import Martlet
import Foundation

/// A port of 127.0.0.1 where connecting neither succeeds nor fails.
///
/// The listener never accepts and its queue is full, so the system drops further attempts and a client waits for its
/// own timeout. When a queue counts as full depends on the system: this works on Linux and is a best effort elsewhere.
public final class BlackHole: Sendable {
  /// The port.
  public let port: Int
  /// The URL, `http://127.0.0.1:` and the port.
  public var url: String { "http://127.0.0.1:\(port)" }

  private let sockets: Locked<[Int32]>

  /// Opens the listener and fills its queue.
  ///
  /// This takes a fraction of a second.
  ///
  /// - Throws: ``MockServerError`` if the system refuses a socket.
  public convenience init() throws { try self.init(port: 0, host: 1) }

  /// Opens the listener on a port of 127.0.0.`host`.
  init(port number: Int, host: UInt8) throws {
    let listener = try Sockets.listen(backlog: 0, port: number, host: host)
    var opened = [listener.socket]
    do {
      // Makes one attempt after another, until one keeps waiting.
      for _ in 0..<256 {
        let client = try Sockets.startConnecting(to: listener.port, host: host)
        opened.append(client)
        var poller = Poller()
        poller.add(client, reads: false, writes: true)
        poller.wait(milliseconds: 50)
        guard poller.readiness(at: 0) == nil else { continue }
        // On a busy machine a successful attempt may also take a while. An attempt is certain to be waiting only if
        // another one succeeds in the meantime.
        poller.removeAll()
        for socket in opened.dropFirst() { poller.add(socket, reads: false, writes: true) }
        poller.wait(milliseconds: 50)
        if (0..<opened.count - 1).contains(where: { poller.readiness(at: $0) != nil }) { break }
      }
    } catch {
      for socket in opened { Sockets.close(socket) }
      throw error
    }
    port = listener.port
    sockets = Locked(opened)
  }

  deinit { close() }

  /// Closes the listener; waiting clients are refused at their next attempt.
  ///
  /// Calling it again does nothing.
  public func close() {
    let opened = sockets.withLock { sockets in
      defer { sockets = [] }
      return sockets
    }
    for socket in opened { Sockets.close(socket) }
  }
}

import Foundation
import Martlet
import MartletWebSocket

/// Martlet's WebSocket.
struct MartletSocketPeer: SocketPeer {
  private let client = HTTPClient {
    $0.transport = .curl
    // As many as NIO's group has.
    $0.engineThreads = ProcessInfo.processInfo.activeProcessorCount
  }

  struct Socket: SocketOfPeer {
    fileprivate let socket: WebSocket
    fileprivate let payload: Data

    func send() async throws { try await socket.send(payload) }

    func send(_ text: String) async throws { try await socket.send(text) }

    func receive() async throws -> Int {
      switch try await socket.receive() {
      case .binary(let data): data.count
      case .text(let text): text.utf8.count
      case nil: throw Complaint("the server has closed")
      }
    }
  }

  func withSocket<R: Sendable>(
    _ url: String, payload: Data, isCompressed: Bool, _ body: @Sendable (Socket) async throws -> R
  ) async throws -> R {
    let options = WebSocketOptions { if isCompressed { $0.compression = .deflate } }
    return try await client.webSocket(HTTPRequest(RequestTarget(url)), options: options) { socket in
      try await body(Socket(socket: socket, payload: payload))
    }
  }
}

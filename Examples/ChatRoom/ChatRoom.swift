import Foundation
import Martlet
import MartletWebSocket
import Synchronization

/// Chats in a room over a WebSocket: `ChatRoom URL NAME`.
///
/// Each line of standard input is sent as `NAME: line`, and each message from the room is printed. After a lost
/// connection, the program reconnects with growing pauses.
@main
struct ChatRoom {
  /// The open WebSocket; `nil` while there is none.
  private static let current = Mutex<WebSocket?>(nil)

  static func main() async {
    guard CommandLine.arguments.count == 3 else {
      complain("usage: ChatRoom URL NAME, such as ChatRoom wss://chat.example.com/rooms/1 Ada")
      exit(2)
    }
    let (lines, input) = AsyncStream<String>.makeStream()
    Thread.detachNewThread {
      while let line = readLine() { input.yield(line) }
      input.finish()
    }
    do {
      try await join(CommandLine.arguments[1], as: CommandLine.arguments[2], lines)
    } catch {
      complain("\(error)")
      exit(1)
    }
  }

  /// Prints messages until the room or the program closes, and reconnects after a loss.
  private static func join(_ url: String, as name: String, _ lines: AsyncStream<String>) async throws {
    let options = WebSocketOptions { $0.keepAlive = .pings(every: .seconds(20)) }
    let client = HTTPClient()
    var (pause, hasJoined) = (Duration.seconds(1), false)
    while true {
      do {
        let socket = try await client.webSocket(.get(RequestTarget(url)), options: options)
        current.withLock { $0 = socket }
        if hasJoined {
          complain("joined again; messages sent in the meantime may be missing")
        } else {
          Task { await send(lines, as: name) }
        }
        (pause, hasJoined) = (.seconds(1), true)
        for try await message in socket.messages {
          if case .text(let text) = message { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }
        }
        return await socket.close()
      } catch let error as HTTPError where hasJoined && isTemporary(error) {
        current.withLock { $0 = nil }
        complain("\(error.message); the last lines may be lost; next attempt within \(pause)")
        // Random pauses keep the members of a room from reconnecting at the same time.
        try await Task.sleep(for: pause * Double.random(in: 0.5...1))
        pause = min(pause * 2, .seconds(60))
      }
    }
  }

  private static func send(_ lines: AsyncStream<String>, as name: String) async {
    for await line in lines {
      do {
        guard let socket = current.withLock({ $0 }) else { throw HTTPError(.connectionLost, "not connected") }
        try await socket.send("\(name): \(line)")
      } catch {
        complain("not sent: \(line)")
      }
    }
    guard let socket = current.withLock({ $0 }) else { exit(0) }
    await socket.close()
  }

  private static func isTemporary(_ error: HTTPError) -> Bool {
    [.connectionLost, .cannotConnect, .timedOut].contains(error.kind) || error.status?.isServerError == true
  }

  private static func complain(_ message: String) { FileHandle.standardError.write(Data("\(message)\n".utf8)) }
}

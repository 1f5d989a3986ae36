import Foundation
import Martlet
import MartletWebSocket

/// Chats in a room over a WebSocket: `ChatRoom URL NAME`.
///
/// Each line of standard input is sent as `NAME: line`, and each message from the room is printed. After a lost
/// connection, the program reconnects with growing pauses.
@main
struct ChatRoom {
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
    let options = ReconnectingWebSocket.Options {
      $0.webSocket.keepAlive = .pings(every: .seconds(20))
      $0.maximumFailures = .max
    }
    let room = HTTPClient().reconnectingWebSocket(.get(RequestTarget(url)), options: options)
    var hasJoined = false
    for try await event in room.events {
      switch event {
      case .opened where hasJoined: complain("joined again; messages sent in the meantime may be missing")
      case .opened:
        hasJoined = true
        Task { await send(lines, as: name, to: room) }
      case .message(.text(let text)): FileHandle.standardOutput.write(Data("\(text)\n".utf8))
      case .interrupted(let interruption):
        complain("\(interruption.cause)")
        if interruption.unconfirmedCount > 0 {
          complain("the last lines may be lost: \(interruption.unconfirmedCount)")
        }
        if let delay = interruption.delay { complain("next attempt in \(delay)") }
      case .message(.binary): break
      }
    }
  }

  private static func send(_ lines: AsyncStream<String>, as name: String, to room: ReconnectingWebSocket) async {
    for await line in lines {
      do {
        try await room.socket.send("\(name): \(line)")
      } catch {
        complain("not sent: \(line)")
      }
    }
    await room.close()
  }

  private static func complain(_ message: String) { FileHandle.standardError.write(Data("\(message)\n".utf8)) }
}

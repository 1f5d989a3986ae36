#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @Suite(.hangLimit) struct ChatRoomTests {
    @Test func `ChatRoom sends lines, prints messages, and reconnects after a loss`() async throws {
      let server = try MockServer(script: [
        .webSocket([.text("Bob: hello"), .receive("Ada: one"), .cut]),
        .webSocket([.text("Bob: again"), .receive("Ada: two"), .echo]),
      ])
      defer { server.stop() }
      let input = Pipe()
      let room = try ToolProcess(
        try ToolProcess.built("ChatRoom"), [server.webSocketURL("/rooms/1"), "Ada"], input: input.fileHandleForReading)

      try input.fileHandleForWriting.write(contentsOf: Data("one\n".utf8))
      _ = await becomes { room.outputSoFar == "Bob: hello\nBob: again\n" || !room.isRunning }
      try input.fileHandleForWriting.write(contentsOf: Data("two\n".utf8))
      try input.fileHandleForWriting.close()
      let result = try await room.end()

      #expect(result.status == 0 && result.text.hasPrefix("Bob: hello\nBob: again\n"), "\(result.errors)")
      #expect(result.errors.contains("the last lines may be lost"), "\(result.errors)")
      #expect(result.errors.contains("messages sent in the meantime may be missing"), "\(result.errors)")
      #expect(server.webSockets.map(\.texts) == [["Ada: one"], ["Ada: two"]])
    }
  }
#endif

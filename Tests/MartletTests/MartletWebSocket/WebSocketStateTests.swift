import Testing

@testable import MartletWebSocket

@Suite(.hangLimit) struct WebSocketStateTests {
  @Test func `the first close selects the close frame`() {
    var state = WebSocketState()

    let (first, _) = state.close(.init(code: .goingAway, reason: "first"))
    let (second, _) = state.close(.init(code: .normalClosure, reason: ""))

    #expect(first.code == .goingAway && first.reason == "first")
    #expect(second.code == .goingAway && second.reason == "first")
  }

  @Test func `the end of a wait for the program is progress`() {
    var state = WebSocketState()
    let (_, waiter) = state.add(.message(.text("a")), limit: 0)
    #expect(waiter != nil && state.isHeld && state.progress == 0)

    guard case .item(_, let room) = state.take(limit: 0) else {
      Issue.record("no item")
      return
    }

    #expect(room === waiter && !state.isHeld && state.progress == 1)
  }

  /// The sizes of the messages of a chunk, and after how many of them a waiting receiver is resumed; `nil` for the end.
  @Test(arguments: [
    ([1, 1, 1], nil), ([524_287], nil), ([524_288, 1], 1), ([524_287, 1, 1], 2), ([1, 2_000_000], 2),
  ])
  func `resumes a receiver after many bytes, or at the end of a chunk`(sizes: [Int], index: Int?) {
    var state = WebSocketState()
    guard case .waits(let receiver) = state.take(limit: 1 << 20) else {
      Issue.record("an item")
      return
    }
    #expect(state.takeReceiver() == nil)

    let messages = sizes.map { WebSocket.Message.text(String(repeating: "a", count: $0)) }
    let resumed = messages.map { state.add(.message($0), limit: 1 << 20).receiver }
    let last = state.takeReceiver()

    #expect(resumed.firstIndex { $0 === receiver } == index.map { $0 - 1 })
    #expect((last === receiver) == (index == nil))
  }
}

import MartletBase
import TestSupport
import Testing

@testable import MartletWebSocket

/// Mutated streams of frames.
@Suite(.hangLimit) struct FrameFuzzTests {
  @Test(arguments: [nil, PermessageDeflate(), PermessageDeflate(serverNoContextTakeover: true, serverMaxWindowBits: 9)])
  func `a mutated stream has the same events, however it is divided`(deflate: PermessageDeflate?) throws {
    var generator = SeededGenerator(seed: 6_455)
    for _ in 0..<Stress.count(1_000, full: 7_000) {
      var bytes = try WebSocketStreams.messages(deflate, using: &generator)
      for _ in 0..<Int.random(in: 0...3, using: &generator) { WebSocketStreams.mutate(&bytes, using: &generator) }
      func reader(_ delivery: MessageReader.Delivery) -> MessageReader {
        let limits = MessageReader.Limits(maximumFrameBytes: 5_000, maximumMessageBytes: 20_000)
        return MessageReader(.client, limits: limits, deflate: deflate, delivery: delivery)
      }

      let whole = ReadEvents(reader(.messages), [bytes])
      let divided = ReadEvents(reader(.messages), WebSocketStreams.divided(bytes, using: &generator))
      let parts = ReadEvents(reader(.parts), WebSocketStreams.divided(bytes, using: &generator))

      #expect(divided == whole)
      #expect(parts.violation == whole.violation)
      #expect(parts.joined == whole.events)
      #expect(whole.events.count <= bytes.count)
    }
  }
}

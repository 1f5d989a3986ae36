#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet
  @testable import MartletOutbox

  /// Responses to an outbox, over sockets.
  @Suite(.hangLimit) struct OutboxResponseTests {
    @Test(arguments: Lane.engines)
    func `a response whose body never ends counts as a delivery, and its connection is closed`(lane: Lane) async throws
    {
      let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
      let server = try MockServer(.steps([.text(head), .hang]))
      defer { server.stop() }
      let (folder, clock) = (try TemporaryFolder(), TestClock(advancing: .manually))
      let client = lane.client {
        $0.clock = clock
        $0.timeout = .unlimited
      }
      let outbox = try await client.outbox(at: folder.url.appending(path: "outbox"))
      try await outbox.submit(.post("\(raw: server.url)", body: .text("x")))
      // The sleepers are the limit of the body and the interval of the loop.
      await clock.wait(forSleepers: 2)

      clock.advance(by: .seconds(10))
      await outbox.waitUntilIdle()

      #expect(outbox.status.delivered == 1)
      #expect(await server.wait { $0.disconnects == 1 })
      await outbox.close()
    }
  }
#endif

#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// The cost of queued requests, and a queue over sockets.
  @Suite(.ownThreads, .needs(.proc), .hangLimit) struct QueueCostTests {
    @Test func `a queued request uses no thread and less than 2 KiB`() async {
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let client = Lane.curl.client()
        let queue = RequestQueue(client: client, paused: true)
        for index in 0..<2_000 { queue.add(.get("http://127.0.0.1:1/\(index)")) }
        let (before, threads) = (ProcessFacts.residentBytes, ProcessFacts.threadCount)
        let count = Stress.count(2_000, full: 20_000)

        for index in 0..<count { queue.add(.get("http://127.0.0.1:1/\(index)")) }

        let each = (ProcessFacts.residentBytes - before) / count
        Figures.record(
          "queue: \(each) bytes for each request that waits, \(ProcessFacts.threadCount - threads) threads more")
        #expect(isSanitized || !Stress.isOn || each < 2048)
        // The runtime may start its own threads at any time.
        #expect(ProcessFacts.threadCount - threads < 16)
        #expect(queue.cancelAll() == count + 2_000)
        #expect(await queue.finish().cancelled == count + 2_000)
      }
      Figures.show(child)
    }

    @Test(arguments: Lane.engines)
    func `a queue sends many requests over a few connections`(lane: Lane) async throws {
      let server = try MockServer { _ in .ok("x") }
      let client = lane.client { $0.options.coalesces = false }
      let queue = RequestQueue(client: client, limits: .concurrent(8, perHost: 4))
      let count = Stress.count(300, full: 3_000)

      for index in 0..<count {
        queue.add(.get(RequestTarget(server.url("/\(index)"))), priority: index % 3)
      }
      let summary = await queue.finish()

      #expect(summary.added == count && summary.succeeded == count)
      #expect(server.connectionCount <= 6, "\(server.connectionCount) connections")
      #expect(await becomes { client.core.entryCount == 0 })
    }
  }
#endif

#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import CurlEngine
  @testable import Martlet

  /// Clients whose engine has several threads.
  @Suite(.hangLimit) struct EngineThreadsTests {
    /// The home thread, the loads, the number of exchanges a connection carries, and the chosen thread.
    @Test(
      arguments: [
        (0, [0, 0], 1, 0), (1, [0, 0], 1, 1), (0, [1, 0], 1, 1), (1, [1, 0], 1, 1), (0, [1, 1], 1, 0),
        (0, [2, 1], 1, 1),
        (1, [5, 3, 2], 1, 2), (1, [2, 3, 2], 1, 0), (0, [99, 0], 100, 0), (0, [100, 0], 100, 1),
        (0, [100, 100], 100, 0),
        (0, [7], 1, 0),
      ])
    func `chooses the least loaded thread if the origin's thread has a connection's full load`(
      home: Int, loads: [Int], streams: Int, choice: Int
    ) {
      #expect(CurlEngines.choice(home: home, loads: loads, streams: streams) == choice)
    }

    @Test func `a load share ends only once, at the latest when it is released`() {
      let load = EngineLoad()
      do {
        let (first, second) = (LoadShare(load), LoadShare(load))
        #expect(load.value == 2)
        first.end()
        first.end()
        #expect(load.value == 1)
        withExtendedLifetime(second) {}
      }
      #expect(load.value == 0)
    }

    static func loader(_ client: HTTPClient) throws -> CurlLoader {
      try #require(client.core.settings.transport as? CurlLoader)
    }

    @Test func `sequential requests use one thread and one connection`() async throws {
      let server = try MockServer(.ok("here"))
      let client = Lane.curl.client(.engineThreads(4))

      for number in 0..<20 {
        let answer = try await client.get(RequestTarget(server.url("/\(number)")))
        #expect(answer.text == "here")
      }

      #expect(try Self.loader(client).threadCount == 1)
      #expect(server.connectionCount == 1)
    }

    @Test func `concurrent requests use all threads, and idle threads end`()
      async throws
    {
      let server = try MockServer { (request: RecordedRequest) in
        request.path == "/again" ? .ok(request.path) : .ok(request.path).delayed(by: .seconds(1))
      }
      let client = Lane.curl.client(.engineThreads(3), .idleConnectionLifetime(.milliseconds(500)))
      let loader = try Self.loader(client)

      let tasks = (0..<6).map { number in
        Task { try await client.get(RequestTarget(server.url("/\(number)"))).text }
      }
      #expect(await becomes { loader.threadCount == 3 })
      for (number, task) in tasks.enumerated() { #expect(try await task.value == "/\(number)") }

      #expect(await becomes { loader.threadCount == 0 })
      let answer = try await client.get(RequestTarget(server.url("/again")))
      #expect(answer.text == "/again")
    }

    @Test(arguments: Lane.engines) func `the connection limit applies to all threads together`(_ lane: Lane)
      async throws
    {
      let server = try MockServer { (request: RecordedRequest) in
        .ok(request.path).delayed(by: .milliseconds(20))
      }
      let client = lane.client {
        $0.engineThreads = 4
        $0.maximumConnectionsPerHost = 3
      }
      let start = ContinuousClock.now

      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<30 {
          group.addTask {
            let answer = try await client.get(RequestTarget(server.url("/\(number)")))
            #expect(answer.text == "/\(number)")
          }
        }
        try await group.waitForAll()
      }

      // At most three requests run at a time, each for at least 20 ms.
      #expect(ContinuousClock.now - start >= .milliseconds(200))
    }

    @Test func `clamps engineThreads to the range 1 to 64`() {
      for (given, taken) in [(-1, 1), (0, 1), (1, 1), (64, 64), (65, 64), (.max, 64)] {
        var configuration = HTTPClient.Configuration()
        configuration.engineThreads = given
        #expect(configuration.engineThreads == taken)
      }
    }
  }
#endif

#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// The cost of waiting, in a process without the server.
  @Suite(.stressOnly, .ownThreads, .needs(.proc), .hangLimit) struct CostTests {
    /// Returns a server that responds only to `/0`.
    private static func server() throws -> ByteServer {
      let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8)
      return try ByteServer { ByteServer.Script(pieces: $0 == 0 ? [answer] : [], end: .keep) }
    }

    @Test(arguments: Lane.engines)
    func `100 waiting requests use almost no processor time`(_ lane: Lane) async throws {
      let server = try Self.server()
      defer { server.stop() }

      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [lane = lane as Lane, port = server.port as Int] in
        let client = lane.client {
          $0.maximumConnectionsPerHost = 100
          $0.maximumConnections = 100
        }
        let handles = (0..<100).map { client.start(.get("http://127.0.0.1:\(port)/\($0 + 1)")) }
        try await Task.sleep(for: .seconds(1))
        let before = ProcessFacts.processorTime
        try await Task.sleep(for: .seconds(2))
        let spent = ProcessFacts.processorTime - before

        Figures.record("waiting (\(lane)): 100 requests cost \(Figures.milliseconds(spent)) of a core in 2 s")
        #expect(handles.allSatisfy { $0.isAlive })
        #expect(isSanitized || spent < .milliseconds(20))
        client.cancelAll()
      }
      Figures.show(child)
    }

    @Test(arguments: Lane.engines)
    func `a waiting request uses less than 96 KiB`(_ lane: Lane) async throws {
      let server = try Self.server()
      defer { server.stop() }

      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [lane = lane as Lane, port = server.port as Int] in
        ProcessFacts.raiseDescriptorLimit()
        let client = lane.client {
          $0.maximumConnectionsPerHost = 1_000
          $0.maximumConnections = 1_000
        }
        for _ in 0..<50 { _ = try await client.get("http://127.0.0.1:\(port)/0") }
        let memory = ProcessFacts.residentBytes
        let descriptors = ProcessFacts.descriptorCount
        let handles = (0..<1_000).map { client.start(.get("http://127.0.0.1:\(port)/\($0 + 1)")) }
        #expect(await becomes(every: .milliseconds(20)) { ProcessFacts.descriptorCount >= descriptors + 999 })
        try await Task.sleep(for: .seconds(1))
        let each = (ProcessFacts.residentBytes - memory) / 1_000

        Figures.record("waiting (\(lane)): each of 1,000 requests takes \(each) bytes")
        #expect(handles.allSatisfy { $0.isAlive })
        // The limit applies to unoptimized builds.
        #expect(isSanitized || each < 96 << 10)
        client.cancelAll()
      }
      Figures.show(child)
    }

    @Test(arguments: Lane.engines)
    func `an idle client uses less than 192 KiB`(_ lane: Lane) async throws {
      let server = try Self.server()
      defer { server.stop() }

      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [lane = lane as Lane, port = server.port as Int] in
        func serve() async throws -> HTTPClient {
          let client = lane.client()
          #expect(try await client.get("http://127.0.0.1:\(port)/0").text == "hello")
          return client
        }
        var clients: [HTTPClient] = []
        for _ in 0..<8 { clients.append(try await serve()) }
        let memory = ProcessFacts.residentBytes
        for _ in 0..<64 { clients.append(try await serve()) }
        try await Task.sleep(for: .milliseconds(500))
        let each = (ProcessFacts.residentBytes - memory) / 64

        Figures.record("idle (\(lane)): each of 64 clients takes \(each) bytes")
        // The limit includes the thread's stack, and applies to unoptimized builds.
        #expect(isSanitized || each < 192 << 10)
        #expect(clients.count == 72)
      }
      Figures.show(child)
    }
  }
#endif

#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// The engine's memory, threads and descriptors, over both transports, each in its own process.
  @Suite(.ownThreads, .needs(.proc), .hangLimit) struct CurlLoadTests {
    @Test(arguments: Lane.engines)
    func `a slow reader keeps memory bounded`(_ lane: Lane) async {
      await #expect(processExitsWith: .success) { [lane = lane as Lane] in
        // 1 TiB, of which the reader decides how much it reads.
        let server = try MockServer(.repeating(Data(repeating: 1, count: 1 << 20), count: 1 << 20))
        let client = HTTPClient { $0.transport = lane.transport }
        let growth = try await client.stream(.get(RequestTarget(server.url))) { response in
          var received = 0
          var sleeps = 0
          var first = 0
          for try await piece in response.body {
            received += piece.count
            sleeps += 1
            if received < 64 << 20 { first = ProcessFacts.residentBytes }
            if received >= Stress.count(128 << 20, full: 1 << 30) { break }
            if sleeps % 16 == 0 { try await Task.sleep(for: .milliseconds(1)) }
          }
          return ProcessFacts.residentBytes - first
        }
        #expect(growth < 16 << 20, "\(growth)")
        server.stop()
      }
    }

    @Test(arguments: Lane.engines)
    func `a paused reader uses bounded memory and can resume`(_ lane: Lane) async {
      await #expect(processExitsWith: .success) { [lane = lane as Lane] in
        let server = try MockServer(.repeating(Data(repeating: 1, count: 1 << 20), count: 1 << 10))
        let client = HTTPClient { $0.transport = lane.transport }
        let before = ProcessFacts.residentBytes
        try await client.stream(.get(RequestTarget(server.url))) { response in
          var pieces = response.body.makeAsyncIterator()
          _ = try await pieces.next()
          try await Task.sleep(for: .seconds(1))
          #expect(isSanitized || ProcessFacts.residentBytes - before < 16 << 20)
          // The transfer resumes where it stopped.
          var count = 0
          while count < 16 << 20, let piece = try await pieces.next() { count += piece.count }
          #expect(count >= 16 << 20)
        }
        server.stop()
      }
    }

    @Test(arguments: Lane.engines)
    func `a compressed body that expands is decoded with bounded memory`(_ lane: Lane) async {
      await #expect(processExitsWith: .success) { [lane = lane as Lane] in
        let members = CodedBodies.repeated(CodedBodies.gzipOfMartlets, 1000)
        let server = try MockServer(
          .repeating(members, count: Stress.count(4, full: 40), headers: ["Content-Encoding": "gzip"]))
        let client = HTTPClient { $0.transport = lane.transport }
        let before = ProcessFacts.residentBytes
        let count = try await client.stream(.get(RequestTarget(server.url))) { response in
          var count = 0
          for try await piece in response.body {
            count += piece.count
            if count < 1 << 20 { try await Task.sleep(for: .milliseconds(20)) }
          }
          return count
        }
        #expect(count == Stress.count(6_400_000, full: 64_000_000))
        #expect(isSanitized || ProcessFacts.residentBytes - before < 16 << 20)
        server.stop()
      }
    }

    @Test(arguments: Lane.engines)
    func `requests with random cancellations all end and leak no resources`(_ lane: Lane) async {
      let child = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
        [lane = lane as Lane] in
        // The process may have inherited descriptors from its parent.
        let descriptors = ProcessFacts.descriptorCount
        let server = try MockServer { (request: RecordedRequest) in
          if request.path == "/slow" { try? await Task.sleep(for: .milliseconds(15)) }
          return .ok("hello")
        }
        let client = HTTPClient {
          $0.transport = lane.transport
          $0.maximumConnectionsPerHost = 16
        }
        await Load.run(Stress.count(400, full: 2_000), client, server)
        let memory = ProcessFacts.residentBytes

        let count = Stress.count(800, full: 10_000)
        let answers = await Load.run(count, client, server)

        // The parent sees the details of a failure only on the child's standard error.
        let facts =
          "descriptors \(descriptors) \(ProcessFacts.descriptorCount), bytes more \(ProcessFacts.residentBytes - memory), \(answers)"
        FileHandle.standardError.write(Data(facts.utf8))
        #expect(answers.right + answers.cancelled == count)
        #expect(answers.wrong.isEmpty, "\(answers.wrong.first ?? "")")
        #expect(answers.right > count / 3)
        #expect(answers.cancelled > 0)
        #expect(await becomes { client.core.entryCount == 0 })
        #expect(client.activity.current.totals.failed == 0)
        #expect(await server.waitForOpenConnections(atMost: 16))
        #expect(ProcessFacts.descriptorCount < descriptors + 32 + 24)
        #expect(isSanitized || ProcessFacts.residentBytes - memory < 16 << 20)
        server.stop()
      }
      if let child, child.exitStatus != .exitCode(EXIT_SUCCESS) {
        Issue.record("\(String(decoding: child.standardErrorContent, as: UTF8.self))")
      }
    }

    @Test(arguments: Lane.engines)
    func `released clients free their threads and descriptors`(_ lane: Lane) async {
      await #expect(processExitsWith: .success) { [lane = lane as Lane] in
        let server = try MockServer(.ok("hello"))
        func use(_ count: Int) async throws {
          for _ in 0..<count {
            let client = HTTPClient { $0.transport = lane.transport }
            #expect(try await client.get(RequestTarget(server.url)).text == "hello")
            #expect(ProcessFacts.engineThreadCount >= 1)
          }
        }
        try await use(5)
        #expect(await becomes { ProcessFacts.engineThreadCount == 0 })
        #expect(await server.waitForOpenConnections(atMost: 0))
        let descriptors = ProcessFacts.descriptorCount

        try await use(Stress.count(10, full: 50))

        #expect(await becomes { ProcessFacts.engineThreadCount == 0 })
        #expect(await server.waitForOpenConnections(atMost: 0))
        #expect(ProcessFacts.descriptorCount <= descriptors + 2)
        server.stop()
      }
    }

    @Test(arguments: Lane.engines)
    func `a body is read to its end after its client is released`(_ lane: Lane) async throws {
      let server = try MockServer(.repeating(Data(repeating: 1, count: 1 << 20), count: 8))
      defer { server.stop() }
      var client: HTTPClient? = HTTPClient { $0.transport = lane.transport }
      let target = RequestTarget(server.url)
      let task = try #require(client.map { client in Task { try await client.send(.get(target)) } })
      client = nil

      #expect(try await task.value.body.count == 8 << 20)
    }
  }
#endif

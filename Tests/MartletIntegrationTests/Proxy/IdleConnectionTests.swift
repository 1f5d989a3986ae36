#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet

  @Suite(.ownThreads, .hangLimit) struct IdleConnectionTests {
    @Test func `closes idle connections after their lifetime and ends the engine thread`() async throws {
      let gate = Gate()
      let server = try MockServer { _ in
        await gate.pass()
        return .ok("x")
      }
      let client = Lane.curl.client(.idleConnectionLifetime(.milliseconds(300)))
      #expect(try !client.hasEngineThread())

      async let first = client.get(RequestTarget(server.url))
      await gate.waitForArrivals(1)
      #expect(try client.hasEngineThread())
      gate.open()
      _ = try await first

      #expect(await server.waitForOpenConnections(atMost: 0))
      #expect(await becomes { (try? client.hasEngineThread()) == false })
      let second = try await client.get(RequestTarget(server.url))
      #expect(second.text == "x" && second.connection?.isReused == false)
    }

    @Test func `reuses a connection within its idle lifetime`() async throws {
      let server = try MockServer(.ok("x"))
      let client = Lane.curl.client(.idleConnectionLifetime(.seconds(600)))

      _ = try await client.get(RequestTarget(server.url))
      let second = try await client.get(RequestTarget(server.url))

      #expect(second.connection?.isReused == true && server.connectionCount == 1)
      #expect(try client.hasEngineThread())
    }

    @Test func `never reuses a connection if the idle lifetime is zero`() async throws {
      let server = try MockServer(.ok("x"))
      let client = Lane.curl.client(.idleConnectionLifetime(.zero))

      for _ in 0..<3 { _ = try await client.get(RequestTarget(server.url)) }

      #expect(server.connectionCount == 3)
      #expect(await server.waitForOpenConnections(atMost: 0))
    }

    @Test func `loses no request while the engine thread ends and restarts`() async throws {
      let server = try MockServer(.ok("x"))
      let client = Lane.curl.client(.idleConnectionLifetime(.milliseconds(1)))
      let count = Stress.count(60, full: 200)

      try await withThrowingTaskGroup { group in
        for _ in 0..<2 {
          group.addTask {
            for index in 0..<count {
              #expect(try await client.get(RequestTarget(server.url)).text == "x")
              try await Task.sleep(for: .microseconds(index % 20 * 100))
            }
          }
        }
        try await group.waitForAll()
      }

      #expect(server.requests.count == 2 * count)
    }

    @Test func `closeIdleConnections closes idle connections and leaves active ones open`() async throws {
      let idle = try MockServer(.ok("x"))
      let gate = Gate()
      let busy = try MockServer { _ in
        await gate.pass()
        return .ok("late")
      }
      let client = Lane.curl.client(.idleConnectionLifetime(.seconds(600)))
      _ = try await client.get(RequestTarget(idle.url))
      async let response = client.get(RequestTarget(busy.url))
      #expect(await busy.waitForRequests(1))

      client.closeIdleConnections()

      #expect(await idle.waitForOpenConnections(atMost: 0))
      #expect(busy.openConnections == 1)
      gate.open()
      #expect(try await response.text == "late")
      #expect(try await client.get(RequestTarget(idle.url)).connection?.isReused == false)
      client.closeIdleConnections()
      #expect(await idle.waitForOpenConnections(atMost: 0))
      #expect(await busy.waitForOpenConnections(atMost: 0))
      #expect(try await client.get(RequestTarget(idle.url)).text == "x")
      // Having nothing to close is not an error.
      Lane.curl.client(.idleConnectionLifetime(.seconds(600))).closeIdleConnections()
    }

    @Test func `closeIdleConnections closes all connections of many requests`() async throws {
      await #expect(processExitsWith: .success) {
        let server = try MockServer(.ok("x"))
        let client = Lane.curl.client { $0.maximumConnectionsPerHost = 64 }
        _ = try await client.get(RequestTarget(server.url))
        client.closeIdleConnections()
        #expect(await server.waitForOpenConnections(atMost: 0))
        let before = ProcessFacts.descriptorCount

        for _ in 0..<Stress.count(20, full: 200) {
          try await withThrowingTaskGroup { group in
            for _ in 0..<64 { group.addTask { _ = try await client.get(RequestTarget(server.url)) } }
            try await group.waitForAll()
          }
          client.closeIdleConnections()
          let isClosed = await server.waitForOpenConnections(atMost: 0)
          #expect(isClosed, "\(server.openConnections) are open")
          #expect(await becomes { ProcessFacts.descriptorCount <= before })
        }
      }
    }

    @Test func `closeIdleConnections closes sockets while a request is running`() async throws {
      await #expect(processExitsWith: .success) {
        let gate = Gate()
        defer { gate.open() }
        let server = try MockServer { request in
          if request.target == "/late" { await gate.pass() }
          return .ok("x")
        }
        let client = Lane.curl.client { $0.maximumConnectionsPerHost = 64 }
        async let late = client.get(RequestTarget(server.url("/late")))
        #expect(await server.waitForRequests(1))
        let before = ProcessFacts.descriptorCount
        try await withThrowingTaskGroup { group in
          for _ in 0..<32 { group.addTask { _ = try await client.get(RequestTarget(server.url)) } }
          try await group.waitForAll()
        }

        client.closeIdleConnections()

        #expect(await server.waitForOpenConnections(atMost: 1))
        #expect(await becomes(within: .seconds(10)) { ProcessFacts.descriptorCount <= before })
        gate.open()
        #expect(try await late.text == "x")
      }
    }

    @Test func `closeIdleConnections does not interrupt a paused transfer`() async throws {
      let idle = try MockServer(.ok("x"))
      let size = 8 << 20
      let big = try MockServer(.data(Data(repeating: 7, count: size)))
      let client = Lane.curl.client(.idleConnectionLifetime(.seconds(600)))
      _ = try await client.get(RequestTarget(idle.url))

      let count = try await client.stream(.get(RequestTarget(big.url))) { response in
        var count = 0
        for try await piece in response.body {
          if count == 0 {
            // Waits long enough for the transfer to be paused.
            try await Task.sleep(for: .milliseconds(200))
            client.closeIdleConnections()
            try await Task.sleep(for: .milliseconds(100))
          }
          count += piece.count
        }
        return count
      }

      #expect(count == size)
      #expect(await idle.waitForOpenConnections(atMost: 0))
    }
  }
#endif

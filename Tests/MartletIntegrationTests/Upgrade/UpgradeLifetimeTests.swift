#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  @Suite(.hangLimit) struct UpgradeLifetimeTests {
    // MARK: Ends

    @Test(.needs(.python), arguments: Lane.engines)
    func `closes the connection when its last copy is released`(_ lane: Lane) async throws {
      let server = try await UpgradeServer()
      let client = lane.client()

      var connection: UpgradedConnection? = try await client.upgrade(.get(server.target("/echo")), to: "echo")
        .connection
      try await connection?.write(Data("x".utf8))
      var bytes = connection?.bytes
      #expect(client.activity.current.running.count == 1)
      connection = nil
      var iterator = bytes?.makeAsyncIterator()
      #expect(try await iterator?.next() == Data("x".utf8))
      #expect(client.activity.current.running.count == 1)
      (iterator, bytes) = (nil, nil)

      #expect(await server.prints("end of"))
      await client.waitUntilEmpty()
    }

    @Test(.needs(.python)) func `cancelling the reading task closes the connection`() async throws {
      let server = try await UpgradeServer()
      let client = Lane.curl.client()
      let connection = try await client.upgrade(.get(server.target("/echo")), to: "echo").connection
      try await connection.write(Data("x".utf8))

      let reading = Shared(false)
      let task = Task {
        for try await _ in connection.bytes { reading.withLock { $0 = true } }
      }
      await reading.wait { $0 }
      task.cancel()

      await #expect(throws: CancellationError.self) { try await task.value }
      await #expect(throws: CancellationError.self) { try await connection.write(Data("y".utf8)) }
      #expect(await server.prints("end of"))
      await client.waitUntilEmpty()
    }

    @Test(.needs(.python)) func `cancelling the task that awaits the response closes the connection`() async throws {
      let server = try await UpgradeServer()
      let client = Lane.curl.client()

      let task = Task { try await client.upgrade(.get(server.target("/silent")), to: "echo") }
      #expect(await server.prints("GET /silent"))
      task.cancel()

      await #expect(throws: CancellationError.self) { try await task.value }
      await client.waitUntilEmpty()
    }

    @Test(.needs(.python)) func `a managed connection lives until its closure ends or its handle cancels it`()
      async throws
    {
      let server = try await UpgradeServer()
      let client = Lane.curl.client()

      let handle = client.startUpgrade(.get(server.target("/early")), to: "echo") { connection in
        var bytes = connection.bytes.makeAsyncIterator()
        return try await bytes.next()
      }
      #expect(try await handle.value == Data("first".utf8))

      let scope = RequestScope(client: client)
      let reading = Shared(false)
      let held = client.startUpgrade(.get(server.target("/early")), to: "echo") { connection in
        for try await _ in connection.bytes { reading.withLock { $0 = true } }
      }
      scope.add(held)
      await reading.wait { $0 }
      scope.cancelAll()
      await #expect(throws: CancellationError.self) { try await held.value }
      await client.waitUntilEmpty()
    }

    @Test(.needs(.python)) func `a closure may close its connection and returns its result`() async throws {
      let server = try await UpgradeServer()
      let client = Lane.curl.client()

      let text = try await client.upgrade(.get(server.target("/echo")), to: "echo") { connection in
        connection.close()
        return "done"
      }
      let handle = client.startUpgrade(.get(server.target("/echo")), to: "echo") { connection in
        connection.close(throwing: HTTPError(.decoding, "not understood"))
        await #expect(throws: CancellationError.self) { for try await _ in connection.bytes {} }
        return "done"
      }

      #expect(text == "done")
      #expect(try await handle.value == "done")
      let held = try await client.upgrade(.get(server.target("/echo")), to: "echo").connection
      held.close(throwing: HTTPError(.decoding, "not understood"))
      #expect(client.activity.current.totals.succeeded == 2 && client.activity.current.totals.failed == 1)
    }

    @Test(.needs(.python)) func `a handle can cancel a closure that has closed its connection`() async throws {
      let server = try await UpgradeServer()
      let client = Lane.curl.client()
      let isClosed = Shared(false)

      let handle = client.startUpgrade(.get(server.target("/echo")), to: "echo") { connection in
        connection.close()
        isClosed.withLock { $0 = true }
        try await untilCancelled()
      }
      await isClosed.wait { $0 }
      handle.cancel()

      await #expect(throws: CancellationError.self) { try await handle.value }
      await client.waitUntilEmpty()
    }

    @Test(.needs(.python, .openssl)) func `ends the client's side over TLS after a reset`() async throws {
      let authority = try await CertificateAuthority()
      let root = try authority.rootPEM
      let server = try await UpgradeServer(try await authority.identity())
      let client = Lane.curl.client { $0.tls = .customRoots(pem: root) }

      for size in stride(from: 250, through: 345, by: 5) {
        let connection = try await client.upgrade(.get(server.target("/reset/\(size)")), to: "echo").connection
        try await Task.sleep(for: .milliseconds(30))
        connection.finish()
        try await Task.sleep(for: .milliseconds(10))
        connection.close()
      }

      await client.waitUntilEmpty()
    }

    @Test(.needs(.python)) func `a drained client waits for its connections up to the time limit`() async throws {
      let server = try await UpgradeServer()
      let client = Lane.curl.client()
      let connection = try await client.upgrade(.get(server.target("/echo")), to: "echo").connection

      await client.drain(timeout: .milliseconds(100))

      await #expect(throws: CancellationError.self) { try await connection.write(Data("x".utf8)) }
      await #expect(throws: HTTPError.self) { try await client.upgrade(.get(server.target("/echo")), to: "echo") }
    }

    @Test(.needs(.python)) func `connections do not count for the limit of a host`() async throws {
      let server = try await UpgradeServer()
      let client = Lane.curl.client {
        $0.maximumConnectionsPerHost = 1
        $0.maximumConnections = 2
        $0.concurrency = .fixed(1)
      }

      var connections: [UpgradedConnection] = []
      for _ in 0..<20 {
        connections.append(try await client.upgrade(.get(server.target("/echo")), to: "echo").connection)
      }
      let status = try await client.get(server.target("/status/200")).status
      for (number, connection) in connections.enumerated() { try await connection.write(Data("\(number)".utf8)) }
      for (number, connection) in connections.enumerated() {
        var bytes = connection.bytes.makeAsyncIterator()
        try await UpgradedConnection.read("\(number)", &bytes)
        connection.close()
      }

      #expect(status == .ok)
      await client.waitUntilEmpty()
    }

    // MARK: Time and load

    @Test(.needs(.python)) func `silence ends a connection only with its own limit`() async throws {
      let server = try await UpgradeServer()
      let client = Lane.curl.client { $0.timeout.idle = .milliseconds(200) }

      let open = try await client.upgrade(.get(server.target("/echo")), to: "echo").connection
      let limited = try await client.upgrade(
        .get(server.target("/echo")), to: "echo", idleLimit: .milliseconds(300)
      ).connection
      let error = await #expect(throws: HTTPError.self) {
        for try await _ in limited.bytes {}
      }
      #expect(error?.kind == .timedOut)
      try await open.write(Data("still".utf8))
      var bytes = open.bytes.makeAsyncIterator()
      try await UpgradedConnection.read("still", &bytes)
    }

    @Test(.needs(.python)) func `a silent server times out before the change`() async throws {
      let server = try await UpgradeServer()
      let client = Lane.curl.client { $0.timeout.idle = .milliseconds(200) }

      let error = await #expect(throws: HTTPError.self) {
        try await client.upgrade(.get(server.target("/silent")), to: "echo")
      }

      #expect(error?.kind == .timedOut && error?.phase == .waiting)
    }

    @Test(.needs(.python, .openssl), arguments: [false, true])
    func `a write waits for a server that does not read, up to the idle limit`(isSecure: Bool) async throws {
      let authority = isSecure ? try await CertificateAuthority() : nil
      let root = authority?.root
      let server = try await UpgradeServer(try await authority?.identity())
      let client = Lane.curl.client {
        $0.timeout.idle = .milliseconds(400)
        if let root { $0.tls = .customRoots(pem: root) }
      }
      let connection = try await client.upgrade(.get(server.target("/deaf")), to: "echo").connection

      var sent = 0
      let error = await #expect(throws: HTTPError.self) {
        while sent < 1 << 30 {
          try await connection.write(Data(count: 64 << 10))
          sent += 64 << 10
        }
      }

      #expect(error?.kind == .timedOut && error?.phase == .sending)
      #expect(sent < 64 << 20)
      #expect(!connection.writeNow(Data("x".utf8)))
    }

    @Test(.needs(.python)) func `a cancelled write leaves the connection open`() async throws {
      let server = try await UpgradeServer()
      let client = Lane.curl.client()
      let connection = try await client.upgrade(.get(server.target("/deaf")), to: "echo").connection

      let count = Shared(0)
      let task = Task {
        while true {
          try await connection.write(Data(count: 64 << 10))
          count.withLock { $0 += 1 }
        }
      }
      // Without a change for some time, the writer waits.
      var last = -1
      _ = await becomes(every: .milliseconds(100)) {
        let now = count.withLock { $0 }
        defer { last = now }
        return now == last
      }
      task.cancel()

      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(client.activity.current.running.count == 1)
    }

    @Test(.needs(.python)) func `a reader that pauses slows the server down`() async throws {
      let server = try await UpgradeServer()
      let client = Lane.curl.client()
      let connection = try await client.upgrade(.get(server.target("/flood")), to: "echo").connection

      var bytes = connection.bytes.makeAsyncIterator()
      #expect(try await bytes.next() != nil)
      var last: Int64 = -1
      _ = await becomes(every: .milliseconds(200)) {
        let now = client.activity.current.totals.bytesReceived
        defer { last = now }
        return now == last
      }

      #expect(last < 2 << 20)
      var count = 0
      while count < 8 << 20, let chunk = try await bytes.next() { count += chunk.count }
      #expect(count >= 8 << 20)
    }

    @Test(.needs(.python)) func `a cut connection throws after its bytes`() async throws {
      let server = try await UpgradeServer()
      let connection = try await Lane.curl.client().upgrade(.get(server.target("/cut")), to: "echo").connection

      var read = Data()
      let error = await #expect(throws: HTTPError.self) {
        for try await chunk in connection.bytes { read += chunk }
      }

      #expect(read == Data("first".utf8))
      #expect(error?.kind == .connectionLost && error?.phase == .receiving)
    }
  }
#endif

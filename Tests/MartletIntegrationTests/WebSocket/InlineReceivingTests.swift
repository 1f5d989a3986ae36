#if os(Linux)
  @testable import CurlEngine
  import Foundation
  @testable import Martlet
  @testable import MartletBase
  import MartletTesting
  @testable import MartletWebSocket
  import TestSupport
  import Testing

  /// Tasks that receive messages on their own threads, because earlier messages arrived soon after a write.
  @Suite(.hangLimit) struct InlineReceivingTests {
    /// Keeps the servers until the end of the test.
    private let servers = Shared<[MockServer]>([])

    /// A client that waits inline for at most `patience` microseconds, from its first message on.
    private func client(
      patience: Int64, credit: Int = InlineWaitHeuristic.maximumCredit, threads: Int = 1
    ) -> HTTPClient {
      let pace = InlineWaitHeuristic(patience: patience, credit: credit)
      return Lane.curl.client(.transport(WaitingTransport(lane: .curl, pace: pace)), .engineThreads(threads))
    }

    private func open(_ steps: [MockWebSocket.Step], _ client: HTTPClient) async throws -> WebSocket {
      let server = try MockServer(.webSocket(steps))
      servers.withLock { $0.append(server) }
      return try await client.webSocket(.get(RequestTarget(server.url)))
    }

    private func inlineCount(_ socket: WebSocket) -> Int { socket.session.state.withLock { $0.inlineCount } }

    @Test func `waits inline for quick answers`() async throws {
      // A longer patience would keep a busy machine's few threads from the other tests.
      let socket = try await open([.echo], client(patience: 200_000))

      for number in 0..<100 {
        try await socket.send("\(number)")
        #expect(try await socket.receive() == .text("\(number)"))
      }

      // Not every wait is inline: the echo may have arrived before, or the engine's thread may take the loop.
      #expect(!Stress.isOn || inlineCount(socket) > 0)
      await socket.close()
    }

    @Test func `does not wait inline for slow answers, or without a write`() async throws {
      let slow = [MockWebSocket.Step.receive, .delay(.milliseconds(50)), .text("slow")]
      let rest = (0..<20).flatMap { [MockWebSocket.Step.delay(.milliseconds(1)), .text("\($0)")] }
      let socket = try await open(
        Array([slow, slow, slow, rest].joined()), client(patience: 1_000, credit: InlineWaitHeuristic.price))

      for _ in 0..<3 {
        try await socket.send("x")
        #expect(try await socket.receive() == .text("slow"))
      }
      for number in 0..<20 { #expect(try await socket.receive() == .text("\(number)")) }

      #expect(inlineCount(socket) <= 1)
      await socket.close()
    }

    @Test @MainActor func `a task on an actor does not wait inline`() async throws {
      let socket = try await open([.echo], client(patience: 200_000))

      for number in 0..<50 {
        try await socket.send("\(number)")
        #expect(try await socket.receive() == .text("\(number)"))
      }

      #expect(inlineCount(socket) == 0)
      await socket.close()
    }

    @Test func `hands late bytes over to the engine`() async throws {
      let steps = [MockWebSocket.Step.receive, .delay(.milliseconds(40)), .text("late"), .echo(1)]
      let socket = try await open(
        Array(repeatElement(steps, count: 8).joined()), client(patience: 10_000))

      for number in 0..<8 {
        try await socket.send("x")
        #expect(try await socket.receive() == .text("late"))
        try await socket.send("\(number)")
        #expect(try await socket.receive() == .text("\(number)"))
      }
      await socket.close()
    }

    @Test func `receives messages in parts, and answers pings in between`() async throws {
      let steps = [
        MockWebSocket.Step.receive, .ping(Data("a".utf8)), .drip(.text("slow"), chunk: 1, every: .milliseconds(1)),
        .drip(.ping(Data("b".utf8)), chunk: 1, every: .milliseconds(1)), .fragments(["one", "two"]),
      ]
      let client = client(patience: 100_000)
      let socket = try await open(Array(repeatElement(steps, count: 20).joined()), client)

      for _ in 0..<20 {
        try await socket.send("x")
        #expect(try await socket.receive() == .text("slow"))
        #expect(try await socket.receive() == .text("onetwo"))
      }
      await socket.close()

      let server = try #require(servers.withLock { $0.first })
      let record = await server.waitForWebSocket { $0.isEnded }
      let pongs = record?.messages.count { if case .pong = $0 { true } else { false } }
      #expect(pongs == 40)
    }

    @Test(.needs(.openssl), .needs(.python, problem: WebSocketServer.problem))
    func `waits inline over TLS, even for large messages`() async throws {
      let authority = try await CertificateAuthority()
      let server = try await WebSocketServer(.websockets, try await authority.identity())
      let root = try authority.rootPEM
      let pace = InlineWaitHeuristic(patience: 200_000, credit: InlineWaitHeuristic.maximumCredit)
      let client = Lane.curl.client(
        .transport(WaitingTransport(lane: .curl, pace: pace)), .tls(.customRoots(pem: root)))

      try await client.webSocket(server.request("/echo")) { socket in
        for number in 0..<100 {
          let message = Data(repeating: UInt8(number), count: number % 10 == 9 ? 300_000 : number)
          try await socket.send(message)
          #expect(try await socket.receive() == .binary(message))
        }
        #expect(!Stress.isOn || inlineCount(socket) > 0)
      }
    }

    @Test func `a message, a close frame and the end of the connection arrive in one segment`() async throws {
      let last = Data([0x81, 2] + "hi".utf8 + [0x88, 2, 0x03, 0xE8])
      for _ in 0..<5 {
        let socket = try await open([.echo(1), .receive, .bytes(last), .cut], client(patience: 200_000))
        try await socket.send("x")
        #expect(try await socket.receive() == .text("x"))

        try await socket.send("y")

        #expect(try await socket.receive() == .text("hi"))
        #expect(try await socket.receive() == nil)
        #expect(socket.closeCode == .normalClosure)
      }
    }

    @Test func `other tasks send during an inline wait`() async throws {
      let socket = try await open(
        Array(repeatElement([MockWebSocket.Step.receive, .receive, .text("both")], count: 10).joined()),
        client(patience: 200_000))

      for _ in 0..<10 {
        async let answer: WebSocket.Message? = {
          try await socket.send("first")
          return try await socket.receive()
        }()
        try await Task.sleep(for: .milliseconds(3))
        try await socket.send("second")
        #expect(try await answer == .text("both"))
      }

      await socket.close()
    }

    @Test(arguments: [MockWebSocket.Step.cut, .reset, .bytes(Data([0xFF, 0]))])
    func `the end of the connection, or a violation, ends an inline wait`(_ step: MockWebSocket.Step) async throws {
      for _ in 0..<5 {
        let client = client(patience: 200_000)
        let socket = try await open([.echo(1), .receive, .delay(.milliseconds(2)), step], client)
        try await socket.send("x")
        #expect(try await socket.receive() == .text("x"))

        try await socket.send("y")
        await #expect(throws: HTTPError.self) { try await socket.receive() }

        await client.waitUntilEmpty()
      }
    }

    @Test func `a large message of another task is sent during an inline wait`() async throws {
      let large = Data(count: 8 << 20)
      let socket = try await open([.echo(1), .receive, .receive, .text("both")], client(patience: 200_000))
      try await socket.send("x")
      #expect(try await socket.receive() == .text("x"))

      async let answer: WebSocket.Message? = {
        try await socket.send("first")
        return try await socket.receive()
      }()
      try await Task.sleep(for: .milliseconds(10))
      try await socket.send(large)

      #expect(try await answer == .text("both"))
      await socket.close()
    }

    /// The engine of outdated settings ends with its last connection.
    @Test func `a closing engine ends after an inline wait`() async throws {
      let client = client(patience: 200_000)
      let socket = try await open([.echo(1), .receive, .cut], client)
      try await socket.send("x")
      #expect(try await socket.receive() == .text("x"))
      let mailbox = try #require(EngineThreadsTests.loader(client).mailboxes.first)
      mailbox.post(.close)

      try await socket.send("y")
      let start = ContinuousClock.now
      await #expect(throws: HTTPError.self) { try await socket.receive() }

      #expect(await becomes { !mailbox.isRunning })
      #expect(ContinuousClock.now - start < .seconds(4))
    }

    @Test func `closing, draining and cancelling end in time during an inline wait`() async throws {
      for number in 0..<9 {
        let client = client(patience: 200_000)
        let socket = try await open([.echo(1), .receive, .hang], client)
        try await socket.send("x")
        #expect(try await socket.receive() == .text("x"))
        let task = Task {
          try await socket.send("y")
          return try await socket.receive()
        }
        try await Task.sleep(for: .milliseconds(2))

        switch number % 3 {
        case 0:
          task.cancel()
          await #expect(throws: CancellationError.self) { try await task.value }
        case 1: client.cancelAll()
        default: Task { await socket.close() }
        }

        _ = try? await task.value
        if number % 3 == 0 { client.cancelAll() }
        await client.waitUntilEmpty()
      }
    }

    @Test func `each engine thread waits for its only connection`() async throws {
      let client = client(patience: 200_000, threads: 2)
      let sockets = [try await open([.echo], client), try await open([.echo], client)]

      for number in 0..<50 {
        for socket in sockets {
          try await socket.send("\(number)")
          #expect(try await socket.receive() == .text("\(number)"))
        }
      }

      #expect(!Stress.isOn || sockets.allSatisfy { inlineCount($0) > 0 })
      for socket in sockets { await socket.close() }
    }

    @Test func `upgraded connections use all threads`() async throws {
      let client = Lane.curl.client(.engineThreads(3))
      var sockets: [WebSocket] = []
      for count in 1...5 {
        sockets.append(try await open([.echo], client))
        #expect(try EngineThreadsTests.loader(client).threadCount == min(count, 3))
      }

      for socket in sockets {
        try await socket.send("x")
        #expect(try await socket.receive() == .text("x"))
        await socket.close()
      }
    }
  }
#endif

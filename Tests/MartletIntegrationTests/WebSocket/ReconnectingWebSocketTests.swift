#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import MartletWebSocket
  import TestSupport
  import Testing

  @Suite(.hangLimit) struct ReconnectingWebSocketTests {
    private typealias Options = ReconnectingWebSocket.Options
    private typealias Interruption = ReconnectingWebSocket.Interruption

    private struct Refusal: Error {}

    /// A client whose clock skips delays, and whose delays are not random.
    private func client(_ clock: TestClock = TestClock()) -> HTTPClient {
      Lane.curl.client {
        $0.clock = clock
        $0.random = { 1 }
      }
    }

    /// The next events in words, the last one with the end.
    private func log(_ socket: ReconnectingWebSocket, limit: Int = .max) async -> [String] {
      var log: [String] = []
      do {
        while log.count < limit {
          guard let event = try await socket.next() else { return log + ["end"] }
          log.append(Self.text(event))
        }
      } catch let error as HTTPError {
        log.append("error \(error.status.map { "\($0.rawValue)" } ?? "\(error.kind)")")
      } catch {
        log.append("\(error)")
      }
      return log
    }

    private static func text(_ event: ReconnectingWebSocket.Event) -> String {
      switch event {
      case .opened: return "opened"
      case .message(.text(let text)): return text
      case .interrupted(let interruption):
        let cause =
          switch interruption.cause {
          case .closed(let code, let reason): "\(code.rawValue)\(reason)"
          case .failed(let error as HTTPError): error.status.map { "\($0.rawValue)" } ?? "\(error.kind)"
          case .failed(let error): "\(error)"
          }
        let delay = interruption.delay.map { "\(Int($0 / .seconds(1)))" } ?? "never"
        return "\(cause) \(interruption.failures) \(interruption.unconfirmedCount) \(delay)"
      case .message(.binary): return "binary"
      }
    }

    // MARK: Ends

    @Test func `reconnects after a restart, and ends after a normal close`() async throws {
      let server = try MockServer(script: [
        .webSocket([.text("a"), .close(.serviceRestart, reason: "!")]),
        .webSocket([.text("b"), .close(.goingAway)]),
        .webSocket([.text("c"), .close]),
      ])
      let clock = TestClock()
      let client = client(clock)
      let socket = client.reconnectingWebSocket(.get(RequestTarget(server.url)))

      let log = await log(socket)

      #expect(
        log == [
          "opened", "a", "1012! 0 0 1", "opened", "b", "1001 0 0 2", "opened", "c", "1000 0 0 never", "end",
        ])
      #expect(clock.sleeps == [.seconds(1), .seconds(2)])
      #expect(try await socket.next() == nil)
      await client.waitUntilEmpty()
    }

    @Test(arguments: [MockWebSocket.Step.cut, .cut(inside: .text("lost")), .reset], [1, 3])
    func `reconnects after a lost connection`(step: MockWebSocket.Step, count: Int) async throws {
      let lost = MockResponse.webSocket([.text("a"), .receive, step])
      let last = MockResponse.webSocket([.text("a"), .receive, .text("b"), .close])
      let server = try MockServer(script: [MockResponse](repeating: lost, count: count) + [last])
      let socket = client().reconnectingWebSocket(.get(RequestTarget(server.url))) { socket, _ in
        // A reset may discard messages that were not received.
        #expect(try await socket.receive() == .text("a"))
        try await socket.send("ready")
      }

      let log = await log(socket)

      let interrupted = (0..<count).flatMap { ["opened", "connectionLost 0 1 \(1 << $0)"] }
      #expect(log == interrupted + ["opened", "b", "1000 0 1 never", "end"])
    }

    @Test func `a policy violation ends the events with its error`() async throws {
      let server = try MockServer(.webSocket([.close(.policyViolation)]))
      let socket = client().reconnectingWebSocket(.get(RequestTarget(server.url)))

      #expect(await log(socket) == ["opened", "1008 0 0 never", "error webSocketClosed"])
      #expect(server.webSockets.count == 1)
    }

    @Test func `waits as long as a refusal requests`() async throws {
      let server = try MockServer(script: [
        .webSocket([.cut]), .status(503, headers: ["Retry-After": "17"]), .status(503),
        .webSocket([.text("b"), .close]),
      ])
      let clock = TestClock()
      let socket = client(clock).reconnectingWebSocket(.get(RequestTarget(server.url)))

      let log = await log(socket)

      #expect(
        log == [
          "opened", "connectionLost 0 0 1", "503 1 0 17", "503 2 0 4", "opened", "b", "1000 0 0 never", "end",
        ])
      #expect(clock.sleeps == [1, 17, 4].map { .seconds($0) })
    }

    @Test func `a refused credential ends the events`() async throws {
      let server = try MockServer(script: [.webSocket([.cut]), .status(401)])
      let socket = client().reconnectingWebSocket(.get(RequestTarget(server.url)))

      #expect(await log(socket) == ["opened", "connectionLost 0 0 1", "401 1 0 never", "error 401"])
      #expect(try await socket.next() == nil)
    }

    @Test func `limits consecutive failures, and throws the last error`() async throws {
      let server = try MockServer(script: [.webSocket([.cut]), .status(503), .webSocket([.cut]), .status(503)])
      let options = Options { $0.maximumFailures = 2 }
      let socket = client().reconnectingWebSocket(.get(RequestTarget(server.url)), options: options)

      #expect(
        await log(socket) == [
          "opened", "connectionLost 0 0 1", "503 1 0 2", "opened", "connectionLost 0 0 4", "503 1 0 8", "503 2 0 never",
          "error 503",
        ])
    }

    @Test func `waits longer for a server that accepts connections and closes them at once`() async throws {
      let server = try MockServer(.webSocket([.close(.tryAgainLater)]))
      let clock = TestClock()
      let socket = client(clock).reconnectingWebSocket(.get(RequestTarget(server.url)))

      _ = await log(socket, limit: 18)

      #expect(clock.sleeps == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
    }

    @Test func `a closure decides about reconnects`() async throws {
      let server = try MockServer(script: [.webSocket([.close]), .webSocket([.cut])])
      let options = Options {
        $0.reconnects = { cause in if case .closed(.normalClosure, _) = cause { true } else { false } }
      }
      let socket = client().reconnectingWebSocket(.get(RequestTarget(server.url)), options: options)

      #expect(
        await log(socket) == [
          "opened", "1000 0 0 1", "opened", "connectionLost 0 0 never", "error connectionLost",
        ])
    }

    // MARK: Resumption

    @Test func `resumes by number without losing or repeating a message`() async throws {
      let connections = Stress.count(200, full: 1_000)
      let server = try MockServer { request in
        let first = Int(request.query?.split(separator: "=").last ?? "") ?? 0
        let texts = (first..<first + 3).map { MockWebSocket.Step.text("\($0)") }
        let ends: [MockWebSocket.Step] = [
          .cut, .cut(inside: .text("never")), .reset, .close(.serviceRestart), .close(.goingAway),
          .close(.tryAgainLater),
        ]
        return .webSocket(texts + [ends[first % ends.count]])
      }
      let received = Shared<[Int]>([])
      let options = Options {
        $0.prepare = { request, _ in request.query = ["since": "\(received.value.count)"] }
      }
      let client = client()
      let socket = client.reconnectingWebSocket(.get(RequestTarget(server.url)), options: options)

      var interruptions = 0
      while interruptions < connections, let event = try await socket.next() {
        switch event {
        case .message(.text(let text)): received.withLock { $0.append(Int(text) ?? -1) }
        case .interrupted: interruptions += 1
        case .opened, .message(.binary): break
        }
      }
      await socket.close()

      #expect(received.value == Array(0..<received.value.count))
      #expect(interruptions == connections && received.value.count > connections)
      await client.waitUntilEmpty()
    }

    @Test func `resume receives the interruption, and its messages are not delivered again`() async throws {
      let server = try MockServer(script: [
        .webSocket([.text("ready"), .receive("subscribe"), .text("a"), .receive, .receive, .cut]),
        .webSocket([.text("ready"), .receive("subscribe"), .cut]),
        .webSocket([.text("ready"), .receive("subscribe"), .text("b"), .close]),
      ])
      let calls = Shared<[String]>([])
      let socket = client().reconnectingWebSocket(.get(RequestTarget(server.url))) { socket, interruption in
        calls.withLock { calls in
          calls.append(interruption.map { Self.text(.interrupted($0)) } ?? "first")
        }
        #expect(try await socket.receive() == .text("ready"))
        try await socket.send("subscribe")
        // The second connection is lost during its resumption.
        if interruption != nil, calls.value.count == 2 { while try await socket.receive() != nil {} }
      }

      #expect(await log(socket, limit: 2) == ["opened", "a"])
      try await socket.socket.send("one")
      try await socket.socket.ping()
      #expect(try socket.socket.unconfirmedCount == 0)
      try await socket.socket.send("two")
      let log = await log(socket)

      #expect(
        log == [
          "connectionLost 0 1 1", "connectionLost 1 1 2", "opened", "b", "1000 0 1 never", "end",
        ])
      #expect(calls.value == ["first", "connectionLost 0 1 1", "connectionLost 1 2 2"])
    }

    @Test func `an error of resume ends the events, and closes the connection`() async throws {
      let server = try MockServer(script: [.webSocket([.text("a"), .cut]), .webSocket([.echo])])
      let client = client()
      let socket = client.reconnectingWebSocket(.get(RequestTarget(server.url))) { _, interruption in
        if interruption != nil { throw Refusal() }
      }

      #expect(await log(socket) == ["opened", "a", "connectionLost 0 0 1", "Refusal() 1 0 never", "Refusal()"])
      let record = await server.waitForWebSocket(1) { $0.closeCode != nil }
      #expect(record?.closeCode == .goingAway)
      await client.waitUntilEmpty()
    }

    @Test func `a close by the server during resume is an interruption`() async throws {
      let server = try MockServer(script: [.webSocket([.cut]), .webSocket([.close(.serviceRestart)])])
      let options = Options { $0.maximumFailures = 2 }
      let socket = client().reconnectingWebSocket(.get(RequestTarget(server.url)), options: options) { socket, last in
        if last != nil { while try await socket.receive() != nil {} }
      }

      #expect(
        await log(socket) == [
          "opened", "connectionLost 0 0 1", "1012 1 0 2", "1012 2 0 never", "error webSocketClosed",
        ])
    }

    // MARK: Waiting

    /// A WebSocket that waits for its reconnect: its clock does not move.
    private func waiting(
      _ clock: TestClock, then next: MockResponse = .webSocket([.text("b"), .close])
    ) async throws -> (ReconnectingWebSocket, HTTPClient, MockServer, Task<[String], Never>) {
      let server = try MockServer(script: [.webSocket([.cut]), next])
      let client = client(clock)
      let socket = client.reconnectingWebSocket(.get(RequestTarget(server.url)))
      #expect(await log(socket, limit: 2) == ["opened", "connectionLost 0 0 1"])
      let sleepers = clock.sleeperCount
      let reader = Task { await log(socket) }
      // The outcome is the same if the reader does not wait yet.
      _ = await becomes(within: .seconds(2)) { clock.sleeperCount > sleepers }
      return (socket, client, server, reader)
    }

    @Test func `a message during a delay throws`() async throws {
      let clock = TestClock(advancing: .manually)
      let (socket, _, server, reader) = try await waiting(clock)

      let error = #expect(throws: HTTPError.self) { try socket.socket }

      #expect(error?.kind == .cannotConnect && error?.wasNotProcessed == true)
      #expect(server.webSockets.count == 1)
      clock.advance(by: .seconds(1))
      #expect(await reader.value == ["opened", "b", "1000 0 0 never", "end"])
    }

    @Test func `a cancelled delay loses nothing`() async throws {
      let clock = TestClock(advancing: .manually)
      let (socket, client, server, reader) = try await waiting(clock)

      reader.cancel()

      #expect(await reader.value == ["CancellationError()"])
      #expect(server.webSockets.count == 1)
      clock.advance(by: .seconds(1))
      #expect(await log(socket) == ["opened", "b", "1000 0 0 never", "end"])
      await client.waitUntilEmpty()
    }

    enum Ending: CaseIterable { case close, drain, cancelAll }

    @Test(arguments: Ending.allCases) func `a delay ends with`(_ ending: Ending) async throws {
      let clock = TestClock(advancing: .manually)
      let (socket, client, server, reader) = try await waiting(clock)

      switch ending {
      case .close: await socket.close()
      case .drain: await client.drain()
      case .cancelAll: client.cancelAll()
      }

      #expect(await reader.value == [ending == .cancelAll ? "CancellationError()" : "end"])
      #expect(try await socket.next() == nil)
      #expect(server.webSockets.count == 1)
      await client.waitUntilEmpty()
    }

    @Test(arguments: Ending.allCases) func `resume ends with`(_ ending: Ending) async throws {
      let server = try MockServer(.webSocket([.echo]))
      let (client, isOpen) = (client(), Gate())
      let socket = client.reconnectingWebSocket(.get(RequestTarget(server.url))) { socket, _ in
        isOpen.open()
        _ = try await socket.receive()
        try await Task.sleep(for: .seconds(3600))
      }
      let reader = Task { await log(socket) }
      await isOpen.pass()

      switch ending {
      case .close: await socket.close()
      case .drain: await client.drain()
      case .cancelAll: client.cancelAll()
      }

      #expect(await reader.value == [ending == .cancelAll ? "CancellationError()" : "end"])
      await client.waitUntilEmpty()
    }

    @Test(arguments: Ending.allCases) func `an open connection ends with`(_ ending: Ending) async throws {
      let server = try MockServer(.webSocket([.echo]))
      let client = client()
      let socket = client.reconnectingWebSocket(.get(RequestTarget(server.url)))
      #expect(await log(socket, limit: 1) == ["opened"])
      let reader = Task { await log(socket) }

      switch ending {
      case .close: await socket.close()
      case .drain: await client.drain()
      case .cancelAll: client.cancelAll()
      }

      #expect(await reader.value == [ending == .cancelAll ? "CancellationError()" : "end"])
      #expect(server.webSockets.count == 1)
      await client.waitUntilEmpty()
    }

    @Test func `the events end when the server has the last message`() async throws {
      let server = try MockServer(script: [.webSocket([.waitForClose])])
      defer { server.stop() }
      let client = Lane.curl.client()
      let socket = client.reconnectingWebSocket(.get(RequestTarget(server.webSocketURL("/"))))

      #expect(await log(socket, limit: 1) == ["opened"])
      async let end = log(socket)
      try await socket.socket.send("one")
      try await socket.socket.send(String(repeating: "2", count: 1 << 20))
      async let close: Void = socket.close()

      #expect(await end == ["end"])
      #expect(server.webSockets.map { $0.texts.map(\.count) } == [[3, 1 << 20]])
      await close
    }

    @Test func `a release ends the connection, and the client keeps nothing`() async throws {
      let server = try MockServer(.webSocket([.echo]))
      let client = client()
      var socket: ReconnectingWebSocket? = client.reconnectingWebSocket(.get(RequestTarget(server.url)))
      let opened = try await log(#require(socket), limit: 1)
      #expect(opened == ["opened"])
      #expect(client.activity.current.work.count == 2)
      weak let reference = socket

      socket = nil

      #expect(reference == nil)
      let record = await server.waitForWebSocket { $0.isEnded }
      #expect(record?.closeCode == .goingAway)
      await client.waitUntilEmpty()
      #expect(await becomes { client.activity.current.work.isEmpty })
    }

    @Test func `one task can request events`() async throws {
      let server = try MockServer(.webSocket([.receive, .text("a"), .close]))
      let socket = client().reconnectingWebSocket(.get(RequestTarget(server.url)))
      #expect(await log(socket, limit: 1) == ["opened"])

      let logs = await withTaskGroup(of: [String].self) { group in
        for _ in 0..<2 { group.addTask { await log(socket) } }
        let first = await group.next()
        try? await socket.socket.send("go")
        return [first, await group.next()]
      }

      #expect(logs == [["error unsupported"], ["a", "1000 0 1 never", "end"]])
    }
  }
#endif

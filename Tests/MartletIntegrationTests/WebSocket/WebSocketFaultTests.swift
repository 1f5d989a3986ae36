#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import MartletWebSocket
  import TestSupport
  import Testing

  @Suite(.hangLimit) struct WebSocketFaultTests {
    /// Keeps the servers until the end of the test.
    private let servers = Shared<[MockServer]>([])

    private func open(
      _ steps: [MockWebSocket.Step], sendsPongs: Bool = true,
      options: WebSocketOptions = WebSocketOptions(), _ client: HTTPClient = Lane.curl.client()
    ) async throws -> (WebSocket, MockServer, HTTPClient) {
      let server = try MockServer(.webSocket(steps, sendsPongs: sendsPongs))
      servers.withLock { $0.append(server) }
      return (try await client.webSocket(.get(RequestTarget(server.url)), options: options), server, client)
    }

    /// Receives to the end; returns the messages and the error.
    private func drain(_ socket: WebSocket) async -> ([WebSocket.Message], HTTPError?) {
      var messages: [WebSocket.Message] = []
      do {
        for try await message in socket.messages { messages.append(message) }
        return (messages, nil)
      } catch {
        return (messages, error as? HTTPError)
      }
    }

    // MARK: Frames

    struct Fault: Sendable, CustomTestStringConvertible {
      var name: String
      var step: MockWebSocket.Step
      var kind: HTTPError.Kind
      var code: UInt16?

      var testDescription: String { name }

      static let all = [
        Fault(
          name: "a masked frame", step: .frame(opcode: 1, Data("x".utf8), isMasked: true), kind: .protocolViolation,
          code: 1002),
        Fault(
          name: "a reserved bit", step: .frame(opcode: 1, Data("x".utf8), rsv2: true), kind: .protocolViolation,
          code: 1002),
        Fault(
          name: "compression", step: .frame(opcode: 1, Data("x".utf8), rsv1: true), kind: .protocolViolation, code: 1002
        ),
        Fault(name: "a reserved opcode", step: .frame(opcode: 3), kind: .protocolViolation, code: 1002),
        Fault(
          name: "text that is not UTF-8", step: .frame(opcode: 1, Data([0xC0, 0x80])), kind: .protocolViolation,
          code: 1007),
        Fault(name: "a continuation", step: .frame(opcode: 0, Data("x".utf8)), kind: .protocolViolation, code: 1002),
        Fault(name: "a large ping", step: .frame(opcode: 9, Data(count: 126)), kind: .protocolViolation, code: 1002),
        Fault(name: "a large message", step: .binary(Data(count: 2_001)), kind: .bodyTooLarge, code: 1009),
        Fault(name: "HTTP", step: .bytes(Data("HTTP/1.1 200 OK\r\n\r\n".utf8)), kind: .protocolViolation, code: 1002),
        Fault(name: "the end of the connection", step: .cut, kind: .connectionLost, code: nil),
        Fault(name: "half a frame", step: .cut(inside: .text("hello")), kind: .connectionLost, code: nil),
        Fault(name: "a reset", step: .reset, kind: .connectionLost, code: nil),
      ]
    }

    @Test(arguments: Fault.all) func `fails once, after earlier messages`(_ fault: Fault) async throws {
      let options = WebSocketOptions { $0.maximumMessageBytes = 2_000 }
      let (socket, server, client) = try await open([.text("first"), .receive, fault.step], options: options)

      try await socket.send("go")
      let (messages, error) = await drain(socket)

      #expect(messages == [.text("first")])
      #expect(error?.kind == fault.kind, "\(error.map { "\($0)" } ?? "")")
      let again = await #expect(throws: HTTPError.self) { try await socket.receive() }
      #expect(again?.kind == fault.kind)
      await #expect(throws: HTTPError.self) { try await socket.send("late") }
      await client.waitUntilEmpty()
      let record = await server.waitForWebSocket { $0.isEnded }
      #expect(record?.closeCode?.rawValue == fault.code)
    }

    @Test func `a close without a code is normal`() async throws {
      let (socket, _, client) = try await open([.text("first"), .closeWithoutCode])

      let (messages, error) = await drain(socket)

      #expect(messages == [.text("first")] && error == nil)
      #expect(socket.closeCode == .noStatusReceived)
      await client.waitUntilEmpty()
    }

    @Test func `receives messages in small chunks, and frames that arrive with the head`() async throws {
      let (socket, _, _) = try await open([
        .drip(.text("slow"), every: .milliseconds(2)),
        .drip(.binary(Data(count: 300)), chunk: 7, every: .milliseconds(1)),
        .close,
      ])
      let (messages, error) = await drain(socket)
      #expect(messages == [.text("slow"), .binary(Data(count: 300))] && error == nil)

      let server = try MockServer(.webSocket([.text("early"), .close], handshake: .withFirstFrames))
      let early = try await Lane.curl.client().webSocket(.get(RequestTarget(server.url)))
      #expect(try await early.receive() == .text("early"))
    }

    // MARK: Handshakes

    @Test(arguments: [
      MockWebSocket.Handshake.wrongAccept, .subprotocol("unknown"), .extensions("x-unknown"),
      .omitting("Sec-WebSocket-Accept"), .omitting("Connection"), .omitting("Upgrade"),
    ]) func `rejects an invalid handshake`(_ handshake: MockWebSocket.Handshake) async throws {
      let server = try MockServer(.webSocket([.echo], handshake: handshake))
      let client = Lane.curl.client()

      let error = await #expect(throws: HTTPError.self) {
        try await client.webSocket(.get(RequestTarget(server.url)))
      }

      #expect(error?.kind == .protocolViolation)
      await client.waitUntilEmpty()
      #expect(client.activity.current.totals.failed == 1)
    }

    @Test func `a server that responds in HTTP opens no WebSocket`() async throws {
      let server = try MockServer(.webSocket([], handshake: .status(200)))
      let client = Lane.curl.client()

      let error = await #expect(throws: HTTPError.self) { try await client.webSocket(.get(RequestTarget(server.url))) }

      #expect(error?.kind == .unsupported && error?.message.contains("200") == true)
      await client.waitUntilEmpty()
    }

    // MARK: Pings and time

    @Test(arguments: [[0x81, 0x01, 0x61], [0x89, 0x00], [0x8A, 0x00]] as [[UInt8]])
    func `a flood of small frames delays neither receive nor close`(frame: [UInt8]) async throws {
      let flood = Data((0..<(4 << 20)).map { frame[$0 % frame.count] })
      let options = WebSocketOptions { $0.closeTimeout = .seconds(1) }
      let (socket, _, client) = try await open(
        [.text("first")] + Array(repeating: .bytes(flood.prefix(flood.count / 6 * 6)), count: 8) + [.hang],
        options: options)
      #expect(try await socket.receive() == .text("first"))
      let other = try MockServer(.webSocket([.echo]))

      // Beside it, another WebSocket of the client is served.
      try await client.webSocket(.get(RequestTarget(other.url))) { neighbour in
        for _ in 0..<20 {
          try await neighbour.send("x")
          #expect(try await neighbour.receive() == .text("x"))
        }
      }
      // The queue is full, or the task reads; a receive can be cancelled, and a close ends.
      let receiver = Task { try await socket.receive() }
      receiver.cancel()
      _ = await receiver.result
      await socket.close()
      try await socket.waitUntilClosed()

      await client.waitUntilEmpty()
    }

    @Test func `a missing pong throws and leaves the WebSocket open`() async throws {
      let options = WebSocketOptions { $0.pingTimeout = .milliseconds(100) }
      let (socket, _, _) = try await open([.echo], sendsPongs: false, options: options)

      let error = await #expect(throws: HTTPError.self) { try await socket.ping() }

      #expect(error?.kind == .timedOut)
      try await socket.send("still")
      #expect(try await socket.receive() == .text("still"))
    }

    @Test func `keep-alive fails a silent WebSocket and keeps another one open`() async throws {
      let options = WebSocketOptions {
        $0.keepAlive = .pings(every: .milliseconds(50))
        $0.pingTimeout = .milliseconds(200)
      }
      let (silent, _, client) = try await open([.hang], sendsPongs: false, options: options)
      let (_, error) = await drain(silent)
      #expect(error?.kind == .timedOut)
      let failed = await servers.withLock { $0 }.last?.waitForWebSocket { $0.isEnded }
      #expect(failed?.closeCode == .internalServerError)
      await client.waitUntilEmpty()

      let (lively, server, _) = try await open([.waitForClose], options: options)
      let record = await server.waitForWebSocket { $0.frames.count >= 5 }
      #expect(record != nil)
      #expect(lively.closeCode == nil)
    }

    @Test func `a server that never closes delays the end for closeTimeout`() async throws {
      let options = WebSocketOptions { $0.closeTimeout = .milliseconds(200) }
      let (socket, _, client) = try await open([.hang], options: options)
      async let message = socket.receive()

      await socket.close()

      #expect(try await message == nil)
      #expect(socket.closeCode == .abnormalClosure)
      await client.waitUntilEmpty()
    }

    @Test func `limits the messages that wait to be sent`() async throws {
      let options = WebSocketOptions { $0.maximumWaitingMessages = 2 }
      let (socket, _, client) = try await open([.hang], options: options)

      let errors = await withTaskGroup(of: HTTPError?.self) { group in
        for _ in 0..<40 {
          group.addTask {
            do { try await socket.send(Data(count: 1 << 20)) } catch { return error as? HTTPError }
            return nil
          }
        }
        var first: HTTPError?
        for await error in group where first == nil && error != nil {
          first = error
          await socket.close()
        }
        return first
      }

      #expect(errors?.kind == .overloaded)
      await client.waitUntilEmpty()
    }

    @Test func `a slow program does not fail a WebSocket that keeps alive`() async throws {
      let options = WebSocketOptions {
        $0.keepAlive = .pings(every: .milliseconds(200))
        $0.pingTimeout = .seconds(2)
        $0.maximumUnreadBytes = 1_000
      }
      let steps = [MockWebSocket.Step](repeating: .binary(Data(count: 100_000)), count: 60)
      let (socket, _, _) = try await open(steps + [.close], options: options)

      var count = 0
      for try await _ in socket.messages {
        count += 1
        if count == 1 { try await Task.sleep(for: .seconds(5)) }
      }

      #expect(count == 60)
    }

    // MARK: Ends by the program

    @Test func `a loop over the messages keeps the WebSocket alive`() async throws {
      let server = try MockServer(.webSocket([.text("a"), .delay(.milliseconds(50)), .text("b"), .close]))

      var messages: [WebSocket.Message] = []
      for try await message in try await Lane.curl.client().webSocket(.get(RequestTarget(server.url))).messages {
        messages.append(message)
      }

      #expect(messages == [.text("a"), .text("b")])
    }

    @Test func `the server's agreement is the close code`() async throws {
      let (socket, _, _) = try await open([.echo])

      try await socket.close(.init(rawValue: 4000), reason: "done")

      #expect(socket.closeCode?.rawValue == 4000)
      try await socket.waitUntilClosed()
    }

    @Test func `messages before the close are sent, even if that takes longer than closeTimeout`() async throws {
      let options = WebSocketOptions { $0.closeTimeout = .milliseconds(300) }
      let server = try MockServer(.webSocket([.delay(.milliseconds(100)), .receive, .waitForClose]))
      let client = Lane.curl.client { $0.bandwidth = .limit(up: 8 << 20) }
      let socket = try await client.webSocket(.get(RequestTarget(server.url)), options: options)

      try await socket.send(Data(count: 8 << 20))
      await socket.close()

      let record = await server.waitForWebSocket { $0.isEnded }
      #expect(record?.messages.count == 2 && record?.closeCode == .normalClosure)
    }

    @Test func `a managed WebSocket has the result of its closure, whatever the server's close`() async throws {
      for code in [WebSocketCloseCode.normalClosure, .internalServerError] {
        let server = try MockServer(.webSocket([.text("a"), .close(code)]))
        let client = Lane.curl.client()
        let handle = try client.startWebSocket(.get(RequestTarget(server.url))) { socket in
          var messages: [WebSocket.Message] = []
          do { for try await message in socket.messages { messages.append(message) } } catch {}
          return messages
        }

        #expect(try await handle.value == [.text("a")])
        await client.waitUntilEmpty()
        #expect(client.activity.current.totals.succeeded == 1)
      }
    }

    @Test func `a closure that throws closes a WebSocket that outlives it`() async throws {
      let server = try MockServer(.webSocket([.echo]))
      let client = Lane.curl.client()
      let kept = Shared<WebSocket?>(nil)

      await #expect(throws: HTTPError.self) {
        try await client.webSocket(.get(RequestTarget(server.url))) { socket in
          kept.withLock { $0 = socket }
          throw HTTPError(.decoding, "not understood")
        }
      }

      let record = await server.waitForWebSocket { $0.isEnded }
      #expect(record?.closeCode == .goingAway)
      #expect(kept.withLock { $0 }?.closeCode == .goingAway)
      await client.waitUntilEmpty()
    }

    @Test func `every mutated stream ends in bounded time`() async throws {
      let streams = Shared<[Data]>([])
      let server = try MockServer(answering: { _ in
        let chunks = streams.withLock { $0 }
        return .webSocket(chunks.flatMap { [.bytes($0), .delay(.microseconds(500))] } + [.cut])
      })
      let client = Lane.curl.client()
      var generator = SeededGenerator(seed: 7_692)
      let options = WebSocketOptions { $0.maximumMessageBytes = 10_000 }

      for _ in 0..<Stress.count(300, full: 20_000) {
        var bytes = try WebSocketStreams.messages(using: &generator)
        for _ in 0..<Int.random(in: 1...3, using: &generator) { WebSocketStreams.mutate(&bytes, using: &generator) }
        let cut = Int.random(in: 0...bytes.count, using: &generator)
        let chunks = [Data(bytes.prefix(cut)), Data(bytes.dropFirst(cut))].filter { !$0.isEmpty }
        streams.withLock { $0 = chunks }
        let expected = try? { () throws(WebSocketViolation) in
          var (reader, count) = (MessageReader(.client, limits: .init(maximumMessageBytes: 10_000)), 0)
          reader.append(bytes)
          while let event = try reader.next() {
            switch event {
            case .text, .binary: count += 1
            case .part, .ping, .pong, .close: break
            }
          }
          return count
        }()

        let socket = try await client.webSocket(.get(RequestTarget(server.url)), options: options)
        let (messages, error) = await drain(socket)

        if let expected {
          #expect(messages.count == expected)
        } else {
          #expect(error?.kind == .protocolViolation || error?.kind == .bodyTooLarge)
        }
      }

      await client.waitUntilEmpty()
    }

    // MARK: Cancellation

    @Test func `a cancelled receive keeps the parts of its message`() async throws {
      let options = WebSocketOptions { $0.deliversParts = true }
      let (socket, _, _) = try await open(
        [.frame(opcode: 1, Data("one-".utf8), isFinal: false), .receive, .frame(opcode: 0, Data("two".utf8)), .close],
        options: options)
      let task = Task { try await socket.receive() }
      try await Task.sleep(for: .milliseconds(50))
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }

      try await socket.send("go on")

      #expect(try await socket.receive() == .text("one-two"))
    }

    @Test func `every cancellation ends in bounded time without a leak`() async throws {
      let server = try MockServer(
        .webSocket([.text("a"), .ping(), .drip(.text("slow message"), chunk: 3, every: .milliseconds(1)), .echo]))
      let client = Lane.curl.client()
      var generator = SeededGenerator(seed: 44)

      for _ in 0..<Stress.count(500, full: 10_000) {
        let pause = Int.random(in: 0..<6, using: &generator)
        let kind = Int.random(in: 0..<3, using: &generator)
        let task = Task {
          try await client.webSocket(.get(RequestTarget(server.url))) { socket in
            // Only the cancellation ends the loop, even if it is late.
            for number in 0..<Int.max {
              if kind == 0 { try await socket.send("message \(number)") }
              if kind == 1 { try await socket.ping() }
              _ = try await socket.receive()
            }
          }
        }
        if pause > 0 { try await Task.sleep(for: .microseconds(300 * pause * pause)) }
        task.cancel()
        await #expect(throws: (any Error).self) { try await task.value }
      }

      await client.waitUntilEmpty()
      #expect(client.activity.current.running.isEmpty)
    }
  }
#endif

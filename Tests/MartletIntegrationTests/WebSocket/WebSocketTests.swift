#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import MartletWebSocket
  import TestSupport
  import Testing

  @Suite(.hangLimit, .needs(.python, problem: WebSocketServer.problem)) struct WebSocketTests {
    private struct Note: Codable, Equatable {
      var text: String
      var number: Int
    }

    // MARK: Messages

    @Test(.needs(.openssl), arguments: WebSocketServer.Library.allCases, [false, true])
    func `exchanges messages with other libraries`(library: WebSocketServer.Library, isSecure: Bool) async throws {
      let authority = isSecure ? try await CertificateAuthority() : nil
      let root = try authority?.rootPEM
      for isCompressed in [false, true] {
        let server = try await WebSocketServer(library, isCompressed: isCompressed, try await authority?.identity())
        let client = Lane.curl.client { if let root { $0.tls = .customRoots(pem: root) } }
        let options = WebSocketOptions {
          $0.compression = isCompressed ? .deflate : .off
          $0.subprotocols = ["other", "superchat"]
        }

        try await client.webSocket(server.request("/echo"), options: options) { socket in
          #expect(socket.isCompressed == isCompressed && socket.subprotocol == "superchat")
          for size in [0, 1, 125, 126, 65_535, 65_536, 1_000_000] {
            let (text, data) = (String(repeating: "ä", count: size / 2), Data(count: size))
            try await socket.send(text)
            try await socket.send(data)
            #expect(try await socket.receive() == .text(text))
            #expect(try await socket.receive() == .binary(data))
          }
          #expect(try await socket.ping() > .zero)
          try await socket.send(json: Note(text: "\u{0}é", number: 7))
          #expect(try await socket.receive(as: Note.self) == Note(text: "\u{0}é", number: 7))
        }

        #expect(await server.prints("closed 1000"))
        await client.waitUntilEmpty()
        #expect(client.activity.current.totals.succeeded == 1)
      }
    }

    @Test func `sends and receives messages in parts`() async throws {
      let server = try await WebSocketServer()
      let options = WebSocketOptions { $0.deliversParts = true }

      try await Lane.curl.client().webSocket(server.request("/echo"), options: options) { socket in
        let parts = AsyncStream { continuation in
          for number in 0..<100 { continuation.yield(Data(repeating: UInt8(number), count: 10_000)) }
          continuation.finish()
        }
        try await socket.send(parts: parts)
        var (count, firsts) = (0, 0)
        while let part = try await socket.receivePart() {
          count += part.data.count
          if part.isFirst { firsts += 1 }
          if part.isLast { break }
        }
        #expect(count == 1_000_000 && firsts == 1)
        try await socket.send(
          parts: AsyncStream { continuation in
            for text in ["gr", "ü", "n"] { continuation.yield(text) }
            continuation.finish()
          })
        #expect(try await socket.receive() == .text("grün"))
      }
    }

    @Test func `messages of many tasks are never mixed`() async throws {
      let server = try await WebSocketServer(isCompressed: true)
      let options = WebSocketOptions { $0.compression = .deflate }

      try await Lane.curl.client().webSocket(server.request("/echo"), options: options) { socket in
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<50 {
            group.addTask {
              for round in 0..<20 {
                try await socket.send("\(number) \(round) " + String(repeating: "x", count: number * 7))
              }
            }
          }
          var next = [Int](repeating: 0, count: 50)
          for _ in 0..<1_000 {
            guard case .text(let text)? = try await socket.receive() else { break }
            let words = text.split(separator: " ", omittingEmptySubsequences: false)
            let (number, round) = (Int(words[0]) ?? -1, Int(words[1]) ?? -1)
            #expect(next[number] == round && words[2].count == number * 7)
            next[number] += 1
          }
          #expect(next.allSatisfy { $0 == 20 })
          try await group.waitForAll()
        }
      }
    }

    // MARK: Ends

    @Test(arguments: [1000, 1001, 3000, 4999, 1011]) func `reports the server's close`(code: Int) async throws {
      let server = try await WebSocketServer()
      let client = Lane.curl.client()
      let socket = try await client.webSocket(server.request("/close/\(code)"))

      var failure: HTTPError?
      do {
        #expect(try await socket.receive() == nil)
      } catch let error as HTTPError {
        failure = error
      }

      #expect(socket.closeCode?.rawValue == UInt16(code) && socket.closeReason == "the reason")
      #expect((failure == nil) == (code < 1002))
      #expect(failure == nil || failure?.kind == .webSocketClosed && failure?.message.contains("\(code)") == true)
      let error = await #expect(throws: HTTPError.self) { try await socket.send("late") }
      #expect(error?.kind == .webSocketClosed)
      #expect(await server.prints("closed \(code)"))
      await client.waitUntilEmpty()
    }

    @Test func `closes with a code and a reason`() async throws {
      let server = try await WebSocketServer()
      let client = Lane.curl.client()
      let socket = try await client.webSocket(server.request("/echo"))
      try await socket.send("x")

      try await socket.close(.init(rawValue: 4001), reason: "grün")

      #expect(await server.prints("closed 4001 grün"))
      #expect(try await socket.receive() == nil)
      await client.waitUntilEmpty()
    }

    @Test func `a receiver that closes after the end does not change the code`() async throws {
      let server = try MockServer(.webSocket([.echo]))
      let client = Lane.curl.client()

      for number in 0..<50 {
        let socket = try await client.webSocket(.get(RequestTarget(server.url)))
        let receiver = Task {
          while try await socket.receive() != nil {}
          await socket.close()
        }
        try await socket.send("x")
        try await socket.close(.goingAway)
        try await receiver.value
        #expect(await server.waitForWebSocket(number) { $0.isEnded }?.closeCode == .goingAway)
      }
    }

    @Test func `closes with 1001 when it is released, its closure throws, or the client is drained`() async throws {
      let server = try await WebSocketServer()
      let client = Lane.curl.client()

      do { _ = try await client.webSocket(server.request("/echo")) }
      #expect(await server.prints("closed 1001"))
      await #expect(throws: CancellationError.self) {
        try await client.webSocket(server.request("/echo")) { _ in throw CancellationError() }
      }
      let held = try await client.webSocket(server.request("/echo"))
      await client.drain(timeout: .seconds(20))

      #expect(await server.prints("closed 1001 \nclosed 1001 \nclosed 1001 "))
      #expect(try await held.receive() == nil)
      await client.waitUntilEmpty()
    }

    @Test func `a server that does not agree to the end delays it for closeTimeout`() async throws {
      let server = try await WebSocketServer()
      let client = Lane.curl.client()
      let options = WebSocketOptions { $0.closeTimeout = .milliseconds(300) }
      // The server's buffers are full, so it sees no close frame.
      let socket = try await client.webSocket(server.request("/flood"), options: options)
      _ = try await socket.receive()

      let start = ContinuousClock.now
      await socket.close()

      #expect(ContinuousClock.now - start < .seconds(10))
      await client.waitUntilEmpty()
    }

    @Test func `cancelling the task of a closure ends it at once`() async throws {
      let server = try await WebSocketServer()
      let client = Lane.curl.client()
      let isOpen = Shared(false)

      let task = Task {
        try await client.webSocket(server.request("/echo")) { socket in
          isOpen.withLock { $0 = true }
          for try await _ in socket.messages {}
        }
      }
      await isOpen.wait { $0 }
      task.cancel()

      await #expect(throws: CancellationError.self) { try await task.value }
      await client.waitUntilEmpty()
    }

    @Test func `a cancelled receive loses no message`() async throws {
      let server = try await WebSocketServer()

      try await Lane.curl.client().webSocket(server.request("/echo")) { socket in
        for number in 0..<200 {
          let task = Task { try await socket.receive() }
          if number % 3 == 0 { await Task.yield() }
          async let sent: Void = socket.send("\(number)")
          task.cancel()
          try await sent
          if let message = try? await task.value {
            #expect(message == .text("\(number)"))
          } else {
            #expect(try await socket.receive() == .text("\(number)"))
          }
        }
      }
    }

    @Test func `a managed WebSocket ends with its handle`() async throws {
      let server = try await WebSocketServer()
      let client = Lane.curl.client()

      let echo = try client.startWebSocket(server.request("/echo")) { socket in
        try await socket.send("x")
        return try await socket.receive()
      }
      #expect(try await echo.value == .text("x"))
      let isOpen = Shared(false)
      let endless = try client.startWebSocket(server.request("/echo")) { socket in
        isOpen.withLock { $0 = true }
        return try await socket.receive()
      }
      await isOpen.wait { $0 }
      endless.cancel()

      await #expect(throws: CancellationError.self) { try await endless.value }
      await client.waitUntilEmpty()
    }

    // MARK: Pings and load

    @Test func `answers pings without a receiver`() async throws {
      let server = try await WebSocketServer()
      let socket = try await Lane.curl.client().webSocket(server.request("/ping"))

      #expect(await server.prints("pong True"))
      await socket.close()
    }

    @Test func `a reader that pauses slows the server down`() async throws {
      let server = try await WebSocketServer()
      let client = Lane.curl.client()
      let socket = try await client.webSocket(server.request("/flood"))

      #expect(try await socket.receive() != nil)
      var last: Int64 = -1
      _ = await becomes(every: .milliseconds(200)) {
        let now = client.activity.current.totals.bytesReceived
        defer { last = now }
        return now == last
      }
      #expect(last < 4 << 20)
      for _ in 0..<100 { #expect(try await socket.receive()?.data.count == 65_536) }
      await socket.close()
    }

    // MARK: Bad input

    @Test func `invalid input throws before anything is sent`() async throws {
      let server = try MockServer(.ok("x"))
      let client = Lane.curl.client()
      let url = RequestTarget(server.url)
      func fails(
        _ request: HTTPRequest, _ message: String, _ change: (inout WebSocketOptions) -> Void = { _ in }
      ) async {
        let error = await #expect(throws: HTTPError.self) {
          try await client.webSocket(request, options: WebSocketOptions(change))
        }
        #expect(error?.kind == .invalidRequest && error?.message.contains(message) == true, "\(error?.message ?? "")")
      }

      await fails(.post(url), "must be a GET")
      await fails(.get(url, headers: ["Sec-WebSocket-Key": "x"]), "the header 'Sec-WebSocket-Key'")
      await fails(.get(url, headers: ["sec-websocket-protocol": "x"]), "subprotocols")
      await fails(.get(url), "is not a token") { $0.subprotocols = ["two words"] }
      await fails(.get(url), "occurs twice") { $0.subprotocols = ["a", "a"] }
      await fails(.get(url), "maximumMessageBytes is 0") { $0.maximumMessageBytes = 0 }
      await fails(.get(url), "closeTimeout") { $0.closeTimeout = .zero }
      await fails(.get(url), "clientMaxWindowBits is 8") {
        $0.compression = .deflate
        $0.compression.clientMaxWindowBits = 8
      }
      let plain = await #expect(throws: HTTPError.self) { try await client.get("ws://127.0.0.1:1/") }
      #expect(plain?.message.contains("MartletWebSocket") == true)
      #expect(server.requests.isEmpty)

      let refused = await #expect(throws: HTTPError.self) { try await client.webSocket(.get(url)) }
      #expect(refused?.kind == .unsupported && server.requests.count == 1)
    }

    @Test func `invalid messages and close codes throw before anything is sent`() async throws {
      let server = try await WebSocketServer()
      let options = WebSocketOptions { $0.maximumMessageBytes = 10 }

      try await Lane.curl.client().webSocket(server.request("/echo"), options: options) { socket in
        for code in [0, 999, 1004, 1005, 1006, 1015, 2999, 5000] {
          let error = await #expect(throws: HTTPError.self) {
            try await socket.close(WebSocketCloseCode(rawValue: UInt16(code)))
          }
          #expect(error?.kind == .invalidRequest && error?.message.contains("\(code)") == true)
        }
        await #expect(throws: HTTPError.self) {
          try await socket.close(.normalClosure, reason: String(repeating: "é", count: 62))
        }
        let large = await #expect(throws: HTTPError.self) { try await socket.send("12345678901") }
        #expect(large?.message.contains("11 bytes") == true)
        try await socket.send("1234567890")
        #expect(try await socket.receive() == .text("1234567890"))
      }
    }
  }
#endif

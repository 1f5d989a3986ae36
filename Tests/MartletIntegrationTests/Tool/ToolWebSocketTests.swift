#if os(Linux)
  import Foundation
  import MartletTesting
  import MartletWebSocket
  import TestSupport
  import Testing

  /// `martlet ws` against a server.
  @Suite(.hangLimit) struct ToolWebSocketTests {
    /// Runs the tool with input from a pipe, a file, or `/dev/null` by default.
    private func run(
      _ server: MockServer, _ options: String..., pipe: String? = nil, file: Data? = nil
    ) async throws -> ToolProcess.Result {
      var input = FileHandle.nullDevice
      let folder = try TemporaryFolder()
      if let file {
        try folder.write(file, to: "input")
        input = try #require(FileHandle(forReadingAtPath: folder.path("input")))
      }
      if let pipe {
        let ends = Pipe()
        try ends.fileHandleForWriting.write(contentsOf: Data(pipe.utf8))
        try ends.fileHandleForWriting.close()
        input = ends.fileHandleForReading
      }
      let words = ["ws", server.webSocketURL()] + options
      return try await ToolProcess(try ToolProcess.martlet(), words, input: input).end()
    }

    // MARK: Messages

    @Test func `sends lines, prints messages, and closes after a silence`() async throws {
      let server = try MockServer(.webSocket([.echo]))
      defer { server.stop() }

      let result = try await run(server, "--wait", "0.3", pipe: "one\r\n{\"a\":1}\n\nlast")

      #expect(result.status == 0 && result.errors.isEmpty, "\(result.status) \(result.errors)")
      #expect(result.text == "one\n{\"a\":1}\n\nlast\n")
      let socket = await server.waitForWebSocket { $0.isEnded }
      #expect(socket?.texts == ["one", "{\"a\":1}", "", "last"] && socket?.closeCode == .normalClosure)
    }

    @Test func `waits for a late response to piped input`() async throws {
      let server = try MockServer(.webSocket([.receive, .delay(.milliseconds(300)), .text("late"), .echo]))
      defer { server.stop() }

      let result = try await run(server, pipe: "x\n")

      #expect(result.status == 0 && result.text == "late\n", "\(result.errors)")
    }

    @Test func `--count closes after the last message, with the code of --close`() async throws {
      let server = try MockServer(.webSocket([.text("a"), .text("b"), .text("c"), .waitForClose]))
      defer { server.stop() }

      let result = try await run(server, "--count", "2", "--close", "4001:see: you")

      #expect(result.status == 0 && result.text == "a\nb\n" && result.errors.isEmpty, "\(result.errors)")
      let socket = await server.waitForWebSocket { $0.isEnded }
      #expect(socket?.closeCode?.rawValue == 4001 && socket?.closeReason == "see: you")
    }

    @Test func `without input, prints messages until the server closes`() async throws {
      let server = try MockServer(.webSocket([.text("ü\u{1B}[31m"), .delay(.milliseconds(300)), .text("b"), .close]))
      defer { server.stop() }

      let result = try await run(server)

      #expect(result.status == 0 && result.text == "ü\u{1B}[31m\nb\n" && result.errors.isEmpty, "\(result.errors)")
    }

    @Test func `--ignore-stdin sends nothing`() async throws {
      let server = try MockServer(.webSocket([.text("a"), .waitForClose]))
      defer { server.stop() }

      let result = try await run(server, "--ignore-stdin", "--wait", "0.1", pipe: "x\n")

      #expect(result.status == 0 && result.text == "a\n", "\(result.errors)")
      #expect(await server.waitForWebSocket { $0.isEnded }?.texts == [])
    }

    @Test func `--binary sends a file as one message, and writes binary messages unchanged`() async throws {
      let server = try MockServer(.webSocket([.binary(Data([0x0A, 0xFF])), .text("t"), .echo]))
      defer { server.stop() }
      let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })

      let result = try await run(server, "--binary", "--count", "3", file: bytes)

      #expect(result.status == 0, "\(result.errors)")
      #expect(result.output == Data([0x0A, 0xFF]) + Data("t\n".utf8) + bytes)
      #expect(await server.waitForWebSocket { $0.isEnded }?.messages.first == .binary(bytes))
    }

    @Test func `--binary sends a block of a pipe as a message`() async throws {
      let server = try MockServer(.webSocket([.echo]))
      defer { server.stop() }

      let result = try await run(server, "--binary", "--count", "1", pipe: "a\nb\n")

      #expect(result.status == 0 && result.text == "a\nb\n", "\(result.errors)")
      #expect(await server.waitForWebSocket { $0.isEnded }?.messages.first == .binary(Data("a\nb\n".utf8)))
    }

    @Test func `without --binary, a binary message gets a line end`() async throws {
      let server = try MockServer(.webSocket([.binary(Data([1, 2])), .close]))
      defer { server.stop() }

      #expect(try await run(server).output == Data([1, 2, 0x0A]))
    }

    @Test func `--pretty indents JSON even in a pipe`() async throws {
      let server = try MockServer(.webSocket([.text(#"{"a":[1]}"#), .text("b"), .close]))
      defer { server.stop() }

      #expect(try await run(server, "--pretty", "format").text == "{\n  \"a\": [\n    1\n  ]\n}\nb\n")
    }

    // MARK: The handshake

    @Test func `sends fields, query, subprotocols, origin and credentials`() async throws {
      let server = try MockServer(.webSocket([.close], subprotocols: ["chat"], compression: .on))
      defer { server.stop() }

      let result = try await run(
        server, "X-Shop:7", "q==1", "--subprotocol", "super", "--subprotocol", "chat", "--origin", "https://a.test",
        "--compress", "--bearer", "sesame", "-b", "id=1")

      #expect(result.status == 0, "\(result.errors)")
      let socket = try #require(await server.waitForWebSocket())
      #expect(socket.request.target == "/?q=1" && socket.request.header("X-Shop") == "7")
      #expect(socket.request.header("Origin") == "https://a.test" && socket.request.header("Cookie") == "id=1")
      #expect(socket.request.header("Authorization") == "Bearer sesame")
      #expect(socket.subprotocol == "chat" && socket.compression != nil)
    }

    @Test func `a session keeps the cookies of the handshake, even after a signal`() async throws {
      let server = try MockServer(.webSocket([.text("a"), .echo], headers: ["Set-Cookie": "id=7"]))
      defer { server.stop() }
      let folder = try TemporaryFolder()
      let session = ["--session", folder.path("session")]
      let words = ["ws", server.webSocketURL(), "--ignore-stdin"] + session

      let tool = try ToolProcess(try ToolProcess.martlet(), words)
      _ = await becomes { tool.outputSoFar == "a\n" || !tool.isRunning }
      tool.send(SIGINT)
      #expect(try await tool.end().status == 130)
      let second = try await ToolProcess(try ToolProcess.martlet(), words + ["--count", "1"]).end()

      #expect(second.status == 0, "\(second.errors)")
      #expect(server.webSockets.last?.request.header("Cookie") == "id=7")
    }

    @Test func `--verbose shows the handshake and control frames, with secrets masked`() async throws {
      let server = try MockServer(
        .webSocket([.ping(Data("hello".utf8)), .text("a"), .close(.goingAway, reason: "bye\u{1B}[31m")]))
      defer { server.stop() }

      let result = try await run(server, "-v", "--bearer", "sesame")

      #expect(result.status == 0 && result.text == "a\n")
      #expect(result.errors.hasPrefix("> GET /\n"), "\(result.errors)")
      for line in [
        "> Upgrade: websocket", "> Sec-WebSocket-Version: 13", "< HTTP/1.1 101 Switching Protocols",
        "* received a ping of 5 bytes", "* received a close with 1001 (going away): bye\\u{1b}[31m",
      ] {
        #expect(result.errors.contains("\(line)\n"), "\(line) \(result.errors)")
      }
      #expect(!result.errors.contains("sesame"))
    }

    @Test func `a refused handshake has the exit code of its status, and shows its body`() async throws {
      let server = try MockServer(answering: { $0.path == "/down" ? .status(503) : .status(401, body: "bad key") })
      defer { server.stop() }

      let key = try await run(server)
      let down = try await ToolProcess.martlet("ws", server.url("/down"))
      let page = try await ToolProcess.martlet("ws", try MockServer(.ok("page")).url)

      #expect(key.status == 4 && key.errors.hasSuffix("\nbad key\n") && key.text.isEmpty, "\(key.errors)")
      #expect(down.status == 5, "\(down.errors)")
      #expect(page.status == 3, "\(page.status) \(page.errors)")
    }

    // MARK: The end

    @Test(
      arguments: [
        (WebSocketCloseCode.internalServerError, 111, "closed with 1011 (internal server error): over\\u{1b}[31m"),
        (.policyViolation, 108, "closed with 1008 (policy violation): over\\u{1b}[31m"),
        (WebSocketCloseCode(rawValue: 4001), 7, "closed with 4001: over\\u{1b}[31m"),
      ] as [(WebSocketCloseCode, Int32, String)])
    func `another close code is the exit code`(code: WebSocketCloseCode, status: Int32, message: String) async throws {
      let server = try MockServer(.webSocket([.text("a"), .close(code, reason: "over\u{1B}[31m")]))
      defer { server.stop() }

      let result = try await run(server)

      #expect(result.status == status && result.errors == "martlet: \(message)\n", "\(result.status) \(result.errors)")
      #expect(result.text == "a\n")
    }

    @Test func `a close without a code is a success, and a lost connection is not`() async throws {
      let (closed, lost) = (try MockServer(.webSocket([.closeWithoutCode])), try MockServer(.webSocket([.cut])))
      defer {
        closed.stop()
        lost.stop()
      }

      #expect(try await run(closed).status == 0)
      let result = try await run(lost)
      #expect(result.status == 3 && result.errors.contains("without a close frame"), "\(result.errors)")
    }

    @Test func `a server that closes before the input's end is an error`() async throws {
      let server = try MockServer(.webSocket([.receive, .close]))
      defer { server.stop() }

      let result = try await run(server, file: Data(String(repeating: "line\n", count: 200_000).utf8))

      #expect(result.status == 3, "\(result.status)")
      #expect(result.errors == "martlet: closed with 1000 (normal closure) before all messages were sent\n")
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
    func `a signal closes with 1001 and prints nothing`(signal: Int32, status: Int32) async throws {
      let server = try MockServer(.webSocket([.text("a"), .echo]))
      defer { server.stop() }
      let tool = try ToolProcess(try ToolProcess.martlet(), ["ws", server.url])

      _ = await becomes(every: .milliseconds(2)) { tool.outputSoFar == "a\n" || !tool.isRunning }
      tool.send(signal)
      let result = try await tool.end()

      #expect(result.status == status && result.errors.isEmpty && result.text == "a\n", "\(result.errors)")
      #expect(await server.waitForWebSocket { $0.isEnded }?.closeCode == .goingAway)
    }

    @Test func `invalid input closes with 1001 and names the line`() async throws {
      let server = try MockServer(.webSocket([.echo]))
      defer { server.stop() }

      let bytes = try await run(server, file: Data([0x61, 0x0A, 0xFF, 0x0A]))
      let long = try await run(server, "--max-message", "4", pipe: "1234\n12345\n")

      #expect(bytes.status == 1 && bytes.errors.contains("line 2 of standard input is not UTF-8"), "\(bytes.errors)")
      #expect(long.status == 1 && long.errors.contains("line 2 of standard input has more than 4"), "\(long.errors)")
      #expect(await server.waitForWebSocket(1) { $0.isEnded }?.closeCode == .goingAway)
    }

    @Test func `limits exceeded by the server are errors`() async throws {
      let large = try MockServer(.webSocket([.text("12345"), .hang]))
      let silent = try MockServer(.webSocket([.hang], sendsPongs: false))
      defer {
        large.stop()
        silent.stop()
      }

      let size = try await run(large, "--max-message", "4")
      let time = try await run(silent, "--timeout", "0.3")

      #expect(size.status == 3 && size.errors.contains("; --max-message allows more"), "\(size.errors)")
      #expect(await large.waitForWebSocket { $0.closeCode != nil }?.closeCode == .messageTooBig)
      #expect(time.status == 6 && time.errors.contains("300.0 ms"), "\(time.errors)")
    }

    @Test func `--ping sends pings until the end`() async throws {
      let server = try MockServer(.webSocket([.echo]))
      defer { server.stop() }

      let result = try await run(server, "--ping", "0.05", "--ignore-stdin", "--wait", "0.3", "-v")

      #expect(result.status == 0 && result.errors.contains("* received a pong of 8 bytes\n"), "\(result.errors)")
    }

    @Test func `bad input is an error before anything is sent`() async throws {
      let server = try MockServer(.webSocket([.close]))
      defer { server.stop() }

      for options in [
        ["--close", "1006"], ["--origin", "a.test"], ["a=b"], ["--subprotocol", "a b"], ["--count", "x"],
      ] {
        let result = try await ToolProcess(try ToolProcess.martlet(), ["ws", server.url] + options).end()
        #expect(result.status == 2 && result.errors.hasPrefix("martlet: "), "\(options) \(result.errors)")
      }
      #expect(server.requests.isEmpty && server.webSockets.isEmpty)
    }
  }
#endif

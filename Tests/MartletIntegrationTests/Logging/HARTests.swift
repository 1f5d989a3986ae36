#if os(Linux)
  import Foundation
  import MartletTesting
  import TestSupport
  import Testing

  @testable import Martlet
  @testable import MartletHAR
  @testable import MartletTool

  /// Recordings of real exchanges.
  @Suite(.ownThreads, .hangLimit) struct HARTests {
    @Test(arguments: Lane.engines)
    func `an entry contains the connection, the phases and both sizes of a body`(_ lane: Lane) async throws {
      let coded = CodedBodies.gzip
      let server = try MockServer(
        .data(coded, headers: ["Content-Encoding": "gzip", "Content-Type": "text/plain"])
          .delayed(by: .milliseconds(30)))
      let folder = try TemporaryFolder()
      let recorder = try HARRecorder(to: URL(filePath: folder.path("x.har")))
      let client = lane.client { $0.instruments = [recorder] }

      let body = try await client.post(RequestTarget(server.url("/a")), body: .text("12345")).body
      _ = try await client.get(RequestTarget(server.url("/b")))
      await client.drain()

      let entries = try HARFile(at: folder.path("x.har")).entries
      #expect(entries.map(\.request.method) == ["POST", "GET"])
      for entry in entries {
        #expect(entry.remoteAddress == "127.0.0.1" && entry.response.httpVersion == "HTTP/1.1")
        #expect(entry.response.bodySize == Int64(coded.count) && entry.response.body?.size == Int64(body.count))
        #expect(entry.timings.wait >= .milliseconds(25) && entry.timings.wait <= entry.timings.total)
      }
      #expect(entries[0].request.bodySize == 5 && entries[0].request.body?.content == .text("12345"))
      #expect(entries[0].timings.connect != nil && entries[1].timings.connect == nil)
      #expect(entries[0].connection == entries[1].connection)
      #expect(
        entries[1].explanation.contains { $0.contains("the open connection to 127.0.0.1:\(server.port) was used") })
    }

    @Test func `records the part of a body that was read before the reader stopped`() async throws {
      let server = try MockServer(.data(Data(repeating: 0x61, count: 4 << 20), headers: ["Content-Type": "text/plain"]))
      let folder = try TemporaryFolder()
      let recorder = try HARRecorder(to: URL(filePath: folder.path("x.har")), maximumBodyBytes: 100)
      let client = Lane.curl.client { $0.instruments = [recorder] }

      let read = try await client.stream(.get(RequestTarget(server.url))) { response in
        var pieces = response.body.makeAsyncIterator()
        return try await pieces.next()?.count ?? 0
      }
      await client.drain()

      let entry = try #require(try HARFile(at: folder.path("x.har")).entries.first)
      #expect(entry.response.body?.content == .text(String(repeating: "a", count: 100)))
      #expect(entry.response.body?.isWhole == false && entry.response.body?.size == Int64(read))
    }

    /// The child records how many requests it has drained, which is the minimum number of entries in the file.
    @Test func `a killed process leaves a readable file`() async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("x.har")
      var random = SystemRandomNumberGenerator()
      var most = 0

      let count = Figures.setting("MARTLET_HAR_KILLS") ?? Stress.count(5, full: 50)
      for round in 0..<count {
        let delay = UInt32.random(in: 1...150_000, using: &random)
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, delay = delay as UInt32] in
          let recorder = try HARRecorder(to: URL(filePath: path))
          let killer = Thread {
            usleep(delay)
            kill(getpid(), SIGKILL)
          }
          killer.start()
          let text = String(repeating: "x", count: 20_000)
          for _ in 0..<10_000 {
            let client = HTTPClient {
              $0.transport = StubTransport { _ in .text(text) }
              $0.instruments = [recorder]
            }
            for _ in 0..<20 { try await client.get("http://a.test/") }
            await client.drain()
            let noted = Data("\(recorder.entryCount)".utf8)
            try noted.write(to: URL(filePath: path + ".noted"), options: .atomic)
          }
        }
        let noted = (try? String(decoding: folder.contents("x.har.noted"), as: UTF8.self)).flatMap { Int($0) } ?? 0
        // The process was killed before it created the file.
        guard folder.names.contains("x.har") else { continue }
        let entries = try HARFile(at: path).entries
        #expect(entries.count >= noted, "round \(round)")
        most = max(most, entries.count)
        for name in folder.names { try FileManager.default.removeItem(atPath: folder.path(name)) }
      }
      Figures.record("HAR: killed \(count) times, at most with \(most) entries")
    }

    @Test func `a program that exits normally loses no entry and leaves no copy`() async throws {
      let folder = try TemporaryFolder()
      let path = folder.path("x.har")

      await #expect(processExitsWith: .success) { [path = path as String] in
        let recorder = try HARRecorder(to: URL(filePath: path))
        let client = HTTPClient {
          $0.transport = StubTransport { _ in .text("x") }
          $0.instruments = [recorder]
        }
        for _ in 0..<20 { try await client.get("http://a.test/") }
        await client.drain()
        // An exchange in progress has no entry.
        client.start(.get("http://a.test/"))
        exit(0)
      }

      #expect(try HARFile(at: path).entries.count >= 20 && folder.names == ["x.har"])
    }

    @Test func `writes a finished exchange while its request waits for the next attempt`() async throws {
      let server = try MockServer(.status(503, headers: ["Retry-After": "60"]))
      let folder = try TemporaryFolder()
      let recorder = try HARRecorder(to: URL(filePath: folder.path("x.har")))
      let client = HTTPClient {
        $0.instruments = [recorder]
        $0.retry = .backoff()
      }

      let handle = client.start(.get(RequestTarget(server.url)))
      let isWritten = await becomes {
        let entry = try? HARFile(at: folder.path("x.har")).entries.first
        return entry?.explanation.contains { $0.contains("is repeated after 60.0 s") } == true
      }
      handle.cancel()

      #expect(isWritten)
    }

    // MARK: The tool

    @Test(arguments: [SIGINT, SIGTERM]) func `no entry is lost after a signal`(_ signal: Int32) async throws {
      let server = try MockServer { request in request.path == "/a" ? .redirect(to: "/b") : .hang }
      let folder = try TemporaryFolder()
      let process = try ToolProcess(try ToolProcess.martlet(), [server.url("/a"), "--har", folder.path("x.har")])

      #expect(await server.waitForRequests(2))
      process.send(signal)
      let result = try await process.end()

      let entries = try HARFile(at: folder.path("x.har")).entries
      #expect(result.status == (signal == SIGINT ? 130 : 143) && folder.names == ["x.har"])
      #expect(entries.first?.response.status == 302, "\(entries)")
    }

    @Test(arguments: [
      ["download", "http://127.0.0.1:1/"], ["upload", "/dev/null", "http://127.0.0.1:1/"],
      ["sse", "http://127.0.0.1:1/"],
    ])
    func `commands that cannot record reject --har`(_ arguments: [String]) async throws {
      let result = try await ToolProcess(try ToolProcess.martlet(), arguments + ["--har", "/nowhere/x.har"]).end()

      #expect(
        result.status == 2 && result.errors.contains("not of 'martlet \(arguments[0])'"), "\(result.errors)")
    }

    @Test func `the tool records a HAR file, shows it and renders it as a page`() async throws {
      let server = try MockServer { request in
        request.path == "/a" ? .redirect(to: "/b?token=canary") : .ok("<script>alert('x')</script>")
      }
      let folder = try TemporaryFolder()
      let (file, page) = (folder.path("x.har"), folder.path("x.html"))

      let sent = try await ToolProcess.martlet(server.url("/a"), "--har", file)
      let shown = try await ToolProcess.martlet("har", "show", file, "--explain")
      let made = try await ToolProcess.martlet("har", "page", file, "-o", page)
      let printed = try await ToolProcess.martlet("har", "page", file)

      #expect(sent.status == 0 && sent.text == "<script>alert('x')</script>" && sent.errors.isEmpty)
      let lines = shown.text.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(shown.status == 0 && lines[0].hasPrefix("GET    302") && lines[0].hasSuffix("127.0.0.1:\(server.port)/a"))
      #expect(lines.contains { $0.hasPrefix("GET    200     27 B") && $0.hasSuffix("/b?token=***") }, "\(shown.text)")
      #expect(lines.contains { $0.contains("was followed (RFC 9110 §15.4.3)") }, "\(shown.text)")
      #expect(lines.contains { $0.hasPrefix("2 requests, 27 B received, ") }, "\(shown.text)")
      let html = try String(decoding: folder.contents("x.html"), as: UTF8.self)
      #expect(made.status == 0 && html == printed.text && html.hasPrefix("<!doctype html>"))
      #expect(html.contains("/b?token=***") && !html.contains("canary") && !html.contains("<script>alert"))
      #expect(html.contains(#"\u003cscript>alert('x')"#))
      #expect(folder.names == ["x.har", "x.html"])
    }

    @Test func `the tool rejects a file that is not a HAR file`() async throws {
      let folder = try TemporaryFolder()
      try folder.write("{\n\"log\" 1}", to: "bad.har")

      for (arguments, problem) in [
        (["show", folder.path("none.har")], "none.har does not exist"),
        (["show", folder.path("bad.har")], "bad.har, line 2: not a HAR file, because it is not JSON"),
        (["page", folder.path("bad.har"), "--explain"], "--explain is an option of 'martlet har show'"),
        (["move", "x"], "see martlet help har"), (["show"], "see martlet help har"),
      ] {
        let result = try await ToolProcess(try ToolProcess.martlet(), ["har"] + arguments).end()
        #expect(result.status == 2 && result.errors.contains(problem), "\(arguments): \(result.errors)")
      }
      let sent = try await ToolProcess.martlet("http://127.0.0.1:1/", "--har", "/nowhere/x.har")
      #expect(sent.status == 2 && sent.errors.contains("/nowhere/x.har"), "\(sent.errors)")
    }

    @Test func `a waterfall fits its width`() {
      var entry = HAREntry(
        startedAt: Date(timeIntervalSince1970: 0),
        request: .init(method: "PROPFIND\u{1B}", url: "https://a.test/" + String(repeating: "long/", count: 40)),
        response: .init(status: 207))
      entry.timings.blocked = .milliseconds(10)
      entry.timings.connect = .milliseconds(20)
      entry.timings.wait = .milliseconds(40)
      entry.timings.receive = .milliseconds(10)
      var late = entry
      late.startedAt += 0.08
      late.failure = "timedOut: " + String(repeating: "very ", count: 40) + "late"
      late.timings = .init()

      for width in [40, 80, 120] {
        let lines = Waterfall([late, entry]).lines(width: width, .plain, explains: false)
        #expect(lines.allSatisfy { $0.count <= max(width, 60) }, "\(lines)")
        #expect(lines.count == 6 && lines[0].hasPrefix("PROPF… 207"))
      }
      let lines = Waterfall([late, entry]).lines(width: 80, .plain, explains: false)
      #expect(lines[0].contains("··────▒▒▒▒▒▒▒▒██") && lines[1].contains("               ▒"))
      late.response.bodySize = .max
      entry.response.bodySize = .max
      let huge = Waterfall([late, entry]).lines(width: 80, .plain, explains: false)
      #expect(huge.contains { $0.hasPrefix("2 requests, 9223372036.9 GB received") }, "\(huge)")
      #expect(Waterfall([]).lines(width: 80, .plain, explains: false) == ["no requests"])
    }

    @Test func `a waterfall counts the messages of a WebSocket`() throws {
      let text = """
        {"log":{"entries":[{"request":{"method":"GET","url":"ws://a.test/"},"response":{"status":101},
        "_webSocketMessages":[
        {"type":"send","time":1,"opcode":1,"data":"a"},{"type":"receive","time":2,"opcode":8,"data":"A+g="},
        {"type":"receive","time":2,"opcode":1,"data":"b"}]}]}}
        """
      let folder = try TemporaryFolder()

      let archive = try HARFile(at: folder.write(text, to: "messages.har"))
      let lines = Waterfall(archive.entries).lines(width: 80, .plain, explains: false)

      #expect(lines.contains("    messages: 1 sent, 2 received"), "\(lines)")
    }
  }
#endif

#if os(Linux)
  import Foundation
  import Martlet
  import MartletTesting
  import TestSupport
  import Testing

  /// Logs of real exchanges, over every transport.
  @Suite(.hangLimit) struct LogOverSocketsTests {
    private struct Recorder: Sendable {
      let lines = Shared<[String]>([])
      let sink: LogSink

      init() {
        let lines = lines
        sink = LogSink { line in lines.withLock { $0.append(line) } }
      }

      var all: [String] {
        get async {
          await sink.flush()
          return lines.withLock { $0 }
        }
      }
    }

    private static func leaks(_ value: Any) -> Bool {
      var text = "\(value) \(String(reflecting: value)) "
      dump(value, to: &text)
      return text.contains("canary") || text.contains(Data("canary:canary".utf8).base64EncodedString())
    }

    @Test(arguments: Lane.engines) func `a hostile server cannot forge a log line`(_ lane: Lane) async throws {
      let head =
        "HTTP/1.1 200 O\u{1B}[2J\u{202E}K\r\nX: \u{1B}[2J\u{202E}\u{9B}7-0-1 < 200 FAKE\r\nContent-Length: 9\r\n"
      let server = try MockServer(.raw(head + "Content-Type: text/plain\r\n\r\na\r\n\u{1B}[2Jb"))
      let recorder = Recorder()
      let client = lane.client { $0.exchangeMiddleware = [LoggingMiddleware(.bodies, to: recorder.sink)] }

      _ = try? await client.get("\(raw: server.url)/")

      let lines = await recorder.all
      #expect(lines.count > 3)
      for line in lines {
        #expect(
          line.unicodeScalars.allSatisfy { scalar in
            ![.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
          }, "\(line.debugDescription)")
        #expect(line.firstMatch(of: #/^\d+-0-1 /#) != nil)
      }
    }

    @Test(arguments: Lane.engines)
    func `a large body streams through the log in short lines`(_ lane: Lane) async throws {
      let size = Stress.count(4 << 20, full: 64 << 20)
      let server = try MockServer(
        .repeating(Data(repeating: 0x61, count: 1 << 16), count: size >> 16))
      let recorder = Recorder()
      let client = lane.client { $0.exchangeMiddleware = [LoggingMiddleware(.bodies, to: recorder.sink)] }

      let count = try await client.stream(.get("\(raw: server.url)/")) { response in
        var count = 0
        for try await piece in response.body { count += piece.count }
        return count
      }

      #expect(count == size)
      let lines = await recorder.all
      #expect(lines.last?.contains(" = \(size) bytes in ") == true)
      #expect(lines.allSatisfy { $0.utf8.count < 5_000 })
    }

    @Test(arguments: Lane.engines) func `logging a body preserves backpressure`(_ lane: Lane) async throws {
      let server = try MockServer(
        .repeating(Data(repeating: 0x61, count: 1 << 16), count: 1 << 12))
      let recorder = Recorder()
      let client = lane.client { $0.exchangeMiddleware = [LoggingMiddleware(.bodies, to: recorder.sink)] }

      try await client.stream(.get("\(raw: server.url)/")) { response in
        var iterator = response.body.makeAsyncIterator()
        _ = try await iterator.next()
        // Without backpressure, 256 MiB would have arrived by now.
        try await Task.sleep(for: .milliseconds(300))
      }

      let line = try #require(await recorder.all.last { $0.contains(" = ") })
      let count = try #require(line.firstMatch(of: #/= (\d+) bytes/#).flatMap { Int($0.1) })
      #expect(count < 16 << 20 && line.hasSuffix("not read to the end"))
    }

    @Test(arguments: Lane.engines) func `logs the connection and the authentication challenge`(_ lane: Lane)
      async throws
    {
      let server = try MockServer(answering: { request in
        request.header("Authorization") == nil
          ? .status(401, headers: ["WWW-Authenticate": #"Basic realm="r""#]) : .ok("x")
      })
      let recorder = Recorder()
      let client = lane.client {
        $0.exchangeMiddleware = [LoggingMiddleware([.connection, .auth], to: recorder.sink)]
      }

      _ = try await client.get("\(raw: server.url)/", options: .credential(.user("ada", password: "canary")))

      let lines = await recorder.all.map {
        $0.replacing(/^\d+-/, with: "N-").replacing(/, (name|connect|waited) [0-9.]+ m?s( for a slot)?/, with: "")
      }
      #expect(
        lines == [
          "N-0-1 * connected: 127.0.0.1 port \(server.port)", #"N-0-1 * the server asks for Basic for "r""#,
          "N-0-1 * answers with Basic", "N-0-1 * used again: 127.0.0.1 port \(server.port)",
        ])
    }

    @Test(arguments: Lane.engines)
    func `real failures reveal no secrets in logs or errors`(_ lane: Lane) async throws {
      let recorder = Recorder()
      let refused = try MockServer.refusedPort()
      let hanging = try MockServer(.hang)
      let cut = try MockServer(.raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nSet-Cookie: a=canary\r\n\r\nabc"))
      let malformed = try MockServer(.raw("HTTP/1.1 200 OK\r\nSet-Cookie canary\r\ncanary\u{0}: canary\r\n\r\n"))
      let unauthorized = try MockServer(.status(401, headers: ["WWW-Authenticate": #"Basic realm="r""#]))
      let proxy = try MockServer(.status(407, headers: ["Proxy-Authenticate": #"Basic realm="r""#]))
      let missing = try MockServer(.status(404, headers: ["Set-Cookie": "a=canary"]))
      let redirecting = try MockServer(.redirect(to: "ftp://canary:canary@127.0.0.1/?token=canary"))
      let client = lane.client {
        $0.accepts = .success
        $0.redirects = .follow
        $0.exchangeMiddleware = [LoggingMiddleware([.headers, .auth, .connection], to: recorder.sink)]
        $0.middleware = [LoggingMiddleware(.headers, to: recorder.sink)]
      }
      let hasty = client.derived {
        $0.options.timeout = TimeoutPolicy(connect: .milliseconds(200), idle: .milliseconds(200))
      }
      let proxied = client.derived { $0.proxy = .proxy(Proxy("http://canary:canary@127.0.0.1:\(proxy.port)")) }
      let schemes: [(HTTPClient, String, Int)] = [
        (client, "http", refused), (hasty, "http", hanging.port), (client, "http", cut.port),
        (client, "http", malformed.port), (client, "http", unauthorized.port), (client, "http", redirecting.port),
        (hasty, "https", missing.port), (client, "http", missing.port), (proxied, "http", missing.port),
        (proxied, "https", missing.port),
      ]

      for (client, scheme, port) in schemes {
        let request = HTTPRequest.post(
          "\(raw: scheme)://canary:canary@127.0.0.1:\(port)/?token=canary#canary",
          headers: ["X-Api-Key": "canary", "Cookie": "a=canary"], body: .form(["password": "canary"]))
        let error = await #expect(throws: HTTPError.self) { try await client.send(request) }
        if let error { #expect(!Self.leaks(error) && !Self.leaks(error.response as Any), "\(error)") }
        let command = try client.curlCommand(for: request)
        #expect(!Self.leaks(request) && !Self.leaks(command))
      }

      let lines = await recorder.all
      #expect(lines.count > 50)
      let leaking = lines.filter { Self.leaks($0) }
      #expect(leaking.isEmpty, "\(leaking)")
    }

    @Test func `the tool logs as MARTLET_LOG configures, with secrets masked`() async throws {
      let server = try MockServer(.ok("hello", headers: ["Set-Cookie": "a=canary"]))

      let quiet = try await ToolProcess.martlet(server.url("/x"))
      let result = try await ToolProcess.martlet(
        server.url("/x?token=canary"), "Authorization:canary", environment: ["MARTLET_LOG": "headers,connection"])

      #expect(quiet.errors.isEmpty)
      #expect(result.text == "hello" && !result.errors.contains("canary"))
      let lines = result.errors.split(separator: "\n").map(String.init)
      #expect(lines.first?.hasSuffix("-0-1 > GET \(server.url)/x?token=***") == true)
      #expect(lines.last?.contains("-0-1 = 5 bytes in ") == true)
      #expect(
        lines.contains { $0.contains(" > Authorization: ***") } && lines.contains { $0.contains("* connected: ") })
    }
  }
#endif

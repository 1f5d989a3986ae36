import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletBase
@testable import Martlet

@Suite(.hangLimit) struct LoggingMiddlewareTests {
  private static let settings = ClientSetting {
    $0.userAgent = "test"
    $0.retry = .off
  }

  private static let hostile = "\u{1B}[2J\r\n7-0-1 < 200 FAKE\u{202E}\u{2028}\u{9B}"

  // MARK: Golden

  @Test(arguments: [false, true])
  func `logs a request and its response in the documented format`(isPerCall: Bool) async throws {
    let recorder = LogRecorder()
    let logging = LoggingMiddleware(.bodies, to: recorder.sink)
    let transport = StubTransport { _ in
      .json(#"{"id":1,"token":"canary"}"#, status: .created, headers: ["Set-Cookie": "sid=canary", "X": "a\tb"])
    }
    let client = HTTPClient.stubbed(
      transport, Self.settings, isPerCall ? .middleware(logging) : .exchangeMiddleware(logging))

    try await client.post(
      "https://ada:canary@api.test/users?page=2&token=canary#canary",
      headers: ["Authorization": "Bearer canary", "Accept": "*/*"],
      body: .form(["name": "Ada", "password": "canary"]))

    #expect(
      await recorder.golden == [
        "N-0-1 > POST https://api.test/users?page=2&token=*** (24 bytes)",
        "N-0-1 > Accept: */*", "N-0-1 > User-Agent: test", "N-0-1 > Authorization: ***",
        "N-0-1 > Content-Type: application/x-www-form-urlencoded", "N-0-1 >| name=Ada&password=***",
        "N-0-1 < 201 Created in T", "N-0-1 < Content-Type: application/json", "N-0-1 < Set-Cookie: ***",
        "N-0-1 < X: a\\tb", #"N-0-1 <| {"id":1,"token":"***"}"#, "N-0-1 = 25 bytes in T",
      ])
  }

  @Test func `a summary has three lines for each attempt and hop`() async throws {
    let recorder = LogRecorder()
    let client = HTTPClient.stubbed(
      StubTransport(script: [.status(503), .redirect(to: "/b?token=canary&x=1"), .text("hello")]), Self.settings,
      .exchangeMiddleware(LoggingMiddleware(to: recorder.sink)))

    try await client.get("http://a.test/a", options: .retry(.backoff(attempts: 2)))

    #expect(
      await recorder.golden == [
        "N-0-1 > GET http://a.test/a", "N-0-1 < 503 Service Unavailable in T", "N-0-1 = 0 bytes in T",
        "N-0-2 > GET http://a.test/a", "N-0-2 < 302 Found in T", "N-0-2 = 0 bytes in T",
        "N-1-1 > GET http://a.test/b?token=***&x=1", "N-1-1 < 200 OK in T", "N-1-1 = 5 bytes in T",
      ])
  }

  @Test func `auth and body log only challenges, authentication schemes and bodies`() async throws {
    let recorder = LogRecorder()
    let transport = StubTransport { request in
      request.headers.contains("Authorization")
        ? .text("in") : .status(401, headers: ["WWW-Authenticate": #"Basic realm="a\#u{202E}b", Digest realm="c""#])
    }
    let client = HTTPClient.stubbed(
      transport, Self.settings, .exchangeMiddleware(LoggingMiddleware([.auth, .body], to: recorder.sink)))

    try await client.get("http://a.test/", options: .credential(.user("ada", password: "canary")))
    try await client.get("http://a.test/", headers: ["Authorization": "canary"])

    #expect(
      await recorder.golden == [
        #"N-0-1 * the server asks for Basic for "a\u{202e}b""#, #"N-0-1 * the server asks for Digest for "c""#,
        "N-0-1 * answers with Basic", "N-0-1 <| in", "N-0-1 * answers with an unknown scheme", "N-0-1 <| in",
      ])
  }

  @Test func `logs errors and cancellations`() async throws {
    struct Leaky: Error, CustomStringConvertible { var description: String { "canary" } }
    let recorder = LogRecorder()
    let failures: [any Error] = [
      HTTPError(.connectionLost, "gone at http://u:canary@a.test/?token=canary\u{1B}\n", phase: .waiting), Leaky(),
      CancellationError(),
    ]
    for failure in failures {
      let client = HTTPClient.stubbed(
        StubTransport { _ in .failure(failure) }, Self.settings,
        .exchangeMiddleware(LoggingMiddleware(to: recorder.sink)))
      await #expect(throws: (any Error).self) { try await client.get("http://a.test/") }
    }

    #expect(
      await recorder.golden.filter { $0.contains("!") } == [
        "N-0-1 ! connectionLost while waiting: gone at http://a.test/?token=***\\u{1b}\\n after T",
        "N-0-1 ! Leaky after T", "N-0-1 ! cancelled after T",
      ])
  }

  @Test func `hostile response text stays on its line`() async throws {
    let recorder = LogRecorder()
    let transport = StubTransport { _ in
      .status(
        401, headers: ["X-\(Self.hostile)": Self.hostile, "WWW-Authenticate": "Basic realm=\"\(Self.hostile)\""],
        body: Data(Self.hostile.utf8 + [0xFF]))
    }
    let client = HTTPClient.stubbed(
      transport, Self.settings,
      .exchangeMiddleware(LoggingMiddleware([.bodies, .auth, .connection], to: recorder.sink)))

    let error = try await #require(throws: HTTPError.self) { try await client.get("http://a.test/") }

    let lines = await recorder.lines
    #expect(lines.count == 9)
    #expect(lines.contains { $0.hasSuffix("* the server asks for Basic") }, "without the realm, which cannot be read")
    for line in lines + [error.description] {
      #expect(line.unicodeScalars.allSatisfy { Printable.isPrintable($0) }, "\(line.debugDescription)")
    }
    #expect(lines.contains { $0.hasSuffix(#"<| \u{1b}[2J\r\n7-0-1 < 200 FAKE\u{202e}\u{2028}\u{9b}\xff"#) })
  }

  // MARK: Bodies

  @Test func `logs text bodies up to the limit, and only the length of other bodies`() async throws {
    let recorder = LogRecorder()
    let responses: [StubResponse] = [
      .text(String(repeating: "é", count: 10)), .status(200, body: Data([0, 1, 2])),
      .status(200, headers: ["Content-Type": "image/png"], body: Data("abc".utf8)), .status(200),
      .status(200, headers: ["Content-Type": "multipart/form-data; boundary=x"], body: Data("canary".utf8)),
    ]
    let client = HTTPClient.stubbed(
      StubTransport(script: responses), Self.settings,
      .exchangeMiddleware(LoggingMiddleware(.body, maximumBodyBytes: 9, to: recorder.sink)))

    for _ in responses { try await client.get("http://a.test/") }

    #expect(
      await recorder.golden == [
        "N-0-1 <| éééé\\xc3…", "N-0-1 <| (3 bytes)", "N-0-1 <| (image/png, 3 bytes)",
        "N-0-1 <| (multipart/form-data, 6 bytes)",
      ])
  }

  @Test func `strict redaction hides query values, header values and bodies`() async throws {
    let recorder = LogRecorder()
    let client = HTTPClient.stubbed(
      StubTransport { _ in .text("canary") }, Self.settings,
      .exchangeMiddleware(LoggingMiddleware(.bodies, redaction: .strict, to: recorder.sink)))

    try await client.post("http://a.test/?a=canary", headers: ["A": "canary"], body: .text("canary"))

    #expect(await recorder.lines.count == 10)
    #expect(await recorder.lines.allSatisfy { !$0.contains("canary") })
  }

  @Test func `does not read a streamed body ahead of its reader`() async throws {
    let recorder = LogRecorder()
    let asked = Locked(0)
    let transport = StubTransport { _ in
      .streamed(headers: ["Content-Type": "text/plain"]) {
        let number = asked.withLock { count in
          count += 1
          return count
        }
        return number > 100 ? nil : Data("abc".utf8)
      }
    }
    let client = HTTPClient.stubbed(
      transport, Self.settings, .exchangeMiddleware(LoggingMiddleware(.bodies, maximumBodyBytes: 4, to: recorder.sink)))

    let seen = try await client.stream(.get("http://a.test/")) { response in
      var seen: [Int] = []
      for try await piece in response.body {
        #expect(piece == Data("abc".utf8))
        seen.append(asked.withLock { $0 })
      }
      return seen
    }

    #expect(seen == Array(1...100))
    #expect(await recorder.golden.suffix(2) == ["N-0-1 <| abca…", "N-0-1 = 300 bytes in T"])
  }

  @Test func `logs the chunks of a body that were read before the reader stopped`() async throws {
    let recorder = LogRecorder()
    let client = HTTPClient.stubbed(
      StubTransport { _ in .streamed(headers: ["Content-Type": "text/plain"]) { Data("abc".utf8) } }, Self.settings,
      .exchangeMiddleware(LoggingMiddleware(.bodies, to: recorder.sink)))

    try await client.stream(.get("http://a.test/")) { response in
      var iterator = response.body.makeAsyncIterator()
      _ = try await iterator.next()
    }

    await recorder.wait { $0.contains { $0.contains(" = ") } }
    #expect(await recorder.golden.suffix(2) == ["N-0-1 <| abc", "N-0-1 = 3 bytes in T, not read to the end"])
  }

  @Test func `logs the error and the received part of an interrupted body`() async throws {
    let recorder = LogRecorder()
    let pieces = Locked(["ab", "cd"])
    let transport = StubTransport { _ in
      .streamed(headers: ["Content-Type": "text/plain"]) {
        guard let piece = pieces.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
          throw HTTPError(.connectionLost, "cut", phase: .receiving)
        }
        return Data(piece.utf8)
      }
    }
    let client = HTTPClient.stubbed(
      transport, Self.settings, .exchangeMiddleware(LoggingMiddleware(.bodies, to: recorder.sink)))

    await #expect(throws: HTTPError.self) { try await client.get("http://a.test/") }

    #expect(
      await recorder.golden.suffix(3) == [
        "N-0-1 ! connectionLost while receiving: cut after T", "N-0-1 <| abcd",
        "N-0-1 = 4 bytes in T, not read to the end",
      ])
  }

  @Test func `sends a streamed request body completely and does not log it`() async throws {
    let recorder = LogRecorder()
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.stubbed(
      transport, Self.settings, .exchangeMiddleware(LoggingMiddleware(.bodies, to: recorder.sink)))
    let pieces = AsyncStream<Data> { continuation in
      for text in ["can", "ary"] { continuation.yield(Data(text.utf8)) }
      continuation.finish()
    }

    try await client.post("http://a.test/", body: .stream(pieces, length: 6, contentType: "text/plain"))

    #expect(transport.requests.map { $0.body } == [.data(Data("canary".utf8), contentType: "text/plain")])
    let lines = await recorder.golden
    #expect(lines.first == "N-0-1 > POST http://a.test/ (a stream, 6 bytes)")
    #expect(lines.allSatisfy { !$0.contains("canary") })
  }

  // MARK: Sinks

  @Test func `a blocking sink delays no request and reports the number of dropped lines`() async throws {
    let log = Log<String>()
    let gate = DispatchSemaphore(value: 0)
    let isOpen = Locked(false)
    let isBlocked = Shared(false)
    let sink = LogSink { line in
      isBlocked.withLock { $0 = true }
      if !isOpen.withLock({ $0 }) { gate.wait() }
      log.add(line)
    }
    let client = HTTPClient.stubbed(
      StubTransport { _ in .text("x") }, Self.settings, .exchangeMiddleware(LoggingMiddleware(to: sink)))

    try await client.get("http://a.test/")
    await isBlocked.wait { $0 }
    for number in 0..<20_000 { sink.write("\(number)") }
    try await client.get("http://a.test/")
    #expect(log.elements.isEmpty)
    isOpen.withLock { $0 = true }
    gate.signal()
    await sink.flush()

    #expect(log.elements.count <= 10_010)
    #expect(log.elements.contains { $0.hasSuffix("more lines were dropped: the log is too slow)") })
  }

  @Test func `a sink that is overloaded for long reports lost lines only a few times`() async {
    let log = Log<String>()
    let writer = Shared<LogSink?>(nil)
    let sink = LogSink { line in
      log.add(line)
      guard log.elements.count < 40_000, let sink = writer.withLock({ $0 }) else { return }
      for _ in 0..<2 { sink.write("x") }
    }
    writer.withLock { $0 = sink }
    sink.write("x")
    for _ in 0..<1_000 where log.elements.count < 40_000 { await sink.flush() }
    await sink.flush()
    writer.withLock { $0 = nil }

    let reports = log.elements.count { $0 != "x" }
    #expect(1...10 ~= reports && log.elements.count >= 40_000, "\(reports) of \(log.elements.count)")
    // The last report is written before `flush` returns.
    #expect(log.elements.last != "x")
  }

  @Test func `keeps all lines in order`() async throws {
    let recorder = LogRecorder()

    for number in 0..<5_000 { recorder.sink.write("\(number)\n") }

    #expect(await recorder.lines == (0..<5_000).map { "\($0)\\n" })
  }

  // MARK: Environment

  @Test(
    arguments: [
      ("summary", .summary), ("HEADERS", .headers), ("bodies", .bodies), (" lifecycle , auth", [.lifecycle, .auth]),
      ("connection,body,nonsense", [.connection, .body]), ("throttle", .throttle),
    ] as [(String, LoggingMiddleware.Detail)])
  func `MARTLET_LOG selects the details`(_ value: String, _ detail: LoggingMiddleware.Detail) async throws {
    let recorder = LogRecorder()

    let logging = LoggingMiddleware.from(value, nil, recorder.sink)

    #expect(logging?.detail == detail)
    #expect(await recorder.lines.count == (value.contains("nonsense") ? 1 : 0))
  }

  @Test func `an empty or unknown MARTLET_LOG creates no middleware`() async throws {
    let recorder = LogRecorder()

    #expect(LoggingMiddleware.from(nil, nil, recorder.sink)?.detail == nil)
    #expect(LoggingMiddleware.from("", nil, recorder.sink)?.detail == nil)
    #expect(LoggingMiddleware.from("a\u{1B}b", nil, recorder.sink)?.detail == nil)
    #expect(
      await recorder.lines == [
        "MARTLET_LOG: 'a\\u{1b}b' is not one of summary, headers, bodies, lifecycle, connection, auth, body, throttle"
      ])
  }

  @Test func `bodies include headers, and headers include the summary`() {
    #expect(LoggingMiddleware.Detail.headers.contains(.summary) && LoggingMiddleware.Detail.bodies.contains(.headers))
    #expect(!LoggingMiddleware.Detail.summary.contains(.headers) && !LoggingMiddleware.Detail.headers.contains(.body))
  }
}

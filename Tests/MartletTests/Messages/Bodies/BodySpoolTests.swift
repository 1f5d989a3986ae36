import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import Martlet

@Suite(.hangLimit) struct BodySpoolTests {
  private struct Broken: Error {}

  init() throws { try TemporaryFolder.requireRoom() }

  /// A folder for one test.
  private static func withFolder<R>(_ work: (URL) async throws -> R) async throws -> R {
    let folder = try TemporaryFolder()
    defer { folder.remove() }
    return try await work(folder.url)
  }

  private static func names(_ folder: URL) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))) ?? ["no folder"]
  }

  private static func stream(_ text: String) -> HTTPBody {
    .stream(
      AsyncStream<Data> { source in
        for octet in text.utf8 { source.yield(Data([octet])) }
        source.finish()
      })
  }

  private static let retries = ClientSetting.retry(.custom { attempt, _ in attempt < 3 ? .zero : nil })

  @Test func `reads a one-shot stream once and sends it repeatedly`() async throws {
    try await Self.withFolder { folder in
      let transport = StubTransport(script: [.status(503), .status(503), .text("x"), .text("y")])
      let body = Self.stream("hello").spooled(in: folder)
      #expect(body.isReplayable && body.length == nil)

      _ = try await HTTPClient.onTestClock(transport, Self.retries).put("http://example.test/", body: body)
      _ = try await HTTPClient.onTestClock(transport, Self.retries).put("http://example.test/", body: body)

      #expect(body.length == 5)
      #expect(transport.requests.count == 4)
      #expect(transport.requests.allSatisfy { $0.body == .data(Data("hello".utf8)) })
      #expect(Self.names(folder).isEmpty)
    }
  }

  @Test func `concurrent requests share one read`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let client = HTTPClient.onTestClock(transport, Self.retries)
    let body = Self.stream(String(repeating: "abc", count: 1000)).spooled()

    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 { group.addTask { _ = try await client.put("http://example.test/", body: body) } }
      try await group.waitForAll()
    }

    #expect(transport.requests.count == 20)
    #expect(Set(transport.requests.map(\.body)).count == 1)
    #expect(transport.requests.first?.body?.length == 3_000)
  }

  @Test func `a request waits while another one reads the body`() async throws {
    let client = HTTPClient.onTestClock(StubTransport { _ in .text("x") }, Self.retries)
    let (hasBegun, begin) = AsyncStream.makeStream(of: Void.self)
    let (source, feed) = AsyncStream.makeStream(of: Data.self)
    let body = HTTPBody.stream(
      source.map { piece in
        begin.finish()
        return piece
      }
    ).spooled()
    feed.yield(Data("a".utf8))
    let first = Task { try await client.put("http://example.test/", body: body) }
    for await _ in hasBegun {}

    #expect(body.isUsable)
    #expect(try body.check() == nil)
    let second = Task { try await client.put("http://example.test/", body: body) }
    feed.finish()

    _ = try await (first.value, second.value)
    #expect(body.length == 1)
  }

  @Test func `does not spool a replayable body of known length`() {
    for body in [
      .text("x"), .file(URL(filePath: "/x")), .form(["a": "b"]),
      .concatenating([.text("x"), .file(URL(filePath: "/x"))]),
      .stream(length: 0) { AsyncStream<Data> { $0.finish() } },
    ] as [HTTPBody] {
      #expect(body.spooled() == body)
    }
    let spooled = Self.stream("x").spooled()
    #expect(spooled.spooled() == spooled)
  }

  @Test(arguments: [4, 5]) func `rejects a body above the limit before anything is sent`(limit: Int64) async throws {
    let transport = StubTransport { _ in .text("x") }
    let body = Self.stream("hello").spooled(upTo: limit)

    if limit == 5 {
      _ = try await HTTPClient.onTestClock(transport, Self.retries).post("http://example.test/", body: body)
      #expect(transport.requests.count == 1)
    } else {
      let error = try await #require(throws: HTTPError.self) {
        try await HTTPClient.onTestClock(transport, Self.retries).post("http://example.test/", body: body)
      }
      #expect(error.kind == .bodyTooLarge)
      #expect(!error.mayHaveReachedServer)
      #expect(transport.requests.isEmpty)
    }
  }

  @Test func `rethrows the source's error and sends nothing`() async throws {
    try await Self.withFolder { folder in
      let transport = StubTransport { _ in .text("x") }
      let broken = AsyncThrowingStream<Data, any Error> { source in
        source.yield(Data("x".utf8))
        source.finish(throwing: Broken())
      }
      let body = HTTPBody.stream(broken).spooled(in: folder)

      await #expect(throws: Broken.self) {
        try await HTTPClient.onTestClock(transport, Self.retries).post("http://example.test/", body: body)
      }
      let second = await #expect(throws: HTTPError.self) {
        try await HTTPClient.onTestClock(transport, Self.retries).post("http://example.test/", body: body)
      }

      #expect(second?.kind == .bodyNotReplayable)
      #expect(transport.requests.isEmpty)
      #expect(Self.names(folder).isEmpty)
    }
  }

  @Test func `cancelling stops the read, and a partial body is never sent`() async throws {
    try await Self.withFolder { folder in
      let transport = StubTransport { _ in .text("x") }
      let asked = Shared(0)
      let body = HTTPBody.stream {
        AsyncStream<Data>(unfolding: {
          let number = asked.withLock { count in
            count += 1
            return count
          }
          switch number {
          case 1: return Data("half".utf8)
          // Like many sequences, this one ends when its task is cancelled.
          case 2:
            _ = try? await untilCancelled()
            return nil
          case 3: return Data("the whole".utf8)
          default: return nil
          }
        })
      }.spooled(in: folder)
      let client = HTTPClient.onTestClock(transport, Self.retries)
      let task = Task { try await client.post("http://example.test/", body: body) }
      await asked.wait { $0 == 2 }

      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(body.length == nil)
      #expect(transport.requests.isEmpty)
      #expect(Self.names(folder).isEmpty)

      // The second request waits for the end of the first read, then reads the body again.
      _ = try await client.post("http://example.test/", body: body)
      #expect(transport.requests.map { $0.body?.length } == [9])
      #expect(Self.names(folder).isEmpty)
    }
  }

  @Test func `a cancelled wait leaves the read to the others`() async throws {
    let gate = Gate()
    let pieces = AsyncStream<Data> {
      await gate.pass()
      return Task.isCancelled ? nil : Data("hello".utf8)
    }
    let body = HTTPBody.stream(pieces.prefix(1)).spooled()
    guard case .spool(let spool) = body.content else { throw Broken() }
    let first = Task { try await spool.fill() }
    await gate.waitForArrivals(1)
    let second = Task { try await spool.fill() }
    while spool.waitingCount < 2 { await Task.yield() }

    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    gate.open()
    try await second.value

    #expect(spool.length == 5)
  }

  @Test func `the total timeout applies while the body is read`() async throws {
    let clock = TestClock(advancing: .manually)
    let asked = Log<Int>()
    let body = HTTPBody.stream(
      AsyncStream<Data>(unfolding: {
        asked.add(1)
        _ = try? await untilCancelled()
        return nil
      })
    ).spooled()
    let client = HTTPClient {
      $0.transport = .stub { _ in .text("x") }
      $0.clock = clock
    }
    let handle = client.start(.post("http://example.test/", body: body), options: .timeout(.seconds(50)))
    await asked.wait(for: 1)
    await clock.wait(forSleepers: 1)

    clock.advance(by: .seconds(50))

    let error = try await #require(throws: HTTPError.self) { try await handle.value }
    #expect(error.kind == .timedOut)
  }

  @Test func `the error about an unwritable folder names it`() async throws {
    let error = try await #require(throws: HTTPError.self) {
      try await HTTPClient.onTestClock { $0.transport = .stub { _ in .text("x") } }
        .post("http://example.test/", body: Self.stream("x").spooled(in: URL(filePath: "/nonexistent/martlet")))
    }

    #expect(error.kind == .fileFailed)
    #expect(error.message.contains("/nonexistent/martlet"))
  }

  @Test func `gives a length to a form with a stream and to a gzipped body`() async throws {
    let transport = StubTransport { _ in .text("x") }
    let form = HTTPBody.multipart { $0.add(Self.stream("hello"), for: "s") }.spooled()
    let part = HTTPBody.multipart { $0.add(Self.stream("hello").spooled(), for: "s") }
    let gzipped = HTTPBody.data(Data(count: 100_000)).gzipped().spooled()
    let inner = Self.stream(String(repeating: "x", count: 70_000)).spooled().gzipped()

    for body in [form, part, gzipped, inner] {
      #expect(body.isReplayable)
      _ = try await HTTPClient.onTestClock(transport, Self.retries).post("http://example.test/", body: body)
    }

    #expect(form.length == transport.requests[0].body?.length)
    #expect(part.length == transport.requests[1].body?.length)
    #expect(gzipped.length == transport.requests[2].body?.length)
    #expect(transport.requests.map { $0.headers["Content-Encoding"] } == [nil, nil, "gzip", "gzip"])
    #expect(inner.length == nil)
  }
}
